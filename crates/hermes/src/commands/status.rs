//! `hermes status`: what is configured and what runs.

use hermes_config::dotenv::known_names;
use hermes_config::settings::Layer;
use hermes_home::gateway_pid;
use hermes_secret::display_mask;
use serde_json::{Value, json};

use crate::context::Context;
use crate::doctor;
use crate::error::Result;
use crate::ui::heading;

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
        return context.printer.json(&record(context));
    }
    let config = context.config();
    let mut out = String::new();
    let section = |out: &mut String, title: &str| {
        out.push_str(&format!("{}\n", heading(&context.printer, title)));
    };
    let row = |out: &mut String, label: &str, value: &str| {
        out.push_str(&format!("  {:<14} {value}\n", format!("{label}:")));
    };
    let (model, provider) = config.model();

    section(&mut out, "Environment");
    row(&mut out, "Profile", context.location.profile_label());
    row(&mut out, "Home", &context.display(&context.location.home));
    let dotenv = config.sources().dotenv_path().is_file();
    row(
        &mut out,
        ".env file",
        if dotenv {
            "✓ exists"
        } else {
            "✗ not there"
        },
    );
    row(&mut out, "Model", model.unwrap_or("(not set)"));
    row(
        &mut out,
        "Provider",
        provider.unwrap_or("(by the model's name)"),
    );

    section(&mut out, "API Keys");
    let mut shown = 0;
    for known in known_names().filter(|known| known.secret && known.category != "messaging") {
        match config.secret(known.name) {
            Some(secret) => {
                shown += 1;
                out.push_str(&format!(
                    "  ✓ {:<28} {}\n",
                    known.name,
                    display_mask(secret.expose())
                ));
            }
            None if args.all => out.push_str(&format!("  ✗ {:<28} (not set)\n", known.name)),
            None => {}
        }
    }
    if shown == 0 && !args.all {
        out.push_str("  (none set; --all lists the names)\n");
    }

    section(&mut out, "Terminal Backend");
    row(&mut out, "Backend", &doctor::terminal_backend(context));
    let setting = |key| doctor::setting_and_origin(context, key);
    match config.text("terminal.backend") {
        "docker" => row(&mut out, "Image", &setting("terminal.docker_image")),
        "ssh" => {
            row(&mut out, "Host", &setting("terminal.ssh_host"));
            row(&mut out, "User", &setting("terminal.ssh_user"));
        }
        _ => {}
    }

    section(&mut out, "Messaging Platforms");
    let platforms = doctor::configured_platforms(context);
    row(
        &mut out,
        "Configured",
        if platforms.is_empty() {
            "none".into()
        } else {
            platforms.join(", ")
        }
        .as_str(),
    );

    section(&mut out, "Gateway Service");
    let gateway = gateway_pid(&context.location.home);
    row(
        &mut out,
        "Status",
        if gateway.is_some() {
            "✓ running"
        } else {
            "✗ stopped"
        },
    );
    if let Some(pid) = gateway {
        row(&mut out, "PID(s)", &pid.to_string());
    }

    section(&mut out, "Scheduled Jobs");
    row(&mut out, "Jobs", &doctor::cron_jobs(context).to_string());
    Ok(context.printer.out(&out)?)
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
        "install_method": doctor::install_method(context),
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
        "platforms": doctor::configured_platforms(context),
        "gateway": { "running": gateway.is_some(), "pid": gateway },
        "cron_jobs": doctor::cron_jobs(context),
    })
}
