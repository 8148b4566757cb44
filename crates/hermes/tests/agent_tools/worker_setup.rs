//! What reaches workers besides their card: skills, variables; and what they were refused.

use std::fs;

use pretty_assertions::assert_eq;

use crate::end_to_end::Builder;

/// Runs one command and completes.
fn script(command: &str) -> String {
    format!(
        "turns:\n  - match: {{user: \"work kanban task\", step: 1}}\n    \
         calls: [{{tool: terminal, arguments: {{command: {command:?}}}}}]\n  \
         - match: {{tool: terminal}}\n    \
         calls: [{{tool: kanban_complete, arguments: {{summary: tried it}}}}]\n  \
         - text: Done.\n"
    )
}

#[test]
fn commands_a_worker_was_refused_are_visible() {
    let builder = Builder::new(&script("rm -rf / --no-preserve-root"), "");
    let id = builder.desk.create("clean up", &["--assignee", "builder"]);
    builder.work(&id, "done");
    let card = builder.card(&id);
    let events = card["events"].as_array().unwrap();
    let of_kind = |kind: &str| {
        let found = events.iter().find(|event| event["kind"] == kind);
        found.unwrap_or_else(|| panic!("no {kind}: {events:#?}"))["payload"].clone()
    };
    let denied = of_kind("command_denied");
    assert_eq!(denied["command"], "rm -rf / --no-preserve-root");
    assert!(!denied["reason"].as_str().unwrap().is_empty());
    assert_eq!(of_kind("completed")["denied_commands"], 1);
    assert_eq!(card["runs"][0]["metadata"]["denied_commands"], 1);
    let log = builder.log(&id);
    assert!(
        log.lines()
            .any(|line| line.starts_with("Denied (") && line.contains("rm -rf /")),
        "{log}"
    );
    let log = builder.desk.home.read("profiles/builder/logs/agent.log");
    assert!(
        log.lines()
            .any(|line| line.contains("command denied") && line.contains("rm -rf /")),
        "{log}"
    );
    builder
        .desk
        .home
        .run(["kanban", "show", &id])
        .succeeds()
        .prints_part("denied:      1 command(s)");
}

#[test]
fn a_completion_without_refusals_does_not_speak_of_them() {
    let builder = Builder::new(&script("echo hello"), "");
    let id = builder.desk.create("greet", &["--assignee", "builder"]);
    builder.work(&id, "done");
    assert!(!builder.card(&id).to_string().contains("denied"));
}

#[test]
fn activation_markers_that_a_profile_lets_through_reach_its_workers_terminals() {
    for (settings, expected) in [
        (
            "tools: {env_passthrough: [VIRTUAL_ENV]}\n",
            "in=/opt/venv\n",
        ),
        ("", "in=\n"),
    ] {
        let builder = Builder::new(&script("echo \"in=$VIRTUAL_ENV\" > seen.txt"), settings);
        let directory = builder.desk.home.outside("project");
        fs::create_dir(&directory).unwrap();
        let place = format!("dir:{}", directory.display());
        let id = builder
            .desk
            .create("look", &["--assignee", "builder", "--workspace", &place]);
        builder
            .desk
            .home
            .hermes(["kanban", "dispatch"])
            .on_host()
            .env("VIRTUAL_ENV", "/opt/venv")
            .run()
            .succeeds();
        builder.wait(&id, "done");
        let seen = fs::read_to_string(directory.join("seen.txt")).unwrap();
        assert_eq!(seen, expected, "{settings}");
    }
}

#[test]
fn a_card_with_a_skill_and_a_card_in_review_are_worked_on() {
    let builder = Builder::new(&script("echo hello"), "");
    builder.desk.home.put(
        "profiles/builder/skills/writing/greeting/SKILL.md",
        "---\nname: greeting\ndescription: Greets\n---\nGreet politely.\n",
    );
    let with_skill = builder
        .desk
        .create("greet", &["--assignee", "builder", "--skill", "greeting"]);
    builder.work(&with_skill, "done");
    // The reviewer's skill comes with the program.
    let review = builder.desk.create("judge", &["--assignee", "builder"]);
    let moved = builder.desk.store().board().database.clone();
    hermes_store::rusqlite::Connection::open(moved)
        .unwrap()
        .execute(
            "UPDATE tasks SET status = 'review' WHERE id = ?1",
            [&review],
        )
        .unwrap();
    builder.work(&review, "done");
    assert_eq!(builder.card(&review)["runs"][0]["outcome"], "completed");
}

/// The model completes only what a skill told it to: that of the card, one that it looked at itself,
/// and that of the review lane.
#[test]
fn skills_of_a_card_steer_its_worker_and_its_reviewer() {
    let script = r#"
turns:
  - match: {seen: "Greet politely, with", step: 1}
    calls: [{tool: skill_view, arguments: {name: board-worker}}]
  - match: {tool: skill_view, last: "Working on a card"}
    calls: [{tool: terminal, arguments: {command: "echo token=$GREETING_WORD"}}]
  - match: {tool: terminal, last: "token=welcome"}
    calls: [{tool: kanban_complete, arguments: {summary: "greeted as the skill says"}}]
  - match: {seen: "You review a card that somebody else has worked on", step: 1}
    calls: [{tool: kanban_complete, arguments: {summary: "reviewed as the skill says"}}]
  - text: Nothing told me what to do.
"#;
    let builder = Builder::new(script, "");
    let home = &builder.desk.home;
    home.put(
        "profiles/builder/skills/greeting/SKILL.md",
        "---\nname: greeting\ndescription: Greets\nrequired_environment_variables: \
         [GREETING_WORD]\n---\nGreet politely, with ${HERMES_SESSION_ID}.\n",
    );
    home.put("profiles/builder/.env", "GREETING_WORD=welcome\n");
    let flags = ["--assignee", "builder", "--skill", "greeting"];
    let card = builder.desk.create("greet", &flags);
    builder.work(&card, "done");
    let run = builder.card(&card)["runs"][0].clone();
    assert_eq!(
        run["summary"],
        "greeted as the skill says",
        "{}",
        builder.log(&card)
    );
    let review = builder.desk.create("judge", &["--assignee", "builder"]);
    let database = builder.desk.store().board().database.clone();
    hermes_store::rusqlite::Connection::open(database)
        .unwrap()
        .execute(
            "UPDATE tasks SET status = 'review' WHERE id = ?1",
            [&review],
        )
        .unwrap();
    builder.work(&review, "done");
    let run = builder.card(&review)["runs"][0].clone();
    assert_eq!(
        run["summary"],
        "reviewed as the skill says",
        "{}",
        builder.log(&review)
    );
}
