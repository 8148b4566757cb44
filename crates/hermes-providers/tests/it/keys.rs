//! Which key goes where.

use std::time::SystemTime;

use hermes_providers::{
    AuthFile, CredentialEntry, CredentialStatus, ErrorClass, ModelOverrides, OpenError,
};
use hermes_secret::SecretString;
use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::{Bench, ask, question};

#[test]
fn no_key_goes_to_a_host_it_was_not_configured_for() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let bench = Bench::custom(&server.base_url(), "")
        .env("OPENAI_API_KEY", "sk-canary-openai-123456")
        .env("OPENROUTER_API_KEY", "sk-or-canary-123456")
        .env("OLLAMA_API_KEY", "canary-ollama-123456")
        .env("ANTHROPIC_API_KEY", "canary-anthropic-123456");
    assert_eq!(ask(&*bench.open(), &question("hi")).unwrap().text, "ok");
    for request in server.received() {
        assert!(!request.contains("canary"), "{request:?}");
    }
}

#[test]
fn a_known_provider_moved_to_another_host_does_not_take_shared_keys_along() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    for provider in ["openrouter", "openai-api"] {
        let config = format!(
            "model: {{provider: {provider}, default: m, base_url: '{}', api_mode: chat_completions}}\n",
            server.base_url()
        );
        let bench = Bench::new(&config)
            .env("OPENAI_API_KEY", "sk-canary-openai-123456")
            .env("OPENROUTER_API_KEY", "sk-or-canary-123456");
        assert_eq!(ask(&*bench.open(), &question("hi")).unwrap().text, "ok");
    }
    assert!(
        server
            .received()
            .iter()
            .all(|request| !request.contains("canary"))
    );
}

#[test]
fn the_variable_of_a_provider_moves_its_key_along() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let bench = Bench::new("model: {provider: deepseek, default: m}\n")
        .env("DEEPSEEK_API_KEY", "sk-deepseek-123456")
        .env("DEEPSEEK_BASE_URL", &server.base_url());
    ask(&*bench.open(), &question("hi")).unwrap();
    assert_eq!(
        server.questions()[0].header("authorization"),
        Some("Bearer sk-deepseek-123456")
    );
}

#[test]
fn a_named_endpoint_has_its_own_key_query_and_body() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let config = format!(
        "providers:\n  lab:\n    api: '{}?api-version=7'\n    key_env: LAB_KEY\n    default_model: lab-model\n    extra_body: {{top_k: 3}}\n    models: {{lab-model: {{context_length: 12345}}}}\n",
        server.base_url()
    );
    let bench = Bench::new(&config).env("LAB_KEY", "lab-key-123456");
    for name in ["lab", "custom:lab", "LAB"] {
        let wanted = ModelOverrides {
            provider: Some(name.to_owned()),
            ..ModelOverrides::default()
        };
        let provider = bench.try_open(&wanted).unwrap();
        assert_eq!(provider.route().context_length, 12_345);
        assert_eq!(provider.route().provider, "lab");
        ask(&*provider, &question("hi")).unwrap();
    }
    let sent = &server.questions()[0];
    assert_eq!(sent.path, "/v1/chat/completions?api-version=7");
    assert_eq!(sent.header("authorization"), Some("Bearer lab-key-123456"));
    assert_eq!(sent.body["model"], "lab-model");
    assert_eq!(sent.body["top_k"], 3);
}

#[test]
fn alias_names_model_and_address() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let config = format!(
        "model: {{provider: replay, script: none.yaml}}\nmodel_aliases: {{fast: {{model: small, provider: custom, base_url: '{}'}}}}\n",
        server.base_url()
    );
    let wanted = ModelOverrides {
        model: Some("fast".to_owned()),
        ..ModelOverrides::default()
    };
    let provider = Bench::new(&config).try_open(&wanted).unwrap();
    ask(&*provider, &question("hi")).unwrap();
    assert_eq!(server.questions()[0].body["model"], "small");
}

#[test]
fn missing_settings_are_named() {
    let open = |config: &str, env: &[(&str, &str)]| {
        let mut bench = Bench::new(config);
        for (name, value) in env {
            bench = bench.env(name, value);
        }
        bench.try_open(&ModelOverrides::default()).err().unwrap()
    };
    assert!(matches!(open("", &[]), OpenError::NothingConfigured));
    assert!(matches!(
        open("", &[("OPENROUTER_API_KEY", "changeme")]),
        OpenError::NothingConfigured
    ));
    assert!(matches!(
        open("model: {provider: nosuch}\n", &[]),
        OpenError::UnknownProvider { .. }
    ));
    assert!(matches!(
        open("model: {provider: custom}\n", &[]),
        OpenError::NoAddress
    ));
    assert!(matches!(
        open("model: {provider: custom, base_url: 'localhost:1'}\n", &[]),
        OpenError::BadAddress { .. }
    ));
    let no_key = open("model: {provider: anthropic, default: m}\n", &[]);
    assert!(
        no_key.hint().contains("ANTHROPIC_API_KEY"),
        "{}",
        no_key.hint()
    );
    assert!(matches!(
        open(
            "model: {provider: xai}\n",
            &[("XAI_API_KEY", "xai-12345678")]
        ),
        OpenError::NoModel { .. }
    ));
}

#[test]
fn first_provider_with_a_key_is_used() {
    let chosen = |name: &str, value: &str| {
        let bench = Bench::new("model: {default: some/model}\n").env(name, value);
        bench.open().route().provider
    };
    assert_eq!(chosen("OPENROUTER_API_KEY", "sk-or-12345678"), "openrouter");
    assert_eq!(chosen("OPENAI_API_KEY", "sk-or-12345678"), "openrouter");
    assert_eq!(chosen("OPENAI_API_KEY", "sk-12345678"), "openai-api");
    assert_eq!(chosen("GEMINI_API_KEY", "AIza12345678"), "gemini");
}

fn pool(bench: &Bench, count: usize) {
    let file = AuthFile::of_home(bench.home());
    file.change("custom:lab", |entries| {
        for at in 0..count {
            let secret = SecretString::new(format!("key-number-{at}"));
            let label = format!("k{at}");
            let priority = i64::try_from(at).unwrap();
            entries.push(CredentialEntry::manual(
                CredentialEntry::new_id(entries),
                &label,
                &secret,
                priority,
            ));
        }
    })
    .unwrap();
}

fn lab(server: &ModelServer, count: usize) -> Bench {
    let bench = Bench::new(&format!(
        "model: {{provider: lab, default: m}}\nproviders: {{lab: {{url: '{}'}}}}\n",
        server.base_url()
    ));
    pool(&bench, count);
    bench
}

#[test]
fn rate_limited_key_is_replaced_by_the_next() {
    let server = ModelServer::start_with(|request| {
        if request.header("authorization") == Some("Bearer key-number-0") {
            let body = json!({"error": {"message": "slow down"}});
            ScriptedAnswer::status(429, &body).header("retry-after", "0.1")
        } else {
            ScriptedAnswer::text("ok")
        }
    });
    let bench = lab(&server, 2);
    assert_eq!(ask(&*bench.open(), &question("hi")).unwrap().text, "ok");
    assert_eq!(server.questions().len(), 3);
    let entries = AuthFile::of_home(bench.home())
        .entries("custom:lab")
        .unwrap();
    assert!(entries[0].is_marked());
    assert_eq!(entries[0].last_error_reason(), "rate_limit");
    assert!(!entries[1].is_marked());
}

#[test]
fn nine_bad_keys_of_ten_do_not_use_up_the_attempts() {
    let server = ModelServer::start_with(|request| {
        if request.header("authorization") == Some("Bearer key-number-9") {
            ScriptedAnswer::text("ok")
        } else {
            ScriptedAnswer::status(401, &json!({"error": {"message": "bad key"}}))
        }
    });
    let bench = lab(&server, 10);
    let provider = bench.open();
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "ok");
    assert_eq!(server.questions().len(), 10);
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "ok");
    assert_eq!(server.questions().len(), 11);
    let entries = AuthFile::of_home(bench.home())
        .entries("custom:lab")
        .unwrap();
    let resting = entries.iter().filter(|entry| {
        matches!(
            entry.status(SystemTime::now()),
            CredentialStatus::Exhausted { .. }
        )
    });
    assert_eq!(resting.count(), 9);
    // Another process starts with the good one.
    assert_eq!(ask(&*bench.open(), &question("hi")).unwrap().text, "ok");
    assert_eq!(server.questions().len(), 12);
}

#[test]
fn all_keys_exhausted_is_an_error_without_a_request() {
    let server = ModelServer::always(ScriptedAnswer::status(
        402,
        &json!({"error": {"message": "pay"}}),
    ));
    let bench = lab(&server, 2);
    let provider = bench.open();
    assert_eq!(
        ask(&*provider, &question("hi")).unwrap_err().class,
        ErrorClass::Billing
    );
    assert_eq!(server.questions().len(), 2);
    let error = ask(&*provider, &question("hi")).unwrap_err();
    assert!(error.to_string().contains("all 2 keys"), "{error}");
    assert_eq!(server.questions().len(), 2);
}

#[test]
fn a_key_from_a_variable_is_recorded_without_itself() {
    let server = ModelServer::always(ScriptedAnswer::status(
        401,
        &json!({"error": {"message": "no"}}),
    ));
    let bench = Bench::new("model: {provider: deepseek, default: m}\n")
        .env("DEEPSEEK_API_KEY", "sk-canary-deepseek-1")
        .env("DEEPSEEK_BASE_URL", &server.base_url());
    ask(&*bench.open(), &question("hi")).unwrap_err();
    let text = std::fs::read_to_string(bench.home().join("auth.json")).unwrap();
    assert!(text.contains("env:DEEPSEEK_API_KEY"), "{text}");
    assert!(!text.contains("canary"), "{text}");
}
