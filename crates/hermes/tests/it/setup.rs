//! The first minutes: from an empty home to the first answer, on a real pseudo-terminal, and setup for
//! scripts.

use std::time::Duration;

use hermes_testkit::{AtTerminal, ModelServer, ProgramCall, ScriptedAnswer, TestHome};
use serde_json::{Value, json};

use crate::{configured, fresh};

const KEY: &str = "sk-or-canary-0123456789abcdef";

/// A person at the terminal whose key presses are counted.
struct Person {
    terminal: AtTerminal,
    presses: usize,
}

impl Person {
    fn at(call: ProgramCall) -> Self {
        Self {
            terminal: call.env("TERM", "xterm-256color").start_at_terminal(),
            presses: 0,
        }
    }

    #[track_caller]
    fn sees(&self, text: &str) -> &Self {
        self.terminal.wait_for(text);
        self
    }

    fn press(&mut self, key: &str) {
        self.presses += 1;
        self.terminal.press(key);
    }

    /// Types a text that does not count, such as a key.
    fn types(&mut self, text: &str) {
        self.terminal.press(text);
    }
}

fn models() -> Value {
    json!({"data": [
        {"id": "tiny/model", "created": 1, "context_length": 8192},
        {"id": "anthropic/claude-sonnet-9", "created": 2, "context_length": 200_000,
         "pricing": {"prompt": "0.000003", "completion": "0.000015"}},
    ]})
}

/// A provider that takes one key.
fn provider(answer: &str) -> ModelServer {
    ModelServer::always(ScriptedAnswer::text(answer)).with_script("/v1/models", |request| {
        if request.header("authorization") == Some(&format!("Bearer {KEY}")) {
            return ScriptedAnswer::status(200, &models());
        }
        let message = "No auth credentials found for this key";
        ScriptedAnswer::status(401, &json!({"error": {"message": message}}))
    })
}

/// An LM Studio with these models.
fn local_server(names: &[&str]) -> ModelServer {
    let list: Vec<Value> = names.iter().map(|name| json!({"id": name})).collect();
    ModelServer::always(ScriptedAnswer::text("Greetings from here"))
        .with(
            "/v1/models",
            ScriptedAnswer::status(200, &json!({"data": list})),
        )
        .with(
            "/api/v1/models",
            ScriptedAnswer::status(200, &json!({"models": []})),
        )
}

/// `hermes` where only the given server can be found: no engine, no other server.
fn alone<'a>(home: &TestHome, args: impl IntoIterator<Item = &'a str>) -> ProgramCall {
    home.hermes(args.into_iter().collect::<Vec<_>>())
        .env("OLLAMA_HOST", "127.0.0.1:1")
        .env("LM_BASE_URL", "http://127.0.0.1:1/v1")
}

#[test]
fn new_user_with_a_key_gets_an_answer_in_six_presses() {
    let home = fresh();
    let server = provider("Greetings from afar");
    let call = alone(&home, []).env("OPENROUTER_BASE_URL", server.base_url());
    let mut person = Person::at(call);
    person.sees("Model provider").sees("OpenRouter").sees("Esc");
    person.press("\r");
    person.sees("Key for OpenRouter");
    person.types(KEY);
    person.press("\r");
    person.sees("Model").sees("$3 in, $15 out").sees("Esc");
    person.press("\r");
    person
        .sees("anthropic/claude-sonnet-9 is ready")
        .sees("Esc");
    person.press("\r");
    person.sees("❯");
    person.press("?");
    person.press("\r");
    person.sees("Greetings from afar");
    assert!(person.presses <= 6, "{}", person.presses);
    person.types("\u{4}");
    let shown = person.terminal.wait();
    shown.succeeds();
    assert!(!shown.stdout.contains("canary"), "{}", shown.stdout);
    let dotenv = home.read(".env");
    assert!(
        dotenv.contains(&format!("OPENROUTER_API_KEY={KEY}")),
        "{dotenv}"
    );
    assert_eq!(home.mode(".env") & 0o777, 0o600);
    assert!(!home.read("config.yaml").contains("canary"));
    let asked = &server.questions()[0];
    assert_eq!(asked.body["model"], "anthropic/claude-sonnet-9");
}

#[test]
fn new_user_with_a_local_server_gets_an_answer_in_three_presses() {
    let home = fresh();
    let server = local_server(&["little-model"]);
    let call = alone(&home, []).env("LM_BASE_URL", server.base_url());
    let mut person = Person::at(call);
    person
        .sees("Found LM Studio")
        .sees("little-model is ready")
        .sees("Esc");
    person.press("\r");
    person.sees("❯");
    person.press("?");
    person.press("\r");
    person.sees("Greetings from here");
    assert!(person.presses <= 3, "{}", person.presses);
    person.types("\u{4}");
    person.terminal.wait().succeeds();
    let config = home.read("config.yaml");
    assert!(
        config.contains("little-model") && config.contains("lmstudio"),
        "{config}"
    );
    // The second start asks nothing.
    let mut person = Person::at(alone(&home, []).env("LM_BASE_URL", server.base_url()));
    person.sees("❯");
    person.types("\u{4}");
    assert!(!person.terminal.wait().succeeds().stdout.contains("Welcome"));
}

#[test]
fn wrong_keys_are_named_and_asked_for_again() {
    let home = fresh();
    let server = provider("fine");
    let call = alone(&home, ["setup"]).env("OPENROUTER_BASE_URL", server.base_url());
    let mut person = Person::at(call);
    person.sees("Model provider").sees("Esc");
    person.press("\r");
    person.sees("Key for OpenRouter");
    // Too short to be one.
    person.types("abc\r");
    person.sees("not a valid key").sees("Key for OpenRouter");
    // One of another vendor, by its shape: not sent anywhere unasked.
    person.types("sk-ant-canary-000000000000\r");
    person.sees("looks like a key of Anthropic").sees("Esc");
    assert!(
        server
            .received()
            .iter()
            .all(|one| !one.contains("sk-ant-canary"))
    );
    person.press("\u{1b}[B");
    person.press("\u{1b}[B");
    person.press("\r");
    person.sees("Key for OpenRouter");
    // One that the provider does not take.
    person.types("sk-or-wrong-00000000\r");
    person
        .sees("rejected the key (HTTP 401)")
        .sees("Type another key")
        .sees("Esc");
    person.press("\r");
    person.sees("Key for OpenRouter");
    person.types(&format!("{KEY}\r"));
    person.sees("$3 in, $15 out").sees("Esc");
    // Esc goes back to the providers, and again leaves; what works is kept.
    person.press("\u{1b}");
    person.sees("Model provider").sees("Esc");
    person.press("\u{1b}");
    let shown = person.terminal.wait();
    shown.succeeds();
    for secret in ["canary", "wrong-00000000"] {
        assert!(!shown.stdout.contains(secret), "{}", shown.stdout);
    }
    assert!(home.read(".env").contains(KEY));
}

#[test]
fn dumb_terminal_chooses_by_number() {
    let home = fresh();
    let server = local_server(&["b-model", "a-model"]);
    let call = alone(&home, ["setup"])
        .env("LM_BASE_URL", server.base_url())
        .env("TERM", "dumb");
    let mut terminal = call.start_at_terminal();
    terminal.wait_for("1. a-model");
    terminal.wait_for("Number (Enter for 1");
    terminal.press("7\r");
    terminal.wait_for("There is no '7' in the list.");
    terminal.press("2\r");
    terminal.wait_for("b-model is ready");
    terminal.wait_for("Number (Enter for 1");
    terminal.press("q\r");
    terminal.wait().succeeds();
    assert!(home.read("config.yaml").contains("b-model"));
}

#[test]
fn leaving_setup_says_how_to_come_back_and_writes_nothing() {
    let home = fresh();
    let mut person = Person::at(alone(&home, []));
    person.sees("Model provider").sees("Esc");
    person.press("\u{3}");
    let shown = person.terminal.wait();
    shown.exits(1).prints_part("`hermes setup` begins again");
    assert!(!home.has("config.yaml"));
    // Without a terminal nobody is asked.
    alone(&home, ["chat", "-q", "hi"])
        .run()
        .exits(1)
        .says_part("no model provider is configured");
    // Settings that cannot be read are named, not asked for again.
    let broken = configured("model: [\n");
    let terminal = alone(&broken, ["chat"]).start_at_terminal();
    terminal.wait().exits(1).prints_part("config.yaml");
    assert_eq!(broken.read("config.yaml"), "model: [\n");
    alone(&home, ["setup"])
        .run()
        .exits(2)
        .says_part("--non-interactive");
}

#[test]
fn later_visit_changes_one_thing() {
    let home = configured("model:\n  provider: replay\n  script: s.yaml # mine\n");
    home.put("s.yaml", "turns:\n- text: hi\n");
    let mut person = Person::at(alone(&home, ["setup"]));
    person.sees("Set up").sees("Agent").sees("Esc");
    person.types("agent\r");
    person.sees("Approvals").sees("Esc");
    person.types("manual");
    person.sees("Filter: manual");
    person.press("\r");
    person.sees("Reasoning").sees("Esc");
    person.press("\u{1b}");
    person.sees("Set up").sees("Esc");
    person.press("\u{1b}");
    person.terminal.wait().succeeds();
    let config = home.read("config.yaml");
    assert!(config.contains("script: s.yaml # mine"), "{config}");
    assert!(config.contains("mode: manual"), "{config}");
    alone(&home, ["setup", "tts"])
        .run()
        .exits(1)
        .says_part("nothing to set up for speech");
    alone(&home, ["setup", "nosuch"]).run().exits(2);
}

#[test]
fn script_sets_up_a_provider_and_tests_the_key() {
    let home = fresh();
    let server = provider("done");
    let call = |args: &[&str]| {
        alone(&home, args.iter().copied()).env("OPENROUTER_BASE_URL", server.base_url())
    };
    let plain = ["setup", "--non-interactive"];
    call(&plain)
        .run()
        .exits(2)
        .says_part("setup needs a provider");
    let named = [&plain[..], &["--provider", "openrouter"]].concat();
    call(&[&plain[..], &["--provider", "nosuch"]].concat())
        .run()
        .exits(1)
        .says_part("no such provider");
    // A local address would take no key; the real one wants one.
    let model = [&named[..], &["--model", "tiny/model"]].concat();
    let piped = [&model[..], &["--key-stdin"]].concat();
    call(&piped)
        .stdin("sk-or-wrong-00000000\n")
        .run()
        .exits(1)
        .says_part("rejected the key (HTTP 401)")
        .never_shows("wrong-00000000");
    assert!(!home.has(".env") && !home.has("config.yaml"));
    call(&[&named[..], &["--key-stdin"]].concat())
        .stdin(KEY)
        .run()
        .exits(2)
        .says_part("such as anthropic/claude-sonnet-9");
    call(&piped)
        .stdin(format!("{KEY}\n"))
        .run()
        .succeeds()
        .never_shows("canary");
    call(&["setup", "--non-interactive", "--backend", "moon"])
        .run()
        .exits(2)
        .says_part("no such backend");
    call(&["setup", "--non-interactive", "--backend", "local"])
        .run()
        .succeeds();
    call(&["-z", "hi"]).run().succeeds().prints("done\n");
    // The list was remembered, and shows window and price.
    call(&["model", "--refresh"])
        .run()
        .succeeds()
        .prints_part("200K window, $3 in");
    call(&["model"])
        .run()
        .succeeds()
        .prints_part("tiny/model  8K window");
}

#[test]
fn unreachable_and_silent_providers_end_by_a_deadline() {
    let home = fresh();
    let silent = ModelServer::always(ScriptedAnswer::text("x")).with(
        "/v1/models",
        ScriptedAnswer::status(200, &models()).after(Duration::from_mins(2)),
    );
    let args = [
        "setup",
        "--non-interactive",
        "--provider",
        "openrouter",
        "--model",
        "m",
        "--key-stdin",
    ];
    let call = |url: &str| {
        alone(&home, args)
            .env("OPENROUTER_BASE_URL", url)
            .stdin(KEY)
            .run()
    };
    call(&silent.base_url())
        .exits(3)
        .says_part("no answer within 10 s");
    call("http://127.0.0.1:1/v1")
        .exits(3)
        .says_part("cannot be reached");
    let page = ModelServer::always(ScriptedAnswer::text("x")).with(
        "/v1/models",
        ScriptedAnswer::html(200, "<h1>Sign in to the network</h1>"),
    );
    call(&page.base_url())
        .exits(3)
        .says_part("answers with a page");
    let expired = json!({"error": {"message": format!("The key {KEY} has expired")}});
    let expired = ModelServer::always(ScriptedAnswer::text("x"))
        .with("/v1/models", ScriptedAnswer::status(401, &expired));
    call(&expired.base_url())
        .exits(1)
        .says_part("says that the key has expired")
        .never_shows("canary");
    assert!(!home.has(".env"));
}

#[test]
fn key_is_stored_where_the_environment_does_not_hide_it() {
    let home = fresh();
    let server = provider("done");
    let args = [
        "setup",
        "--non-interactive",
        "--provider",
        "openrouter",
        "--model",
        "tiny/model",
        "--key-stdin",
    ];
    let call = |args: &[&str]| {
        alone(&home, args.iter().copied())
            .env("OPENROUTER_BASE_URL", server.base_url())
            .env("OPENROUTER_API_KEY", "sk-or-old-and-wrong")
    };
    call(&args).stdin(KEY).run().succeeds();
    call(&["-z", "hi"]).run().succeeds().prints("done\n");
    let used = server.questions().pop().unwrap();
    assert_eq!(
        used.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
}

#[test]
fn model_picker_forgets_what_described_the_model_before() {
    let home = configured(
        "model:\n  provider: custom\n  base_url: http://127.0.0.1:1/v1\n  default: old\n  context_length: 4096\n",
    );
    let server = local_server(&["b-model", "a-model"]);
    let mut person = Person::at(alone(&home, ["model"]).env("LM_BASE_URL", server.base_url()));
    person
        .sees("Model provider")
        .sees("LM Studio here")
        .sees("Esc");
    person.press("\r");
    person.sees("Model").sees("a-model").sees("Esc");
    person.types("b-m\r");
    let shown = person.terminal.wait();
    shown.succeeds().prints_part("Model:    b-model");
    let config = home.read("config.yaml");
    assert!(
        !config.contains("4096") && config.contains("lmstudio"),
        "{config}"
    );
}

#[test]
fn the_api_of_the_gateway_is_turned_on_with_a_key_of_its_own_and_off_again() {
    let home = fresh();
    for words in [&["gateway", "setup"][..], &["setup", "gateway"]] {
        let mut person = Person::at(home.hermes(words));
        person.sees("API for programs").sees("Esc");
        person.press("\r");
        let shown = person.terminal.wait();
        shown.succeeds();
        assert!(!home.has("config.yaml") || !home.read("config.yaml").contains("api_server"));
    }
    assert!(!home.has(".env") || !home.read(".env").contains("API_SERVER_KEY="));

    let mut person = Person::at(home.hermes(["gateway", "setup"]));
    person.sees("API for programs").sees("Esc");
    person.press("\u{1b}[A");
    person.press("\r");
    person
        .sees("A new key is in")
        .sees("http://127.0.0.1:8642/v1");
    person.terminal.wait().succeeds();
    let dotenv = home.read(".env");
    let key = dotenv
        .lines()
        .find_map(|line| line.strip_prefix("API_SERVER_KEY="));
    assert_eq!(key.unwrap().len(), 64, "{dotenv}");
    assert_eq!(home.mode(".env") & 0o777, 0o600);

    // Off, and on with the key that is there.
    for (press, says, enabled) in [
        ("\u{1b}[B", "The API is off.", "false"),
        ("\u{1b}[A", "http://127.0.0.1:8642/v1", "true"),
    ] {
        let mut person = Person::at(home.hermes(["setup", "gateway"]));
        person.sees("API for programs").sees("Esc");
        person.press(press);
        person.press("\r");
        person.sees(says);
        person.terminal.wait().succeeds();
        let set = home.run(["config", "get", "platforms.api_server.enabled"]);
        set.prints(&format!("{enabled}\n"));
    }
    assert_eq!(home.read(".env"), dotenv);
    home.run(["gateway", "setup"])
        .exits(2)
        .says_part("hermes config set API_SERVER_KEY KEY");
}
