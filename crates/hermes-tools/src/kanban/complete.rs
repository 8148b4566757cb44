//! `kanban_complete`: the card is done, if its acceptance checks say so too.
//!
//! [`hermes_board::completion`] decides, not what the agent says of its work.

use hermes_board::StoredBoard;
use hermes_board::completion::{self, CompletionOutcome, CompletionSetup};
use hermes_board::model::{CheckEvidence, Object, Outcome, Run, TaskId};
use hermes_board::store::{Completion, FailurePolicy, Release};
use serde_json::{Map, Value, json};

use super::tool::{BOARD, BoardAnswer, BoardCall, BoardRefusal, KANBAN};
use crate::argument::{ArgKind, Argument, texts};
use crate::result::redacted;
use crate::tool::ToolSpec;

pub(super) const COMPLETE: ToolSpec = ToolSpec {
    name: "kanban_complete",
    description: "Completes your card. Give a summary of one to three sentences for whoever goes on: what \
                  was done, where it is, what to know; and facts for programs in metadata \
                  (changed_files, tests_run, decisions). List deliverables in artifacts, and cards \
                  you created in created_cards. No secrets. If the card has \
                  acceptance checks they are run now; your attempt ends with this call.",
    arguments: &[
        Argument::text("summary", "Summary of the result."),
        Argument::text("result", "Short result, if there is no summary."),
        Argument::text("task_id", "Your card; may be left out."),
        Argument::optional("metadata", ArgKind::Object, "Facts for programs."),
        Argument::texts(
            "created_cards",
            "Ids that kanban_create returned to you, and no others.",
        ),
        Argument::texts(
            "artifacts",
            "Paths of deliverables. Those in a scratch workspace are kept before it is removed.",
        ),
        BOARD,
    ],
    ..KANBAN
};

pub(super) fn complete(call: &BoardCall<'_>) -> BoardAnswer {
    let access = call.access;
    let mut own = call.own_task("complete")?;
    let id = own.id.clone();
    let completion = Completion {
        expected_run: own.run,
        result: call.text("result"),
        summary: call.text("summary"),
        metadata: metadata(call),
        created_cards: texts(call.args, "created_cards")
            .into_iter()
            .map(TaskId::new)
            .collect(),
        attachments: Vec::new(),
        is_approval: false,
        approval: None,
    };
    if completion.handoff().is_none() {
        return Err("Give a summary or a result: the next worker reads nothing else.".into());
    }
    let board = own.store.board().clone();
    let setup = CompletionSetup {
        board: &board,
        home: &access.home,
        workers: &access.workers,
        check_timeout: access.check_timeout,
        check_backend: access.check_backend.as_deref().map(|it| it as _),
        policy: FailurePolicy::with_limit(access.options.failure_limit),
        redact: &|text| call.context.redactor.redact(text).into_owned(),
        judge: call.context.conversation.judge.as_deref(),
        interrupt: &call.context.interrupt,
        workspace_seen: access.context.workspace.as_deref(),
        on_checks: &|_| {},
        before_done: None,
    };
    let is_ours = |ended: &Run| {
        ended.ended_how() == Some(Outcome::Completed)
            && ended.summary.as_deref() == completion.handoff()
    };
    let end = |store: &mut StoredBoard| completion::complete(store, &id, &completion, &setup);
    let Some(outcome) = own.end_attempt(is_ours, end)? else {
        return Ok(json!({"task_id": id, "run_id": own.run}));
    };
    match outcome {
        CompletionOutcome::Done {
            completed,
            checks,
            unjudged,
        } => {
            if let Some(reason) = unjudged {
                tracing::warn!(card = %id, reason, "completed without a verdict on its goal");
            }
            let mut fields = json!({"task_id": id, "run_id": completed.run});
            if checks > 0 {
                fields["checks_passed"] = json!(checks);
            }
            if !completed.phantom_references.is_empty() {
                fields["unknown_cards_mentioned"] = json!(completed.phantom_references);
            }
            Ok(fields)
        }
        CompletionOutcome::GoalNotReached(reason) => Err(format!(
            "{id} is not completed: a judge who has read your summary finds its goal not reached. \
             {reason} Go on with what is missing, and complete the card when it is done."
        )
        .into()),
        CompletionOutcome::CheckFailed { evidence, release } => {
            Err(check_failed(&id, &evidence, release))
        }
        CompletionOutcome::LostRace => Err(BoardRefusal::from(format!(
            "{id} is not completed: somebody else changed it while its checks ran."
        ))
        .with("attempt_over", true)),
    }
}

/// Facts for programs, masked, with the deliverables and the conversation they come from.
fn metadata(call: &BoardCall<'_>) -> Option<Object> {
    let given = redacted(call.args["metadata"].clone(), &call.redactor());
    let mut metadata = match given {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let named = texts(call.args, "artifacts");
    if !named.is_empty() {
        let known = metadata.get("artifacts").and_then(Value::as_array).cloned();
        let mut all = known.unwrap_or_default();
        for path in named {
            if !all.iter().any(|other| other.as_str() == Some(&path)) {
                all.push(Value::String(path));
            }
        }
        metadata.insert("artifacts".to_owned(), Value::Array(all));
    }
    if let Some(session) = &call.context.conversation.session_id {
        metadata.insert("worker_session_id".to_owned(), json!(session));
    }
    (!metadata.is_empty()).then_some(metadata)
}

fn check_failed(id: &TaskId, evidence: &CheckEvidence, release: Release) -> BoardRefusal {
    let then = match release {
        Release::Requeued { failures } => {
            format!("The card is ready for another attempt (failure {failures}).")
        }
        Release::Blocked { failures, limit } => format!(
            "The card is blocked and waits for a person: {failures} failures, the limit is {limit}."
        ),
        Release::LostRace => "Somebody else changed the card meanwhile.".to_owned(),
    };
    BoardRefusal::from(format!(
        "{id} is not completed: acceptance check {} (`{}`) {}. {then} This attempt is over; stop \
         here.",
        evidence.position,
        evidence.command,
        evidence.ending()
    ))
    .with("attempt_over", true)
    .with(
        "check",
        json!({
            "position": evidence.position,
            "command": evidence.command,
            "exit_code": evidence.exit_code,
            "timed_out": evidence.timed_out,
            "output": evidence.output,
        }),
    )
}
