//! Long conversations: shortened as often as it takes, by whoever may, and never at the cost of what
//! somebody else said.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_agent::{Agent, ExitReason, TurnEvent, TurnInput, TurnOutcome, TurnResult};
use hermes_providers::{ErrorClass, ModelRequest, ModelResponse, ProviderError};
use hermes_session::{LockAttempt, SessionId, SessionMessage, SessionStore};
use hermes_store::rusqlite::Connection;
use hermes_tools::{ArgKind, Argument, CallContext, TodoTool, Tool, ToolSpec};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::scene::{Fake, Scene, calling, say, words};

const WINDOW: u64 = 64_000;
const MINUTES: Duration = Duration::from_mins(5);

/// Answers at length.
struct Big;

impl Tool for Big {
    fn spec(&self) -> ToolSpec<'_> {
        const {
            ToolSpec {
                name: "big",
                toolset: "test",
                description: "Says much.",
                arguments: &[Argument::optional("n", ArgKind::Text, "Anything.")],
                ..ToolSpec::DEFAULT
            }
        }
    }

    fn call(&self, args: &Value, _: &CallContext) -> Value {
        json!({"n": args["n"], "much": "x".repeat(40_000)})
    }
}

fn is_for_summary(request: &ModelRequest) -> bool {
    request.system.starts_with("You condense")
}

fn refusal(request: &ModelRequest) -> Option<ProviderError> {
    let tokens = request.estimated_tokens();
    (tokens > WINDOW).then(|| {
        let message = format!("{tokens} tokens do not fit into {WINDOW}");
        ProviderError::new(ErrorClass::ContextOverflow, message)
    })
}

/// A model that calls `big` so many times and is then done; `summarise` answers for summaries.
fn worker(
    steps: usize,
    summarise: impl Fn() -> Result<ModelResponse, ProviderError> + Send + Sync + 'static,
) -> Arc<Fake> {
    let done = Mutex::new(0);
    Fake::new(WINDOW, move |request, _| {
        if let Some(refusal) = refusal(request) {
            return Err(refusal);
        }
        if is_for_summary(request) {
            return summarise();
        }
        let mut done = done.lock().unwrap();
        *done += 1;
        if *done > steps {
            return Ok(words("all done"));
        }
        Ok(calling(*done, "big", &json!({"n": done.to_string()})))
    })
}

fn heard(agent: &mut Agent, text: &str) -> (TurnResult, Vec<String>) {
    let mut notices = Vec::new();
    let result = agent.turn(TurnInput::text(text), &mut |event: TurnEvent<'_>| {
        if let TurnEvent::Notice(text) = event {
            notices.push(text);
        }
    });
    (result, notices)
}

#[test]
fn a_turn_is_shortened_as_often_as_it_takes_and_nothing_is_stored_twice() {
    let scene = Scene::asking(
        worker(60, || Ok(words("## Active Task\nit goes on"))),
        |r| r.with(Big),
    );
    let mut agent = scene.agent();
    let (result, notices) = heard(&mut agent, "go");
    assert_eq!(result.failure, None);
    assert_eq!(result.final_response.as_deref(), Some("all done"));
    let shortened = notices.iter().filter(|text| text.contains("compacted"));
    assert!(shortened.count() > 3, "{notices:?}");
    let id = agent.session_id().clone();
    let all = agent.store().export(&id).unwrap();
    let all = all["messages"].as_array().unwrap();
    let calls: Vec<String> = all
        .iter()
        .filter_map(|stored| stored["tool_calls"].as_array())
        .flatten()
        .map(|call| call["id"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<String> = (1..=60).map(|n| format!("call_{n}")).collect();
    assert_eq!(calls, expected);
    let history = agent.store().load_history(&id).unwrap();
    assert_eq!(history.left_out, []);
    let active = |n: usize| history.messages[n].message.text();
    assert_eq!(active(0), "go");
    assert_eq!(history.messages.last().unwrap().message.text(), "all done");
}

#[test]
fn without_a_summary_an_extract_makes_room_when_nothing_fits_any_more() {
    let fails = || Err(ProviderError::new(ErrorClass::FormatError, "not today"));
    let scene = Scene::asking(worker(20, fails), |r| r.with(Big));
    let mut agent = scene.agent();
    let (result, notices) = heard(&mut agent, "go");
    assert_eq!(result.failure, None);
    assert_eq!(result.outcome, TurnOutcome::Completed);
    let told = |part: &str| notices.iter().filter(|text| text.contains(part)).count();
    assert_eq!(told("the conversation stays unchanged"), 1, "{notices:?}");
    assert!(
        told("an extract replaces the older messages") > 0,
        "{notices:?}"
    );
}

#[test]
fn a_summary_that_failed_may_be_set_to_leave_everything_as_it_is() {
    let fails = || Err(ProviderError::new(ErrorClass::FormatError, "not today"));
    let mut scene = Scene::asking(worker(20, fails), |r| r.with(Big));
    scene.settings.compaction.abort_on_summary_failure = true;
    let result = say(&mut scene.agent(), "go");
    assert_eq!(result.exit_reason, ExitReason::CompressionExhausted);
}

fn lock_as(scene: &Scene, id: &SessionId, holder: &str, lease: Duration) {
    let mut store = SessionStore::open(scene.directory.path()).unwrap();
    let attempt = store.try_lock_compaction(id, holder, None, lease).unwrap();
    assert!(matches!(attempt, LockAttempt::Taken(_)));
}

#[test]
fn the_right_of_a_process_that_died_is_taken_over_at_once() {
    let scene = Scene::asking(worker(12, || Ok(words("summary"))), |r| r.with(Big));
    let mut agent = scene.agent();
    agent.turn(TurnInput::text("begin"), &mut |_: TurnEvent<'_>| {});
    let id = agent.session_id().clone();
    let own = hermes_proc::identity_of(std::process::id()).unwrap();
    // Our pid, but a process that started at another time.
    let dead = format!("hermes:{}:1:{}", own.pid, own.boot_id);
    let scene = Scene {
        provider: worker(12, || Ok(words("summary"))),
        ..scene
    };
    lock_as(&scene, &id, &dead, MINUTES);
    let (result, notices) = heard(&mut scene.resumed(&id), "go on");
    assert_eq!(result.failure, None);
    assert!(notices.iter().any(|text| text.contains("became a summary")));
    assert!(!notices.iter().any(|text| text.contains("waiting for it")));
}

#[test]
fn a_process_that_lives_is_waited_for() {
    let scene = Scene::asking(worker(12, || Ok(words("summary"))), |r| r.with(Big));
    let mut agent = scene.agent();
    agent.turn(TurnInput::text("begin"), &mut |_: TurnEvent<'_>| {});
    let id = agent.session_id().clone();
    let scene = Scene {
        provider: worker(12, || Ok(words("summary"))),
        ..scene
    };
    lock_as(&scene, &id, "somebody", Duration::from_secs(1));
    let (result, notices) = heard(&mut scene.resumed(&id), "go on");
    assert_eq!(result.failure, None);
    assert!(notices.iter().any(|text| text.contains("waiting for it")));
    assert!(notices.iter().any(|text| text.contains("became a summary")));
}

/// A worker during whose first summary `meddle` is done to the store.
fn meddled(
    scene: &mut Scene,
    meddle: impl Fn(&Connection) + Send + Sync + 'static,
) -> (TurnResult, Vec<String>, Agent) {
    let path = scene.path().join("state.db");
    let first = Mutex::new(true);
    scene.provider = worker(12, move || {
        if std::mem::take(&mut *first.lock().unwrap()) {
            meddle(&Connection::open(&path).unwrap());
        }
        let mut answer = words("summary");
        answer.usage = Some(hermes_providers::TokenUsage {
            output: 7,
            ..hermes_providers::TokenUsage::default()
        });
        Ok(answer)
    });
    let mut agent = scene.agent();
    let (result, notices) = heard(&mut agent, "go");
    (result, notices, agent)
}

fn summaries_paid_for(scene: &Scene) -> i64 {
    let file = Connection::open(scene.path().join("state.db")).unwrap();
    file.query_row(
        "SELECT api_call_count FROM session_model_usage WHERE task = 'compression'",
        [],
        |row| row.get(0),
    )
    .unwrap()
}

#[test]
fn a_right_that_expired_meanwhile_is_taken_again_if_nobody_else_has_it() {
    let mut scene = Scene::asking(worker(0, || Ok(words(""))), |r| r.with(Big));
    let (result, notices, _) = meddled(&mut scene, |file| {
        let sql = "UPDATE compression_locks SET expires_at = 1";
        file.execute_batch(sql).unwrap();
    });
    assert_eq!(result.failure, None);
    let done = notices.iter().filter(|n| n.contains("became a summary"));
    assert_eq!(
        i64::try_from(done.count()).unwrap(),
        summaries_paid_for(&scene)
    );
}

#[test]
fn a_right_that_another_process_took_leaves_the_turn_alive_and_the_summary_paid_for() {
    let mut scene = Scene::asking(worker(0, || Ok(words(""))), |r| r.with(Big));
    let (result, notices, _) = meddled(&mut scene, |file| {
        let sql = "UPDATE compression_locks SET holder = 'other', \
             expires_at = unixepoch() + 2";
        file.execute_batch(sql).unwrap();
    });
    assert_eq!(result.failure, None);
    let done = notices.iter().filter(|n| n.contains("became a summary"));
    let done = i64::try_from(done.count()).unwrap();
    assert_eq!(summaries_paid_for(&scene), done + 1, "{notices:?}");
}

#[test]
fn what_somebody_says_while_a_summary_is_made_is_heard() {
    let scene = Scene::asking(worker(0, || Ok(words(""))), |r| r.with(Big));
    let path = scene.path();
    let session: Arc<Mutex<Option<SessionId>>> = Arc::default();
    let of_worker = Arc::clone(&session);
    let scene = Scene {
        provider: worker(12, move || {
            if let Some(id) = of_worker.lock().unwrap().take() {
                let mut other = SessionStore::open(&path).unwrap();
                let said = SessionMessage::user("mind the gap");
                other.append_user(&id, &said).unwrap();
            }
            Ok(words("summary"))
        }),
        ..scene
    };
    let mut agent = scene.agent();
    let id = agent.session_id().clone();
    *session.lock().unwrap() = Some(id.clone());
    let (result, _) = heard(&mut agent, "go");
    assert_eq!(result.failure, None);
    let history = agent.store().load_history(&id).unwrap().messages;
    let heard = history.iter().any(|m| m.message.text() == "mind the gap");
    assert!(heard);
}

#[test]
fn after_a_compaction_a_file_is_shown_again_and_the_plan_is_still_known() {
    let plan = json!({"todos": [{"id": "1", "content": "paint it", "status": "pending"}]});
    let step = Mutex::new(0);
    let provider = Fake::new(WINDOW, move |request, _| {
        if is_for_summary(request) {
            return Ok(words("summary"));
        }
        let mut step = step.lock().unwrap();
        *step += 1;
        Ok(match *step {
            1 => calling(1, "read_file", &json!({"path": "colours"})),
            2 => calling(2, "todo", &plan),
            3..=10 => calling(*step, "big", &json!({"n": step.to_string()})),
            11 => calling(11, "read_file", &json!({"path": "colours"})),
            12 => words("one"),
            13 => calling(13, "todo", &json!({})),
            _ => words("two"),
        })
    });
    let scene = Scene::asking(provider, |r| r.with(Big).with(TodoTool));
    std::fs::write(scene.path().join("colours"), "blue\n").unwrap();
    let mut agent = scene.agent();
    let (result, notices) = heard(&mut agent, "go");
    assert_eq!(result.final_response.as_deref(), Some("one"));
    assert!(notices.iter().any(|text| text.contains("became a summary")));
    let id = agent.session_id().clone();
    let result_of = |agent: &mut Agent, call: &str| {
        let history = agent.store().load_history(&id).unwrap().messages;
        let found = history
            .iter()
            .rfind(|m| m.message.tool_call_id.as_deref() == Some(call));
        found.unwrap().message.text()
    };
    assert!(result_of(&mut agent, "call_11").contains("blue"));
    drop(agent);
    let mut agent = scene.resumed(&id);
    say(&mut agent, "what is left?");
    assert!(result_of(&mut agent, "call_13").contains("paint it"));
}

#[test]
fn the_system_prompt_is_made_anew_with_the_summary() {
    let scene = Scene::asking(worker(12, || Ok(words("summary"))), |r| r.with(Big));
    let mut agent = scene.agent();
    agent.set_prompt_source(Box::new(|| hermes_agent::prompt::Assembled {
        text: "You are another test.".to_owned(),
        notices: vec!["a paragraph is missing".to_owned()],
    }));
    let (_, notices) = heard(&mut agent, "go");
    assert!(notices.contains(&"a paragraph is missing".to_owned()));
    let id = agent.session_id().clone();
    let session = agent.store().session(&id).unwrap().unwrap();
    assert_eq!(
        session.system_prompt.as_deref(),
        Some("You are another test.")
    );
}
