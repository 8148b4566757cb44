//! `hermes memory pending`, `approve`, `reject` and `approval`: changes that wait for the user.

use hermes_home::PendingWrites;
use hermes_session::memory::MemoryFiles;
use hermes_tools::{apply_pending_memory, is_failure};

use crate::commands::pending_changes::{ApprovalArgs, PendingArgs, PendingChanges, WhichArgs};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{counted, visible};

/// Changes to memory that wait.
fn pending(context: &Context) -> PendingChanges {
    PendingChanges {
        store: PendingWrites::memory(&context.location.home),
        noun: "memory",
        ways: "`hermes memory approve ID` makes a change, `hermes memory reject ID` discards it",
        setting: "memory.write_approval",
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
    context.refuse_to_agents("approving a change to memory")?;
    let files = MemoryFiles::resolve(&context.location.home, context.config());
    let waiting = pending(context);
    let mut failed = 0;
    for record in waiting.chosen(&args.id)? {
        let result = apply_pending_memory(&record.payload, &files);
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
        let message = format!("{} still for approval", wait(failed));
        return Err(CommandError::user(message)
            .hint("make room, or discard it with `hermes memory reject ID`"));
    }
    Ok(())
}

fn wait(count: usize) -> String {
    match count {
        1 => "1 change waits".to_owned(),
        count => format!("{} wait", counted(count, "change")),
    }
}
