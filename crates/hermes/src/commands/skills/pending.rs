//! `hermes skills pending`, `approve`, `reject` and `approval`: changes that wait for the user.

use hermes_config::settings::{SetRequest, set};
use hermes_home::{PendingWrite, PendingWrites};
use hermes_runtime::own_skills;
use hermes_skills::{SkillEditor, text_diff};
use hermes_tools::{apply_pending_skill, is_failure};

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
    id: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApprovalArgs {
    /// on or off
    #[arg(value_parser = named([("on", true), ("off", false)]))]
    state: Option<bool>,
}

pub(super) fn list(args: &PendingArgs, context: &Context) -> Result<()> {
    let records = waiting(context).list();
    if args.json {
        return context.json(&records);
    }
    if records.is_empty() {
        return context.line("No change waits for approval");
    }
    for record in &records {
        context.line(format!("{}  {}", record.id, visible(&record.summary)))?;
    }
    context.hint(
        "`hermes skills diff ID` shows a change, `approve ID` makes it, `reject ID` discards it",
    )
}

pub(super) fn approve(args: &WhichArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("approving a change to a skill")?;
    let store = waiting(context);
    let is_guarded = context.config().flag("skills.guard_agent_created");
    let mut failed = 0;
    for record in chosen(&args.id, &store)? {
        let result = apply_pending_skill(&record.payload, &own_skills(context), is_guarded);
        if is_failure(&result) {
            failed += 1;
            let reason = result["error"].as_str().unwrap_or_default();
            context.warn(format!("{} was not made: {}", record.id, visible(reason)))?;
        } else {
            store.discard(&record.id)?;
            context.line(format!("✓ Saved {}", record.id))?;
        }
    }
    if failed > 0 {
        return Err(CommandError::user("not every change was made")
            .hint("discard one with `hermes skills reject ID`"));
    }
    Ok(())
}

pub(super) fn reject(args: &WhichArgs, context: &Context) -> Result<()> {
    let store = waiting(context);
    for record in chosen(&args.id, &store)? {
        store.discard(&record.id)?;
        context.line(format!("✓ Discarded {}", record.id))?;
    }
    Ok(())
}

pub(super) fn approval(args: &ApprovalArgs, context: &Context) -> Result<()> {
    const KEY: &str = "skills.write_approval";
    let Some(is_on) = args.state else {
        let word = if context.config().flag(KEY) {
            "on"
        } else {
            "off"
        };
        return context.line(format!("Approval of changes to skills is {word}"));
    };
    let value = if is_on { "true" } else { "false" };
    context.refuse_setting_to_agents(KEY, Some(value))?;
    context.refuse_if_managed("config.yaml")?;
    context.ensure_home()?;
    let request = SetRequest {
        key: KEY,
        value,
        force: false,
    };
    set(&context.sources_to_write(), &request)?;
    context.line(if is_on {
        "✓ From the next session on, changes to skills need your approval"
    } else {
        "✓ From the next session on, the agent changes skills by itself"
    })
}

/// What a waiting change would do.
pub(super) fn shown_change(record: &PendingWrite, context: &Context) -> String {
    let value = |key: &str| record.payload[key].as_str().unwrap_or_default();
    let path = Some(value("file_path")).filter(|path| !path.is_empty());
    let after = match record.action.as_str() {
        "create" | "edit" => value("content").to_owned(),
        "write_file" => value("file_content").to_owned(),
        "patch" => {
            return format!("--- {}\n+++ {}", value("old_string"), value("new_string"));
        }
        _ => return record.summary.clone(),
    };
    let skills = own_skills(context);
    let editor = SkillEditor {
        skills: &skills,
        is_guarded: false,
    };
    let before = editor.current_text(value("name"), path).unwrap_or_default();
    text_diff(("now", &before), ("after", &after))
}

fn waiting(context: &Context) -> PendingWrites {
    PendingWrites::skills(&context.location.home)
}

fn chosen(id: &str, store: &PendingWrites) -> Result<Vec<PendingWrite>> {
    if id == "all" {
        let all = store.list();
        return if all.is_empty() {
            Err(CommandError::user("no change waits for approval"))
        } else {
            Ok(all)
        };
    }
    let found = store.get(id).map(|record| vec![record]);
    found.ok_or_else(|| {
        CommandError::user(format!("no change '{}' waits", one_line(id, 40)))
            .hint("`hermes skills pending` lists them")
    })
}
