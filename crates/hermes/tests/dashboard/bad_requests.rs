//! What is wrong, missing, too large or gone.

use hermes_testkit::eventually;
use serde_json::{Value, json};

use super::server::{Server, home};

#[test]
fn bodies_of_the_wrong_shape_are_named_and_nothing_fails() {
    let home = home();
    let server = Server::local(&home);
    let document = server.get("/api/openapi.json");
    let bodies = [
        "[]",
        "\"x\"",
        "5",
        "null",
        "{",
        "\u{0}",
        "{\"name\": 5, \"key\": [], \"config\": 1}",
        "{\"title\": {}, \"ids\": \"x\", \"updates\": [], \"slug\": 1, \"schedule\": 2}",
        "",
    ];
    // Actions need no body and would run.
    let actions = [
        "/api/gateway/",
        "/api/hermes/",
        "/dispatch",
        "/api/auth/",
        "/orchestration",
        // Whoever gives up what is not there has got what they want.
        "/api/providers/oauth/sessions/",
    ];
    for (path, methods) in document["paths"].as_object().unwrap() {
        if actions.iter().any(|action| path.contains(action)) {
            continue;
        }
        for method in ["post", "put", "patch", "delete"] {
            if methods.get(method).is_none() {
                continue;
            }
            for body in bodies {
                let path = path.replace(['{', '}'], "");
                let request = server.with_token(&method.to_uppercase(), &path);
                let answer = request.raw_body(body).send();
                let is_refused = (400..500).contains(&answer.status);
                assert!(
                    is_refused,
                    "{method} {path} {body}: {} {}",
                    answer.status, answer.body
                );
                assert!(answer.json().get("detail").is_some(), "{}", answer.body);
            }
        }
    }
    let missing = server
        .call("PUT", "/api/env", &json!({"key": "A"}))
        .expect(422);
    let place: Value = json!({"detail": [{
        "loc": ["body", "value"], "msg": "is required", "type": "missing",
    }]});
    assert_eq!(missing, place);
}

#[test]
fn numbers_out_of_range_and_methods_that_do_not_exist() {
    let home = home();
    let server = Server::local(&home);
    for path in [
        "/api/sessions?limit=-1",
        "/api/sessions?limit=x",
        "/api/sessions?offset=99999999999999999999",
        "/api/analytics/usage?days=0",
        "/api/plugins/kanban/board?include_archived=perhaps",
    ] {
        assert_eq!(server.with_token("GET", path).send().status, 422, "{path}");
    }
    assert_eq!(server.with_token("POST", "/api/status").send().status, 405);
    assert_eq!(
        server.with_token("DELETE", "/api/config").send().status,
        405
    );
    for path in [
        "/api/sessions/no-such",
        "/api/sessions/..%2f..%2fetc",
        "/api/cron/jobs/000000000000",
        "/api/profiles/nobody/soul",
        "/api/plugins/kanban/tasks/t_00000000",
        "/api/plugins/kanban/runs/99",
        "/api/plugins/kanban/runs/x",
        "/api/plugins/kanban/board?board=nowhere",
        "/api/actions/none/status",
    ] {
        let answer = server.with_token("GET", path).send();
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
    }
}

#[test]
fn a_hundred_megabytes_are_refused_before_they_are_read() {
    let home = home();
    let server = Server::local(&home);
    let announced = server
        .with_token("PUT", "/api/config/raw")
        .announce(100_000_000);
    let detail = announced.expect(413)["detail"].clone();
    assert!(detail.as_str().unwrap().contains("larger"), "{detail}");
    let body = format!("{{\"yaml_text\": \"{}\"}}", "x".repeat(11_000_000));
    let sent = server
        .with_token("PUT", "/api/config/raw")
        .raw_body(body)
        .send();
    assert_eq!(sent.status, 413);
    // One that does not say how long it is: it is measured as it comes.
    let pieces = server
        .with_token("POST", "/api/plugins/kanban/tasks")
        .send_in_pieces(100);
    assert!(pieces.expect(413)["detail"].is_string());
    let peak = peak_megabytes(server.process.pid());
    assert!(peak < 100, "a body was kept whole: {peak} MB");
    assert_eq!(server.get("/api/sessions")["total"], 0);
}

/// The most memory that a process has had.
fn peak_megabytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    kilobytes.unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn what_is_done_to_something_unknown_is_refused_and_makes_nothing() {
    let home = home();
    let server = Server::local(&home);
    let board = "/api/plugins/kanban";
    for (method, path, body) in [
        ("DELETE", "/api/sessions/no-such".to_owned(), json!({})),
        (
            "PATCH",
            "/api/sessions/no-such".to_owned(),
            json!({"title": "x"}),
        ),
        (
            "PUT",
            "/api/cron/jobs/000000000000".to_owned(),
            json!({"updates": {"name": "x"}}),
        ),
        (
            "DELETE",
            "/api/cron/jobs/000000000000".to_owned(),
            json!({}),
        ),
        (
            "POST",
            "/api/cron/jobs/000000000000/pause".to_owned(),
            json!({}),
        ),
        ("DELETE", "/api/profiles/nobody".to_owned(), json!({})),
        (
            "PUT",
            "/api/profiles/nobody/soul".to_owned(),
            json!({"content": "x"}),
        ),
        (
            "PATCH",
            format!("{board}/tasks/t_00000000"),
            json!({"title": "x"}),
        ),
        ("DELETE", format!("{board}/tasks/t_00000000"), json!({})),
        (
            "POST",
            format!("{board}/tasks/t_00000000/comments"),
            json!({"body": "x"}),
        ),
        (
            "POST",
            format!("{board}/tasks/t_00000000/review/approve"),
            json!({}),
        ),
        ("POST", format!("{board}/boards/nowhere/switch"), json!({})),
        ("POST", "/api/chat/runs/run_00/stop".to_owned(), json!({})),
        (
            "DELETE",
            "/api/env".to_owned(),
            json!({"key": "NO_SUCH_KEY"}),
        ),
    ] {
        let answer = server.call(method, &path, &body);
        assert_eq!(answer.status, 404, "{method} {path}: {}", answer.body);
        assert!(answer.json()["detail"].is_string(), "{method} {path}");
    }
    assert!(!home.path("profiles/nobody").exists());
    assert_eq!(server.get("/api/cron/jobs"), json!([]));
}

#[test]
fn a_broken_file_a_broken_database_and_a_home_that_is_gone_are_said() {
    let home = home();
    let server = Server::local(&home);
    home.put("config.yaml", "a: [\n");
    let raw = server.with_token("GET", "/api/config/raw").send();
    assert_eq!(raw.status, 503, "{}", raw.body);
    let put = server.call(
        "PUT",
        "/api/config",
        &json!({"config": {"timezone": "UTC"}}),
    );
    assert_eq!(put.status, 400, "{}", put.body);
    assert_eq!(home.read("config.yaml"), "a: [\n");
    home.put("config.yaml", "");
    home.put(
        "state.db",
        "this is no database, and long enough to be looked at ".repeat(40),
    );
    let sessions = server.with_token("GET", "/api/sessions").send();
    assert_eq!(sessions.status, 503, "{}", sessions.body);
    assert_eq!(server.request("GET", "/api/status").send().status, 200);
    std::fs::remove_dir_all(home.root()).unwrap();
    eventually("a home that is gone is no reason to fail", || {
        let status = server.request("GET", "/api/status").send();
        status.status == 200 && status.json()["gateway_running"] == false
    });
    let board = server.with_token("GET", "/api/sessions").send();
    assert!(board.status < 500 || board.status == 503, "{}", board.body);
}
