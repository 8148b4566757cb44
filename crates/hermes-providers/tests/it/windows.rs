//! The size of the window, and models that name themselves.

use std::time::{Duration, Instant};

use hermes_providers::{ModelOverrides, Provider};
use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::{Bench, ask, question};

/// Waits until the window is of this size: it is asked for beside the question.
pub(crate) fn wait_for_window(provider: &dyn Provider, tokens: u64) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while provider.route().context_length != tokens {
        assert!(Instant::now() < deadline, "{:?}", provider.route());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_server_is_asked_once_and_the_next_start_knows() {
    let models = json!({"data": [{"id": "other", "max_model_len": 1}, {"id": "test-model", "max_model_len": 40_960}]});
    let server = ModelServer::always(ScriptedAnswer::text("ok"))
        .with("/v1/models", ScriptedAnswer::status(200, &models));
    let bench = Bench::custom(&server.base_url(), "");
    let provider = bench.open();
    assert_eq!(provider.route().context_length, 256_000);
    ask(&*provider, &question("hi")).unwrap();
    wait_for_window(&*provider, 40_960);
    ask(&*provider, &question("hi")).unwrap();
    let next = bench.open();
    assert_eq!(next.route().context_length, 40_960);
    ask(&*next, &question("hi")).unwrap();
    let others = server.received().len() - server.questions().len();
    assert_eq!(others, 1);
}

#[test]
fn a_configured_window_needs_no_request() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let bench = Bench::custom(&server.base_url(), "  context_length: 9000\n");
    let provider = bench.open();
    for _ in 0..3 {
        ask(&*provider, &question("hi")).unwrap();
    }
    assert_eq!(server.received().len(), 3);
    assert!(!bench.home().join("context_length_cache.yaml").exists());
}

#[test]
fn only_model_of_a_local_server_is_used() {
    let one = json!({"data": [{"id": "the-one"}]});
    let server = ModelServer::always(ScriptedAnswer::text("ok"))
        .with("/v1/models", ScriptedAnswer::status(200, &one));
    let config = format!(
        "model: {{provider: custom, base_url: '{}'}}\n",
        server.base_url()
    );
    let provider = Bench::new(&config).open();
    assert_eq!(provider.route().model, "the-one");
    let two = json!({"data": [{"id": "a"}, {"id": "b"}]});
    let server = ModelServer::always(ScriptedAnswer::text("ok"))
        .with("/v1/models", ScriptedAnswer::status(200, &two));
    let config = format!(
        "model: {{provider: custom, base_url: '{}'}}\n",
        server.base_url()
    );
    let error = Bench::new(&config)
        .try_open(&ModelOverrides::default())
        .err()
        .unwrap();
    assert!(error.hint().contains("hermes model NAME"), "{error}");
}
