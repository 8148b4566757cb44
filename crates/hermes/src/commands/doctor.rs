//! `hermes doctor`: checks as a table or as JSON. Read-only without `--fix`. With `--child-env`, the
//! receipt of a child environment instead.

use hermes_proc::env::{Fate, Receipt, ReceiptRow};
use hermes_proc::{EnvPlan, EnvRequest, SpawnClass};
use serde_json::json;

use crate::context::Context;
use crate::doctor::{Row, apply_fixes, examine};
use crate::error::{CommandError, Result};
use crate::sandbox_view::SandboxView;
use crate::ui::{Mark, Table, cut, heading};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Fix what can be fixed safely
    #[arg(long)]
    fix: bool,
    /// Check the child environments of every profile
    #[arg(long)]
    all_profiles: bool,
    /// Show which variables child processes of a class get, and why (A to G; A if no class is
    /// given)
    #[arg(
        long,
        value_name = "CLASS",
        num_args = 0..=1,
        default_missing_value = "A",
        conflicts_with_all = ["fix", "all_profiles"]
    )]
    child_env: Option<SpawnClass>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    if let Some(class) = args.child_env {
        return child_env(context, class, args.json);
    }
    let mut rows = examine(context, args.all_profiles);
    let mut fixed = Vec::new();
    if args.fix {
        fixed = apply_fixes(context, &rows);
        // A fresh look: settings and files are not what they were.
        rows = examine(&context.reloaded(), args.all_profiles);
    }
    let problems = rows.iter().filter(|row| row.mark == Mark::Problem).count();
    if args.json {
        context.json(&json!({
            "ok": problems == 0,
            "fixed": fixed,
            "rows": rows,
        }))?;
    } else {
        print(context, &rows, &fixed)?;
    }
    CommandError::silent_unless(problems == 0)
}

/// Columns of a name; with fate and rule a line has at most 80.
const NAME_WIDTH: usize = 34;

fn child_env(context: &Context, class: SpawnClass, as_json: bool) -> Result<()> {
    let builder = context.environment();
    for warning in builder.warnings() {
        context.warn(warning)?;
    }
    let plan = EnvPlan::build(&EnvRequest {
        // The agent's commands are told apart by it; a real one is random.
        exec_id: runs_for_agent(class).then_some("0000000000000000"),
        ..builder.request(class)
    });
    // What confines them besides their variables.
    let sandbox = runs_for_agent(class).then(|| SandboxView::of(context));
    if as_json {
        let mut receipt = plan.receipt().to_json();
        if let Some(sandbox) = sandbox {
            receipt["sandbox"] = sandbox.to_json();
        }
        context.json(&receipt)?;
    } else {
        context.out(&child_env_table(context, plan.receipt()))?;
        if let Some(sandbox) = sandbox {
            let summary = sandbox.summary();
            context.line(format!(
                "Sandbox ({}): {summary}. `hermes sandbox policy` shows what it allows.",
                sandbox.mode.word()
            ))?;
        }
    }
    Ok(())
}

fn runs_for_agent(class: SpawnClass) -> bool {
    matches!(class, SpawnClass::ToolShell | SpawnClass::ScriptSandbox)
}

fn child_env_table(context: &Context, receipt: &Receipt) -> String {
    let class = receipt.class();
    let title = format!("Child environment, class {class}: {}", class.describe());
    let mut rows: Vec<ReceiptRow<'_>> = receipt.rows().collect();
    // What is missing first: that is what people come here for.
    rows.sort_by_key(|row| match row.fate {
        Fate::Stripped => 0,
        Fate::Set => 1,
        Fate::Kept => 2,
    });
    let mut table = Table::new(&["Variable", "Fate", "Rule"]);
    for row in rows {
        let name: String = row.name.to_string_lossy().escape_debug().collect();
        table.row(vec![
            cut(&name, NAME_WIDTH),
            row.fate.name().to_owned(),
            row.rule.text().to_owned(),
        ]);
    }
    let count = |fate| receipt.count(fate);
    format!(
        "{}\n\n{}\n{} stripped, {} set, {} kept. Values are never shown.\n",
        heading(context.printer, &title),
        table.render(),
        count(Fate::Stripped),
        count(Fate::Set),
        count(Fate::Kept),
    )
}

fn print(context: &Context, rows: &[Row], fixed: &[String]) -> Result<()> {
    let mut out = String::new();
    let mut section = "";
    for row in rows {
        if row.section != section {
            section = row.section;
            out.push_str(&format!("{}\n", heading(context.printer, section)));
        }
        out.push_str(&format!(
            "  {} {}\n",
            row.mark.painted(context.printer),
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
        out.push_str(&format!("{} to fix:\n", issues.len()));
        for (number, row) in issues.iter().enumerate() {
            out.push_str(&format!("  {}. {}\n", number + 1, row.text));
        }
        if rows.iter().any(|row| row.fix.is_some()) {
            out.push_str("`hermes doctor --fix` fixes what can be fixed safely.\n");
        }
    }
    context.out(&out)
}
