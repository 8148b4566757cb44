//! `hermes dump`: the set-up as plain text, for a report.

use hermes_config::dotenv::known_names;
use hermes_home::{count_skills, gateway_pid};
use hermes_secret::display_mask;

use crate::context::Context;
use crate::error::Result;
use crate::facts;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show the first and last four characters of keys
    #[arg(long)]
    show_keys: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    let config = context.config();
    let mut out = String::from("--- hermes dump ---\n");
    let (model, provider) = config.model();
    let rows = [
        ("version", facts::VERSION.to_owned()),
        ("os", operating_system()),
        ("install_method", facts::install_method(context)),
        ("profile", context.location.profile_label().to_owned()),
        ("hermes_home", context.display(&context.location.home)),
        ("model", model.unwrap_or("(not set)").to_owned()),
        ("provider", provider.unwrap_or("(auto)").to_owned()),
        ("terminal", facts::terminal_backend(context)),
    ];
    for (label, value) in rows {
        out.push_str(&format!("{:<18}{value}\n", format!("{label}:")));
    }
    out.push_str("\napi_keys:\n");
    for known in known_names().filter(|known| known.secret && known.category == "provider") {
        let state = match config.secret(known.name) {
            Some(secret) if args.show_keys => display_mask(secret.expose()),
            Some(_) => "set".to_owned(),
            None => "not set".to_owned(),
        };
        out.push_str(&format!("  {:<32} {state}\n", known.name.to_lowercase()));
    }
    out.push_str("\nfeatures:\n");
    for (label, value) in features(context) {
        out.push_str(&format!("  {:<20}{value}\n", format!("{label}:")));
    }
    out.push_str("--- end dump ---\n");
    context.out(&out)
}

fn features(context: &Context) -> Vec<(&'static str, String)> {
    let config = context.config();
    let home = &context.location.home;
    let count = |key: &str| {
        config
            .get(key)
            .and_then(|value| value.as_object())
            .map_or(0, serde_json::Map::len)
    };
    let memory = match config.text("memory.provider") {
        "" => "built-in",
        name => name,
    };
    let platforms = facts::configured_platforms(context);
    let platforms = match platforms.as_slice() {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let gateway = gateway_pid(home).map_or("stopped", |_| "running");
    vec![
        ("toolsets", config.texts("toolsets").join(", ")),
        ("mcp_servers", count("mcp_servers").to_string()),
        ("memory_provider", memory.to_owned()),
        ("gateway", gateway.to_owned()),
        ("platforms", platforms),
        ("cron_jobs", facts::cron_jobs(context).to_string()),
        ("skills", count_skills(home).to_string()),
    ]
}

fn operating_system() -> String {
    let name = rustix::system::uname();
    format!(
        "{} {} {}",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy(),
        name.machine().to_string_lossy()
    )
}
