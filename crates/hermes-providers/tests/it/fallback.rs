//! The fallback chain.

use hermes_providers::{ErrorClass, StreamEvent};
use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::{Bench, ask, hear, question};

fn refused(status: u16) -> ScriptedAnswer {
    ScriptedAnswer::status(status, &json!({"error": {"message": "no"}}))
}

fn pair(first: &ModelServer, second: &ModelServer, more: &str) -> Bench {
    let fallback = format!(
        "fallback_providers:\n  - {{provider: custom, model: other, base_url: '{}'}}\n",
        second.base_url()
    );
    Bench::custom(&first.base_url(), &format!("{more}{fallback}"))
}

#[test]
fn fallback_route_answers_one_turn_and_the_next_returns_to_the_first() {
    let first = ModelServer::always(refused(401));
    let second = ModelServer::always(ScriptedAnswer::text("from the second"));
    let bench = pair(&first, &second, "");
    let provider = bench.open();
    provider.begin_turn();
    let (response, events) = hear(&*provider, &question("hi"));
    assert_eq!(response.unwrap().text, "from the second");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, StreamEvent::Switched(_)))
    );
    assert_eq!(provider.route().model, "other");
    assert_eq!(first.questions().len(), 1);
    // Still the same turn: the second goes on.
    assert_eq!(
        ask(&*provider, &question("hi")).unwrap().text,
        "from the second"
    );
    assert_eq!(first.questions().len(), 1);
    provider.begin_turn();
    assert_eq!(provider.route().model, "test-model");
    assert_eq!(
        ask(&*provider, &question("hi")).unwrap().text,
        "from the second"
    );
    assert_eq!(first.questions().len(), 2);
    assert_eq!(second.questions()[0].body["model"], "other");
}

#[test]
fn next_turn_avoids_a_rate_limited_first_route() {
    let first = ModelServer::always(refused(429));
    let second = ModelServer::always(ScriptedAnswer::text("ok"));
    let provider = pair(&first, &second, "").open();
    provider.begin_turn();
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "ok");
    provider.begin_turn();
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "ok");
    assert_eq!(first.questions().len(), 1);
}

#[test]
fn branch_starts_at_the_active_route_and_switches_alone() {
    let first = ModelServer::always(refused(401));
    let second = ModelServer::always(ScriptedAnswer::text("ok"));
    let provider = pair(&first, &second, "").open();
    provider.begin_turn();
    ask(&*provider, &question("hi")).unwrap();
    let branch = provider.branch().unwrap();
    branch.begin_turn();
    ask(&*branch, &question("hi")).unwrap();
    assert_eq!(first.questions().len(), 1);
    // A branch that goes on takes nobody along, and one that begins a turn takes nobody back.
    assert!(!branch.give_up_on_route("gave no answer", &mut |_| {}));
    provider.begin_turn();
    assert_eq!(provider.route().model, "test-model");
    let early = provider.branch().unwrap();
    assert!(early.give_up_on_route("gave no answer", &mut |_| {}));
    assert_eq!(early.route().model, "other");
    assert_eq!(provider.route().model, "test-model");
    assert_eq!(branch.route().model, "other");
}

#[test]
fn last_error_lists_all_failed_attempts() {
    let first = ModelServer::always(refused(401));
    let second = ModelServer::always(refused(402));
    let provider = pair(&first, &second, "").open();
    let error = ask(&*provider, &question("hi")).unwrap_err();
    assert_eq!(error.class, ErrorClass::Billing);
    assert_eq!(error.attempts, 2);
    assert_eq!(error.history.len(), 2);
}

#[test]
fn primary_route_that_cannot_be_opened_is_skipped() {
    let second = ModelServer::always(ScriptedAnswer::text("ok"));
    let bench = Bench::new(&format!(
        "model: {{provider: nosuch, default: m}}\nfallback_model: {{provider: custom, model: other, base_url: '{}'}}\n",
        second.base_url()
    ));
    assert_eq!(ask(&*bench.open(), &question("hi")).unwrap().text, "ok");
}

#[test]
fn fallback_entry_equal_to_the_first_route_is_skipped() {
    let first = ModelServer::always(refused(401));
    let bench = Bench::custom(
        &first.base_url(),
        &format!(
            "fallback_providers:\n  - {{provider: custom, model: test-model, base_url: '{}'}}\n  - {{provider: openrouter, model: m}}\n  - 3\n",
            first.base_url()
        ),
    );
    let error = ask(&*bench.open(), &question("hi")).unwrap_err();
    assert_eq!((error.class, error.attempts), (ErrorClass::Auth, 1));
}

#[test]
fn refusal_of_the_fallback_route_keeps_the_keys_of_the_first() {
    let first = ModelServer::always(refused(503));
    let second = ModelServer::always(refused(402));
    let bench = pair(
        &first,
        &second,
        "  api_key: sk-first-key-1234\nagent: {api_max_retries: 1}\n",
    );
    let error = ask(&*bench.open(), &question("hi")).unwrap_err();
    assert_eq!(error.class, ErrorClass::Billing);
    let kept = std::fs::read_to_string(bench.home().join("auth.json")).unwrap_or_default();
    assert!(!kept.contains("sk-first-key"), "{kept}");
    assert!(!kept.contains("overloaded"), "{kept}");
    assert!(!first.questions().is_empty());
    assert!(
        second
            .questions()
            .iter()
            .all(|question| !question.contains("sk-first-key-1234"))
    );
}
