//! `hermes memory status`.

use std::sync::Arc;

use hermes_home::PendingWrites;
use hermes_memory::NotUsable;
use hermes_runtime::configured_memory;
use hermes_session::memory::{MemoryFiles, MemoryTarget};
use hermes_text::with_separators;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::ui::visible;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let config = context.config();
    let files = MemoryFiles::resolve(&context.location.home, config);
    let waiting = PendingWrites::memory(&context.location.home).list().len();
    let provider = config.text("memory.provider").trim();
    let problem = problem(context);
    if args.json {
        let files: Vec<Value> = MemoryTarget::ALL
            .into_iter()
            .map(|target| row(target, &files))
            .collect();
        return context.json(&json!({
            "files": files,
            "provider": provider,
            "provider_problem": problem.map(|problem| problem.reason),
            "write_approval": config.flag("memory.write_approval"),
            "pending": waiting,
        }));
    }
    for target in MemoryTarget::ALL {
        show(target, &files, context)?;
    }
    if waiting > 0 {
        context.line(format!(
            "{} for approval; `hermes memory pending` lists them.",
            match waiting {
                1 => "1 change waits".to_owned(),
                count => format!("{count} changes wait"),
            }
        ))?;
    }
    if provider.is_empty() {
        return Ok(());
    }
    let shown = visible(provider);
    match problem {
        None => context.line(format!("Memory service: {shown}")),
        Some(problem) => {
            context.warn(format!(
                "the memory service '{shown}' is not used: {}",
                problem.reason
            ))?;
            context.hint(problem.hint)
        }
    }
}

/// Why the service of the settings cannot be used, as far as that can be said without asking it.
fn problem(context: &Context) -> Option<NotUsable> {
    let redactor = Arc::new(context.redactor());
    configured_memory(context, "cli", &redactor)?.err()
}

fn show(target: MemoryTarget, files: &MemoryFiles, context: &Context) -> Result<()> {
    let path = context.display(&files.path(target));
    let Some(limit) = files.limit(target) else {
        return context.line(format!("{path}: switched off by {}", target.setting()));
    };
    let stored = match files.read(target) {
        Ok(stored) => stored,
        Err(error) => {
            context.line(format!("{path}: cannot be used"))?;
            return context.warn(error.to_string());
        }
    };
    context.line(format!(
        "{path}: {}, {} of {} characters ({}%)",
        match stored.entries.len() {
            1 => "1 entry".to_owned(),
            count => format!("{count} entries"),
        },
        with_separators(stored.chars),
        with_separators(limit),
        stored.percent()
    ))?;
    for entry in &stored.entries {
        let text = visible(entry).replace('\n', "\n    ");
        context.line(format!("  - {text}"))?;
    }
    Ok(())
}

fn row(target: MemoryTarget, files: &MemoryFiles) -> Value {
    let mut row = json!({
        "target": target.as_str(),
        "path": files.path(target),
        "enabled": files.limit(target).is_some(),
        "limit": files.limit(target),
    });
    match files.read(target) {
        Ok(stored) => {
            row["chars"] = json!(stored.chars);
            row["entries"] = json!(stored.entries);
        }
        Err(error) => row["problem"] = json!(error.to_string()),
    }
    row
}
