//! `hermes status`: what is configured and what runs.

use hermes_config::dotenv::known_names;
use hermes_config::settings::Layer;
use hermes_home::gateway_pid;
use hermes_secret::display_mask;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::facts;
use crate::ui::Page;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also list keys and platforms that are not set
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    context.warn_if_broken()?;
    if args.json {
        return context.json(&record(context));
    }
    let config = context.config();
    let mut page = Page::new(context.printer, 14);
    let (model, provider) = config.model();
    let dotenv = config.sources().dotenv_path().is_file();
    page.heading("Environment");
    page.row("Profile", context.location.profile_label());
    page.row("Home", &context.display(&context.location.home));
    page.row(".env file", if dotenv { "✓ exists" } else { "✗ missing" });
    page.row("Model", model.unwrap_or("(not set)"));
    page.row(
        "Provider",
        provider.unwrap_or("(derived from the model name)"),
    );

    page.heading("API Keys");
    let mut any = false;
    for known in known_names().filter(|known| known.secret && known.category != "messaging") {
        let secret = config.secret(known.name);
        any |= secret.is_some();
        let line = match secret {
            Some(secret) => format!("  ✓ {:<28} {}\n", known.name, display_mask(secret.expose())),
            None if args.all => format!("  ✗ {:<28} (not set)\n", known.name),
            None => continue,
        };
        page.text.push_str(&line);
    }
    if !any && !args.all {
        page.text.push_str("  (none set; --all lists the names)\n");
    }

    page.heading("Terminal Backend");
    page.row("Backend", &facts::terminal_backend(context));
    let settings: &[(&str, &str)] = match config.text("terminal.backend") {
        "docker" => &[("Image", "terminal.docker_image")],
        "ssh" => &[("Host", "terminal.ssh_host"), ("User", "terminal.ssh_user")],
        _ => &[],
    };
    for (label, key) in settings {
        page.row(label, &facts::setting_and_origin(context, key));
    }

    page.heading("Messaging Platforms");
    let platforms = facts::configured_platforms(context).join(", ");
    page.row(
        "Configured",
        if platforms.is_empty() {
            "none"
        } else {
            &platforms
        },
    );

    page.heading("Gateway Service");
    let gateway = gateway_pid(&context.location.home);
    page.row("Status", gateway.map_or("✗ stopped", |_| "✓ running"));
    if let Some(pid) = gateway {
        page.row("PID(s)", &pid.to_string());
    }

    page.heading("Scheduled Jobs");
    page.row("Jobs", &facts::cron_jobs(context).to_string());
    context.out(&page.text)
}

fn record(context: &Context) -> Value {
    let config = context.config();
    let (model, provider) = config.model();
    let gateway = gateway_pid(&context.location.home);
    let origin = config.candidates("terminal.backend");
    let keys: Vec<&str> = known_names()
        .filter(|known| known.secret && config.secret(known.name).is_some())
        .map(|known| known.name)
        .collect();
    json!({
        "profile": context.location.profile_label(),
        "home": context.location.home.display().to_string(),
        "root": context.location.root.display().to_string(),
        "version": env!("CARGO_PKG_VERSION"),
        "install_method": facts::install_method(context),
        "config_parses": context.config_is_usable(),
        "model": model,
        "provider": provider,
        "api_keys_set": keys,
        "terminal": {
            "backend": config.text("terminal.backend"),
            "docker_image": (config.text("terminal.backend") == "docker")
                .then(|| config.text("terminal.docker_image")),
            "origin": origin.first().map_or(Layer::Default, |candidate| candidate.layer).name(),
        },
        "platforms": facts::configured_platforms(context),
        "gateway": { "running": gateway.is_some(), "pid": gateway },
        "cron_jobs": facts::cron_jobs(context),
    })
}
