//! `kanban_complete`: the card is done, if its acceptance checks say so too.
//!
//! The checks are run here, by the runtime, in the card's workspace: what an agent says of its work
//! is not what decides.

use std::path::{Component, Path};

use hermes_board::dispatch::{CheckSetup, Finish, complete as complete_card};
use hermes_board::files::files_mentioned;
use hermes_board::model::{CheckEvidence, Object, Task, TaskId};
use hermes_board::store::{BoardStore, Completion, FailurePolicy, Release};
use serde_json::{Map, Value, json};

use super::desk::{known, named_tasks, texts};
use super::show::BOARD;
use super::verb::{Audience, Call, Refusal, Verb, facts};
use crate::argument::{Argument, Kind};
use crate::goal_judge::{GoalClaim, GoalVerdict};
use crate::registry::redacted;

pub(super) const COMPLETE: Verb = Verb {
    name: "kanban_complete",
    description: "Completes your card and hands over what came of it. Give a summary of one to three \
                  sentences for whoever goes on: what was done, where it is, what to know; and facts \
                  for programs in metadata (changed_files, tests_run, decisions). List deliverables \
                  in artifacts, and cards you filed in created_cards. No secrets. If the card has \
                  acceptance checks they are run now; your attempt ends with this call.",
    arguments: &[
        Argument::optional("summary", Kind::Text, "What is handed over."),
        Argument::optional(
            "result",
            Kind::Text,
            "Short result, if there is no summary.",
        ),
        Argument::optional("task_id", Kind::Text, "Your card; may be left out."),
        Argument::optional("metadata", Kind::Object, "Facts for programs."),
        Argument::optional(
            "created_cards",
            Kind::Texts,
            "Ids that kanban_create returned to you, and no others.",
        ),
        Argument::optional(
            "artifacts",
            Kind::Texts,
            "Paths of deliverables. Those in a scratch workspace are kept before it is removed.",
        ),
        BOARD,
    ],
    audience: Audience::All,
    run: complete,
};

fn complete(call: &Call<'_>) -> Result<Map<String, Value>, Refusal> {
    let desk = call.desk;
    let id = desk.own_task(call.args, "complete")?;
    let mut completion = Completion {
        expected_run: desk.run_of(&id),
        result: call.words("result"),
        summary: call.words("summary"),
        metadata: metadata(call),
        created_cards: named_tasks(call.args, "created_cards"),
        attachments: Vec::new(),
    };
    if completion.handoff().is_none() {
        return Err(Refusal::from(
            "Give a summary or a result: whoever goes on from here reads nothing else.",
        ));
    }
    let mut store = desk.open(call.args)?;
    if let Some(seen) = &desk.context.workspace
        && let Some(workspace) = store.task(&id)?.and_then(|task| task.workspace_path)
    {
        name_as_here(&mut completion, seen, Path::new(&workspace));
    }
    ask_the_judge(call, &known(&store, &id)?, &completion)?;
    let board = store.board().clone();
    let setup = CheckSetup {
        board: &board,
        home: &desk.home,
        workers: &desk.workers,
        limit: desk.check_timeout,
        policy: FailurePolicy::with_limit(desk.options.failure_limit),
        redact: &|text| call.context.redactor.redact(text).into_owned(),
    };
    match complete_card(&mut store, &id, &completion, &setup)? {
        Finish::Done { completed, checks } => {
            let mut facts = facts! {"task_id": id, "run_id": completed.run};
            if checks > 0 {
                facts.insert("checks_passed".to_owned(), json!(checks));
            }
            if !completed.phantom_references.is_empty() {
                facts.insert(
                    "unknown_cards_mentioned".to_owned(),
                    json!(completed.phantom_references),
                );
            }
            Ok(facts)
        }
        Finish::CheckFailed { evidence, release } => Err(failed(&id, &evidence, release)),
        Finish::LostRace => Err(Refusal::from(format!(
            "{id} was changed by somebody else while its checks ran; it is not completed."
        ))
        .with("attempt_over", true)),
    }
}

/// A card with a goal is not done because its worker says so. Without a verdict it may pass: a judge
/// who is away must not hold up work that is finished.
fn ask_the_judge(call: &Call<'_>, card: &Task, completion: &Completion) -> Result<(), Refusal> {
    let Some(judge) = call
        .context
        .conversation
        .judge
        .as_ref()
        .filter(|_| card.goal_mode)
    else {
        return Ok(());
    };
    let claim = GoalClaim {
        title: &card.title,
        body: card.body.as_deref().unwrap_or_default(),
        said: completion.handoff().unwrap_or_default(),
    };
    match judge.judge(&claim, &call.context.interrupt) {
        GoalVerdict::Reached => Ok(()),
        GoalVerdict::Unjudged(why) => {
            tracing::warn!(card = %card.id, why, "completed without a verdict on its goal");
            Ok(())
        }
        GoalVerdict::NotYet(reason) => Err(Refusal::from(format!(
            "{} is not completed: a judge who has read your summary finds its goal not reached. \
             {reason} Go on with what is missing, and complete the card when it is done.",
            card.id
        ))),
    }
}

/// Facts for programs, masked, with the deliverables and the conversation they come from.
fn metadata(call: &Call<'_>) -> Option<Object> {
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

/// Gives deliverables the names they have on this machine, where they are looked for: in a container
/// the workspace is called otherwise.
fn name_as_here(completion: &mut Completion, seen: &Path, workspace: &Path) {
    let here = |path: &str| {
        let below = Path::new(path.trim()).strip_prefix(seen).ok()?;
        let climbs = below.components().any(|part| part == Component::ParentDir);
        (!climbs).then(|| workspace.join(below).to_string_lossy().into_owned())
    };
    let texts = [completion.summary.as_deref(), completion.result.as_deref()];
    let called = seen.to_string_lossy();
    let mentioned = files_mentioned(texts.into_iter().flatten(), &called, workspace);
    let metadata = completion.metadata.get_or_insert_default();
    let declared = metadata.get("artifacts").and_then(Value::as_array);
    let mut artifacts: Vec<Value> = declared.cloned().unwrap_or_default();
    for artifact in &mut artifacts {
        if let Some(renamed) = artifact.as_str().and_then(here) {
            *artifact = Value::String(renamed);
        }
    }
    for path in mentioned {
        if !artifacts.iter().any(|one| one.as_str() == Some(&path)) {
            artifacts.push(Value::String(path));
        }
    }
    if artifacts.is_empty() {
        completion.metadata = completion.metadata.take().filter(|all| !all.is_empty());
    } else {
        metadata.insert("artifacts".to_owned(), Value::Array(artifacts));
    }
}

fn failed(id: &TaskId, evidence: &CheckEvidence, release: Release) -> Refusal {
    let then = match release {
        Release::Requeued { failures } => {
            format!("The card is ready for another attempt (failure {failures}).")
        }
        Release::Blocked { failures, limit } => format!(
            "The card is blocked and waits for a person: {failures} failures, {limit} are allowed."
        ),
        Release::LostRace => "The card was changed by somebody else meanwhile.".to_owned(),
    };
    Refusal::from(format!(
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
