//! Scheduled jobs by request: the file that `hermes cron` and the scheduler use.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::Reply;
use crate::world::World;

const HELLO: &str = "turns: [{text: hi}]";

fn create(world: &World, body: &Value) -> Value {
    let reply = world.post("/api/jobs", body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["job"].clone()
}

fn patch(world: &World, path: &str, body: &Value) -> Reply {
    world.send("PATCH", path, &[], body.to_string().as_bytes())
}

#[test]
fn a_job_is_made_shown_changed_paused_resumed_run_and_deleted() {
    let world = World::playing(HELLO);
    assert_eq!(world.get("/api/jobs").json(), json!({"jobs": []}));
    let job = create(
        &world,
        &json!({"name": "report", "schedule": "every 2h", "prompt": "Report.", "repeat": 3}),
    );
    let id = job["id"].as_str().unwrap();
    let path = format!("/api/jobs/{id}");
    assert_eq!(world.get(&path).json()["job"], job);
    assert_eq!(job["repeat"]["times"], 3);
    let changed = patch(
        &world,
        &path,
        &json!({"schedule": "every 3h", "name": "news"}),
    );
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(changed.json()["job"]["schedule"]["minutes"], 180);
    let verb = |verb: &str| world.post(&format!("{path}/{verb}"), &json!({}));
    assert_eq!(verb("pause").json()["job"]["enabled"], false);
    assert_eq!(world.get("/api/jobs").json(), json!({"jobs": []}));
    let all = world.get("/api/jobs?include_disabled=true").json();
    assert_eq!(all["jobs"][0]["state"], "paused");
    assert_eq!(verb("resume").json()["job"]["enabled"], true);
    let before = world.get(&path).json()["job"]["next_run_at"].clone();
    let due = verb("run").json()["job"]["next_run_at"].clone();
    assert!(due.as_str() < before.as_str(), "{due} {before}");
    let file = std::fs::read_to_string(world.home().join("cron/jobs.json")).unwrap();
    assert!(file.contains("\"news\""), "{file}");
    let deleted = world.send("DELETE", &path, &[], b"");
    assert_eq!(deleted.json(), json!({"ok": true}));
    assert_eq!(world.get(&path).status, 404);
}

#[test]
fn bodies_and_ids_that_make_no_job_are_refused_in_plain_words() {
    let world = World::playing(HELLO);
    let long = |count: usize| "x".repeat(count);
    let cases = [
        json!({}),
        json!({"name": "a", "prompt": "p"}),
        json!({"name": " ", "schedule": "every 2h", "prompt": "p"}),
        json!({"name": "a", "schedule": "every 0m", "prompt": "p"}),
        json!({"name": "a", "schedule": "2020-01-01T00:00", "prompt": "p"}),
        json!({"name": "a", "schedule": "every 2h"}),
        json!({"name": long(201), "schedule": "every 2h", "prompt": "p"}),
        json!({"name": "a", "schedule": "every 2h", "prompt": long(5_001)}),
        json!({"name": "a", "schedule": "every 2h", "prompt": "p", "repeat": 0}),
        json!({"name": "a", "schedule": "every 2h", "prompt": "p", "repeat": "2"}),
        json!({"name": "a", "schedule": "every 2h", "prompt": "p", "skills": [7]}),
        json!({"name": 7, "schedule": "every 2h", "prompt": "p"}),
    ];
    for body in cases {
        let reply = world.post("/api/jobs", &body);
        assert_eq!(reply.status, 400, "{body}");
        assert!(reply.json()["error"].is_string(), "{}", reply.text());
    }
    assert_eq!(world.get("/api/jobs").json(), json!({"jobs": []}));
    for id in ["nosuch", "0123456789AB", "0123456789abc", "..%2Fx"] {
        assert_eq!(world.get(&format!("/api/jobs/{id}")).status, 400, "{id}");
    }
    let unknown = world.get("/api/jobs/0123456789ab");
    assert_eq!(unknown.status, 404);
    assert!(unknown.json()["error"].is_string());
    let job = create(
        &world,
        &json!({"name": "a", "schedule": "every 2h", "prompt": "p"}),
    );
    let path = format!("/api/jobs/{}", job["id"].as_str().unwrap());
    for body in [
        json!({}),
        json!({"id": "x"}),
        json!({"enabled": 1}),
        json!({"deliver": null}),
    ] {
        assert_eq!(patch(&world, &path, &body).status, 400, "{body}");
    }
    assert_eq!(world.get(&path).json()["job"], job);
}

#[test]
fn a_damaged_file_of_jobs_is_named_and_left_alone() {
    let world = World::playing(HELLO);
    std::fs::create_dir_all(world.home().join("cron")).unwrap();
    let file = world.home().join("cron/jobs.json");
    std::fs::write(&file, "{broken").unwrap();
    let body = json!({"name": "a", "schedule": "every 2h", "prompt": "p"});
    for reply in [world.get("/api/jobs"), world.post("/api/jobs", &body)] {
        assert_eq!(reply.status, 503, "{}", reply.text());
        let error = reply.json()["error"].to_string();
        assert!(error.contains("jobs.json"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{broken");
    assert_eq!(world.get("/health").status, 200);
}
