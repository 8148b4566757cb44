//! Logins with the account of a model vendor, against authorisation servers on loopback.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hermes_testkit::{ModelServer, ProgramOutput, ReceivedRequest, ScriptedAnswer, TestHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::fresh;

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// A token of OpenAI for an account, which ends after so many seconds.
fn openai_token(account: &str, name: &str, seconds: i64) -> String {
    let claims = json!({
        "exp": i64::try_from(now()).unwrap() + seconds, "jti": name,
        "https://api.openai.com/auth": {"chatgpt_account_id": account},
        "https://api.openai.com/profile": {"email": format!("{account}@example.org")},
    });
    format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

fn ok(body: &Value) -> ScriptedAnswer {
    ScriptedAnswer::status(200, body)
}

fn form(request: &ReceivedRequest) -> String {
    String::from_utf8_lossy(&request.raw).into_owned()
}

/// OpenAI's server: the code is used at the third question. Tokens for a code, then for renewals.
fn openai(first: &str, renewed: (u16, Value)) -> ModelServer {
    let code =
        json!({"user_code": "ABCD-1234", "device_auth_id": "device-canary", "interval": "0"});
    let grant = json!({"authorization_code": "code-canary", "code_verifier": "verifier-canary"});
    let asked = AtomicUsize::new(0);
    let first = json!({"access_token": first, "refresh_token": "refresh-1"});
    ModelServer::always(ScriptedAnswer::text("hello from ChatGPT"))
        .with("/api/accounts/deviceauth/usercode", ok(&code))
        .with_script("/api/accounts/deviceauth/token", move |_| {
            if asked.fetch_add(1, Ordering::SeqCst) < 2 {
                ScriptedAnswer::status(403, &json!({"error": "pending"}))
            } else {
                ok(&grant)
            }
        })
        .with_script("/oauth/token", move |request| {
            if form(request).contains("grant_type=authorization_code") {
                ok(&first)
            } else {
                ScriptedAnswer::status(renewed.0, &renewed.1)
            }
        })
}

fn log_in(home: &TestHome, provider: &str, server: &ModelServer) -> ProgramOutput {
    home.run([
        "auth",
        "add",
        provider,
        "--no-browser",
        "--portal-url",
        &server.root(),
        "--inference-url",
        &server.base_url(),
    ])
}

fn stored(home: &TestHome) -> Value {
    serde_json::from_str(&home.read("auth.json")).unwrap()
}

#[test]
fn chatgpt_account_logs_in_by_code_and_requests_have_its_shape() {
    let home = fresh();
    let token = openai_token("acc-1", "one", 3600);
    let server = openai(&token, (500, json!({})));
    log_in(&home, "openai-codex", &server)
        .succeeds()
        .says_part(&format!(
            "{}/codex/device and enter the code ABCD-1234",
            server.root()
        ))
        .prints_part("Logged in to openai-codex as acc-1@example.org")
        .never_shows("canary");
    let exchanged = server.received();
    let exchanged = exchanged
        .iter()
        .find(|one| one.path == "/oauth/token")
        .unwrap();
    let fields = form(exchanged);
    for part in [
        "code=code-canary",
        "code_verifier=verifier-canary",
        "client_id=app_EMoamEEZ73f0CkXaXp7hrann",
        "deviceauth%2Fcallback",
    ] {
        assert!(fields.contains(part), "{fields}");
    }
    // The entry as the Python runtime writes it.
    let file = stored(&home);
    assert_eq!(file["active_provider"], "openai-codex");
    let entry = &file["credential_pool"]["openai-codex"][0];
    assert_eq!(entry["source"], "manual:device_code");
    assert_eq!(entry["auth_type"], "oauth");
    assert_eq!(entry["access_token"], json!(token));
    assert_eq!(entry["refresh_token"], "refresh-1");
    assert_eq!(entry["base_url"], json!(server.base_url()));
    assert!(entry["last_refresh"].is_string());
    assert_eq!(home.mode("auth.json") & 0o777, 0o600);
    home.run(["-z", "hi", "-m", "gpt-5.1-codex"])
        .succeeds()
        .prints("hello from ChatGPT\n");
    let asked = server.questions().pop().unwrap();
    assert_eq!(asked.path, "/v1/responses");
    let bearer = format!("Bearer {token}");
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    assert_eq!(asked.header("chatgpt-account-id"), Some("acc-1"));
    // Nobody pretends to be another program.
    assert_eq!(asked.header("originator"), None);
    assert!(asked.header("user-agent").unwrap().starts_with("hermes/"));
    assert_eq!(asked.body["store"], false);
    assert_eq!(asked.body["stream"], true);
    assert!(
        asked.body["instructions"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
    assert_eq!(asked.body.get("max_output_tokens"), None);
    home.run(["auth", "list"])
        .succeeds()
        .prints_part("acc-1@example.org");
    home.run(["logout", "--provider", "codex"])
        .succeeds()
        .prints_part("1 key");
    home.run([
        "chat",
        "-Q",
        "-q",
        "hi",
        "-m",
        "x",
        "--provider",
        "openai-codex",
    ])
    .exits(1)
    .says_part("nobody is logged in to openai-codex")
    .says_part("hermes auth add openai-codex");
}

#[test]
fn same_account_replaces_its_login_and_another_stands_beside_it() {
    let home = fresh();
    for (account, name) in [("acc-1", "one"), ("acc-1", "two"), ("acc-2", "three")] {
        let server = openai(&openai_token(account, name, 3600), (500, json!({})));
        log_in(&home, "openai-codex", &server).succeeds();
    }
    let file = stored(&home);
    let labels: Vec<&str> = file["credential_pool"]["openai-codex"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["acc-2@example.org", "acc-1@example.org"]);
}

#[test]
fn expired_token_is_renewed_and_a_revoked_login_is_one_sentence() {
    let home = fresh();
    let fresh_token = openai_token("acc-1", "renewed", 3600);
    let answer = json!({"access_token": fresh_token, "refresh_token": "refresh-2"});
    let server = openai(&openai_token("acc-1", "old", -5), (200, answer));
    log_in(&home, "openai-codex", &server).succeeds();
    home.run(["-z", "hi", "-m", "gpt-5"]).succeeds();
    let asked = server.questions().pop().unwrap();
    let bearer = format!("Bearer {fresh_token}");
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    let entry = &stored(&home)["credential_pool"]["openai-codex"][0];
    assert_eq!(entry["refresh_token"], "refresh-2");
    // Ended at the server.
    let home = fresh();
    let gone = json!({"error": "invalid_grant", "error_description": "token was revoked"});
    let server = openai(&openai_token("acc-1", "old", -5), (400, gone));
    log_in(&home, "openai-codex", &server).succeeds();
    home.run(["-z", "hi", "-m", "gpt-5"])
        .exits(1)
        .says_part("the login at openai-codex has expired or was revoked")
        .says_part("token was revoked");
    home.run(["chat", "-Q", "-q", "hi", "-m", "gpt-5"])
        .exits(1)
        .says_part("hermes auth add openai-codex");
    assert_eq!(server.questions().len(), 0);
}

#[test]
fn login_of_the_python_runtime_is_used_and_renewed_in_both_places() {
    let home = fresh();
    let renewed = openai_token("acc-1", "renewed", 3600);
    let answer = json!({"access_token": renewed, "refresh_token": "refresh-2"});
    let server = openai("unused", (200, answer));
    let old = openai_token("acc-1", "old", -5);
    home.run(["config", "set", "timezone", "UTC"]).succeeds();
    let file = json!({
        "version": 1, "active_provider": "openai-codex", "credential_pool": {},
        "providers": {"openai-codex": {
            "tokens": {"access_token": old, "refresh_token": "refresh-1"},
            "last_refresh": "2026-01-01T00:00:00Z", "auth_mode": "chatgpt",
            "portal_base_url": server.root(),
        }},
    });
    home.put("auth.json", file.to_string());
    home.hermes(["-z", "hi", "-m", "gpt-5"])
        .env("HERMES_CODEX_BASE_URL", server.base_url())
        .run()
        .succeeds()
        .prints("hello from ChatGPT\n");
    let file = stored(&home);
    let state = &file["providers"]["openai-codex"];
    assert_eq!(state["tokens"]["access_token"], json!(renewed));
    assert_eq!(state["tokens"]["refresh_token"], "refresh-2");
    assert_eq!(state["auth_mode"], "chatgpt");
    let entry = &file["credential_pool"]["openai-codex"][0];
    assert_eq!(entry["source"], "device_code");
    assert_eq!(entry["access_token"], json!(renewed));
    home.run(["auth", "remove", "openai-codex", "1"]).succeeds();
    let file = stored(&home);
    assert_eq!(file["providers"].get("openai-codex"), None);
    assert_eq!(file["active_provider"], Value::Null);
}

/// xAI's server, which announces where tokens are.
fn xai(tokens_at: impl Fn(&str) -> String) -> ModelServer {
    let asked = AtomicUsize::new(0);
    let device = json!({
        "device_code": "device-canary", "user_code": "WXYZ", "interval": 0, "expires_in": 60,
        "verification_uri": "https://accounts.x.ai/device",
        "verification_uri_complete": "https://accounts.x.ai/device?code=WXYZ",
    });
    let root = Arc::new(std::sync::OnceLock::<String>::new());
    let announced = Arc::clone(&root);
    let server = ModelServer::always(ScriptedAnswer::text("hello from Grok"))
        .with("/oauth2/device/code", ok(&device))
        .with_script("/.well-known/openid-configuration", move |_| {
            ok(&json!({"token_endpoint": announced.get().unwrap()}))
        })
        .with_script("/oauth2/token", move |request| {
            let token = |name: &str| {
                json!({
                    "access_token": name, "refresh_token": format!("{name}-refresh"),
                    "expires_in": 30, "token_type": "Bearer",
                })
            };
            if form(request).contains("grant_type=refresh_token") {
                return ok(&token("xai-second"));
            }
            if asked.fetch_add(1, Ordering::SeqCst) == 0 {
                return ScriptedAnswer::status(400, &json!({"error": "authorization_pending"}));
            }
            ok(&token("xai-first"))
        });
    root.set(tokens_at(&server.root())).unwrap();
    server
}

#[test]
fn xai_account_logs_in_at_the_address_its_server_announces() {
    let home = fresh();
    let server = xai(|root| format!("{root}/oauth2/token"));
    log_in(&home, "grok-oauth", &server)
        .succeeds()
        .says_part("https://accounts.x.ai/device and enter the code WXYZ")
        .never_shows("canary");
    home.run(["-z", "hi", "-m", "grok-4"])
        .succeeds()
        .prints("hello from Grok\n");
    let asked = server.questions().pop().unwrap();
    assert_eq!(asked.path, "/v1/responses");
    // Its thirty seconds were too few to begin with.
    assert_eq!(asked.header("authorization"), Some("Bearer xai-second"));
    assert!(home.read("auth.json").contains("xai-second-refresh"));
    // Tokens are not fetched from a stranger.
    let home = fresh();
    let server = xai(|_| "https://evil.example/oauth2/token".to_owned());
    log_in(&home, "xai-oauth", &server)
        .exits(3)
        .says_part("answered without an address for tokens of its own");
    assert!(!home.has("auth.json"));
}

/// MiniMax's server.
fn minimax(echoes_state: bool) -> ModelServer {
    let asked = AtomicUsize::new(0);
    ModelServer::always(ScriptedAnswer::text("hello from MiniMax"))
        .with_script("/oauth/code", move |request| {
            let fields = form(request);
            let state = fields
                .split('&')
                .find_map(|pair| pair.strip_prefix("state="));
            let state = if echoes_state {
                state.unwrap()
            } else {
                "other"
            };
            ok(&json!({
                "user_code": "MINI", "verification_uri": "https://platform.minimax.io/device",
                "expired_in": 60, "interval": 1, "state": state,
            }))
        })
        .with_script("/oauth/token", move |_| {
            if asked.fetch_add(1, Ordering::SeqCst) == 0 {
                return ok(&json!({"status": "pending"}));
            }
            let end = (now() + 3600) * 1000;
            ok(&json!({
                "status": "success", "access_token": "minimax-access",
                "refresh_token": "minimax-refresh", "expired_in": end,
            }))
        })
}

#[test]
fn minimax_account_logs_in_and_answers_in_the_anthropic_format() {
    let home = fresh();
    let server = minimax(true);
    log_in(&home, "minimax-oauth", &server)
        .succeeds()
        .says_part("https://platform.minimax.io/device and enter the code MINI");
    let sent = server.received();
    let asked = sent.iter().find(|one| one.path == "/oauth/code").unwrap();
    assert!(form(asked).contains("code_challenge_method=S256"));
    // The Python runtime looks for the login here.
    let state = &stored(&home)["providers"]["minimax-oauth"];
    for key in [
        "access_token",
        "refresh_token",
        "portal_base_url",
        "inference_base_url",
        "client_id",
        "expires_at",
    ] {
        assert!(state[key].is_string(), "{key}: {state}");
    }
    home.run(["-z", "hi", "-m", "MiniMax-M3"])
        .succeeds()
        .prints("hello from MiniMax\n");
    let asked = server.questions().pop().unwrap();
    assert_eq!(asked.path, "/v1/messages");
    assert_eq!(asked.header("authorization"), Some("Bearer minimax-access"));
    assert_eq!(asked.header("x-api-key"), None);
    let home = fresh();
    log_in(&home, "minimax-oauth", &minimax(false))
        .exits(3)
        .says_part("without the state it was sent");
    assert!(!home.has("auth.json"));
}

#[test]
fn login_of_qwen_code_is_used_where_it_is_and_renewed_there() {
    let home = fresh();
    let renewed = json!({
        "access_token": "qwen-second", "refresh_token": "qwen-refresh-2", "expires_in": 3600,
        "token_type": "Bearer", "resource_url": "portal.qwen.ai",
    });
    let server = ModelServer::always(ScriptedAnswer::text("hello from Qwen"))
        .with("/api/v1/oauth2/token", ok(&renewed));
    log_in(&home, "qwen-oauth", &server)
        .exits(1)
        .says_part("Qwen Code is not logged in on this machine");
    let file = home.user_home().join(".qwen/oauth_creds.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let creds = json!({
        "access_token": "qwen-first", "refresh_token": "qwen-refresh-1", "token_type": "Bearer",
        "resource_url": "portal.qwen.ai", "expiry_date": now() * 1000 - 5_000, "theirs": true,
    });
    std::fs::write(&file, creds.to_string()).unwrap();
    // That it is there does not mean that Hermes may use it.
    home.run(["-z", "hi", "-m", "x"])
        .exits(1)
        .says_part("no model provider is configured");
    log_in(&home, "qwen-oauth", &server)
        .succeeds()
        .prints_part("The login of Qwen Code");
    assert!(!home.read("auth.json").contains("qwen-first"));
    home.run(["-z", "hi", "-m", "qwen3-coder-plus"])
        .succeeds()
        .prints("hello from Qwen\n");
    let asked = server.questions().pop().unwrap();
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.header("authorization"), Some("Bearer qwen-second"));
    assert_eq!(asked.header("x-dashscope-authtype"), Some("qwen-oauth"));
    assert_eq!(asked.body["max_tokens"], 65_536);
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(kept["access_token"], "qwen-second");
    assert_eq!(kept["refresh_token"], "qwen-refresh-2");
    assert_eq!(kept["theirs"], true);
    // A second run has a token that holds.
    home.run(["-z", "hi", "-m", "qwen3-coder-plus"]).succeeds();
    let renewals = server.received();
    let renewals = renewals
        .iter()
        .filter(|one| one.path == "/api/v1/oauth2/token");
    assert_eq!(renewals.count(), 1);
}
