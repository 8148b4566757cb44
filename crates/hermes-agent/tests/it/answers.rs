//! Answers that are cut, empty, interrupted or odd, and what is kept of them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use hermes_agent::{ExitReason, TurnOutcome};
use hermes_proc::Wake;
use hermes_providers::{
    FinishReason, ModelRequest, ModelResponse, Provider, ProviderError, RouteInfo, StreamEvent,
    TokenUsage, ToolCall,
};
use hermes_tools::PatchTool;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::scene::{Fake, Scene, calling, say, words};

const WINDOW: u64 = 200_000;

fn stored(agent: &mut hermes_agent::Agent) -> Vec<String> {
    let id = agent.session_id().clone();
    let history = agent.store().load_history(&id).unwrap();
    history.messages.iter().map(|m| m.message.text()).collect()
}

#[test]
fn a_model_that_says_nothing_makes_room_for_the_next_route() {
    let fake = Fake::new(WINDOW, |_, n| {
        Ok(words(if n < 4 { "" } else { "from the other" }))
    });
    fake.spare_routes.store(1, Ordering::SeqCst);
    let scene = Scene::asking(Arc::<Fake>::clone(&fake), |r| r);
    let result = say(&mut scene.agent(), "go");
    assert_eq!(result.final_response.as_deref(), Some("from the other"));
    let scene = Scene::asking(Fake::new(WINDOW, |_, _| Ok(words(""))), |r| r);
    let result = say(&mut scene.agent(), "go");
    assert_eq!(result.exit_reason, ExitReason::EmptyResponse);
    assert!(
        result
            .failure
            .unwrap()
            .hint
            .unwrap()
            .contains("fallback_providers")
    );
}

#[test]
fn an_answer_that_was_cut_early_sets_no_small_cap_and_none_for_later() {
    let caps: Arc<Mutex<Vec<Option<u32>>>> = Arc::default();
    let seen = Arc::clone(&caps);
    let fake = Fake::new(WINDOW, move |request, n| {
        seen.lock().unwrap().push(request.max_tokens);
        Ok(match n {
            0 => ModelResponse {
                usage: Some(TokenUsage {
                    output: 4,
                    ..TokenUsage::default()
                }),
                ..ModelResponse {
                    finish: FinishReason::Length,
                    ..words("one ")
                }
            },
            1 => calling(1, "read_file", &json!({"path": "x"})),
            _ => words("done"),
        })
    });
    let scene = Scene::asking(fake, |r| r);
    say(&mut scene.agent(), "go");
    assert_eq!(*caps.lock().unwrap(), [None, Some(8_192), None]);
}

/// Says a part of its answer and is interrupted.
struct Stopped;

impl Provider for Stopped {
    fn complete(
        &self,
        _: &ModelRequest,
        sink: &mut dyn FnMut(StreamEvent),
        _: &Wake,
    ) -> Result<ModelResponse, ProviderError> {
        sink(StreamEvent::Text("void".to_owned()));
        sink(StreamEvent::Restart);
        sink(StreamEvent::Text("<think>hm</think>The first ".to_owned()));
        sink(StreamEvent::Text("half".to_owned()));
        Err(ProviderError::interrupted())
    }

    fn route(&self) -> RouteInfo {
        Fake::new(WINDOW, |_, _| Ok(words(""))).route()
    }
}

#[test]
fn what_had_arrived_when_somebody_stopped_the_turn_is_kept() {
    let scene = Scene::asking(Arc::new(Stopped), |r| r);
    let mut agent = scene.agent();
    let result = say(&mut agent, "go");
    assert_eq!(result.outcome, TurnOutcome::Interrupted);
    assert_eq!(result.final_response.as_deref(), Some("The first half"));
    assert_eq!(stored(&mut agent), ["go", "The first half"]);
}

#[test]
fn thoughts_in_an_answer_join_those_beside_it() {
    let fake = Fake::new(WINDOW, |_, _| {
        let mut answer = words("<think>second</think>The answer.");
        answer.reasoning.text = Some("first".to_owned());
        Ok(answer)
    });
    let result = say(&mut Scene::asking(fake, |r| r).agent(), "go");
    assert_eq!(result.final_response.as_deref(), Some("The answer."));
    assert_eq!(result.last_reasoning.as_deref(), Some("first\n\nsecond"));
}

#[test]
fn at_the_end_of_the_budget_an_empty_summary_is_asked_for_once_more() {
    let tools_offered: Arc<Mutex<Vec<bool>>> = Arc::default();
    let seen = Arc::clone(&tools_offered);
    let fake = Fake::new(WINDOW, move |request, n| {
        seen.lock().unwrap().push(!request.tools.is_empty());
        Ok(match n {
            0 => calling(1, "read_file", &json!({"path": "x"})),
            1 => words(""),
            _ => words("as far as I came"),
        })
    });
    let mut scene = Scene::asking(fake, |r| r);
    scene.settings.max_iterations = 1;
    let result = say(&mut scene.agent(), "go");
    assert_eq!(result.exit_reason, ExitReason::MaxIterations);
    assert_eq!(result.final_response.as_deref(), Some("as far as I came"));
    assert_eq!(*tools_offered.lock().unwrap(), [true, false, false]);
    assert!(
        result
            .failure
            .unwrap()
            .hint
            .unwrap()
            .contains("agent.max_turns")
    );
}

#[test]
fn a_call_is_the_same_call_under_another_spelling() {
    let fake = Fake::new(WINDOW, |_, n| {
        Ok(if n == 0 {
            let call = |id: &str, name: &str| {
                ToolCall::new(id, name, json!({"path": "x", "content": "y"}).to_string())
            };
            ModelResponse {
                tool_calls: vec![call("a", "Write_File"), call("b", "write_file")],
                ..ModelResponse::new(FinishReason::ToolCalls)
            }
        } else {
            words("done")
        })
    });
    let result = say(&mut Scene::asking(fake, |r| r).agent(), "go");
    assert_eq!(result.tool_trace.len(), 1, "{:?}", result.tool_trace);
}

#[test]
fn files_that_were_not_changed_are_named_however_often_it_was_tried() {
    let patch = "*** Begin Patch\n*** Update File: nowhere.txt\n@@\n-a\n+b\n\
        *** Add File: /proc/x/new\n+c\n*** End Patch";
    let fake = Fake::new(WINDOW, move |_, n| {
        Ok(match n {
            // From the second time on the result carries a note.
            0..=2 => calling(
                n,
                "write_file",
                &json!({"path": "/proc/x/y", "content": "z"}),
            ),
            3 => calling(3, "patch", &json!({"mode": "patch", "patch": patch})),
            _ => words("I wrote it."),
        })
    });
    let scene = Scene::asking(fake, |r| r.with(PatchTool));
    let result = say(&mut scene.agent(), "go");
    assert_eq!(
        result.unwritten_files,
        ["/proc/x/y", "nowhere.txt", "/proc/x/new"]
    );
    let statuses: Vec<&str> = result
        .tool_trace
        .iter()
        .map(|call| call["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["error"; 4]);
}
