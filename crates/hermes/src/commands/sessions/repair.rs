//! `hermes sessions repair`.

use hermes_session::{Health, RepairMethod, RepairReport, check, repair};
use serde_json::json;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::visible;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Change nothing; exit with 1 if there is something to repair
    #[arg(long)]
    check_only: bool,
    /// Do not keep a copy of the original file
    #[arg(long)]
    no_backup: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let home = &context.location.home;
    let health = check(home)?;
    let findings = match &health {
        Health::Damaged(findings) => findings.as_slice(),
        Health::Missing | Health::Sound => &[],
    };
    if !args.json {
        say_health(context, &health)?;
    }
    if args.check_only || findings.is_empty() {
        if args.json {
            let state = match health {
                Health::Missing => "missing",
                Health::Sound => "sound",
                Health::Damaged(_) => "damaged",
            };
            context.json(&json!({"state": state, "findings": findings}))?;
        }
        return CommandError::silent_unless(findings.is_empty());
    }
    let repaired = repair(home, !args.no_backup)?;
    if args.json {
        context.json(&as_json(&repaired))
    } else {
        say_repaired(context, &repaired)
    }
}

fn say_health(context: &Context, health: &Health) -> Result<()> {
    match health {
        Health::Missing => context.line("There are no sessions yet")?,
        Health::Sound => context.line("✓ The session database is sound")?,
        Health::Damaged(findings) => {
            context.line("✗ The session database is damaged:")?;
            for finding in findings {
                context.line(format!("  {}", visible(finding)))?;
            }
        }
    }
    Ok(())
}

fn say_repaired(context: &Context, repaired: &RepairReport) -> Result<()> {
    if let Some(copy) = &repaired.copy {
        let line = format!("  Copy of the original file: {}", context.display(copy));
        context.line(line)?;
    }
    let done = match repaired.method {
        // Somebody else was faster.
        None => "✓ Nothing left to repair".to_owned(),
        Some(RepairMethod::InPlace) => {
            "✓ Repaired: all sessions and messages are intact".to_owned()
        }
        Some(RepairMethod::Salvaged(saved)) => format!(
            "✓ Recovered into a new file: {} sessions, {} messages",
            saved.sessions, saved.messages
        ),
    };
    context.line(done)
}

fn as_json(repaired: &RepairReport) -> serde_json::Value {
    let (how, saved) = match repaired.method {
        None => ("nothing", None),
        Some(RepairMethod::InPlace) => ("in_place", None),
        Some(RepairMethod::Salvaged(saved)) => ("salvaged", Some(saved)),
    };
    json!({
        "state": "mended",
        "findings": repaired.findings,
        "how": how,
        "salvaged": saved,
        "copy": repaired.copy,
    })
}
