//! `hermes doctor`: checks as a table or as JSON. Read-only without `--fix`.

use std::process::ExitCode;

use serde_json::json;

use crate::context::Context;
use crate::doctor::{Row, apply_fixes, examine};
use crate::error::{CommandError, Result};
use crate::ui::{Mark, heading};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Mend what can be mended safely
    #[arg(long)]
    fix: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let mut rows = examine(context);
    let mut fixed = Vec::new();
    if args.fix {
        fixed = apply_fixes(context, &rows);
        // A fresh look: settings and files are not what they were.
        rows = examine(&context.anew());
    }
    let problems = rows.iter().filter(|row| row.mark == Mark::Problem).count();
    if args.json {
        context.printer.json(&json!({
            "ok": problems == 0,
            "fixed": fixed,
            "rows": rows.iter().map(Row::to_json).collect::<Vec<_>>(),
        }))?;
    } else {
        print(context, &rows, &fixed)?;
    }
    if problems == 0 {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(CommandError::silent())
    }
}

fn print(context: &Context, rows: &[Row], fixed: &[String]) -> Result<()> {
    let mut out = String::new();
    let mut section = "";
    for row in rows {
        if row.section != section {
            section = row.section;
            out.push_str(&format!("{}\n", heading(&context.printer, section)));
        }
        out.push_str(&format!(
            "  {} {}\n",
            row.mark.painted(&context.printer),
            row.text
        ));
        for hint in &row.hints {
            out.push_str(&format!("    → {hint}\n"));
        }
    }
    for done in fixed {
        out.push_str(&format!("  ✓ fixed: {done}\n"));
    }
    let issues: Vec<&Row> = rows
        .iter()
        .filter(|row| row.mark == Mark::Problem)
        .collect();
    out.push('\n');
    if issues.is_empty() {
        out.push_str("No problems found.\n");
    } else {
        out.push_str(&format!("{} to mend:\n", issues.len()));
        for (number, row) in issues.iter().enumerate() {
            out.push_str(&format!("  {}. {}\n", number + 1, row.text));
        }
        if rows.iter().any(|row| row.fix.is_some()) {
            out.push_str("`hermes doctor --fix` mends what can be mended safely.\n");
        }
    }
    context.printer.out(&out)?;
    Ok(())
}
