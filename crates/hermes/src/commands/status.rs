//! `hermes status`: what is configured and what runs.

use hermes_config::dotenv::known_names;
use hermes_config::settings::Layer;
use hermes_docker::manage::{Scope, list};
use hermes_home::gateway_pid;
use hermes_providers::{AuthFile, CredentialEntry};
use hermes_runtime::{docker_host, live_environment};
use hermes_secret::display_mask;
use serde_json::{Map, Value, json};

use super::cron::SchedulerKind;
use super::kanban::{board_counts, counts_text};
use crate::api_server_state::ApiServerState;
use crate::context::Context;
use crate::doctor::examine_deeply;
use crate::error::Result;
use crate::facts;
use crate::gateways::{GatewayRow, all_gateways};
use crate::ui::{Page, TerminalPerson, counted, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also list keys and platforms that are not set
    #[arg(long)]
    all: bool,
    /// Also ask the model provider and check the databases
    #[arg(long)]
    deep: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    context.warn_if_broken()?;
    if args.json {
        return context.json(&record(context, args.deep)?);
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
    for (provider, entries) in stored_keys(context)? {
        any = true;
        let keys = counted(entries.len(), "key");
        let line = format!("  ✓ {provider:<28} {keys} (hermes auth)\n");
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

    page.heading("Gateways");
    for row in all_gateways(context)? {
        let state = row.live_state().unwrap_or("running");
        let text = match row.pid {
            Some(pid) => format!("✓ {} (PID {pid})", one_line(state, 40)),
            None => "✗ stopped".to_owned(),
        };
        page.row(&row.name, &text);
        for (service, state, note) in row.services() {
            if state == "failed" {
                let note = one_line(note, 120);
                page.row("", &format!("⚠ {} failed: {note}", one_line(service, 40)));
            }
        }
    }

    page.heading("Task Boards");
    let boards = board_counts(context)?;
    if boards.is_empty() {
        page.row("Cards", "none");
    }
    for (slug, counts) in boards {
        page.row(slug.as_str(), &counts_text(&counts, "none"));
    }

    page.heading("Sandboxes");
    page.row("Containers", &sandboxes(context));

    page.heading("API Server");
    page.row("Status", &ApiServerState::find(context).text());

    page.heading("Scheduled Jobs");
    page.row("Jobs", &facts::cron_jobs(context).to_string());
    page.row("Scheduler", &SchedulerKind::find(context).text());
    if args.deep {
        page.heading("Deep Checks");
        for row in examine_deeply(context) {
            let mark = row.mark.painted(context.printer);
            page.text.push_str(&format!("  {mark} {}\n", row.text));
        }
    }
    context.out(&page.text)
}

/// The containers of this profile, in a few words.
fn sandboxes(context: &Context) -> String {
    if context.config().text("terminal.backend") != "docker" {
        return "not used (terminal.backend is not docker)".to_owned();
    }
    let person = TerminalPerson::shown_only(context.printer);
    let listing = docker_host(context, &live_environment(context), &person)
        .map_err(|error| error.to_string())
        .and_then(|host| list(&host, &Scope::ThisProfile).map_err(|error| error.to_string()));
    match listing {
        Ok(listing) => {
            let running = listing
                .sandboxes
                .iter()
                .filter(|one| one.state == "running");
            let running = running.count();
            format!("{} ({running} running)", listing.sandboxes.len())
        }
        Err(error) => format!("✗ {}", one_line(&error, 120)),
    }
}

/// Keys that `hermes auth add` has stored, by provider. Records of keys in variables do not count;
/// those are listed by their name.
fn stored_keys(context: &Context) -> Result<Vec<(String, Vec<CredentialEntry>)>> {
    let mut pools = AuthFile::of_home(&context.location.home).all()?;
    for (_, entries) in &mut pools {
        entries.retain(|entry| entry.secret().is_some());
    }
    pools.retain(|(_, entries)| !entries.is_empty());
    pools.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(pools)
}

fn record(context: &Context, deep: bool) -> Result<Value> {
    let config = context.config();
    let (model, provider) = config.model();
    let gateway = gateway_pid(&context.location.home);
    let boards: Map<String, Value> = board_counts(context)?
        .into_iter()
        .map(|(slug, counts)| (slug.to_string(), json!(counts)))
        .collect();
    let gateways: Vec<Value> = all_gateways(context)?
        .iter()
        .map(GatewayRow::to_json)
        .collect();
    let origin = config.candidates("terminal.backend");
    let keys: Vec<&str> = known_names()
        .filter(|known| known.secret && config.secret(known.name).is_some())
        .map(|known| known.name)
        .collect();
    let stored: Map<String, Value> = stored_keys(context)?
        .into_iter()
        .map(|(provider, entries)| (provider, json!(entries.len())))
        .collect();
    let mut record = json!({
        "profile": context.location.profile_label(),
        "home": context.location.home.display().to_string(),
        "root": context.location.root.display().to_string(),
        "version": env!("CARGO_PKG_VERSION"),
        "install_method": facts::install_method(context),
        "config_parses": context.config_is_usable(),
        "model": model,
        "provider": provider,
        "api_keys_set": keys,
        "stored_keys": stored,
        "terminal": {
            "backend": config.text("terminal.backend"),
            "docker_image": (config.text("terminal.backend") == "docker")
                .then(|| config.text("terminal.docker_image")),
            "origin": origin.first().map_or(Layer::Default, |candidate| candidate.layer).name(),
        },
        "platforms": facts::configured_platforms(context),
        "gateway": { "running": gateway.is_some(), "pid": gateway },
        "gateways": gateways,
        "boards": boards,
        "cron_jobs": facts::cron_jobs(context),
        "scheduler": SchedulerKind::find(context).name(),
        "api_server": ApiServerState::find(context).to_json(),
    });
    if deep {
        record["deep_checks"] = serde_json::to_value(examine_deeply(context))?;
    }
    Ok(record)
}
