//! Logins instead of keys, against an authorisation server on loopback.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hermes_testkit::{ModelServer, ScriptedAnswer, TestHome};
use serde_json::{Value, json};

use crate::fresh;

/// A portal whose token address gives these answers in turn, the last one again and again.
fn portal(tokens: Vec<(u16, Value)>) -> ModelServer {
    let device = json!({
        "device_code": "device-canary", "user_code": "ABCD-EFGH", "expires_in": 3, "interval": 0,
        "verification_uri": "https://portal.example/device",
        "verification_uri_complete": "https://portal.example/device?code=ABCD-EFGH",
    });
    let asked = AtomicUsize::new(0);
    ModelServer::always(ScriptedAnswer::text("hello from the portal"))
        .with(
            "/api/oauth/device/code",
            ScriptedAnswer::status(200, &device),
        )
        .with_script("/api/oauth/token", move |_| {
            let at = asked.fetch_add(1, Ordering::SeqCst).min(tokens.len() - 1);
            let (status, body) = &tokens[at];
            ScriptedAnswer::status(*status, body)
        })
}

fn error(name: &str) -> (u16, Value) {
    (400, json!({"error": name}))
}

fn token(name: &str, seconds: u64) -> (u16, Value) {
    let token = json!({
        "access_token": name, "refresh_token": format!("refresh-of-{name}"),
        "expires_in": seconds, "token_type": "Bearer",
    });
    (200, token)
}

fn log_in(home: &TestHome, portal: &ModelServer) -> hermes_testkit::ProgramOutput {
    home.run([
        "auth",
        "add",
        "nous",
        "--no-browser",
        "--portal-url",
        &portal.root(),
        "--inference-url",
        &portal.base_url(),
    ])
}

#[test]
fn device_login_waits_for_the_person_and_its_token_is_used() {
    let home = fresh();
    let pending = error("authorization_pending");
    let portal = portal(vec![pending.clone(), pending, token("access-canary", 3600)]);
    log_in(&home, &portal)
        .succeeds()
        .says_part("https://portal.example/device and enter the code ABCD-EFGH")
        .never_shows("access-canary")
        .never_shows("device-canary");
    assert_eq!(home.mode("auth.json") & 0o777, 0o600);
    let stored: Value = serde_json::from_str(&home.read("auth.json")).unwrap();
    assert_eq!(stored["active_provider"], "nous");
    assert_eq!(stored["providers"]["nous"]["access_token"], "access-canary");
    assert_eq!(stored["credential_pool"]["nous"][0]["auth_type"], "oauth");
    // Logged in, no provider named: the login is what answers.
    home.run(["-z", "hi", "-m", "hermes-4"])
        .succeeds()
        .prints("hello from the portal\n");
    let asked = portal.questions().pop().unwrap();
    assert_eq!(asked.header("authorization"), Some("Bearer access-canary"));
    home.run(["auth", "list"])
        .succeeds()
        .never_shows("access-canary");
    home.run(["logout"])
        .succeeds()
        .prints_part("the login for nous");
    home.run(["-z", "hi", "-m", "hermes-4"]).exits(1);
}

#[test]
fn login_that_is_declined_or_expires_stores_nothing() {
    for (answer, message) in [
        (error("access_denied"), "the login was declined"),
        (error("expired_token"), "the code has expired"),
        (error("authorization_pending"), "the code has expired"),
        (
            (
                400,
                json!({"error": "invalid_client", "error_description": "no such client"}),
            ),
            "no such client",
        ),
    ] {
        let home = fresh();
        let portal = portal(vec![answer]);
        log_in(&home, &portal).exits(1).says_part(message);
        assert!(!home.has("auth.json"), "{message}");
    }
    let home = fresh();
    let gone = "http://127.0.0.1:1";
    home.run(["auth", "add", "nous", "--portal-url", gone])
        .exits(3)
        .says_part("cannot be reached");
    home.run([
        "auth",
        "add",
        "nous",
        "--portal-url",
        "http://portal.example",
    ])
    .exits(1)
    .says_part("is not an https address");
    home.run(["auth", "add", "xai", "--type", "oauth"])
        .exits(1)
        .says_part("has no login here");
    home.run([
        "auth",
        "add",
        "xai",
        "--no-browser",
        "--api-key",
        "xai-0123456789",
    ])
    .exits(2);
}

#[test]
fn server_that_wants_to_be_asked_less_often_is() {
    let home = fresh();
    let portal = portal(vec![error("slow_down"), token("access-canary", 3600)]);
    let begun = Instant::now();
    // The code holds for three seconds; the pause of five outlasts it.
    log_in(&home, &portal)
        .exits(1)
        .says_part("the code has expired");
    assert!(begun.elapsed() >= Duration::from_secs(5));
    let asked = portal.received();
    let asked = asked
        .iter()
        .filter(|one| one.path == "/api/oauth/token")
        .count();
    assert_eq!(asked, 1);
}

#[test]
fn expired_token_is_renewed_before_it_is_used_and_once_after_a_refusal() {
    let home = fresh();
    let refused = Arc::new(AtomicUsize::new(0));
    let portal = portal(vec![
        token("first", 30),
        token("second", 3600),
        token("third", 3600),
    ]);
    log_in(&home, &portal).succeeds();
    home.run(["-z", "hi", "-m", "hermes-4"]).succeeds();
    let asked = portal.questions().pop().unwrap();
    assert_eq!(asked.header("authorization"), Some("Bearer second"));
    let renewals: Vec<_> = portal
        .received()
        .into_iter()
        .filter(|one| one.header("x-nous-refresh-token").is_some())
        .collect();
    assert_eq!(renewals.len(), 1);
    assert_eq!(
        renewals[0].header("x-nous-refresh-token"),
        Some("refresh-of-first")
    );
    assert!(home.read("auth.json").contains("refresh-of-second"));
    // A token that the server has ended before its time.
    let ended = Arc::clone(&refused);
    let strict = ModelServer::start_with(move |request| {
        if request.header("authorization") == Some("Bearer second") {
            ended.fetch_add(1, Ordering::SeqCst);
            let body = json!({"error": {"message": "token revoked"}});
            return ScriptedAnswer::status(401, &body);
        }
        ScriptedAnswer::text("with a new token")
    });
    let stored = home
        .read("auth.json")
        .replace(&portal.base_url(), &strict.base_url());
    home.put("auth.json", stored);
    home.run(["-z", "hi", "-m", "hermes-4"])
        .succeeds()
        .prints("with a new token\n");
    assert_eq!(refused.load(Ordering::SeqCst), 1);
}

/// What the page of the provider does: sends the browser to the callback.
fn browse(page: &str, query: &str) -> String {
    let callback = page
        .split(['?', '&'])
        .find_map(|pair| pair.strip_prefix("callback_url="))
        .unwrap();
    let callback = callback.replace("%3A", ":").replace("%2F", "/");
    let rest = callback.strip_prefix("http://localhost:").unwrap();
    let (port, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    write!(stream, "GET /favicon.ico HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let mut stream = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    write!(
        stream,
        "GET /{path}?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn browser_login_gives_a_key_to_who_knows_the_verifier() {
    let home = fresh();
    let key = json!({"key": "sk-or-canary-from-the-browser"});
    let server = ModelServer::always(ScriptedAnswer::text("hello"))
        .with("/v1/auth/keys", ScriptedAnswer::status(200, &key));
    let call = || {
        home.hermes(["login", "--provider", "openrouter", "--no-browser"])
            .env("OPENROUTER_BASE_URL", server.base_url())
            .start_at_terminal()
    };
    let page_of = |terminal: &hermes_testkit::AtTerminal| {
        terminal.wait_for("Waiting for the browser");
        let shown = terminal.shown();
        let line = shown
            .lines()
            .find(|line| line.starts_with("Open "))
            .unwrap();
        line.trim_start_matches("Open ").to_owned()
    };
    let terminal = call();
    let page = page_of(&terminal);
    assert!(
        page.starts_with(&format!("{}/auth?", server.root())),
        "{page}"
    );
    assert!(page.contains("code_challenge_method=S256"), "{page}");
    let answer = browse(&page, "code=code-canary");
    assert!(answer.contains("Logged in"), "{answer}");
    let shown = terminal.wait();
    shown.succeeds().prints_part("Logged in to openrouter");
    assert!(!shown.stdout.contains("canary"), "{}", shown.stdout);
    let exchanged = server.received();
    let exchanged = exchanged
        .iter()
        .find(|one| one.path == "/v1/auth/keys")
        .unwrap();
    assert_eq!(exchanged.body["code"], "code-canary");
    assert_eq!(exchanged.body["code_verifier"].as_str().unwrap().len(), 64);
    assert!(
        home.read("auth.json")
            .contains("sk-or-canary-from-the-browser")
    );
    // Declined in the browser.
    let terminal = call();
    let page = page_of(&terminal);
    browse(&page, "error=access_denied");
    terminal
        .wait()
        .exits(1)
        .prints_part("the login was declined");
}

#[test]
fn login_without_a_provider_names_the_ways() {
    let home = fresh();
    let shown = home.run(["login"]).succeeds().stdout.clone();
    for way in ["hermes auth add PROVIDER", "hermes model", "hermes setup"] {
        assert!(shown.contains(way), "{shown}");
    }
    home.run(["logout"]).succeeds().prints_part("Not logged in");
}
