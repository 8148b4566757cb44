//! Changes of an agent that wait for the user, as `hermes memory` and `hermes skills` show and decide
//! them.

use hermes_config::settings::{SetRequest, set};
use hermes_home::{PendingWrite, PendingWrites};

use crate::commands::named;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{one_line, visible};

#[derive(Debug, clap::Args)]
pub(crate) struct PendingArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WhichArgs {
    /// The id of a change, or all
    pub(crate) id: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApprovalArgs {
    /// on or off
    #[arg(value_parser = named([("on", true), ("off", false)]))]
    state: Option<bool>,
}

/// Changes of one kind.
pub(crate) struct PendingChanges {
    pub(crate) store: PendingWrites,
    /// The command that decides them, and what they change.
    pub(crate) noun: &'static str,
    /// What can be done with one.
    pub(crate) ways: &'static str,
    /// The setting by which they wait.
    pub(crate) setting: &'static str,
}

impl PendingChanges {
    pub(crate) fn list(&self, args: &PendingArgs, context: &Context) -> Result<()> {
        let records = self.store.list();
        if args.json {
            return context.json(&records);
        }
        if records.is_empty() {
            return context.line("No change waits for approval");
        }
        for record in &records {
            context.line(format!("{}  {}", record.id, visible(&record.summary)))?;
        }
        context.hint(self.ways)
    }

    pub(crate) fn reject(&self, args: &WhichArgs, context: &Context) -> Result<()> {
        for record in self.chosen(&args.id)? {
            self.store.discard(&record.id)?;
            context.line(format!("✓ Discarded {}", record.id))?;
        }
        Ok(())
    }

    /// Shows whether changes wait, or says whether they are to.
    pub(crate) fn approval(&self, args: &ApprovalArgs, context: &Context) -> Result<()> {
        let (key, noun) = (self.setting, self.noun);
        let Some(is_on) = args.state else {
            let word = if context.config().flag(key) {
                "on"
            } else {
                "off"
            };
            return context.line(format!("Approval of changes to {noun} is {word}"));
        };
        let value = if is_on { "true" } else { "false" };
        context.refuse_setting_to_agents(key, Some(value))?;
        context.refuse_if_managed("config.yaml")?;
        context.ensure_home()?;
        let request = SetRequest {
            key,
            value,
            force: false,
        };
        set(&context.sources_to_write(), &request)?;
        context.line(if is_on {
            format!("✓ From the next session on, changes to {noun} need your approval")
        } else {
            format!("✓ From the next session on, the agent changes {noun} by itself")
        })
    }

    /// The change of an id, or all.
    pub(crate) fn chosen(&self, id: &str) -> Result<Vec<PendingWrite>> {
        if id == "all" {
            let all = self.store.list();
            return if all.is_empty() {
                Err(CommandError::user("no change waits for approval"))
            } else {
                Ok(all)
            };
        }
        let found = self.store.get(id).map(|record| vec![record]);
        found.ok_or_else(|| {
            CommandError::user(format!("no change '{}' waits", one_line(id, 40)))
                .hint(format!("`hermes {} pending` lists them", self.noun))
        })
    }
}
