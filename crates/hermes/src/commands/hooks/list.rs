//! `hermes hooks list`.

use hermes_hooks::{HookSpec, OnError, script_time};
use hermes_runtime::ProfileHooks;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, one_line};

/// Longest command and pattern that are shown.
const SHOWN: usize = 60;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let found = ProfileHooks::with_gateway(context);
    if args.json {
        let hooks: Vec<Value> = found
            .hooks
            .iter()
            .map(|hook| record(hook, &found, context))
            .collect();
        return context.json(&json!({"hooks": hooks, "problems": found.problems}));
    }
    for problem in &found.problems {
        context.note(format!("Warning: {problem}"))?;
    }
    if found.hooks.is_empty() {
        context.line("There are no hooks")?;
        return context.note("Hooks are set in config.yaml under `hooks`, by event.");
    }
    let mut table = Table::new(&["Event", "Tools", "Command", "Limit", "Accepted"]);
    for hook in &found.hooks {
        let tools = match hook.matcher() {
            Some(matcher) => one_line(matcher, SHOWN),
            None if hook.event.is_of_tool() => "all".to_owned(),
            None => "-".to_owned(),
        };
        table.row(vec![
            hook.event.name().to_owned(),
            tools,
            one_line(&hook.command, SHOWN),
            format!("{} s", hook.timeout.as_secs()),
            state(hook, &found, context).to_owned(),
        ]);
    }
    context.out(&table.render())?;
    if found.unseen().next().is_some() {
        context.note(
            "Hooks that were not accepted are not run: `hermes chat` asks at a terminal, for those of \
             hooks/ `hermes gateway run`; --accept-hooks accepts them all.",
        )?;
    }
    Ok(())
}

/// Whether a hook was accepted as it is now.
fn state(hook: &HookSpec, found: &ProfileHooks, context: &Context) -> &'static str {
    let Some(acceptance) = found.accepted.find(hook.event, &hook.command) else {
        return "no";
    };
    let now = script_time(&hook.command, &context.location.user_home);
    match (now, acceptance.script_time) {
        (Some(now), Some(then)) if now > then => "yes, but the script has changed since",
        _ => "yes",
    }
}

fn record(hook: &HookSpec, found: &ProfileHooks, context: &Context) -> Value {
    let acceptance = found.accepted.find(hook.event, &hook.command);
    json!({
        "event": hook.event.name(),
        "matcher": hook.matcher(),
        "command": hook.command,
        "timeout": hook.timeout.as_secs(),
        "on_error": match hook.on_error {
            OnError::Allow => "allow",
            OnError::Block => "block",
        },
        "accepted": acceptance.is_some(),
        "accepted_at": acceptance.as_ref().and_then(|one| one.at.clone()),
        "changed_since": state(hook, found, context).contains("changed"),
    })
}
