//! `hermes kanban complete`: only cards whose acceptance checks pass are done.

use std::sync::Arc;

use hermes_agent::AuxiliaryGoalJudge;
use hermes_board::DispatchFlags;
use hermes_board::completion::{self, CompletionOutcome, CompletionSetup};
use hermes_board::model::{CheckEvidence, Object, TaskId};
use hermes_board::store::{Completion, FailurePolicy, Release};
use hermes_providers::{AuxiliaryModels, ModelOverrides};
use hermes_runtime::{AssigneeChecks, dispatch_settings, worker_setup};
use hermes_secret::Sink;
use serde_json::Value;

use super::cards::TITLE;
use super::session::{BoardSession, Kanban, refusal, usage};
use crate::error::{CommandError, Result};
use crate::tool_access::interrupt;
use crate::ui::{counted, one_line, visible};

/// Lines of a failed check that are printed.
const SHOWN_LINES: usize = 20;
/// Characters of a judge's reason that are printed.
const SHOWN_REASON: usize = 500;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The cards
    #[arg(required = true, value_name = "ID")]
    ids: Vec<TaskId>,
    /// Short result
    #[arg(long, value_name = "TEXT")]
    result: Option<String>,
    /// Summary for follow-up work; only for a single card
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Machine-readable facts, a JSON object; only for a single card
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    if args.ids.len() > 1 && (args.summary.is_some() || args.metadata.is_some()) {
        return Err(usage(
            "--summary and --metadata describe the result of a single card, but several were given",
        )
        .hint("complete the cards one by one, or omit these options"));
    }
    let completion = Completion {
        result: args.result.clone(),
        summary: args.summary.clone(),
        metadata: args.metadata.as_deref().map(metadata).transpose()?,
        ..Completion::default()
    };
    let mut session = kanban.open()?;
    session.for_each(&args.ids, |session, id| complete(session, id, &completion))
}

fn complete(session: &mut BoardSession<'_>, id: &TaskId, completion: &Completion) -> Result<()> {
    let completion = Completion {
        expected_run: session.own_run(id, "complete")?,
        ..completion.clone()
    };
    let context = session.context;
    let settings = dispatch_settings(context, &DispatchFlags::default());
    let workers = worker_setup(context, &session.home, &settings);
    let board = session.store.board().clone();
    let redactor = context.redactor().for_sink(Sink::Output);
    let judge = AuxiliaryGoalJudge {
        auxiliary: Arc::new(AuxiliaryModels::new(
            context.config(),
            ModelOverrides::default(),
        )),
        account: None,
    };
    let interrupt = interrupt()?;
    let backend = AssigneeChecks::new(context);
    let setup = CompletionSetup {
        board: &board,
        home: &session.home,
        workers: &workers,
        check_timeout: settings.check_timeout,
        check_backend: Some(&backend),
        policy: FailurePolicy::with_limit(settings.limits.failure_limit),
        redact: &|text| redactor.redact(text).into_owned(),
        judge: Some(&judge),
        interrupt: &interrupt,
        workspace_seen: None,
        on_checks: &|count| {
            let note = format!("{id}: running {}", counted(count, "acceptance check"));
            // The checks matter more than a terminal that went away.
            drop(context.note(note));
        },
        before_done: None,
    };
    match completion::complete(&mut session.store, id, &completion, &setup)? {
        CompletionOutcome::Done {
            checks, unjudged, ..
        } => {
            if let Some(reason) = unjudged {
                session.note(format!(
                    "{id}: completed without a verdict on its goal: {}",
                    one_line(&reason, TITLE)
                ))?;
            }
            let passed = match checks {
                0 => String::new(),
                checks => format!(" ({} passed)", counted(checks, "acceptance check")),
            };
            session.line(format!("Completed {id}{passed}"))
        }
        CompletionOutcome::GoalNotReached(reason) => Err(refusal(format!(
            "{id} is not done: the judge decided that its goal was not reached: {}",
            one_line(&reason, SHOWN_REASON)
        ))
        .hint("describe what was achieved with --summary, or finish what is missing")),
        CompletionOutcome::CheckFailed { evidence, release } => {
            session.printer.err(&output(&evidence))?;
            Err(check_failed(id, &evidence, release))
        }
        CompletionOutcome::LostRace => Err(refusal(format!(
            "{id} is not done: somebody else changed it while its checks were running"
        ))),
    }
}

/// The end of what a check printed; all that was kept of it is on the card.
pub(super) fn output(evidence: &CheckEvidence) -> String {
    let lines: Vec<&str> = evidence.output.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    let mut out = String::new();
    for line in lines.iter().skip(skipped) {
        out.push_str(&format!("  | {}\n", visible(line)));
    }
    out
}

pub(super) fn check_failed(
    id: &TaskId,
    evidence: &CheckEvidence,
    release: Release,
) -> CommandError {
    let what = format!(
        "{id} is not done: check {} ({}) {}",
        evidence.position,
        one_line(&evidence.command, TITLE),
        evidence.ending()
    );
    match release {
        Release::Requeued { failures } => refusal(what).hint(format!(
            "it is ready for another attempt (failure {failures}); `hermes kanban show {id}` shows \
             the output"
        )),
        Release::Blocked { failures, limit } => refusal(what).hint(format!(
            "it is blocked after {failures} failures (the limit is {limit}); unblock it with \
             `hermes kanban unblock {id}`"
        )),
        Release::LostRace => refusal(what),
    }
}

/// A JSON object from the command line.
pub(super) fn metadata(text: &str) -> Result<Object> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(usage("--metadata: must be a JSON object")),
        Err(error) => Err(usage(format!("--metadata: invalid JSON: {error}"))),
    }
}
