//! `hermes memory pending`, `approve`, `reject` and `approval`: changes that wait for the user.

use hermes_config::settings::{SetRequest, set};
use hermes_home::{PendingWrite, PendingWrites};
use hermes_session::memory::MemoryFiles;
use hermes_tools::{apply_pending_memory, is_failure};

use crate::commands::named;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{counted, one_line, visible};

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
        let content = visible(&record.summary);
        context.line(format!("{}  {content}", record.id))?;
    }
    context.hint("`hermes memory approve ID` makes a change, `hermes memory reject ID` discards it")
}

pub(super) fn approve(args: &WhichArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("approving a change to memory")?;
    let files = MemoryFiles::resolve(&context.location.home, context.config());
    let store = waiting(context);
    let mut failed = 0;
    for record in chosen(&args.id, &store)? {
        let result = apply_pending_memory(&record.payload, &files);
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
        let message = format!("{} still for approval", wait(failed));
        return Err(CommandError::user(message)
            .hint("make room, or discard it with `hermes memory reject ID`"));
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
    const KEY: &str = "memory.write_approval";
    let Some(is_on) = args.state else {
        let word = if context.config().flag(KEY) {
            "on"
        } else {
            "off"
        };
        return context.line(format!("Approval of changes to memory is {word}"));
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
        "✓ From the next session on, changes to memory need your approval"
    } else {
        "✓ From the next session on, the agent changes memory by itself"
    })
}

fn waiting(context: &Context) -> PendingWrites {
    PendingWrites::memory(&context.location.home)
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
            .hint("`hermes memory pending` lists them")
    })
}

fn wait(count: usize) -> String {
    match count {
        1 => "1 change waits".to_owned(),
        count => format!("{} wait", counted(count, "change")),
    }
}
