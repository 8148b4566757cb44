//! `hermes config show`: the settings in effect, for people and for programs.

use hermes_config::dotenv::known_names;
use hermes_config::settings::{masked, plain_text};
use hermes_secret::display_mask;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::ui::heading;

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
        return context.json(&masked(config.tree()));
    }
    let mut page = PageText {
        out: String::new(),
        context,
    };
    page.paths();
    page.keys();
    page.model();
    page.groups();
    page.auxiliary();
    page.platforms();
    context.out(&page.out)
}

/// The page under construction.
struct PageText<'a> {
    out: String,
    context: &'a Context,
}

impl PageText<'_> {
    fn title(&mut self, title: &str) {
        self.out
            .push_str(&format!("{}\n", heading(self.context.printer, title)));
    }

    fn line(&mut self, label: &str, value: &str) {
        let value = if value.is_empty() { "(not set)" } else { value };
        self.out
            .push_str(&format!("  {:<16} {value}\n", format!("{label}:")));
    }

    /// A value on one line, secrets masked.
    fn value(&mut self, label: &str, value: &Value) {
        self.line(label, &plain_text(&masked(value)).replace('\n', ", "));
    }

    fn paths(&mut self) {
        let config = self.context.config();
        self.title("Paths");
        self.line("Config", &self.context.display(&config.user_file().path));
        self.line(
            "Secrets",
            &self.context.display(&config.sources().dotenv_path()),
        );
        if let Some(managed) = config
            .managed_file()
            .filter(|file| file.document().is_some())
        {
            self.line("Administrator", &managed.path.display().to_string());
        }
    }

    fn keys(&mut self) {
        self.title("API Keys");
        let mut any = false;
        for known in known_names().filter(|known| known.secret) {
            if let Some(secret) = self.context.config().secret(known.name) {
                any = true;
                let mask = display_mask(secret.expose());
                self.out.push_str(&format!("  {:<28} {mask}\n", known.name));
            }
        }
        if !any {
            self.out.push_str("  (none set)\n");
        }
    }

    fn model(&mut self) {
        let config = self.context.config();
        let (model, provider) = config.model();
        self.title("Model");
        self.line("Model", model.unwrap_or_default());
        self.line("Provider", provider.unwrap_or("(by the model's name)"));
        if let Some(turns) = config.get("agent.max_turns") {
            self.value("Max turns", turns);
        }
    }

    fn groups(&mut self) {
        for (name, keys) in GROUPS {
            let config = self.context.config();
            let rows: Vec<_> = keys
                .iter()
                .filter_map(|(label, key)| Some((label, config.get(key)?)))
                .collect();
            if !rows.is_empty() {
                self.title(name);
            }
            for (label, value) in rows {
                self.value(label, value);
            }
        }
    }

    fn auxiliary(&mut self) {
        let tasks = self
            .context
            .config()
            .get("auxiliary")
            .and_then(Value::as_object);
        if let Some(tasks) = tasks {
            self.title("Auxiliary overrides");
            for (task, value) in tasks {
                self.value(task, value);
            }
        }
    }

    fn platforms(&mut self) {
        self.title("Messaging Platforms");
        for (label, variable) in PLATFORMS {
            let set = self.context.config().secret(variable).is_some();
            self.line(label, if set { "configured" } else { "not configured" });
        }
    }
}
