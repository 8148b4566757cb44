//! `hermes hooks test`.

use std::path::PathBuf;

use hermes_hooks::{
    HookEnd, HookEvent, HookReply, HookRun, HookSpec, Occasion, gateway_payload, run_hook,
};
use hermes_runtime::{ProfileHooks, hook_host};
use serde_json::{Map, Value, json};

use super::samples::Sample;
use crate::commands::named;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{Page, one_line};

/// Longest text that is shown of a stream.
const SHOWN: usize = 400;
/// Largest file of an event.
const LIMIT: u64 = 4 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The event
    #[arg(value_parser = named(all_events()), hide_possible_values = true)]
    event: HookEvent,
    /// The tool that the event is about
    #[arg(long, value_name = "TOOL")]
    for_tool: Option<String>,
    /// JSON file with fields of the event
    #[arg(long, value_name = "FILE")]
    payload_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Events of conversations and of gateways, by name.
fn all_events() -> impl Iterator<Item = (&'static str, HookEvent)> {
    let events = HookEvent::ALL.into_iter().chain(HookEvent::OF_GATEWAY);
    events.map(|event| (event.name(), event))
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("running hooks")?;
    let mut sample = Sample::of(args.event, args.for_tool.as_deref());
    if let Some(file) = &args.payload_file {
        sample.overlay(fields(file)?);
    }
    let tool = sample.tool.as_ref().map(|(tool, _)| tool.as_str());
    let found = ProfileHooks::with_gateway(context);
    let hooks = found.hooks.iter();
    let hooks: Vec<&HookSpec> = hooks
        .filter(|hook| hook.event == args.event && hook.is_for_tool(tool))
        .collect();
    if hooks.is_empty() {
        let event = args.event.name();
        let of_tool = tool.map_or_else(String::new, |tool| {
            format!(" for the tool {}", one_line(tool, 60))
        });
        return Err(
            CommandError::user(format!("there is no hook of {event}{of_tool}"))
                .hint("`hermes hooks list` shows the hooks"),
        );
    }
    let runs: Vec<(&HookSpec, HookRun)> = hooks
        .into_iter()
        .map(|hook| (hook, try_hook(hook, &sample, context)))
        .collect();
    if args.json {
        let rows: Vec<Value> = runs.iter().map(|(hook, run)| record(hook, run)).collect();
        context.json(&rows)?;
    } else {
        let mut page = Page::new(context.printer, 10);
        for (hook, run) in &runs {
            page.heading(&one_line(&hook.command, SHOWN));
            show(&mut page, run);
        }
        context.out(&page.text)?;
    }
    CommandError::silent_unless(runs.iter().all(|(_, run)| run.problem.is_none()))
}

/// Runs a hook with a made-up event.
pub(super) fn try_hook(hook: &HookSpec, sample: &Sample, context: &Context) -> HookRun {
    let here = context.system.start_dir.clone();
    let cwd = here.unwrap_or_else(|| context.location.user_home.clone());
    let occasion = Occasion {
        event: hook.event,
        tool: sample
            .tool
            .as_ref()
            .map(|(tool, input)| (tool.as_str(), input)),
        session: &sample.session,
        cwd: &cwd,
        extra: Value::Object(sample.extra.clone()),
        interrupt: None,
    };
    let payload = if hook.event.is_of_gateway() {
        gateway_payload(hook.event, occasion.extra)
    } else {
        occasion.payload()
    };
    run_hook(hook, &payload, &hook_host(context), &cwd, None)
}

fn fields(file: &std::path::Path) -> Result<Map<String, Value>> {
    let text = hermes_fs::read_text_capped(file, LIMIT)?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(CommandError::user(format!(
            "{} is no JSON object",
            file.display()
        ))),
        Err(error) => Err(CommandError::user(format!(
            "{} is not JSON: {error}",
            file.display()
        ))),
    }
}

fn show(page: &mut Page, run: &HookRun) {
    let seconds = run.took.as_secs_f64();
    let end = match &run.end {
        HookEnd::Exited(Some(code)) => format!("code {code} after {seconds:.2} s"),
        HookEnd::Exited(None) => format!("ended by a signal after {seconds:.2} s"),
        HookEnd::TimedOut => format!("took too long, ended after {seconds:.2} s"),
        HookEnd::Failed(why) => one_line(why, SHOWN),
    };
    page.row("Ended", &end);
    for (name, text) in [("Output", &run.stdout), ("Errors", &run.stderr)] {
        if !text.is_empty() {
            page.row(name, &one_line(text, SHOWN));
        }
    }
    let (name, text) = meaning(run);
    let shown = match (name, text) {
        ("block", text) => format!("the call is refused: {}", one_line(text, SHOWN)),
        ("context", text) => format!("added to the message: {}", one_line(text, SHOWN)),
        ("replace", text) => format!("the new text: {}", one_line(text, SHOWN)),
        _ => "nothing changes".to_owned(),
    };
    page.row("Means", &shown);
    if let Some(problem) = &run.problem {
        page.row("Problem", &format!("✗ {}", one_line(problem, SHOWN)));
    }
}

fn meaning(run: &HookRun) -> (&'static str, &str) {
    match &run.reply {
        HookReply::Nothing => ("nothing", ""),
        HookReply::Block(reason) => ("block", reason),
        HookReply::Context(text) => ("context", text),
        HookReply::Replace(text) => ("replace", text),
    }
}

fn record(hook: &HookSpec, run: &HookRun) -> Value {
    let (reply, text) = meaning(run);
    let code = match run.end {
        HookEnd::Exited(code) => code,
        HookEnd::TimedOut | HookEnd::Failed(_) => None,
    };
    json!({
        "command": hook.command,
        "exit_code": code,
        "timed_out": run.end == HookEnd::TimedOut,
        "seconds": run.took.as_secs_f64(),
        "stdout": run.stdout,
        "stderr": run.stderr,
        "reply": reply,
        "text": text,
        "problem": run.problem,
    })
}
