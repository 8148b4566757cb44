//! On this machine: the token, the reasons of refusals, hosts and origins, the end.

use std::time::Duration;

use hermes_testkit::eventually;
use serde_json::json;

use super::server::{Server, TOKEN, dashboard, home};

/// Long enough for a busy machine, and far from "never".
const SOON: Duration = Duration::from_secs(2);

#[test]
fn the_page_carries_the_token_and_the_api_wants_it() {
    // gateway 26
    let home = home();
    let server = Server::local(&home);
    let page = server.request("GET", "/").send();
    assert_eq!(page.status, 200);
    assert!(page.body.contains(TOKEN) && page.body.contains("<h1>Board</h1>"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));

    let without = server.request("GET", "/api/sessions").send();
    assert_eq!(without.expect(401)["reason"], "missing_token");
    let stale = server.request("GET", "/api/sessions");
    let stale = stale.header("X-Hermes-Session-Token", "yesterday").send();
    assert_eq!(stale.expect(401)["reason"], "stale_token");
    let bearer = format!("Bearer {TOKEN}");
    let bearer = server
        .request("GET", "/api/sessions")
        .header("Authorization", &bearer);
    assert_eq!(bearer.send().expect(200)["total"], 0);

    // By design, with a token that is good: nothing may reload because of it.
    let me = server.with_token("GET", "/api/auth/me").send();
    assert_eq!(me.expect(401)["reason"], "no_identity_provider");
    let public = server.request("GET", "/api/status").send().expect(200);
    assert_eq!(public["auth_required"], false);
    assert_eq!(public["insecure"], false);
    for path in [
        "/api/config/defaults",
        "/api/config/schema",
        "/api/model/info",
        "/api/dashboard/themes",
        "/api/dashboard/plugins",
    ] {
        assert_eq!(server.request("GET", path).send().status, 200, "{path}");
    }
    // Only to read, and only these paths.
    for (method, path) in [
        ("PUT", "/api/config"),
        ("GET", "/api/config"),
        ("GET", "/api/status/x"),
        ("GET", "/api/statusx"),
        ("GET", "/api/env"),
        ("POST", "/api/env/reveal"),
        ("GET", "/api/openapi.json"),
    ] {
        let answer = server.request(method, path).send();
        assert_eq!(answer.status, 401, "{method} {path}: {}", answer.body);
    }
    // A token in an address is for streams alone: addresses end up in logs.
    let in_query = format!("/api/sessions?token={TOKEN}");
    assert_eq!(server.request("GET", &in_query).send().status, 401);
}

#[test]
fn other_hosts_and_origins_are_refused() {
    // gateway 28
    let home = home();
    let call = dashboard(&home).env(
        "HERMES_DASHBOARD_EXTRA_HOSTS",
        "other.example, dash.example",
    );
    let server = Server::start(call);
    let with_host = |host: &str| {
        let request = server.with_token("GET", "/api/sessions");
        request.header("Host", host).send().status
    };
    for host in [
        "localhost:1",
        "127.0.0.1",
        "[::1]:9",
        "dash.example",
        "DASH.example:8443",
    ] {
        assert_eq!(with_host(host), 200, "{host}");
    }
    for host in [
        "evil.com",
        "localhost.evil.com",
        "127.0.0.1.evil.com",
        "10.0.0.1",
        "",
        "a b",
    ] {
        assert_eq!(with_host(host), 400, "{host}");
    }
    let change = |origin: &str| {
        let request = server.with_token("PUT", "/api/dashboard/theme");
        let request = request.json(&json!({"name": "mono"}));
        request.header("Origin", origin).send().status
    };
    assert_eq!(change(&format!("http://127.0.0.1:{}", server.port)), 200);
    assert_eq!(change("https://dash.example"), 200);
    for origin in [
        "http://evil.com",
        "null",
        "http://localhost.evil.com",
        "file://",
    ] {
        assert_eq!(change(origin), 403, "{origin}");
    }
    let cors = |origin: &str| {
        let answer = server.with_token("GET", "/api/sessions");
        let answer = answer.header("Origin", origin).send();
        let allowed = answer.header("access-control-allow-origin");
        allowed.map(str::to_owned)
    };
    assert_eq!(
        cors("http://localhost:5173").as_deref(),
        Some("http://localhost:5173")
    );
    assert_eq!(cors("http://localhost.evil.com"), None);
    assert_eq!(cors("https://dash.example"), None);
}

#[test]
fn websockets_want_a_token_and_a_page_of_ours() {
    let home = home();
    let server = Server::local(&home);
    let path = "/api/plugins/kanban/events";
    let refused = server.request("GET", path).upgrade().send();
    assert_eq!(refused.expect(401)["code"], 4401);
    let with_token = format!("{path}?token={TOKEN}");
    let foreign = server.request("GET", &with_token).upgrade();
    let foreign = foreign.header("Origin", "http://evil.com").send();
    assert_eq!(foreign.expect(403)["code"], 4403);
    let rebound = server.request("GET", &with_token).upgrade();
    let rebound = rebound.header("Host", "evil.com").send();
    assert_eq!(rebound.expect(400)["code"], 4400);
    let own = server.request("GET", &with_token).upgrade();
    let own = own.header("Origin", &format!("http://localhost:{}", server.port));
    let (answer, _connection) = own.open();
    assert_eq!(answer.status, 101);
    let accept = answer.header("sec-websocket-accept");
    assert_eq!(accept, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    // Without the upgrade it is no page either.
    assert_eq!(server.with_token("GET", path).send().status, 426);
}

#[test]
fn it_ends_soon_with_streams_open_and_clients_gone() {
    // gateway 29
    let home = home();
    let server = Server::local(&home);
    let mut open = Vec::new();
    for round in 0..50 {
        let request = match round % 2 {
            0 => server
                .with_token("GET", "/api/plugins/kanban/events/stream?since=0")
                .header("Accept", "text/event-stream"),
            _ => {
                let path = format!("/api/plugins/kanban/events?since=0&token={TOKEN}");
                server.request("GET", &path).upgrade()
            }
        };
        let (answer, connection) = request.open();
        assert!([200, 101].contains(&answer.status), "{answer:?}");
        // Every fifth client vanishes.
        if round % 5 != 0 {
            open.push(connection);
        }
    }
    let (taken, code) = server.terminate();
    assert!(taken < SOON, "{taken:?}");
    assert_eq!(code, 0);
    drop(open);
}

#[test]
fn status_and_stop_know_the_dashboards_of_the_profile() {
    let home = home();
    let none = home.run(["dashboard", "--status", "--json"]);
    assert_eq!(none.succeeds().json(), json!({"dashboards": []}));
    let mut server = Server::local(&home);
    let running = home.run(["dashboard", "--status", "--json"]);
    let running = running.succeeds().json();
    assert_eq!(running["dashboards"][0]["port"], server.port);
    assert_eq!(running["dashboards"][0]["pid"], server.process.pid());
    home.run(["dashboard", "--stop"])
        .succeeds()
        .prints("Stopped 1 dashboard.\n");
    assert_eq!(server.process.wait().code(), Some(0));
    home.run(["dashboard", "--stop"])
        .succeeds()
        .prints("No dashboard of this profile runs.\n");
}

#[test]
fn a_port_in_use_is_said() {
    let home = home();
    let server = Server::local(&home);
    let port = server.port.to_string();
    let second = home.run(["dashboard", "--no-open", "--port", &port]);
    second
        .exits(3)
        .says_part(&format!("port {port} on 127.0.0.1 is in use"));
    let wrong = home.hermes(["dashboard", "--no-open"]);
    let wrong = wrong.env("HERMES_DASHBOARD_PORT", "many").run();
    wrong
        .exits(2)
        .says_part("HERMES_DASHBOARD_PORT is many, which is not a port");
}

#[test]
fn another_front_end_gets_what_its_scripts_need_and_nothing_outside_of_it() {
    let home = home();
    let dist = home.put_outside("dist/index.html", "<head></head><div id=root>", 0o644);
    home.put_outside("dist/assets/app.js", "let x", 0o644);
    home.put_outside("secret.txt", "outside", 0o644);
    let dist = dist.parent().unwrap().to_owned();
    std::os::unix::fs::symlink(dist.join("../secret.txt"), dist.join("link.txt")).unwrap();
    let server = Server::start(dashboard(&home).env("HERMES_WEB_DIST", &dist));
    for path in ["/", "/sessions", "/deep/link"] {
        let page = server.request("GET", path).send();
        assert_eq!(page.status, 200, "{path}");
        for wanted in [
            &format!("window.__HERMES_SESSION_TOKEN__=\"{TOKEN}\"") as &str,
            "__HERMES_BASE_PATH__=\"\"",
            "__HERMES_AUTH_REQUIRED__=false",
            "<div id=root>",
        ] {
            assert!(page.body.contains(wanted), "{wanted}: {}", page.body);
        }
    }
    let script = server.request("GET", "/assets/app.js").send();
    assert_eq!((script.status, script.body.as_str()), (200, "let x"));
    // gateway 30
    for path in [
        "/assets/../../secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/link.txt",
        "/assets/%00",
        "/assets/..\\..\\secret.txt",
        "/assets//etc/passwd",
    ] {
        let answer = server.request("GET", path).send();
        assert!(!answer.body.contains("outside"), "{path}");
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
    }
    let unknown = server.with_token("GET", "/api/nosuch").send();
    assert!(unknown.expect(404)["detail"].is_string());
}

#[test]
fn settings_are_read_again_without_a_restart() {
    let home = home();
    let server = Server::local(&home);
    assert_eq!(server.get("/api/dashboard/themes")["active"], "default");
    home.put("config.yaml", "dashboard:\n  theme: ember\n");
    eventually("the theme of the file is shown", || {
        server.get("/api/dashboard/themes")["active"] == "ember"
    });
}
