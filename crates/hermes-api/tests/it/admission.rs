//! Who is let in, and what every answer carries.

use std::sync::atomic::Ordering;

use hermes_api::{ApiServer, BindError};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{KEY, World, settings};

const HELLO: &str = "turns: [{text: hi}]";

#[test]
fn health_is_open_and_everything_else_needs_the_key() {
    let world = World::playing(HELLO);
    for path in ["/health", "/v1/health"] {
        let reply = world.raw("GET", path, &[], b"");
        assert_eq!(reply.status, 200);
        let body = reply.json();
        assert_eq!(
            (body["status"].as_str(), body["platform"].as_str()),
            (Some("ok"), Some("hermes-agent"))
        );
    }
    let open = [
        "/v1/models",
        "/v1/capabilities",
        "/metrics",
        "/health/detailed",
        "/openapi.json",
    ];
    for path in open {
        let reply = world.raw("GET", path, &[], b"");
        assert_eq!(reply.status, 401, "{path}");
        assert_eq!(reply.json()["error"]["code"], "invalid_api_key");
        assert_eq!(world.get(path).status, 200, "{path}");
    }
    let model = world.get("/v1/models").json()["data"][0].clone();
    assert_eq!(
        (&model["id"], &model["owned_by"]),
        (&json!("hermes-agent"), &json!("hermes"))
    );
    let ready = world.get("/health/detailed").json();
    assert_eq!(ready["readiness"]["checks"]["state_db"]["status"], "ok");
    assert_eq!(ready["pid"], std::process::id());
}

#[test]
fn wrong_keys_in_a_row_are_put_off() {
    let world = World::playing(HELLO);
    let wrong = [("Authorization", "Bearer wrong")];
    for count in 0..10 {
        let reply = world.raw("GET", "/v1/models", &wrong, b"");
        assert_eq!(reply.status, 401, "{count}");
    }
    let reply = world.raw("GET", "/v1/models", &wrong, b"");
    assert_eq!(reply.status, 429);
    assert!(reply.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    // On one machine all have one address, and whoever knows the key still gets in.
    assert_eq!(world.get("/v1/models").status, 200);
    let metrics = world.get("/metrics").text();
    assert!(
        metrics.contains("hermes_api_refused_keys_total 10"),
        "{metrics}"
    );
    assert!(metrics.contains("hermes_api_turns_active 0"), "{metrics}");
}

#[test]
fn pages_of_other_origins_are_refused_and_known_ones_may_use_sessions() {
    let variables = [("API_SERVER_CORS_ORIGINS", "https://app.example")];
    let world = World::with(HELLO, "", &variables);
    for (method, path) in [("GET", "/health"), ("OPTIONS", "/v1/models")] {
        let reply = world.raw(method, path, &[("Origin", "http://evil")], b"");
        assert_eq!((reply.status, reply.body.len()), (403, 0));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    }
    assert_eq!(world.raw("OPTIONS", "/health", &[], b"").status, 403);
    let known = [("Origin", "https://app.example")];
    let reply = world.raw("GET", "/health", &known, b"");
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    assert_eq!(reply.header("vary"), Some("Origin"));
    let preflight = world.raw("OPTIONS", "/api/sessions/x", &known, b"");
    assert_eq!(preflight.status, 200);
    let allowed = |name| preflight.header(name).unwrap().to_lowercase();
    assert!(allowed("access-control-allow-methods").contains("patch"));
    assert!(allowed("access-control-allow-headers").contains("x-hermes-session-id"));
    assert!(allowed("access-control-expose-headers").contains("x-hermes-session-id"));
    assert_eq!(preflight.header("access-control-max-age"), Some("600"));
}

#[test]
fn a_host_that_is_not_this_machine_needs_the_key() {
    let world = World::playing(HELLO);
    let reply = world.raw("GET", "/health", &[("Host", "evil.example")], b"");
    assert_eq!(reply.status, 400);
    assert_eq!(reply.json()["error"]["code"], "invalid_host");
    for host in ["localhost:8642", "127.0.0.1", "[::1]:8642"] {
        assert_eq!(
            world.raw("GET", "/health", &[("Host", host)], b"").status,
            200,
            "{host}"
        );
    }
    // A proxy that keeps the name of its own host.
    let proxied = world.send("GET", "/v1/models", &[("Host", "api.example.com")], b"");
    assert_eq!(proxied.status, 200);
}

#[test]
fn every_error_is_json_with_security_headers() {
    let world = World::playing(HELLO);
    let cases = [
        (world.get("/nosuch"), 404),
        (world.send("DELETE", "/v1/models", &[], b""), 405),
        (world.send("POST", "/v1/chat/completions", &[], b"[]"), 400),
        (world.send("POST", "/v1/chat/completions", &[], b"xx"), 400),
        (world.send("POST", "/v1/chat/completions", &[], b"7"), 400),
        (world.send("POST", "/v1/chat/completions", &[], b""), 400),
        (world.get("/v1/responses/resp_none"), 404),
        (world.get("/v1/runs/run_none"), 404),
        (world.get("/api/sessions/none"), 404),
        (world.get("/api/sessions/..%2Fx"), 404),
    ];
    for (reply, status) in cases {
        assert_eq!(reply.status, status, "{}", reply.text());
        assert!(reply.json()["error"]["message"].is_string());
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'"), "{policy}");
    }
}

#[test]
fn a_taken_port_is_named() {
    let world = World::playing(HELLO);
    let mut again = settings(&world.host);
    again.port = world.address().port();
    let Err(error) = ApiServer::bind(again, world.host.clone()) else {
        panic!("two servers on one port");
    };
    assert!(matches!(error, BindError::PortInUse { .. }), "{error}");
    assert_eq!(error.code(), "api_server_port_in_use");
    assert!(error.to_string().contains("API_SERVER_PORT"), "{error}");
    assert_eq!(world.get("/health").status, 200, "the first goes on");
}

#[test]
fn a_draining_gateway_begins_nothing_and_still_answers() {
    let world = World::playing(HELLO);
    world.host.is_draining.store(true, Ordering::SeqCst);
    let body = json!({"messages": [{"role": "user", "content": "hello"}]});
    let reply = world.post("/v1/chat/completions", &body);
    assert_eq!(reply.status, 503);
    assert_eq!(reply.json()["error"]["code"], "gateway_draining");
    assert_eq!(reply.header("retry-after"), Some("1"));
    assert_eq!(world.post("/v1/runs", &json!({"input": "x"})).status, 503);
    assert_eq!(world.get("/health").status, 200);
}

#[test]
fn keys_do_not_appear_in_answers() {
    let world = World::playing(HELLO);
    for path in [
        "/health",
        "/health/detailed",
        "/v1/capabilities",
        "/metrics",
        "/openapi.json",
    ] {
        let reply = world.get(path);
        assert!(!reply.text().contains(KEY), "{path}");
    }
}

#[test]
fn every_documented_endpoint_is_served() {
    let world = World::playing(HELLO);
    let document = world.get("/openapi.json").json();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (verb, operation) in operations.as_object().unwrap() {
            let method = verb.to_uppercase();
            let place: String = path
                .split('/')
                .map(|part| {
                    if part.starts_with('{') {
                        "unknown"
                    } else {
                        part
                    }
                })
                .collect::<Vec<_>>()
                .join("/");
            let reply = world.send(&method, &place, &[], b"");
            let code = &reply.json_or_null()["error"]["code"];
            assert_ne!(code, "not_found", "{method} {path}");
            assert_ne!(code, "method_not_allowed", "{method} {path}");
            let documented = &operation["responses"][reply.status.to_string()];
            assert!(documented.is_object(), "{method} {path}: {}", reply.status);
        }
    }
}
