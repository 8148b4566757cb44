//! The review of a card through the API: shapes, bad requests, and who may judge.

use std::fs;
use std::path::PathBuf;

use hermes_testkit::{TestHome, git};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::server::{CANARY, Server, dashboard, home};

const POEM: &str = "one\ntwo\nthree\n";

/// A card whose poem was changed, in a repository of the user's.
fn reviewed(home: &TestHome) -> (String, PathBuf) {
    let repository = home.user_home().join("project");
    fs::create_dir_all(&repository).unwrap();
    git(&repository, &["init", "--quiet", "-b", "main"]);
    fs::write(repository.join("poem.txt"), POEM).unwrap();
    fs::write(repository.join(".gitignore"), ".worktrees/\n").unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "first"]);
    let workspace = format!("worktree:{}", repository.display());
    let made = home.run([
        "kanban",
        "create",
        "A poem",
        "--workspace",
        &workspace,
        "--json",
    ]);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    home.run(["kanban", "claim", &id]).succeeds();
    let tree = repository.join(".worktrees").join(&id);
    // As long as before and in the same second as the checkout: git looks into it all the same.
    fs::write(tree.join("poem.txt"), POEM.replace("two", "2wo")).unwrap();
    home.run(["kanban", "block", &id, "review-required: look"])
        .succeeds();
    (id, repository)
}

fn path(id: &str, rest: &str) -> String {
    format!("/api/plugins/kanban/tasks/{id}/review{rest}")
}

#[test]
fn review_is_read_commented_answered_and_judged() {
    let home = home();
    let (id, repository) = reviewed(&home);
    let server = Server::local(&home);
    let shown = server.get(&path(&id, ""));
    assert_eq!(shown["on_approve"], "none");
    assert_eq!(shown["diff"]["files"][0]["path"], "poem.txt");
    assert_eq!(shown["diff"]["additions"], 1);
    let fingerprint = shown["diff"]["fingerprint"].clone();
    let post = |rest: &str, body: Value| server.call("POST", &path(&id, rest), &body);
    let comment = json!({"file": "poem.txt", "first_line": 2, "body": "In words."});
    assert_eq!(post("/comments", comment).expect(200)["comment"], 1);
    post("/comments/1/replies", json!({"body": "Please."})).expect(200);
    let shown = server.get(&path(&id, ""));
    let said = &shown["review"]["comments"][0];
    assert_eq!(
        (&said["quote"], &said["author"]),
        (&json!("2wo"), &json!("dashboard"))
    );
    assert_eq!(said["replies"][0]["body"], "Please.");
    let resolved = post("/comments/1/resolve", json!({})).expect(200);
    assert_eq!(resolved["was_open"], true);
    // Nothing is open, and nothing was said.
    assert_eq!(post("/request-changes", json!({})).status, 409);
    let back = post("/request-changes", json!({"text": "-- In words, please."})).expect(200);
    assert_eq!(back["status"], "ready");
    let approve = json!({"reviewed": fingerprint, "action": "merge"});
    let approved = post("/approve", approve).expect(200);
    assert_eq!(approved["landed"]["branch"], "main");
    let poem = fs::read_to_string(repository.join("poem.txt")).unwrap();
    assert_eq!(poem, POEM.replace("two", "2wo"));
}

#[test]
fn bad_requests_of_a_review_are_refused_with_the_reason() {
    let home = home();
    let (id, _) = reviewed(&home);
    let server = Server::local(&home);
    let comments = path(&id, "/comments");
    for (body, status) in [
        (json!({}), 422),
        (json!({"file": "poem.txt", "body": "x"}), 422),
        (
            json!({"file": "poem.txt", "first_line": 0, "body": "x"}),
            422,
        ),
        (
            json!({"file": "poem.txt", "first_line": "2", "body": "x"}),
            422,
        ),
        (
            json!({"file": "poem.txt", "first_line": 2, "side": "up", "body": "x"}),
            422,
        ),
        (
            json!({"file": "poem.txt", "first_line": 9, "body": "x"}),
            400,
        ),
        (
            json!({"file": "poem.txt", "first_line": 2, "body": " "}),
            400,
        ),
        (
            json!({"file": "../../etc/passwd", "first_line": 1, "body": "x"}),
            400,
        ),
        (
            json!({"file": "poem.txt", "first_line": 2, "body": "x".repeat(20_000)}),
            400,
        ),
    ] {
        let answer = server.call("POST", &comments, &body);
        assert_eq!(answer.status, status, "{body} {}", answer.body);
        assert!(!answer.json()["detail"].is_null());
    }
    let status = |method: &str, path: &str, body: Value| server.call(method, path, &body).status;
    assert_eq!(status("GET", &path("t_00000000", ""), Value::Null), 404);
    assert_eq!(status("GET", &path(&id, "?file=nosuch"), Value::Null), 404);
    assert_eq!(
        status("POST", &path(&id, "/comments/7/resolve"), json!({})),
        404
    );
    assert_eq!(
        status("POST", &path(&id, "/comments/x/resolve"), json!({})),
        404
    );
    assert_eq!(
        status(
            "POST",
            &path(&id, "/approve"),
            json!({"action": "push:--force"})
        ),
        422
    );
    let stale = json!({"reviewed": "0000000000000000"});
    let refused = server
        .call("POST", &path(&id, "/approve"), &stale)
        .expect(409);
    let reason = refused["detail"].as_str().unwrap();
    assert!(
        reason.contains("has changed since it was reviewed"),
        "{reason}"
    );
}

/// A secret in the work is masked for whoever looks at it here.
#[test]
fn secrets_in_a_diff_are_masked() {
    let home = home();
    home.put(".env", format!("OPENROUTER_API_KEY={CANARY}\n"));
    let (id, repository) = reviewed(&home);
    let tree = repository.join(".worktrees").join(&id);
    fs::write(tree.join("key.txt"), format!("{CANARY}\n")).unwrap();
    let server = Server::local(&home);
    let shown = server.get(&path(&id, "")).to_string();
    assert!(shown.contains("key.txt"));
    assert!(!shown.contains(CANARY));
    let page = server
        .with_token("GET", &format!("/board/{id}/review"))
        .send();
    assert_eq!(page.status, 200);
    assert!(!page.body.contains(CANARY));
}

/// Agents start no dashboard; one that a worker has started all the same does not judge in the name of a
/// person.
#[test]
fn agents_do_not_judge_through_a_dashboard_of_their_own() {
    let home = home();
    let (id, repository) = reviewed(&home);
    let refused = dashboard(&home).env("HERMES_AGENT_SHELL", "1").run();
    refused.exits(1).says_part("refused in an agent's shell");
    let server = Server::start(dashboard(&home).env("HERMES_KANBAN_TASK", &id));
    for (verdict, body) in [
        ("/approve", json!({"action": "merge"})),
        ("/request-changes", json!({"text": "more"})),
    ] {
        let refused = server.call("POST", &path(&id, verdict), &body).expect(409);
        let reason = refused["detail"].as_str().unwrap();
        assert!(reason.contains("an agent cannot"), "{reason}");
    }
    let poem = fs::read_to_string(repository.join("poem.txt")).unwrap();
    assert_eq!(poem, POEM);
}
