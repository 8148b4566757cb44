//! `hermes config check`: what is set, what is missing, and what has no effect.

use hermes_board::WorkspaceRules;
use hermes_config::dotenv::{KnownName, known_names};
use hermes_config::python_runtime;
use hermes_config::schema::CONFIG_VERSION;
use hermes_config::settings::{Problem, version_of};
use hermes_runtime::workspace_rules;
use serde_json::json;

use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also list the variables that are not set
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let problems = context.listed_problems();
    let config = context.config();
    let version = version_of(config.user_file().document());
    let usable = context.config_is_usable();
    let (set, unset): (Vec<_>, Vec<_>) =
        known_names().partition(|known| config.secret(known.name).is_some());
    let unknown = problems
        .iter()
        .filter(|p| matches!(p, Problem::UnknownKey { .. }))
        .count();
    let python_only = python_runtime::in_use(config);
    let roots = workspace_rules(context).complaints;
    if args.json {
        let mut problems: Vec<_> = problems
            .iter()
            .map(|p| json!({"message": p.to_string(), "key": p.key(), "hint": p.hint()}))
            .collect();
        problems.extend(
            roots
                .iter()
                .map(|text| json!({"message": text, "key": "kanban.workspace_roots", "hint": WorkspaceRules::ROOTS_HINT})),
        );
        context.json(&json!({
            "file": config.user_file().path.display().to_string(),
            "parses": usable,
            "version": version,
            "current_version": CONFIG_VERSION,
            "unknown_keys": unknown,
            "problems": problems,
            "python_only": python_only,
            "variables_set": set.iter().map(|known| known.name).collect::<Vec<_>>(),
        }))?;
    } else {
        let printer = &context.printer;
        printer.line("Configuration")?;
        printer.line(format!("  {}", version_line(version, usable)))?;
        printer.line("  Required: none")?;
        printer.line(format!(
            "  Optional: {} of {} set",
            set.len(),
            set.len() + unset.len()
        ))?;
        for known in &set {
            printer.line(format!("    ✓ {}", described(known)))?;
        }
        for known in unset.iter().filter(|_| args.all) {
            printer.line(format!("    ○ {}", described(known)))?;
        }
        for problem in problems {
            printer.line(format!("  ⚠ {problem}"))?;
            if let Some(hint) = problem.hint() {
                printer.line(format!("    → {hint}"))?;
            }
        }
        for text in &roots {
            printer.line(format!("  ⚠ {text}"))?;
            printer.line(format!("    → {}", WorkspaceRules::ROOTS_HINT))?;
        }
        for name in &python_only {
            printer.line(format!("  ○ {name}: {}", python_runtime::NOTE))?;
        }
        printer.line(format!("  Unknown keys: {unknown}"))?;
    }
    CommandError::silent_unless(usable)
}

fn described(known: &KnownName) -> String {
    if known.python {
        format!("{} ({})", known.name, python_runtime::NOTE)
    } else {
        known.name.to_owned()
    }
}

fn version_line(version: i64, usable: bool) -> String {
    if !usable {
        return "Config version: unknown, the file does not parse".to_owned();
    }
    match version.cmp(&CONFIG_VERSION) {
        std::cmp::Ordering::Less => {
            format!("Config version: {version} → {CONFIG_VERSION} (update available)")
        }
        std::cmp::Ordering::Equal => format!("Config version: {version} ✓"),
        std::cmp::Ordering::Greater => {
            format!("Config version: {version}, newer than {CONFIG_VERSION}; used as is")
        }
    }
}
