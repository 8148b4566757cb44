//! The verbs about bundled skills: `reset`, `list-modified`, `diff`, `opt-out`, `opt-in`,
//! `repair-official`.

use hermes_home::PendingWrites;
use hermes_skills::bundled::{self, BundledState, OPT_OUT_MARK};
use serde_json::{Value, json};

use super::pending::shown_change;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{confirm, counted, one_line, visible};

#[derive(Debug, clap::Args)]
pub(crate) struct ResetArgs {
    /// The bundled skill
    name: String,
    /// Replace your copy with the bundled one; yours is kept in skills/.archive
    #[arg(long)]
    restore: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ModifiedArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// The bundled skill, or the id of a waiting change
    name: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OptOutArgs {
    /// Delete the copies that you did not change
    #[arg(long)]
    remove: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OptInArgs {
    /// Copy them now instead of at the next start
    #[arg(long)]
    sync: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RepairArgs {
    /// The skill, or all
    name: String,
    /// Replace your copy
    #[arg(long)]
    restore: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn reset(args: &ResetArgs, context: &Context) -> Result<()> {
    let question = format!("Replace your copy of {}?", one_line(&args.name, 64));
    if args.restore && !args.yes && confirm(context.printer, &question)? == Some(false) {
        return Err(CommandError::user("nothing was changed"));
    }
    context.ensure_home()?;
    let kept = bundled::reset(&args.name, &context.location.home, args.restore)?;
    if let Some(kept) = kept {
        context.note(format!("Your copy is kept in {}", context.display(&kept)))?;
    }
    context.line(if args.restore {
        format!("✓ {} is as bundled again", args.name)
    } else {
        format!("✓ {} follows the bundled version again", args.name)
    })
}

pub(super) fn list_modified(args: &ModifiedArgs, context: &Context) -> Result<()> {
    let states = bundled::states(&context.location.home)?;
    let modified: Vec<_> = states
        .into_iter()
        .filter(|(_, state)| matches!(state, BundledState::Modified | BundledState::Deleted))
        .collect();
    if args.json {
        let rows = modified.iter().map(|(skill, state)| {
            json!({"name": skill.name, "path": skill.path, "deleted": *state == BundledState::Deleted})
        });
        return context.json(&Value::Array(rows.collect()));
    }
    if modified.is_empty() {
        return context.line("No bundled skill was changed");
    }
    for (skill, state) in modified {
        let what = if state == BundledState::Deleted {
            "deleted"
        } else {
            "changed"
        };
        context.line(format!("{} ({what})", skill.name))?;
    }
    context.hint("`hermes skills diff NAME` shows a change, `hermes skills reset NAME` undoes it")
}

pub(super) fn diff(args: &DiffArgs, context: &Context) -> Result<()> {
    let waiting = PendingWrites::skills(&context.location.home);
    if let Some(record) = waiting.get(&args.name) {
        return context.line(visible(&shown_change(&record, context)));
    }
    match bundled::diff(&args.name, &context.location.home)? {
        Some(diff) => context.out(&visible(&diff)),
        None => context.line(format!("{} is as bundled", args.name)),
    }
}

pub(super) fn opt_out(args: &OptOutArgs, context: &Context) -> Result<()> {
    let home = &context.location.home;
    let question = "Delete the bundled skills that you did not change?";
    if args.remove && !args.yes && confirm(context.printer, question)? == Some(false) {
        return Err(CommandError::user("nothing was changed"));
    }
    context.ensure_home()?;
    hermes_fs::touch(&home.join(OPT_OUT_MARK), 0o644)?;
    context.line("✓ Bundled skills stay out of this profile")?;
    if args.remove {
        let removed = bundled::remove_unchanged(home)?;
        context.line(format!(
            "  Deleted {}",
            counted(removed.len(), "unchanged skill")
        ))?;
    }
    Ok(())
}

pub(super) fn opt_in(args: &OptInArgs, context: &Context) -> Result<()> {
    let home = &context.location.home;
    context.ensure_home()?;
    hermes_fs::remove_file_if_present(&home.join(OPT_OUT_MARK))?;
    if args.sync {
        let copied = bundled::sync(home)?;
        return context.line(format!("✓ {} synced", counted(copied, "bundled skill")));
    }
    context.line("✓ Bundled skills are copied into this profile at the next conversation")
}

pub(super) fn repair_official(args: &RepairArgs, _: &Context) -> Result<()> {
    let what = if args.restore { "restored" } else { "repaired" };
    let asked = if args.yes {
        ""
    } else {
        ", so nothing was asked"
    };
    Err(CommandError::user(format!(
        "'{}' was not {what}: there are no optional skills in this version{asked}",
        one_line(&args.name, 64)
    ))
    .hint("`hermes skills reset NAME --restore` restores a bundled skill"))
}
