//! Providers whose wire format follows from the model, or whose address is the customer's own.

use hermes_testkit::{ModelServer, ScriptedAnswer, TestHome};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{configured, fresh};

const KEY: &str = "canary-0123456789abcdef";

fn server() -> ModelServer {
    let models = json!({"data": [{"id": "glm-5"}, {"id": "claude-opus-4-6"}]});
    ModelServer::always(ScriptedAnswer::text("hello"))
        .with("/v1/models", ScriptedAnswer::status(200, &models))
}

/// The path, the model and the header with the key of one question.
fn asked(
    home: &TestHome,
    vars: &[(&str, &str)],
    args: &[&str],
    server: &ModelServer,
) -> [String; 3] {
    let mut call = home.hermes(["-z", "hi"]).args(args);
    for (name, value) in vars {
        call = call.env(name, value);
    }
    call.run().succeeds().prints("hello\n");
    let asked = server.questions().pop().unwrap();
    let key = ["authorization", "x-api-key"].iter().find_map(|name| {
        let value = asked.header(name)?;
        Some(format!("{name}: {value}"))
    });
    let model = asked.body["model"].as_str().unwrap().to_owned();
    [asked.path, model, key.unwrap()]
}

#[test]
fn opencode_serves_each_model_in_its_format() {
    let home = fresh();
    let server = server();
    let (bearer, own) = (
        format!("authorization: Bearer {KEY}"),
        format!("x-api-key: {KEY}"),
    );
    for (provider, stem, model, path, name, key) in [
        (
            "opencode-zen",
            "ZEN",
            "opencode-zen/glm-5",
            "/v1/chat/completions",
            "glm-5",
            &bearer,
        ),
        (
            "zen",
            "ZEN",
            "gpt-5.3-codex",
            "/v1/responses",
            "gpt-5.3-codex",
            &bearer,
        ),
        (
            "opencode",
            "ZEN",
            "claude-opus-4-6",
            "/v1/messages",
            "claude-opus-4-6",
            &own,
        ),
        (
            "opencode-go",
            "GO",
            "minimax-m2.7",
            "/v1/messages",
            "minimax-m2.7",
            &own,
        ),
        (
            "opencode-go",
            "GO",
            "kimi-k2.5",
            "/v1/chat/completions",
            "kimi-k2.5",
            &bearer,
        ),
    ] {
        let vars = [
            (format!("OPENCODE_{stem}_API_KEY"), KEY.to_owned()),
            (format!("OPENCODE_{stem}_BASE_URL"), server.base_url()),
        ];
        let vars: Vec<_> = vars
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let found = asked(
            &home,
            &vars,
            &["--provider", provider, "-m", model],
            &server,
        );
        assert_eq!(
            found,
            [path, name, key.as_str()].map(str::to_owned),
            "{provider} {model}"
        );
    }
    // A format that was set for another model does not stay with this one.
    let home = configured(
        "model:\n  provider: opencode-zen\n  default: claude-opus-4-6\n  api_mode: chat_completions\n",
    );
    let url = server.base_url();
    let vars = [
        ("OPENCODE_ZEN_API_KEY", KEY),
        ("OPENCODE_ZEN_BASE_URL", url.as_str()),
    ];
    assert_eq!(asked(&home, &vars, &[], &server)[0], "/v1/messages");
}

#[test]
fn azure_needs_the_address_of_the_resource_and_follows_the_deployment() {
    let home = fresh();
    let server = server();
    home.hermes([
        "chat",
        "-Q",
        "-q",
        "hi",
        "-m",
        "gpt-4o",
        "--provider",
        "azure",
    ])
    .env("AZURE_FOUNDRY_API_KEY", KEY)
    .run()
    .exits(1)
    .says_part("the provider `azure-foundry` needs the address of your resource")
    .says_part("AZURE_FOUNDRY_BASE_URL");
    let url = server.base_url();
    let vars = [
        ("AZURE_FOUNDRY_API_KEY", KEY),
        ("AZURE_FOUNDRY_BASE_URL", url.as_str()),
    ];
    for (model, path) in [
        ("gpt-4o", "/v1/chat/completions"),
        ("gpt-5-mini", "/v1/responses"),
        ("o3", "/v1/responses"),
        ("Llama-4", "/v1/chat/completions"),
    ] {
        let found = asked(
            &home,
            &vars,
            &["--provider", "azure-foundry", "-m", model],
            &server,
        );
        assert_eq!(found[0], path, "{model}");
        assert_eq!(found[2], format!("authorization: Bearer {KEY}"));
    }
    // With both variables set, nothing else has to be said.
    let found = asked(&home, &vars, &["-m", "gpt-4o"], &server);
    assert_eq!(found[0], "/v1/chat/completions");
}

#[test]
fn setup_knows_the_providers() {
    let server = server();
    let home = fresh();
    let setup = |home: &TestHome, args: &[&str]| {
        let call = home
            .hermes(["setup", "--non-interactive", "--key-stdin"])
            .args(args);
        call.stdin(format!("{KEY}\n")).run()
    };
    setup(&home, &["--provider", "azure-foundry", "--model", "gpt-4o"])
        .exits(2)
        .says_part("needs the address of your resource");
    assert!(!home.has(".env"));
    let args = [
        "--provider",
        "azure",
        "--base-url",
        &server.base_url(),
        "--model",
        "gpt-4o",
    ];
    setup(&home, &args).succeeds();
    assert!(
        home.read(".env")
            .contains(&format!("AZURE_FOUNDRY_API_KEY={KEY}"))
    );
    assert!(home.read("config.yaml").contains(&server.base_url()));
    home.run(["-z", "hi"]).succeeds().prints("hello\n");
    let listed = home.run(["model", "--list"]);
    for name in ["copilot", "azure-foundry", "opencode-zen", "opencode-go"] {
        assert!(
            listed.stdout.lines().any(|line| line.ends_with(name)),
            "{}",
            listed.stdout
        );
    }
    assert!(
        listed.stdout.contains("✓ azure-foundry"),
        "{}",
        listed.stdout
    );
    // And a person who is asked for the address.
    let home = fresh();
    let call = home
        .hermes(["model"])
        .env("OLLAMA_HOST", "127.0.0.1:1")
        .env("LM_BASE_URL", "http://127.0.0.1:1/v1")
        .env("TERM", "xterm-256color");
    let mut terminal = call.start_at_terminal();
    terminal.wait_for("Model provider");
    terminal.press("azure");
    terminal.wait_for("Filter: azure");
    terminal.press("\r");
    terminal.wait_for("Address of your Azure Foundry resource");
    terminal.press(&format!("{}\r", server.base_url()));
    terminal.wait_for("Key for Azure Foundry");
    terminal.press(&format!("{KEY}\r"));
    terminal.wait_for("glm-5");
    terminal.press("\r");
    terminal.wait_for("Provider: azure-foundry");
    terminal.wait().succeeds();
    assert!(home.read("config.yaml").contains(&server.base_url()));
}
