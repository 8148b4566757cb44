//! Logins to model providers, begun in the dashboard, against a portal on loopback.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_testkit::{ModelServer, ScriptedAnswer, eventually};
use serde_json::json;

use super::server::{CANARY, Server, dashboard, home};

const OAUTH: &str = "/api/providers/oauth";

/// A portal that gives out a code, and tokens once somebody has approved it.
fn portal(approved: &Arc<AtomicBool>) -> ModelServer {
    let is_approved = Arc::clone(approved);
    ModelServer::always(ScriptedAnswer::text("-"))
        .with(
            "/api/oauth/device/code",
            ScriptedAnswer::status(
                200,
                &json!({
                    "device_code": "device-1", "user_code": "ABCD-EFGH", "interval": 1,
                    "verification_uri": "https://portal.example/device", "expires_in": 600,
                }),
            ),
        )
        .with_script("/api/oauth/token", move |_| {
            if !is_approved.load(Ordering::SeqCst) {
                return ScriptedAnswer::status(400, &json!({"error": "authorization_pending"}));
            }
            let tokens = json!({
                "access_token": CANARY, "refresh_token": "refresh-1", "expires_in": 3600,
                "token_type": "Bearer",
            });
            ScriptedAnswer::status(200, &tokens)
        })
}

#[test]
fn a_login_is_begun_watched_completed_and_forgotten() {
    let home = home();
    let approved = Arc::new(AtomicBool::new(false));
    let portal = portal(&approved);
    let server = Server::start(dashboard(&home).env("HERMES_PORTAL_BASE_URL", portal.root()));
    let listed = server.get(OAUTH);
    let row = |listed: &serde_json::Value| {
        let rows = listed["providers"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["id"] == "nous").unwrap()
    };
    assert_eq!(row(&listed)["flow"], "device_code");
    assert_eq!(row(&listed)["cli_command"], "hermes login --provider nous");
    assert_eq!(row(&listed)["status"]["logged_in"], false);

    let begun = server.call("POST", &format!("{OAUTH}/nous/start"), &json!({}));
    let begun = begun.expect(200);
    assert_eq!(begun["user_code"], "ABCD-EFGH");
    assert_eq!(begun["verification_url"], "https://portal.example/device");
    let id = begun["session_id"].as_str().unwrap().to_owned();
    let poll = format!("{OAUTH}/nous/poll/{id}");
    assert_eq!(server.get(&poll)["status"], "pending");
    let other = format!("{OAUTH}/openai-codex/poll/{id}");
    assert_eq!(server.with_token("GET", &other).send().status, 400);
    approved.store(true, Ordering::SeqCst);
    eventually("the login is complete", || {
        server.get(&poll)["status"] == "approved"
    });
    assert_eq!(row(&server.get(OAUTH))["status"]["logged_in"], true);
    assert_eq!(home.mode("auth.json"), 0o600);
    assert!(home.read("auth.json").contains(CANARY));
    for path in [
        OAUTH,
        "/api/env",
        "/api/config",
        "/api/logs?file=gui",
        &poll,
    ] {
        let answer = server.with_token("GET", path).send();
        assert!(!answer.body.contains(CANARY), "{path}");
    }
    let gone = server.call("DELETE", &format!("{OAUTH}/nous"), &json!({}));
    assert_eq!(gone.expect(200), json!({"ok": true, "provider": "nous"}));
    assert!(!home.read("auth.json").contains(CANARY));
}

#[test]
fn logins_that_cannot_be_begun_say_what_to_do() {
    let home = home();
    let server =
        Server::start(dashboard(&home).env("HERMES_PORTAL_BASE_URL", "http://127.0.0.1:9"));
    let start =
        |provider: &str| server.call("POST", &format!("{OAUTH}/{provider}/start"), &json!({}));
    let unreachable = start("nous");
    assert!(
        unreachable.expect(503)["detail"]
            .as_str()
            .unwrap()
            .contains("127.0.0.1")
    );
    let elsewhere = start("copilot").expect(400)["detail"].to_string();
    assert!(
        elsewhere.contains("hermes login --provider copilot"),
        "{elsewhere}"
    );
    assert_eq!(start("nobody").status, 400);
    let unknown = format!("{OAUTH}/nous/poll/0123");
    assert_eq!(server.with_token("GET", &unknown).send().status, 404);
    let cancelled = server.with_token("DELETE", &format!("{OAUTH}/sessions/0123"));
    assert_eq!(cancelled.send().expect(200)["ok"], false);
    let code = json!({"session_id": "0123", "code": "x"});
    let submitted = server.call("POST", &format!("{OAUTH}/nous/submit"), &code);
    assert_eq!(submitted.status, 400);
}

#[test]
fn a_dashboard_ends_soon_while_a_login_waits_and_one_that_was_cancelled_stores_nothing() {
    let home = home();
    let approved = Arc::new(AtomicBool::new(false));
    let portal = portal(&approved);
    let server = Server::start(dashboard(&home).env("HERMES_PORTAL_BASE_URL", portal.root()));
    let start = || server.call("POST", &format!("{OAUTH}/nous/start"), &json!({}));
    let id = start().expect(200)["session_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let cancelled = server.with_token("DELETE", &format!("{OAUTH}/sessions/{id}"));
    assert_eq!(cancelled.send().expect(200)["ok"], true);
    start().expect(200);
    let (taken, code) = server.terminate();
    assert!(taken < std::time::Duration::from_secs(2), "{taken:?}");
    assert_eq!(code, 0);
    assert!(!home.has("auth.json"));
}
