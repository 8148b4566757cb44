//! Errors that pass, and those that do not.

use std::time::Duration;

use hermes_providers::{ErrorClass, StreamEvent};
use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::{Bench, ask, hear, question};

fn gaps(server: &ModelServer) -> Vec<Duration> {
    let questions = server.questions();
    let times = questions.iter().map(|question| question.at);
    times
        .clone()
        .zip(times.skip(1))
        .map(|(a, b)| b - a)
        .collect()
}

#[test]
fn failing_server_is_retried_with_growing_delays() {
    let broken = || {
        ScriptedAnswer::status(
            500,
            &json!({"error": {"message": "oops, something broke here"}}),
        )
    };
    let server = ModelServer::start([broken(), broken(), ScriptedAnswer::text("done")]);
    let provider = Bench::custom(&server.base_url(), "").open();
    let (response, events) = hear(&*provider, &question("hi"));
    assert_eq!(response.unwrap().text, "done");
    let [first, second] = gaps(&server)[..] else {
        panic!("three questions")
    };
    // Above: 3 s and 6 s, and whatever a busy machine adds.
    assert!(
        (Duration::from_secs(2)..Duration::from_secs(10)).contains(&first),
        "{first:?}"
    );
    assert!(
        (Duration::from_secs(4)..Duration::from_secs(15)).contains(&second),
        "{second:?}"
    );
    let waits = events
        .iter()
        .filter(|event| matches!(event, StreamEvent::Waiting { .. }));
    assert_eq!(waits.count(), 2);
}

#[test]
fn retry_waits_as_long_as_the_server_asks() {
    let slow_down = || {
        ScriptedAnswer::status(429, &json!({"error": {"message": "slow down"}}))
            .header("retry-after", "1")
    };
    let server = ModelServer::start([slow_down(), slow_down(), ScriptedAnswer::text("done")]);
    let provider = Bench::custom(&server.base_url(), "").open();
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "done");
    for gap in gaps(&server) {
        assert!(
            (Duration::from_millis(950)..Duration::from_secs(10)).contains(&gap),
            "{gap:?}"
        );
    }
}

#[test]
fn quota_that_resets_in_hours_is_reported_at_once() {
    let message = "Usage limit reached";
    let answer = ScriptedAnswer::status(429, &json!({"error": {"message": message}}));
    let server = ModelServer::always(answer.header("retry-after", "14710"));
    let provider = Bench::custom(&server.base_url(), "").open();
    let error = ask(&*provider, &question("hi")).unwrap_err();
    assert_eq!(error.class, ErrorClass::RateLimit);
    assert!(error.class.is_quota());
    assert!(error.reset_at.is_some());
    assert!(error.to_string().contains("resets in 4 h 5 min"), "{error}");
    assert_eq!(server.questions().len(), 1);
}

#[test]
fn permanent_refusal_is_not_retried() {
    for (status, message, class) in [
        (401, "no", ErrorClass::Auth),
        (402, "pay first", ErrorClass::Billing),
        (403, "no", ErrorClass::Auth),
        (
            400,
            "the field `messages` is missing",
            ErrorClass::FormatError,
        ),
        (404, "model not found", ErrorClass::ModelNotFound),
        (413, "too large", ErrorClass::PayloadTooLarge),
        (
            400,
            "maximum context length is 32768 tokens",
            ErrorClass::ContextOverflow,
        ),
    ] {
        let answer = ScriptedAnswer::status(status, &json!({"error": {"message": message}}));
        let server = ModelServer::always(answer);
        let provider = Bench::custom(&server.base_url(), "").open();
        let error = ask(&*provider, &question("hi")).unwrap_err();
        assert_eq!(error.class, class, "{message}");
        assert_eq!(error.status, Some(status));
        assert_eq!(server.questions().len(), 1, "{message}");
    }
}

#[test]
fn a_field_that_is_refused_is_left_out_from_then_on() {
    let no = json!({"error": {"message": "Unrecognized request argument: reasoning_effort"}});
    let server = ModelServer::start([
        ScriptedAnswer::status(400, &no),
        ScriptedAnswer::text("one"),
        ScriptedAnswer::text("two"),
    ]);
    let bench = Bench::custom(&server.base_url(), "agent: {reasoning_effort: high}\n");
    let provider = bench.open();
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "one");
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "two");
    let sent: Vec<bool> = server
        .questions()
        .iter()
        .map(|question| question.body["reasoning_effort"] == "high")
        .collect();
    assert_eq!(sent, [true, false, false]);
}

#[test]
fn an_overflow_states_its_limit_or_none() {
    let stated =
        json!({"error": {"message": "This model's maximum context length is 32768 tokens."}});
    let vague = json!({"error": {"message": "context length exceeded"}});
    let server = ModelServer::start([
        ScriptedAnswer::status(400, &vague),
        ScriptedAnswer::status(400, &stated),
    ]);
    let bench = Bench::custom(&server.base_url(), "  context_length: 1000000\n");
    let provider = bench.open();
    assert_eq!(provider.route().context_length, 1_000_000);
    let error = ask(&*provider, &question("hi")).unwrap_err();
    assert_eq!(
        (error.class, error.stated_limit),
        (ErrorClass::ContextOverflow, None)
    );
    let cache = bench.home().join("context_length_cache.yaml");
    assert_eq!(provider.route().context_length, 1_000_000);
    assert!(!cache.exists());
    let error = ask(&*provider, &question("hi")).unwrap_err();
    provider.adopt_context_length(error.stated_limit.unwrap());
    assert_eq!(provider.route().context_length, 32_768);
    let text = std::fs::read_to_string(&cache).unwrap();
    assert!(text.contains("32768"), "{text}");
    // The next start knows it, where settings do not state another.
    let next = Bench::custom(&server.base_url(), "");
    std::fs::copy(&cache, next.home().join("context_length_cache.yaml")).unwrap();
    assert_eq!(next.open().route().context_length, 32_768);
}
