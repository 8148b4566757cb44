//! Calls that overlap, calls that are skipped, words that come in between, circles.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use hermes_agent::{ExitReason, LoopGuardSettings, TurnOutcome};
use hermes_tools::{ArgKind, Argument, CallContext, Tool, ToolReach, ToolSpec};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::scene::{Scene, say};

/// Answers only when as many calls run at once as the barrier wants.
struct Meet {
    barrier: Arc<Barrier>,
}

const ARGUMENTS: &[Argument] = &[Argument::optional("n", ArgKind::Text, "Anything.")];

impl Tool for Meet {
    fn spec(&self) -> ToolSpec<'_> {
        const {
            ToolSpec {
                name: "meet",
                toolset: "test",
                description: "Waits for company.",
                arguments: ARGUMENTS,
                reach: ToolReach::ReadOnly,
                ..ToolSpec::DEFAULT
            }
        }
    }

    fn call(&self, args: &Value, _: &CallContext) -> Value {
        self.barrier.wait();
        json!({"met": args["n"]})
    }
}

#[test]
fn calls_that_only_look_run_at_the_same_time_and_answer_in_order() {
    let script = "turns:\n  - calls:\n      - {tool: meet, arguments: {n: a}}\n      \
        - {tool: meet, arguments: {n: b}}\n      - {tool: meet, arguments: {n: c}}\n  - text: done\n";
    // If they did not overlap this would wait for ever; the test runner ends it then.
    let barrier = Arc::new(Barrier::new(3));
    let scene = Scene::playing(script, |registry| registry.with(Meet { barrier }));
    let mut agent = scene.agent();
    let result = say(&mut agent, "go");
    assert_eq!(result.final_response.as_deref(), Some("done"));
    let id = agent.session_id().clone();
    let history = agent.store().load_history(&id).unwrap();
    let results: Vec<String> = history.messages[2..5]
        .iter()
        .map(|stored| stored.message.text())
        .collect();
    assert_eq!(
        results,
        [r#"{"met":"a"}"#, r#"{"met":"b"}"#, r#"{"met":"c"}"#]
    );
}

/// Raises the interrupt of its own conversation.
struct Stop;

impl Tool for Stop {
    fn spec(&self) -> ToolSpec<'_> {
        const {
            ToolSpec {
                name: "stop",
                toolset: "test",
                description: "Interrupts.",
                arguments: ARGUMENTS,
                ..ToolSpec::DEFAULT
            }
        }
    }

    fn call(&self, _: &Value, context: &CallContext) -> Value {
        context.interrupt.raise();
        json!({"error": "stopped"})
    }
}

#[test]
fn calls_that_were_not_begun_say_so_and_the_step_is_whole() {
    let script = "turns:\n  - calls:\n      - {tool: stop, arguments: {}}\n      \
        - {tool: stop, arguments: {n: b}}\n  - text: done\n";
    let scene = Scene::playing(script, |registry| registry.with(Stop));
    let mut agent = scene.agent();
    let result = say(&mut agent, "go");
    assert_eq!(result.outcome, TurnOutcome::Interrupted);
    assert_eq!(result.exit_reason, ExitReason::Interrupted);
    assert_eq!(result.api_calls, 1);
    let id = agent.session_id().clone();
    let history = agent.store().load_history(&id).unwrap();
    assert_eq!(history.messages.len(), 4);
    assert!(
        history.messages[3]
            .message
            .text()
            .contains("stop was not called")
    );
    assert!(history.left_out.is_empty());
}

#[test]
fn words_that_come_in_between_are_in_the_next_result_or_left_for_the_next_turn() {
    let script = "turns:\n  - match: {user: work}\n    times: 1\n    calls:\n      \
        - {tool: read_file, arguments: {path: nothing}}\n  - text: done\n";
    let scene = Scene::playing(script, |registry| registry);
    let mut agent = scene.agent();
    agent.steering().send("use tabs");
    let result = say(&mut agent, "work");
    assert_eq!(result.pending_steer, None);
    let id = agent.session_id().clone();
    let history = agent.store().load_history(&id).unwrap();
    let text = history.messages[2].message.text();
    assert!(text.contains("[OUT-OF-BAND USER MESSAGE]\nuse tabs\n[/OUT-OF-BAND USER MESSAGE]"));
    agent.steering().send("too late");
    let result = say(&mut agent, "hello");
    assert_eq!(result.pending_steer.as_deref(), Some("too late"));
}

#[test]
fn a_model_that_goes_round_in_circles_is_told_and_stopped_if_asked_for() {
    let script = "turns:\n  - calls:\n      - {tool: read_file, arguments: {path: ''}}\n    \
        times: 20\n    match: {}\n";
    let mut scene = Scene::playing(script, |registry| registry);
    scene.settings.loop_guard = LoopGuardSettings {
        hard_stop: true,
        ..LoopGuardSettings::default()
    };
    let mut agent = scene.agent();
    let result = say(&mut agent, "go");
    assert!(matches!(
        result.exit_reason,
        ExitReason::GuardrailHalt | ExitReason::AllRetriesExhausted
    ));
    let id = agent.session_id().clone();
    let history = agent.store().load_history(&id).unwrap();
    let told = history.messages.iter().any(|stored| {
        stored
            .message
            .text()
            .contains("[loop guard: this exact call")
    });
    assert!(told);
}

#[test]
fn a_file_that_was_not_written_is_named() {
    let script = "turns:\n  - calls:\n      - {tool: write_file, arguments: {path: /proc/x/y, content: z}}\n  \
        - text: done\n";
    let scene = Scene::playing(script, |registry| registry);
    let mut agent = scene.agent();
    let result = say(&mut agent, "go");
    assert_eq!(result.unwritten_files, ["/proc/x/y"]);
    assert_eq!(result.outcome, TurnOutcome::Completed);
}

#[test]
fn an_interrupt_ends_a_request_soon() {
    let script = "turns:\n  - text: late\n    delay: 60\n";
    let scene = Scene::playing(script, |registry| registry);
    let parts = scene.parts();
    let interrupt = Arc::clone(&parts.context.interrupt);
    let id = hermes_session::SessionId::generate();
    let new = hermes_session::NewSession {
        source: "cli".to_owned(),
        ..hermes_session::NewSession::default()
    };
    let mut agent = hermes_agent::Agent::begin(parts, id, new, "x");
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        interrupt.raise();
    });
    let begun = std::time::Instant::now();
    let result = say(&mut agent, "go");
    stopper.join().unwrap();
    assert_eq!(result.exit_reason, ExitReason::InterruptedDuringRequest);
    assert!(begun.elapsed() < Duration::from_secs(20));
}
