//! `hermes doctor`: checks as a table or as JSON. Read-only without `--fix`. With `--child-env`, the
//! receipt of a child environment instead.

use std::ffi::OsStr;

use hermes_proc::env::{Fate, Receipt, ReceiptRow, SearchPath};
use hermes_proc::{EnvPlan, EnvRequest, SpawnClass};
use serde_json::json;

use crate::context::Context;
use crate::doctor::{Row, Scope, apply_fixes, examine};
use crate::error::{CommandError, Result};
use crate::sandbox_view::SandboxView;
use crate::ui::{Mark, Table, cut, heading};

#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    /// Fix what can be fixed safely
    #[arg(long)]
    fix: bool,
    /// Check the child environments of every profile
    #[arg(long)]
    all_profiles: bool,
    /// Also ask the model provider whether it answers and accepts the key
    #[arg(long)]
    online: bool,
    /// Mark a security advisory of the Python runtime as read, and do nothing else
    #[arg(long, value_name = "ID", conflicts_with_all = ["fix", "all_profiles", "online"])]
    ack: Option<String>,
    /// Show which variables child processes of a class get, and why (A to G; A if no class is
    /// given)
    #[arg(
        long,
        value_name = "CLASS",
        num_args = 0..=1,
        default_missing_value = "A",
        conflicts_with_all = ["fix", "all_profiles", "online", "ack"]
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
    if let Some(id) = &args.ack {
        return acknowledge(id, context);
    }
    let scope = Scope {
        all_profiles: args.all_profiles,
        online: args.online,
    };
    let mut rows = examine(context, scope);
    let mut fixed = Vec::new();
    if args.fix {
        fixed = apply_fixes(context, &rows);
        // A fresh look: settings and files are not what they were.
        rows = examine(&context.reloaded(), scope);
    }
    let problems = rows.iter().filter(|row| row.mark == Mark::Problem).count();
    if args.json {
        context.json(&json!({
            "ok": problems == 0,
            "fixed": fixed,
            "rows": rows,
        }))?;
    } else {
        show_rows(context, &rows, &fixed)?;
    }
    CommandError::silent_unless(problems == 0)
}

/// Advisories that the Python runtime knows. They are about packages of Python, of which this
/// program has none.
const ADVISORIES: [&str; 1] = ["shai-hulud-2026-05"];

/// Keeps the Python runtime on this home from warning of an advisory again.
fn acknowledge(id: &str, context: &Context) -> Result<()> {
    let id = id.trim();
    if !ADVISORIES.contains(&id) {
        return Err(CommandError::user(format!("no such advisory: '{id}'"))
            .hint(format!("known: {}", ADVISORIES.join(", "))));
    }
    context.refuse_if_managed("config.yaml")?;
    context.refuse_setting_to_agents("security.acked_advisories", Some(id))?;
    context.ensure_home()?;
    let sources = context.sources_to_write();
    hermes_config::settings::append_to_list(&sources, "security.acked_advisories", id)?;
    context.line(format!("✓ {id} is marked as read"))
}

/// Columns of an entry of PATH; with its origin a line has at most 80.
const DIRECTORY_WIDTH: usize = 36;

/// Columns of a name; with fate and rule a line has at most 80.
const NAME_WIDTH: usize = 34;

fn child_env(context: &Context, class: SpawnClass, as_json: bool) -> Result<()> {
    let builder = (*context.environment()).clone().of_agent(true);
    for warning in builder.warnings() {
        context.warn(warning)?;
    }
    // The login shell of a session has its share, above all of PATH.
    let overlay = if runs_for_agent(class) {
        Some(hermes_runtime::login_overlay(context)?)
    } else {
        None
    };
    let plan = EnvPlan::build(&EnvRequest {
        overlay: overlay.as_ref(),
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
                "Sandbox ({}): {summary}.\n`hermes sandbox policy` shows what it allows.",
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
        "{}\n\n{}\n{}{} stripped, {} set, {} kept. Values are never shown, except PATH's.\n",
        heading(context.printer, &title),
        table.render(),
        search_path_table(&receipt.search_path),
        count(Fate::Stripped),
        count(Fate::Set),
        count(Fate::Kept),
    )
}

/// Which entry of PATH came from where; nothing where the call site gives PATH as it is.
fn search_path_table(path: &SearchPath) -> String {
    if path.entries.is_empty() {
        return String::new();
    }
    let shown = |directory: &OsStr| {
        let text: String = directory.to_string_lossy().escape_debug().collect();
        cut(&text, DIRECTORY_WIDTH)
    };
    let mut table = Table::new(&["PATH entry", "From"]);
    for (directory, origin) in &path.entries {
        table.row(vec![shown(directory), origin.text().to_owned()]);
    }
    for (directory, rule) in &path.dropped {
        table.row(vec![shown(directory), format!("left out, {}", rule.text())]);
    }
    format!("{}\n", table.render())
}

/// Prints the results of checks under their headings, and what is left to do.
pub(super) fn show_rows(context: &Context, rows: &[Row], fixed: &[String]) -> Result<()> {
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
