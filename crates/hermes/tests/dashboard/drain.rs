//! `/api/gateway/drain`: who may ask for it, and what the gateway reads.

use serde_json::json;

use super::server::{Server, dashboard, home, with_password};

const SECRET: &str = "Zk3vP1qR8sT0uWxYbC2dE4fG5hJ6kL7mN9oQaSdF-gH";
const PATH: &str = "/api/gateway/drain";

#[test]
fn the_secret_of_a_service_opens_the_drain_and_nothing_else() {
    let home = home();
    let call = with_password(dashboard(&home).args(["--host", "0.0.0.0"]));
    let server = Server::start(call.env("HERMES_DASHBOARD_DRAIN_SECRET", SECRET));
    let with = |method: &str, path: &str, secret: &str| {
        let bearer = format!("Bearer {secret}");
        let request = server.request(method, path);
        request.header("Authorization", &bearer)
    };
    let begun = with("POST", PATH, SECRET).json(&json!({"action": "drain"}));
    let begun = begun.send().expect(200);
    assert_eq!(begun["draining"], true);
    let request: serde_json::Value =
        serde_json::from_str(&home.read(".drain_request.json")).unwrap();
    assert_eq!(request["principal"], "drain-control");
    assert_eq!(request["requested_at"], begun["requested_at"]);
    assert_eq!(home.mode(".drain_request.json"), 0o600);
    let wrong = with("POST", PATH, SECRET).json(&json!({"action": "explode"}));
    assert_eq!(wrong.send().status, 400);
    let cancelled = with("POST", PATH, SECRET).json(&json!({"action": "cancel"}));
    assert_eq!(cancelled.send().expect(200)["was_draining"], true);
    assert!(!home.has(".drain_request.json"));

    for (method, path, secret) in [
        ("POST", PATH, "wrong"),
        ("POST", PATH, ""),
        ("POST", "/api/gateway/drain/", SECRET),
        ("POST", "/api/gateway/restart", SECRET),
        ("GET", "/api/env", SECRET),
        ("GET", "/api/sessions", SECRET),
    ] {
        let refused = with(method, path, secret).send();
        assert_eq!(refused.status, 401, "{method} {path}: {}", refused.body);
    }
    // Somebody who has logged in may, too; a page of another site may not.
    let session = server.log_in();
    let own = server.request("POST", PATH).header("Cookie", &session);
    assert_eq!(own.send().expect(200)["draining"], true);
    let foreign = own.header("Origin", "http://evil.com").send();
    assert_eq!(foreign.status, 403);
    let log = home.read("logs/gui.log");
    assert!(!log.contains(SECRET), "{log}");
}

#[test]
fn a_weak_drain_secret_is_not_used_and_not_shown() {
    let home = home();
    let weak = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    let server = Server::start(dashboard(&home).env("HERMES_DASHBOARD_DRAIN_SECRET", weak));
    let request = server.request("POST", PATH);
    let refused = request.header("Authorization", &format!("Bearer {weak}"));
    assert_eq!(refused.send().status, 401);
    let warned = server.process.errors().join("\n");
    assert!(
        warned.contains("HERMES_DASHBOARD_DRAIN_SECRET is not used"),
        "{warned}"
    );
    assert!(!warned.contains(weak), "{warned}");
    // The token of the page is enough on this machine.
    assert_eq!(server.with_token("POST", PATH).send().status, 200);
}
