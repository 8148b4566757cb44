//! `hermes config show`: the settings in effect, for people and for programs.

use hermes_config::dotenv::known_names;
use hermes_config::settings::{masked, plain_text};
use hermes_secret::display_mask;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::ui::Page;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Print JSON: the merged settings, secrets masked
    #[arg(long)]
    json: bool,
}

/// Settings shown per group: title, then label and key.
const GROUPS: [(&str, &[(&str, &str)]); 5] = [
    (
        "Display",
        &[
            ("Personality", "display.personality"),
            ("Reasoning", "display.show_reasoning"),
            ("Streaming", "display.streaming"),
            ("Bell", "display.bell_on_complete"),
        ],
    ),
    (
        "Terminal",
        &[
            ("Backend", "terminal.backend"),
            ("Working dir", "terminal.cwd"),
            ("Timeout", "terminal.timeout"),
            ("Home mode", "terminal.home_mode"),
        ],
    ),
    ("Timezone", &[("Timezone", "timezone")]),
    (
        "Context Compression",
        &[
            ("Enabled", "compression.enabled"),
            ("Threshold", "compression.threshold"),
        ],
    ),
    (
        "Skill Settings",
        &[
            ("External dirs", "skills.external_dirs"),
            ("Write approval", "skills.write_approval"),
        ],
    ),
];

/// Platforms and the variable that says one is set up.
const PLATFORMS: [(&str, &str); 4] = [
    ("Telegram", "TELEGRAM_BOT_TOKEN"),
    ("Discord", "DISCORD_BOT_TOKEN"),
    ("Slack", "SLACK_BOT_TOKEN"),
    ("WhatsApp", "WHATSAPP_ENABLED"),
];

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.warn_if_broken()?;
    let config = context.config();
    if args.json {
        return context.json(&masked(&config.shown("").unwrap_or_default()));
    }
    let mut page = Page::new(context.printer, 16);
    page.heading("Paths");
    row(
        &mut page,
        "Config",
        &context.display(&config.user_file().path),
    );
    let dotenv = config.sources().dotenv_path();
    row(&mut page, "Secrets", &context.display(&dotenv));
    let managed = config.managed_file();
    if let Some(managed) = managed.filter(|file| file.document().is_some()) {
        row(
            &mut page,
            "Administrator",
            &managed.path.display().to_string(),
        );
    }

    page.heading("API Keys");
    let mut any = false;
    for known in known_names().filter(|known| known.secret) {
        if let Some(secret) = config.secret(known.name) {
            any = true;
            let mask = display_mask(secret.expose());
            page.text
                .push_str(&format!("  {:<28} {mask}\n", known.name));
        }
    }
    if !any {
        page.text.push_str("  (none set)\n");
    }

    let (model, provider) = config.model();
    page.heading("Model");
    row(&mut page, "Model", model.unwrap_or_default());
    row(
        &mut page,
        "Provider",
        provider.unwrap_or("(derived from the model name)"),
    );
    if let Some(turns) = config.get("agent.max_turns") {
        value(&mut page, "Max turns", turns);
    }
    for (name, keys) in GROUPS {
        let rows = keys.iter();
        let rows = rows.filter_map(|(label, key)| Some((label, config.get(key)?)));
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            page.heading(name);
        }
        for (label, setting) in rows {
            value(&mut page, label, setting);
        }
    }
    if let Some(tasks) = config.get("auxiliary").and_then(Value::as_object) {
        page.heading("Auxiliary overrides");
        for (task, setting) in tasks {
            value(&mut page, task, setting);
        }
    }
    page.heading("Messaging Platforms");
    for (label, variable) in PLATFORMS {
        let set = config.secret(variable).is_some();
        row(
            &mut page,
            label,
            if set { "configured" } else { "not configured" },
        );
    }
    context.out(&page.text)
}

fn row(page: &mut Page, label: &str, value: &str) {
    page.row(label, if value.is_empty() { "(not set)" } else { value });
}

/// A value on one line, secrets masked.
fn value(page: &mut Page, label: &str, value: &Value) {
    row(page, label, &plain_text(&masked(value)).replace('\n', ", "));
}
