//! `hermes skills pending`, `approve`, `reject` and `approval`: changes that wait for the user.

use hermes_home::{PendingWrite, PendingWrites};
use hermes_runtime::own_skills;
use hermes_skills::{SkillEditor, text_diff};
use hermes_tools::{apply_pending_skill, is_failure};

use crate::commands::pending_changes::{ApprovalArgs, PendingArgs, PendingChanges, WhichArgs};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::visible;

/// Changes to skills that wait.
fn pending(context: &Context) -> PendingChanges {
    PendingChanges {
        store: PendingWrites::skills(&context.location.home),
        noun: "skills",
        ways: "`hermes skills diff ID` shows a change, `approve ID` makes it, `reject ID` discards it",
        setting: "skills.write_approval",
    }
}

pub(super) fn list(args: &PendingArgs, context: &Context) -> Result<()> {
    pending(context).list(args, context)
}

pub(super) fn reject(args: &WhichArgs, context: &Context) -> Result<()> {
    pending(context).reject(args, context)
}

pub(super) fn approval(args: &ApprovalArgs, context: &Context) -> Result<()> {
    pending(context).approval(args, context)
}

pub(super) fn approve(args: &WhichArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("approving a change to a skill")?;
    let waiting = pending(context);
    let is_guarded = context.config().flag("skills.guard_agent_created");
    let mut failed = 0;
    for record in waiting.chosen(&args.id)? {
        let result = apply_pending_skill(&record.payload, &own_skills(context), is_guarded);
        if is_failure(&result) {
            failed += 1;
            let reason = result["error"].as_str().unwrap_or_default();
            context.warn(format!("{} was not made: {}", record.id, visible(reason)))?;
        } else {
            waiting.store.discard(&record.id)?;
            context.line(format!("✓ Saved {}", record.id))?;
        }
    }
    if failed > 0 {
        return Err(CommandError::user("not every change was made")
            .hint("discard one with `hermes skills reject ID`"));
    }
    Ok(())
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
