//! `delegate_task`: sub-agents that do parts of the work while this one waits.
//!
//! [`ChildRunner`] runs the sub-agents; this module checks the call, runs the parts in parallel and
//! builds the result.

use std::time::Instant;

use serde_json::{Value, json};

use crate::argument::{ArgKind, Argument, text, texts};
use crate::child_job::{ChildJob, ChildResult};
use crate::result::{error, two_decimals};
use crate::saved_result::keep_result;
use crate::tool::{CallContext, ChildRunner, Tool, ToolSpec};

const ROLES: &[&str] = &["leaf", "orchestrator"];

const JOB_FIELDS: &[Argument] = &[
    Argument::required("goal", ArgKind::Text, "What to achieve."),
    Argument::text("context", "What the other agent needs to know."),
    Argument::texts("toolsets", "Toolsets it gets."),
    Argument::optional(
        "role",
        ArgKind::Choice(ROLES),
        "Whether it may delegate parts of its work.",
    ),
];

const SPEC: ToolSpec = ToolSpec {
    name: "delegate_task",
    toolset: "delegation",
    description: "Hands work to other agents and waits for them. Each has a conversation and a terminal of \
     its own and knows only the goal and the context it is given: put paths, names and \
     constraints into them. Only their summary comes back. Use it for work that fills the \
     context with details, or for a few independent pieces side by side (tasks). Not for a \
     single tool call, and not for anything that needs the user. Verify what a summary claims \
     before relying on it.",
    arguments: &[
        Argument::text("goal", "What to achieve."),
        Argument::text("context", "What the other agent needs to know."),
        Argument::texts("toolsets", "Toolsets it gets; yours if left out."),
        Argument::optional(
            "role",
            ArgKind::Choice(ROLES),
            "Whether it may delegate parts of its work. Default leaf.",
        ),
        Argument::optional(
            "tasks",
            ArgKind::Records(JOB_FIELDS),
            "Several tasks in parallel, instead of goal; usually up to three.",
        ),
    ],
    ..ToolSpec::DEFAULT
};

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct DelegateTool {
    /// Most agents of one call (`delegation.max_concurrent_children`).
    pub max_children: usize,
    /// Most characters of one report (`delegation.max_summary_chars`); `None` for no limit.
    pub max_report: Option<usize>,
}

impl Default for DelegateTool {
    fn default() -> Self {
        Self {
            max_children: 3,
            max_report: Some(24_000),
        }
    }
}

impl Tool for DelegateTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn unavailable(&self, context: &CallContext) -> Option<String> {
        match context.conversation.children {
            Some(_) => None,
            None => Some("sub-agents are not available in this conversation".to_owned()),
        }
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let Some(runner) = &context.conversation.children else {
            return error(
                "Nothing can be delegated: sub-agents are not available in this conversation.",
            );
        };
        let jobs = match self.jobs(args) {
            Ok(jobs) => jobs,
            Err(message) => return error(message),
        };
        let started = Instant::now();
        let results = run_in_parallel(&jobs, runner.as_ref(), context);
        let mut results: Vec<Value> = results.iter().enumerate().map(to_json).collect();
        if let Some(most) = self.max_report {
            for (index, result) in results.iter_mut().enumerate() {
                shorten_report(index, result, most, context);
            }
        }
        json!({
            "results": results,
            "total_duration_seconds": two_decimals(started.elapsed()),
        })
    }
}

impl DelegateTool {
    fn jobs(self, args: &Value) -> Result<Vec<ChildJob>, String> {
        let single = args.get("goal").is_some();
        let jobs = match args["tasks"].as_array().filter(|jobs| !jobs.is_empty()) {
            Some(_) if single => return Err("Give either goal or tasks, not both.".to_owned()),
            Some(jobs) if jobs.len() > self.max_children => {
                return Err(format!(
                    "At most {} tasks at once, got {}.",
                    self.max_children,
                    jobs.len()
                ));
            }
            Some(jobs) => jobs.as_slice(),
            None if single => std::slice::from_ref(args),
            None => return Err("Give a goal, or tasks with a goal each.".to_owned()),
        };
        jobs.iter().map(job).collect()
    }
}

fn job(fields: &Value) -> Result<ChildJob, String> {
    Ok(ChildJob {
        goal: text(fields, "goal").ok_or("A goal is empty.")?.to_owned(),
        context: text(fields, "context").map(str::to_owned),
        toolsets: texts(fields, "toolsets"),
        may_delegate: fields["role"] == "orchestrator",
    })
}

/// Runs all jobs at once, one of them in this thread; answers in their order.
fn run_in_parallel(
    jobs: &[ChildJob],
    runner: &dyn ChildRunner,
    context: &CallContext,
) -> Vec<ChildResult> {
    let run = |job: &ChildJob| runner.run_child(job, context);
    let Some((first, others)) = jobs.split_first() else {
        return Vec::new();
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = others
            .iter()
            .map(|job| {
                let thread = std::thread::Builder::new().name("sub-agent".to_owned());
                (job, thread.spawn_scoped(scope, move || run(job)))
            })
            .collect();
        let mut results = vec![run(first)];
        for (job, thread) in threads {
            results.push(match thread.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => ChildResult::failed(
                    "The agent failed because of a bug in it; the log has the details.",
                    "bug",
                ),
                // The system gives no more threads: run it after the others.
                Err(_) => run(job),
            });
        }
        results
    })
}

fn to_json((index, result): (usize, &ChildResult)) -> Value {
    json!({
        "task_index": index,
        "status": result.status,
        "summary": result.summary,
        "api_calls": result.api_calls,
        "duration_seconds": two_decimals(result.duration),
        "model": result.model,
        "exit_reason": result.exit_reason,
        "tokens": {"input": result.input_tokens, "output": result.output_tokens},
        "tool_trace": result.tool_trace,
    })
}

/// Leaves the beginning and the end of a report that is too long; the whole stays in a file.
fn shorten_report(index: usize, result: &mut Value, most: usize, context: &CallContext) {
    let Some(report) = result["summary"].as_str() else {
        return;
    };
    let length = report.chars().count();
    if length <= most {
        return;
    }
    // What was done and what is left open stands at the end.
    let end = most / 4;
    let beginning = hermes_text::cut(report, most - end);
    let ending: String = report.chars().skip(length - end).collect();
    let kept = keep_result(&format!("sub-agent-{index}"), report, context);
    let place = match &kept {
        Ok(path) => format!(
            "the whole report is in {}: read the rest with read_file",
            path.display()
        ),
        Err(why) => format!("the rest is lost: {why}"),
    };
    let shown = format!(
        "{beginning}\n\n[… {} of {length} characters left out; {place} …]\n\n{ending}",
        length - most
    );
    if let Ok(path) = kept {
        result["summary_full_path"] = json!(path);
    }
    result["summary_truncated"] = json!(true);
    result["summary"] = json!(shown);
}
