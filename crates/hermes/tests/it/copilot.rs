//! GitHub Copilot, with GitHub and the API on loopback.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hermes_testkit::{ModelServer, ProgramCall, ReceivedRequest, ScriptedAnswer, TestHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::fresh;

const GITHUB_TOKEN: &str = "gho_canary0123456789abcdef";
const EXCHANGE: &str = "/copilot_internal/v2/token";

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_secs()
}

/// GitHub and the API in one: the code is used at the third question, tokens are given by `exchange`.
fn github(exchange: impl Fn(usize) -> (u16, Value) + Send + Sync + 'static) -> ModelServer {
    let device = json!({
        "device_code": "device-canary", "user_code": "WDJB-MJHT", "interval": 0, "expires_in": 60,
        "verification_uri": "https://github.com/login/device",
    });
    let asked = AtomicUsize::new(0);
    let exchanged = AtomicUsize::new(0);
    let models = json!({"data": [
        {"id": "gpt-5.2", "model_picker_enabled": true,
         "capabilities": {"type": "chat", "limits": {"max_prompt_tokens": 111_000}}},
        {"id": "hidden", "model_picker_enabled": false},
    ]});
    ModelServer::always(ScriptedAnswer::text("hello from Copilot"))
        .with("/login/device/code", ScriptedAnswer::status(200, &device))
        // GitHub says everything with status 200.
        .with_script("/login/oauth/access_token", move |_| {
            let body = match asked.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => json!({"error": "authorization_pending"}),
                _ => json!({"access_token": GITHUB_TOKEN, "token_type": "bearer", "scope": "read:user"}),
            };
            ScriptedAnswer::status(200, &body)
        })
        .with_script(EXCHANGE, move |_| {
            let (status, body) = exchange(exchanged.fetch_add(1, Ordering::SeqCst));
            ScriptedAnswer::status(status, &body)
        })
        .with("/v1/models", ScriptedAnswer::status(200, &models))
}

fn no_exchange(_: usize) -> (u16, Value) {
    (404, json!({"message": "Not Found"}))
}

fn call<'a>(
    home: &TestHome,
    server: &ModelServer,
    args: impl IntoIterator<Item = &'a str>,
) -> ProgramCall {
    home.hermes(args.into_iter().collect::<Vec<_>>())
        .env("COPILOT_GH_HOST", server.root())
        .env("COPILOT_API_BASE_URL", server.base_url())
}

/// The GitHub CLI, which prints what it keeps, or fails.
fn github_cli(home: &TestHome, script: &str) -> std::path::PathBuf {
    let directory = home.user_home().join("bin");
    std::fs::create_dir_all(&directory).unwrap();
    let program = directory.join("gh");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    directory
}

fn with_path(call: ProgramCall, directory: &Path) -> ProgramCall {
    call.env("PATH", format!("{}:/usr/bin:/bin", directory.display()))
}

fn requests<'a>(all: &'a [ReceivedRequest], path: &str) -> Vec<&'a ReceivedRequest> {
    all.iter().filter(|one| one.path == path).collect()
}

#[test]
fn code_of_github_logs_in_and_hermes_gives_its_own_name() {
    let home = fresh();
    let token = format!("tid=1;exp={};st=dotcom", now() + 1500);
    let given = token.clone();
    let server = github(move |_| (200, json!({"token": given, "expires_at": now() + 1500})));
    call(
        &home,
        &server,
        [
            "auth",
            "add",
            "copilot",
            "--client-id",
            "Iv1.mine",
            "--no-browser",
        ],
    )
    .run()
    .succeeds()
    .says_part("https://github.com/login/device and enter the code WDJB-MJHT")
    .prints_part("Logged in to copilot")
    .never_shows("canary");
    let sent = server.received();
    let asked = requests(&sent, "/login/device/code");
    let fields = String::from_utf8_lossy(&asked[0].raw).into_owned();
    assert!(
        fields.contains("client_id=Iv1.mine") && fields.contains("scope=read%3Auser"),
        "{fields}"
    );
    assert_eq!(requests(&sent, "/login/oauth/access_token").len(), 3);
    // The token for GitHub is kept where the Python runtime finds it; that of the exchange is not kept.
    let file: Value = serde_json::from_str(&home.read("auth.json")).unwrap();
    let entry = &file["credential_pool"]["copilot"][0];
    assert_eq!(entry["access_token"], GITHUB_TOKEN);
    assert_eq!(entry["source"], "manual:device_code");
    assert_eq!(file["active_provider"], "copilot");
    assert_eq!(home.mode("auth.json") & 0o777, 0o600);
    call(&home, &server, ["-z", "hi", "-m", "openai/gpt-5.2"])
        .run()
        .succeeds()
        .prints("hello from Copilot\n");
    let sent = server.received();
    let exchange = requests(&sent, EXCHANGE)[0];
    let bearer = format!("token {GITHUB_TOKEN}");
    assert_eq!(exchange.header("authorization"), Some(bearer.as_str()));
    let asked = server.questions().pop().unwrap();
    assert_eq!(asked.path, "/v1/responses");
    assert_eq!(asked.body["model"], "gpt-5.2");
    let bearer = format!("Bearer {token}");
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    assert_eq!(asked.header("x-initiator"), Some("user"));
    assert_eq!(asked.header("openai-intent"), Some("conversation-edits"));
    // Nobody pretends to be an editor.
    for one in [exchange, &asked] {
        for name in ["editor-version", "user-agent"] {
            let value = one.header(name).unwrap();
            assert!(value.starts_with("hermes/"), "{name}: {value}");
        }
        assert_eq!(one.header("copilot-integration-id"), None);
    }
    assert!(!home.read("auth.json").contains("tid=1"));
    call(&home, &server, ["logout"]).run().succeeds();
    home.run(["chat", "-Q", "-q", "hi", "-m", "x", "--provider", "copilot"])
        .exits(1)
        .says_part("no key is set for copilot")
        .says_part("hermes auth add copilot");
}

#[test]
fn agent_goes_on_by_itself_without_a_request_of_the_person() {
    let home = fresh();
    let server = ModelServer::start([
        ScriptedAnswer::call("terminal", &json!({"command": "true"})),
        ScriptedAnswer::text("done"),
    ])
    .with(EXCHANGE, ScriptedAnswer::status(404, &json!({})));
    call(
        &home,
        &server,
        ["-z", "hi", "-m", "claude-opus-4-6", "--provider", "github"],
    )
    .env("GH_TOKEN", GITHUB_TOKEN)
    .run()
    .succeeds()
    .prints("done\n");
    let asked = server.questions();
    let initiators: Vec<_> = asked
        .iter()
        .map(|one| one.header("x-initiator").unwrap())
        .collect();
    assert_eq!(initiators, ["user", "agent"]);
    assert_eq!(asked[0].path, "/v1/chat/completions");
    assert_eq!(asked[0].body["model"], "claude-opus-4.6");
    // Not every token is exchanged; it is asked once.
    let bearer = format!("Bearer {GITHUB_TOKEN}");
    assert_eq!(asked[0].header("authorization"), Some(bearer.as_str()));
    assert_eq!(requests(&server.received(), EXCHANGE).len(), 1);
}

#[test]
fn token_that_is_not_taken_any_more_is_exchanged_again() {
    let home = fresh();
    let tokens = |at: usize| {
        (
            200,
            json!({"token": format!("tid={at}"), "expires_at": now() + 1500}),
        )
    };
    let server = ModelServer::start_with(|request| {
        if request.header("authorization") == Some("Bearer tid=0") {
            return ScriptedAnswer::status(401, &json!({"error": {"message": "token expired"}}));
        }
        ScriptedAnswer::text("fine again")
    });
    let exchanged = AtomicUsize::new(0);
    let server = server.with_script(EXCHANGE, move |_| {
        let (status, body) = tokens(exchanged.fetch_add(1, Ordering::SeqCst));
        ScriptedAnswer::status(status, &body)
    });
    call(
        &home,
        &server,
        ["-z", "hi", "-m", "gpt-4.1", "--provider", "copilot"],
    )
    .env("COPILOT_GITHUB_TOKEN", GITHUB_TOKEN)
    .run()
    .succeeds()
    .prints("fine again\n");
    assert_eq!(requests(&server.received(), EXCHANGE).len(), 2);
}

#[test]
fn login_of_the_github_cli_is_used_when_the_person_says_so() {
    let home = fresh();
    let server = github(no_exchange);
    // That a token for GitHub lies about does not mean that Copilot is wanted.
    call(&home, &server, ["-z", "hi", "-m", "x"])
        .env("GITHUB_TOKEN", GITHUB_TOKEN)
        .run()
        .exits(1)
        .says_part("no model provider is configured");
    let empty = home.user_home().join("nothing");
    let add = || call(&home, &server, ["auth", "add", "copilot"]);
    add()
        .env("PATH", &empty)
        .run()
        .exits(3)
        .says_part("the GitHub CLI, whose login is used for Copilot, is not installed")
        .says_part("hermes auth add copilot --type api-key")
        .says_part("--client-id");
    let path = github_cli(&home, "echo 'no oauth token found' >&2; exit 1");
    with_path(add(), &path)
        .run()
        .exits(1)
        .says_part("the GitHub CLI is not logged in")
        .says_part("gh auth login");
    let path = github_cli(&home, "echo ghp_canary0123456789");
    with_path(add(), &path)
        .run()
        .exits(1)
        .says_part("classic access token");
    assert!(!home.has("auth.json"));
    // It must not be asked for what it was told in a variable.
    let script = format!("[ -z \"$GH_TOKEN$GITHUB_TOKEN\" ] || exit 1\necho {GITHUB_TOKEN}");
    let path = github_cli(&home, &script);
    for _ in 0..2 {
        with_path(add(), &path)
            .env("GH_TOKEN", "gho_other0123456789")
            .run()
            .succeeds()
            .prints_part("The login of the GitHub CLI is used for copilot")
            .never_shows("canary");
    }
    let file: Value = serde_json::from_str(&home.read("auth.json")).unwrap();
    let entries = file["credential_pool"]["copilot"].as_array().unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0]["source"], "gh_cli");
    call(&home, &server, ["-z", "hi", "-m", "gpt-4.1"])
        .run()
        .succeeds()
        .prints("hello from Copilot\n");
    let listed = call(&home, &server, ["model", "--refresh"]).run();
    let listed = listed.succeeds();
    assert!(
        listed.stdout.contains("gpt-5.2") && !listed.stdout.contains("hidden"),
        "{}",
        listed.stdout
    );
    assert!(listed.stdout.contains("111"), "{}", listed.stdout);
}

#[test]
fn classic_access_token_is_refused_with_the_way_out() {
    let home = fresh();
    home.run([
        "auth",
        "add",
        "copilot",
        "--api-key",
        "ghp_canary0123456789",
    ])
    .exits(1)
    .says_part("Copilot takes no classic access token (ghp_...)")
    .says_part("Copilot Requests")
    .never_shows("canary");
    assert!(!home.has("auth.json"));
    home.hermes(["-z", "hi", "-m", "gpt-4.1", "--provider", "copilot"])
        .env("COPILOT_GITHUB_TOKEN", "ghp_canary0123456789")
        .run()
        .exits(1)
        .says_part("no key is set for copilot");
}
