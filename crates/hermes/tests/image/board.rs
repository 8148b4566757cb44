//! A board worked on inside the container.

use pretty_assertions::assert_eq;

use crate::container::{Container, json};

const SCRIPT: &str = r#"turns:
  - match: {user: "/task (?<id>t_[0-9a-f]+)/", step: 1}
    calls:
      - {tool: kanban_show, arguments: {task_id: "${id}"}}
  - match: {seen: "/# Kanban task t_[0-9a-f]+/", step: 2}
    calls:
      - {tool: terminal, arguments: {command: "id -un > who.txt"}}
  - match: {seen: "/# Kanban task t_[0-9a-f]+/", step: 3}
    calls:
      - {tool: kanban_complete, arguments: {summary: "done in the container"}}
  - text: ok
"#;

#[test]
fn two_profiles_work_on_one_board_through_one_dispatcher() {
    let container = Container::boot(&[], &["gateway", "run"]);
    container.must(&format!("cat > script.yaml <<'END'\n{SCRIPT}END"));
    for profile in ["writer", "coder"] {
        container.must(&format!(
            "hermes profile create {profile} --no-alias --no-inherit"
        ));
        container.must(&format!(
            "hermes -p {profile} config set model.provider replay && hermes -p {profile} config set model.script /opt/data/script.yaml"
        ));
        container.must(&format!("hermes -p {profile} gateway start"));
    }
    for (title, who) in [
        ("one", "writer"),
        ("two", "coder"),
        ("three", "writer"),
        ("four", "coder"),
    ] {
        container.must(&format!("hermes kanban create {title} --assignee {who}"));
    }
    container.wait_until("all cards are done", || {
        let cards = container.exec("hermes kanban list --status done --json");
        cards.code == 0 && json(&cards.stdout).as_array().map_or(0, Vec::len) == 4
    });
    let cards = json(&container.must("hermes kanban list --status done --json"));
    for card in cards.as_array().unwrap() {
        let id = card["id"].as_str().unwrap();
        let shown = container.must(&format!("hermes kanban show {id}"));
        assert!(shown.contains("done in the container"), "{shown}");
    }
    // Workers were the runtime user's, and left nothing of root's.
    assert_eq!(
        container.must("find /opt/data ! -user hermes ! -name .container-ownership.json"),
        ""
    );
    assert_eq!(
        container.must("ls -d profiles/writer profiles/coder | wc -l"),
        "2"
    );
}
