//! Which provider a model's name, a short name or a flag leads to.

use hermes_providers::{ModelOverrides, OpenError};
use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;

use crate::bench::{Bench, ask, question};

const ENDPOINTS: &str = "providers:\n  lab: {api: 'http://127.0.0.1:9/v1', models: {lab-1: {}}}\n\
    custom_providers:\n  - {name: shed, base_url: 'http://127.0.0.1:9/v1', model: shed-1}\n";

fn chosen(config: &str, keys: &[&str], model: &str) -> (String, String) {
    let mut bench = Bench::new(config);
    for name in keys {
        bench = bench.env(name, "sk-or-0123456789abcdef");
    }
    let wanted = ModelOverrides {
        model: Some(model.to_owned()),
        ..ModelOverrides::default()
    };
    let route = bench.try_open(&wanted).unwrap().route();
    (route.provider, route.model)
}

#[test]
fn model_without_a_provider_goes_to_its_vendor() {
    let openrouter = "model: {provider: openrouter, default: vendor/m}\n";
    let anthropic = "model: {provider: anthropic, default: claude-x}\n";
    let custom = "model: {provider: custom, default: m, base_url: 'http://127.0.0.1:9/v1'}\n";
    let all: &[&str] = &["ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "XAI_API_KEY"];
    let without_anthropic: &[&str] = &["OPENROUTER_API_KEY"];
    for (config, keys, model, provider) in [
        // A vendor's own name, if its key is there.
        (openrouter, all, "Claude-Opus-4-6", "anthropic"),
        (
            openrouter,
            without_anthropic,
            "claude-opus-4-6",
            "openrouter",
        ),
        (anthropic, all, "grok-4", "xai"),
        (anthropic, all, "claude-sonnet-4-6", "anthropic"),
        (anthropic, all, "who-knows", "anthropic"),
        // The name of a vendor before the model's.
        (openrouter, all, "anthropic/claude-opus-4.6", "openrouter"),
        (anthropic, all, "x-ai/grok-4", "openrouter"),
        (anthropic, all, "anthropic/claude-opus-4.6", "anthropic"),
        // A server of one's own may serve anything.
        (custom, all, "claude-opus-4-6", "custom"),
        (custom, all, "openai/gpt-5", "custom"),
        // Nothing configured.
        ("", all, "grok-4", "xai"),
        ("", all, "x-ai/grok-4", "openrouter"),
        ("model: {provider: auto}\n", all, "grok-4", "xai"),
    ] {
        let config = format!("{config}{ENDPOINTS}");
        let found = chosen(&config, keys, model);
        assert_eq!(found, (provider.to_owned(), model.to_owned()), "{config}");
    }
}

#[test]
fn endpoints_that_list_a_model_serve_it() {
    for base in [
        "model: {provider: anthropic, default: claude-x}\n",
        "model: {provider: custom, default: m, base_url: 'http://127.0.0.1:9/v1'}\n",
        "",
    ] {
        let config = format!("{base}{ENDPOINTS}");
        let keys = &["ANTHROPIC_API_KEY"];
        assert_eq!(chosen(&config, keys, "lab-1").0, "lab");
        assert_eq!(chosen(&config, keys, "shed-1").0, "shed");
    }
    let staying = format!("model: {{provider: lab, default: lab-1}}\n{ENDPOINTS}");
    assert_eq!(chosen(&staying, &[], "lab-1").0, "lab");
}

#[test]
fn aliases_may_be_texts_and_ignore_case() {
    let config = "model: {provider: openrouter, default: vendor/m}\n\
        model_aliases: {Fast: claude-haiku-4-5, big: {model: grok-4, provider: xai}, odd: 3}\n";
    let keys = &["ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "XAI_API_KEY"];
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    assert_eq!(
        chosen(config, keys, "fast"),
        pair("anthropic", "claude-haiku-4-5")
    );
    assert_eq!(chosen(config, keys, "BIG"), pair("xai", "grok-4"));
    assert_eq!(chosen(config, keys, "odd"), pair("openrouter", "odd"));
}

#[test]
fn alias_with_an_address_uses_nothing_of_the_configured_provider() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let config = format!(
        "model: {{provider: anthropic, default: claude-x}}\n\
         model_aliases: {{here: {{model: small, base_url: '{}'}}}}\n",
        server.base_url()
    );
    let bench = Bench::new(&config).env("ANTHROPIC_API_KEY", "secret-of-the-vendor");
    let wanted = ModelOverrides {
        model: Some("here".to_owned()),
        ..ModelOverrides::default()
    };
    ask(&*bench.try_open(&wanted).unwrap(), &question("hi")).unwrap();
    let sent = &server.questions()[0];
    assert_eq!(sent.path, "/v1/chat/completions");
    let headers = format!("{:?}", sent.headers);
    assert!(!headers.contains("secret-of-the-vendor"), "{headers}");
}

#[test]
fn provider_flag_wins_over_the_model_name_and_must_exist() {
    let bench = Bench::new(ENDPOINTS).env("ANTHROPIC_API_KEY", "0123456789");
    let open = |provider: &str| {
        bench.try_open(&ModelOverrides {
            provider: Some(provider.to_owned()),
            model: Some("claude-x".to_owned()),
            ..ModelOverrides::default()
        })
    };
    assert_eq!(open("lab").unwrap().route().provider, "lab");
    assert_eq!(open("claude").unwrap().route().provider, "anthropic");
    let error = open("nosuch").err().unwrap();
    assert!(matches!(error, OpenError::UnknownProvider { .. }));
    assert!(error.to_string().contains("nosuch"));
}
