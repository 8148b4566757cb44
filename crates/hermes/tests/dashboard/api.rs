//! The groups of the API, in the reference's shapes, on a real home.

use hermes_testkit::{ModelServer, ScriptedAnswer, TestHome, eventually};
use serde_json::{Value, json};

use super::server::{CANARY, Server, dashboard, home};

const SCRIPT: &str = "turns:\n  - text: The answer is a sapphire.\n";

/// A home in which somebody has talked.
fn home_with_session() -> TestHome {
    let home = home();
    home.put("script.yaml", SCRIPT);
    home.put(
        "config.yaml",
        format!(
            "# mine\nmodel:\n  default: replay-1\n  provider: replay\n  script: {}\n  api_key: {CANARY}\n",
            home.path("script.yaml").display()
        ),
    );
    home.put(
        ".env",
        format!("OPENROUTER_API_KEY={CANARY}\nPLAIN_NAME=x\n"),
    );
    let question = format!("what is it? {CANARY}");
    home.run(["chat", "-q", &question]).succeeds();
    home
}

#[test]
fn sessions_are_listed_searched_shown_renamed_and_deleted() {
    let home = home_with_session();
    let server = Server::local(&home);
    let list = server.get("/api/sessions?limit=5");
    assert_eq!((&list["total"], &list["limit"]), (&json!(1), &json!(5)));
    let session = &list["sessions"][0];
    let id = session["id"].as_str().unwrap();
    for field in [
        "preview",
        "last_active",
        "is_active",
        "model",
        "message_count",
        "source",
    ] {
        assert!(session.get(field).is_some(), "{field}");
    }
    let found = server.get("/api/sessions/search?q=sapph");
    assert_eq!(found["results"][0]["session_id"], id);
    assert_eq!(server.get("/api/sessions/search?q=")["results"], json!([]));
    let shown = server.get(&format!("/api/sessions/{id}"));
    assert_eq!(shown["id"], id);
    let messages = server.get(&format!("/api/sessions/{id}/messages"));
    let text = messages.to_string();
    assert!(
        text.contains("sapphire") && !text.contains(CANARY),
        "{text}"
    );
    let latest = server.get(&format!("/api/sessions/{id}/latest-descendant"));
    assert_eq!(
        (&latest["session_id"], &latest["changed"]),
        (&json!(id), &json!(false))
    );
    let path = format!("/api/sessions/{id}");
    let renamed = server
        .call("PATCH", &path, &json!({"title": "Stones"}))
        .expect(200);
    assert_eq!(renamed["title"], "Stones");
    let usage = server.get("/api/analytics/usage?days=7");
    assert_eq!(usage["totals"]["total_sessions"], 1);
    assert_eq!(usage["daily"][0]["sessions"], 1);
    let models = server.get("/api/analytics/models");
    assert_eq!(models["models"][0]["sessions"], 1);
    assert_eq!(
        server.with_token("DELETE", &path).send().expect(200),
        json!({"ok": true})
    );
    assert_eq!(server.with_token("DELETE", &path).send().status, 404);
    assert_eq!(server.get("/api/sessions")["total"], 0);
}

#[test]
fn settings_are_shown_masked_and_only_what_changes_is_written() {
    let home = home_with_session();
    let before = home.read("config.yaml");
    let server = Server::local(&home);
    let mut form = server.get("/api/config");
    assert_eq!(form["model"], "replay-1");
    assert!(!form.to_string().contains(CANARY));
    let unchanged = server.call("PUT", "/api/config", &json!({ "config": form }));
    assert_eq!(unchanged.expect(200)["changed"], 0);
    assert_eq!(home.read("config.yaml"), before);
    form["terminal"]["timeout"] = json!(77);
    form["model"] = json!("replay-2");
    let changed = server.call("PUT", "/api/config", &json!({ "config": form }));
    assert_eq!(changed.expect(200)["changed"], 2);
    let after = home.read("config.yaml");
    assert!(
        after.starts_with("# mine\n") && after.contains("timeout: 77"),
        "{after}"
    );
    assert!(
        after.contains("default: replay-2") && after.contains(CANARY),
        "{after}"
    );
    form["terminal"]["timeout"] = json!("soon");
    let wrong = server.call("PUT", "/api/config", &json!({ "config": form }));
    let wrong = wrong.expect(400);
    assert!(
        wrong["detail"]
            .as_str()
            .unwrap()
            .contains("terminal.timeout"),
        "{wrong}"
    );
    assert_eq!(home.read("config.yaml"), after);
    let schema = server.get("/api/config/schema");
    assert_eq!(schema["fields"]["terminal.timeout"]["type"], "number");
    assert_eq!(
        server.get("/api/config/defaults")["terminal"]["backend"],
        "local"
    );
}

#[test]
fn the_file_itself_keeps_its_keys_under_masks_and_the_later_editor_is_told() {
    let home = home_with_session();
    let before = home.read("config.yaml");
    let server = Server::local(&home);
    let first = server.with_token("GET", "/api/config/raw").send();
    let state = first.header("etag").unwrap().to_owned();
    let text = first.expect(200)["yaml"].as_str().unwrap().to_owned();
    assert!(
        !text.contains(CANARY) && text.contains("api_key: cana...cdef"),
        "{text}"
    );
    let put = |text: &str, state: &str| {
        let request = server.with_token("PUT", "/api/config/raw");
        let request = request.json(&json!({"yaml_text": text}));
        request.header("If-Match", state).send()
    };
    put(&text.replace("# mine", "# ours"), &state).expect(200);
    assert_eq!(home.read("config.yaml"), before.replace("# mine", "# ours"));
    let late = put(&text, &state);
    assert!(
        late.expect(409)["detail"]
            .as_str()
            .unwrap()
            .contains("somebody else")
    );
    let broken = server.call("PUT", "/api/config/raw", &json!({"yaml_text": "a: ["}));
    assert_eq!(broken.status, 400);
    let lone = json!({"yaml_text": "model:\n  api_key: abcd...wxyz\n"});
    assert_eq!(server.call("PUT", "/api/config/raw", &lone).status, 400);
    assert!(home.read("config.yaml").contains(CANARY));
}

#[test]
fn keys_are_masked_set_removed_and_shown_five_times() {
    let home = home_with_session();
    let server = Server::local(&home);
    let shown = server.get("/api/env");
    let key = &shown["OPENROUTER_API_KEY"];
    assert_eq!(
        (&key["is_set"], &key["is_password"]),
        (&json!(true), &json!(true))
    );
    assert!(!shown.to_string().contains(CANARY));
    let set = |key: &str, value: &str| {
        server
            .call("PUT", "/api/env", &json!({"key": key, "value": value}))
            .status
    };
    assert_eq!(set("OPENAI_API_KEY", "sk-new-0123456789abcdef"), 200);
    assert!(
        home.read(".env")
            .contains("OPENAI_API_KEY=sk-new-0123456789abcdef")
    );
    for name in [
        "PATH",
        "LD_PRELOAD",
        "PYTHONPATH",
        "HERMES_HOME",
        "1X",
        "A B",
        "",
    ] {
        assert_eq!(set(name, "x"), 400, "{name}");
    }
    assert_eq!(set("OPENROUTER_API_KEY", "cana...cdef"), 400);
    assert!(home.read(".env").contains(CANARY));
    let gone = json!({"key": "PLAIN_NAME"});
    assert_eq!(server.call("DELETE", "/api/env", &gone).status, 200);
    assert_eq!(server.call("DELETE", "/api/env", &gone).status, 404);
    let reveal = || {
        server.call(
            "POST",
            "/api/env/reveal",
            &json!({"key": "OPENROUTER_API_KEY"}),
        )
    };
    for _ in 0..5 {
        assert_eq!(reveal().expect(200)["value"], CANARY);
    }
    assert_eq!(reveal().status, 429);
}

#[test]
fn jobs_are_made_paused_changed_and_deleted() {
    let home = home_with_session();
    let server = Server::local(&home);
    let new = json!({"prompt": "look", "schedule": "every 2h", "name": "watch"});
    let job = server.call("POST", "/api/cron/jobs", &new).expect(200);
    assert_eq!(
        (&job["profile"], &job["name"]),
        (&json!("default"), &json!("watch"))
    );
    let id = job["id"].as_str().unwrap();
    assert_eq!(server.get("/api/cron/jobs").as_array().unwrap().len(), 1);
    let post = |action: &str| {
        let path = format!("/api/cron/jobs/{id}/{action}");
        server.with_token("POST", &path).send().expect(200)
    };
    assert_eq!(post("pause")["enabled"], false);
    assert_eq!(post("resume")["enabled"], true);
    let wrong = json!({"prompt": "x", "schedule": "every 0m"});
    assert_eq!(server.call("POST", "/api/cron/jobs", &wrong).status, 400);
    let path = format!("/api/cron/jobs/{id}");
    let changed = server.call("PUT", &path, &json!({"updates": {"name": "later"}}));
    assert_eq!(changed.expect(200)["name"], "later");
    assert_eq!(server.with_token("DELETE", &path).send().status, 200);
    assert_eq!(server.with_token("GET", &path).send().status, 404);
}

#[test]
fn profiles_skills_models_and_logs() {
    let home = home_with_session();
    let server = Server::local(&home);
    let made = server.call("POST", "/api/profiles", &json!({"name": "coder"}));
    assert_eq!(made.expect(200)["name"], "coder");
    let profiles = server.get("/api/profiles");
    let names: Vec<&str> = profiles["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|profile| profile["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["default", "coder"]);
    assert_eq!(
        server
            .call("POST", "/api/profiles", &json!({"name": "coder"}))
            .status,
        400
    );
    assert_eq!(
        server
            .call("POST", "/api/profiles", &json!({"name": "--json"}))
            .status,
        400
    );
    let soul = json!({"content": "Be brief."});
    server
        .call("PUT", "/api/profiles/coder/soul", &soul)
        .expect(200);
    assert_eq!(
        server.get("/api/profiles/coder/soul")["content"],
        "Be brief."
    );
    let renamed = server.call(
        "PATCH",
        "/api/profiles/coder",
        &json!({"new_name": "writer"}),
    );
    assert_eq!(renamed.expect(200)["name"], "writer");
    assert_eq!(
        server
            .with_token("DELETE", "/api/profiles/writer")
            .send()
            .status,
        200
    );
    assert_eq!(
        server
            .with_token("DELETE", "/api/profiles/writer")
            .send()
            .status,
        404
    );
    assert_eq!(
        server
            .with_token("DELETE", "/api/profiles/default")
            .send()
            .status,
        400
    );

    let skills = server.get("/api/skills");
    if let Some(skill) = skills.as_array().unwrap().first() {
        let name = skill["name"].as_str().unwrap();
        let off = json!({"name": name, "enabled": false});
        server.call("PUT", "/api/skills/toggle", &off).expect(200);
        assert!(home.read("config.yaml").contains(name));
    }
    let none = json!({"name": "no-such-skill", "enabled": true});
    assert_eq!(server.call("PUT", "/api/skills/toggle", &none).status, 404);
    assert!(
        !server
            .get("/api/tools/toolsets")
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(server.get("/api/model/info")["model"], "replay-1");
    let set = json!({"scope": "main", "provider": "openrouter", "model": "a/b"});
    server.call("POST", "/api/model/set", &set).expect(200);
    eventually("the model is the new one", || {
        server.get("/api/model/info")["model"] == "a/b"
    });
    let wrong = json!({"scope": "main", "provider": "nobody-knows", "model": "x"});
    assert_eq!(server.call("POST", "/api/model/set", &wrong).status, 400);
    let logs = server.get("/api/logs?file=agent&lines=5");
    assert!(logs["lines"].as_array().unwrap().len() <= 5);
    assert_eq!(
        server
            .with_token("GET", "/api/logs?file=../../etc/passwd")
            .send()
            .status,
        400
    );
    assert_eq!(
        server
            .with_token("GET", "/api/logs?level=loud")
            .send()
            .status,
        400
    );
}

#[test]
fn an_action_runs_by_itself_and_can_be_looked_at() {
    let home = home_with_session();
    let server = Server::local(&home);
    let begun = server
        .with_token("POST", "/api/hermes/update")
        .send()
        .expect(200);
    assert_eq!(begun["name"], "hermes-update");
    let status = || server.get("/api/actions/hermes-update/status?lines=50");
    eventually("the action ends", || status()["running"] == false);
    let status = status();
    assert_eq!(status["pid"], begun["pid"]);
    assert!(status["exit_code"].is_number(), "{status}");
    let first = &status["lines"];
    assert!(
        first.to_string().contains("=== hermes-update started"),
        "{first}"
    );
    assert_eq!(
        server
            .with_token("GET", "/api/actions/rm/status")
            .send()
            .status,
        404
    );
}

#[test]
fn no_answer_shows_a_secret() {
    let home = home_with_session();
    home.put("SOUL.md", format!("The key is {CANARY}."));
    home.put(
        "logs/agent.log",
        format!("2026-11-01 10:00:00,000 INFO x: {CANARY}\n"),
    );
    home.run(["kanban", "create", &format!("leak {CANARY}")])
        .succeeds();
    let server = Server::local(&home);
    let document = server.get("/api/openapi.json");
    let mut asked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        if methods.get("get").is_none() || path.contains("/events") {
            continue;
        }
        let list = server.get("/api/sessions");
        let id = list["sessions"][0]["id"].as_str().unwrap().to_owned();
        let path = path
            .replace("{session_id}", &id)
            .replace("{name}", "default");
        let answer = server.with_token("GET", &path).send();
        assert!(!answer.body.contains(CANARY), "{path}: {}", answer.body);
        assert!(answer.status < 500, "{path}: {}", answer.body);
        asked += 1;
    }
    assert!(asked > 30, "{asked}");
    let page = server.request("GET", "/").send();
    assert!(!page.body.contains(CANARY));
    let board: Value = server.get("/api/plugins/kanban/board");
    assert!(board.to_string().contains("leak ***"), "{board}");
}

#[test]
fn a_gateway_in_another_container_is_asked_for_its_health() {
    let home = home();
    let said = json!({"status": "ok", "pid": 7, "gateway_state": "draining", "active_agents": 2,
        "platforms": {"telegram": {"state": "connected"}}});
    let gateway = ModelServer::always(ScriptedAnswer::text("-"))
        .with("/health/detailed", ScriptedAnswer::status(401, &json!({})))
        .with("/health", ScriptedAnswer::status(200, &said));
    let url = format!("{}/health/detailed/", gateway.root());
    let server = Server::start(dashboard(&home).env("GATEWAY_HEALTH_URL", &url));
    let status = server.get("/api/status");
    assert_eq!(status["gateway_running"], true);
    assert_eq!(status["gateway_pid"], 7);
    assert_eq!(status["gateway_state"], "draining");
    assert_eq!(status["active_agents"], 2);
    assert_eq!(
        status["gateway_platforms"]["telegram"]["state"],
        "connected"
    );
    assert_eq!(status["gateway_health_url"], gateway.root());
    drop(gateway);
    eventually("it is seen that it is gone", || {
        server.get("/api/status")["gateway_running"] == false
    });
}
