//! The replay provider, from a settings file to answers.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_config::{Config, Environment, Sources};
use hermes_proc::Wake;
use hermes_providers::replay::ReplayScript;
use hermes_providers::{
    ErrorClass, FinishReason, Message, ModelOverrides, ModelRequest, ModelResponse, OpenError,
    Provider, ProviderError, Replay, StreamEvent, ToolCall, open,
};
use pretty_assertions::assert_eq;

fn play(script: &str) -> Replay {
    Replay::new(
        ReplayScript::parse(script, Path::new("s.yaml")).unwrap(),
        None,
    )
}

fn ask(provider: &dyn Provider, messages: &[Message]) -> Result<ModelResponse, ProviderError> {
    let request = ModelRequest::new("be brief", messages.to_vec());
    provider.complete(&request, &mut |_| {}, &Wake::new().unwrap())
}

fn refused(script: &str) -> String {
    ReplayScript::parse(script, Path::new("s.yaml"))
        .unwrap_err()
        .to_string()
}

#[test]
fn turns_without_a_condition_are_played_in_order() {
    let replay = play("turns:\n  - text: one\n  - text: two\n");
    let hello = [Message::user("hello")];
    assert_eq!(ask(&replay, &hello).unwrap().text, "one");
    assert_eq!(ask(&replay, &hello).unwrap().text, "two");
    let error = ask(&replay, &hello).unwrap_err();
    assert_eq!(error.class, ErrorClass::Script);
    assert!(error.to_string().contains("hello"), "{error}");
}

#[test]
fn a_resumed_session_goes_on_where_it_was() {
    let script = "turns:\n  - text: one\n  - text: two\n";
    let history = [
        Message::user("a"),
        Message::assistant("one"),
        Message::user("b"),
    ];
    assert_eq!(ask(&play(script), &history).unwrap().text, "two");
}

#[test]
fn a_match_wins_over_the_order_and_fills_in_what_it_found() {
    let replay = play(
        r#"
turns:
  - match: {last: '/card (?<id>t_[0-9a-f]+)/', step: 1}
    think: hm
    text: "looking at ${id}"
    calls:
      - {tool: kanban_show, arguments: {task_id: "${id}", deep: [1, "${0}"]}}
      - {tool: todo, id: fixed}
  - match: {tool: kanban_show, seen: card}
    text: done
"#,
    );
    let user = Message::user("work on card t_12ab now");
    let mut events = Vec::new();
    let request = ModelRequest::new("", vec![user.clone()]);
    let interrupt = Wake::new().unwrap();
    let first = replay
        .complete(&request, &mut |event| events.push(event), &interrupt)
        .unwrap();
    assert_eq!(first.text, "looking at t_12ab");
    assert_eq!(first.finish, FinishReason::ToolCalls);
    assert_eq!(first.reasoning.text.as_deref(), Some("hm"));
    assert_eq!(
        first.tool_calls,
        [
            ToolCall::new(
                "call_0_0",
                "kanban_show",
                r#"{"task_id":"t_12ab","deep":[1,"card t_12ab"]}"#
            ),
            ToolCall::new("fixed", "todo", "{}"),
        ]
    );
    assert!(events.contains(&StreamEvent::Text("looking ".to_owned())));
    assert!(events.contains(&StreamEvent::ToolCall {
        name: "todo".to_owned()
    }));
    assert!(first.usage.unwrap().input > 0);
    let result = Message::tool_result(&first.tool_calls[0], "{}");
    let second = ask(&replay, &[user, first.to_message(), result]).unwrap();
    assert_eq!(second.text, "done");
}

#[test]
fn turn_and_step_are_counted_in_the_request() {
    let replay = play(
        "turns:\n  - match: {turn: 2, step: 1}\n    text: second\n  - match: {turn: 1}\n    text: first\n",
    );
    let user = Message::user("x");
    assert_eq!(
        ask(&replay, std::slice::from_ref(&user)).unwrap().text,
        "first"
    );
    let history = [user.clone(), Message::assistant("first"), user];
    assert_eq!(ask(&replay, &history).unwrap().text, "second");
}

#[test]
fn an_error_is_played_once_unless_told_otherwise() {
    let replay = play(
        "turns:\n  - match: hi\n    error: {class: rate_limit, status: 429, retry_after: 1.5}\n  - match: hi\n    text: hello\n",
    );
    let hi = [Message::user("hi")];
    let error = ask(&replay, &hi).unwrap_err();
    assert_eq!(error.class, ErrorClass::RateLimit);
    assert_eq!(error.status, Some(429));
    assert_eq!(error.retry_after, Some(Duration::from_millis(1_500)));
    assert!(error.to_string().contains("line 2"), "{error}");
    assert_eq!(ask(&replay, &hi).unwrap().text, "hello");

    let always = play("turns:\n  - match: hi\n    times: always\n    error: overloaded\n");
    for _ in 0..3 {
        assert_eq!(ask(&always, &hi).unwrap_err().class, ErrorClass::Overloaded);
    }
}

#[test]
fn an_interrupt_ends_a_delay() {
    let replay = play("turns:\n  - delay: 3000\n    text: late\n");
    let interrupt = Arc::new(Wake::new().unwrap());
    let raiser = Arc::clone(&interrupt);
    let started = Instant::now();
    let thread = std::thread::spawn(move || raiser.raise());
    let request = ModelRequest::new("", vec![Message::user("x")]);
    let error = replay
        .complete(&request, &mut |_| {}, &interrupt)
        .unwrap_err();
    thread.join().unwrap();
    assert_eq!(error.class, ErrorClass::Interrupted);
    assert!(started.elapsed() < Duration::from_mins(1));
}

#[test]
fn a_broken_script_is_refused_with_line_and_reason() {
    assert_eq!(
        refused("turns:\n  - text: a\n    txet: b\n"),
        "s.yaml, line 3: a turn has no key `txet`; known keys: match, times, delay, text, think, \
         calls, finish, usage, error"
    );
    assert_eq!(
        refused("turns:\n  - text: a\n  - calls: [{arguments: {}}]\n"),
        "s.yaml, line 3: a call needs `tool`"
    );
    assert!(refused("turns: [\n").starts_with("s.yaml, line "));
    assert_eq!(refused("turns: []\n"), "s.yaml, line 1: `turns` is empty");
    assert_eq!(
        refused("turns:\n  - match: '/(/'\n    text: a\n"),
        "s.yaml, line 2: `match` is not a regular expression: error: unclosed group"
    );
    assert!(refused("turns:\n  - error: nope\n").contains("line 2: no such error class: `nope`"));
    assert!(refused("turns:\n  - delay: -1\n    text: a\n").contains("line 2: `delay` must be"));
    assert!(refused("turns:\n  - {}\n").contains("line 2: a turn needs"));
    assert!(refused("- text: a\n").contains("line 1: a script must be a mapping"));
    assert!(refused("turns:\n  - {error: auth, text: a}\n").contains("not both"));
}

#[test]
fn settings_choose_the_replay_provider_and_its_script() {
    let home = tempfile::tempdir().unwrap();
    let config = |text: &str| {
        std::fs::write(home.path().join("config.yaml"), text).unwrap();
        let env = Environment::from_pairs::<&str, &str>([]);
        Config::load_read_only(&Sources::new(&env, home.path()))
    };
    std::fs::write(home.path().join("t.yaml"), "turns:\n  - text: hey\n").unwrap();
    let chosen = config("model: {provider: replay, script: t.yaml}\n");
    let provider = open(&chosen, &ModelOverrides::default()).unwrap();
    assert_eq!(provider.route().provider, "replay");
    assert_eq!(ask(&*provider, &[Message::user("x")]).unwrap().text, "hey");

    // Errors that pass are waited for, as with any other provider.
    std::fs::write(
        home.path().join("t.yaml"),
        "turns:\n  - error: {class: overloaded, retry_after: 0.01}\n  - text: then\n",
    )
    .unwrap();
    let provider = open(&chosen, &ModelOverrides::default()).unwrap();
    assert_eq!(ask(&*provider, &[Message::user("x")]).unwrap().text, "then");

    let without = open(
        &config("model: {provider: replay}\n"),
        &ModelOverrides::default(),
    );
    assert!(matches!(without, Err(OpenError::NoScript)));
    let missing = config("model: {provider: replay, script: gone.yaml}\n");
    let error = open(&missing, &ModelOverrides::default()).err().unwrap();
    assert!(error.to_string().contains("gone.yaml"), "{error}");
}
