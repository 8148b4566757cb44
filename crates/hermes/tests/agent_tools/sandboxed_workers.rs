//! Workers that nobody watches: what needs approval elsewhere runs in the sandbox, and what lies
//! outside of it is out of reach.

use pretty_assertions::assert_eq;

use crate::end_to_end::Builder;

/// A model that insists on flagged commands, then tries what it must not, then completes.
const SCRIPT: &str = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls:
      - {tool: terminal, arguments: {command: "mkdir build && python3 -c 'open(\"build/a\", \"w\").write(\"made\")' && cat build/a && rm -rf build && git init -q . && git reset --hard"}}
  - match: {tool: terminal, step: 2}
    calls:
      - {tool: terminal, arguments: {command: "echo x > ~/escaped; cat ~/.ssh/id_rsa; cat /proc/$PPID/environ; echo 'approvals: {mode: off}' | tee -a $HERMES_HOME/config.yaml; echo tried"}}
  - match: {tool: terminal, step: 3}
    calls:
      - {tool: write_file, arguments: {path: "~/escaped-by-tool", content: "x"}}
  - match: {tool: write_file}
    calls:
      - {tool: kanban_complete, arguments: {summary: "Done as told."}}
  - text: Done.
"#;

fn builder(settings: &str) -> Builder {
    let builder = Builder::new(SCRIPT, settings);
    let home = builder.desk.home.user_home();
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/id_rsa"), "canary-of-the-key").unwrap();
    builder
}

#[test]
fn a_worker_finishes_with_flagged_commands_and_cannot_leave_its_workspace() {
    let builder = builder("");
    let id = builder.desk.create("do it", &["--assignee", "builder"]);
    builder.work(&id, "done");
    let card = builder.card(&id);
    let told = builder.session(&card["runs"][0]);
    assert!(told.contains("made"), "{told}");
    assert!(told.contains("tried"), "{told}");
    assert!(told.contains("Read-only file system"), "{told}");
    assert!(
        told.contains("outside of what this sandbox may write"),
        "{told}"
    );
    assert!(!told.contains("canary-of-the-key"), "{told}");
    let home = builder.desk.home.user_home();
    assert!(!home.join("escaped").exists() && !home.join("escaped-by-tool").exists());
    let settings = builder.desk.home.read("profiles/builder/config.yaml");
    assert!(!settings.contains("approvals"), "{settings}");
}

#[test]
fn a_card_says_for_itself_whether_its_worker_is_confined() {
    let builder = builder("terminal: {sandbox: on}\napprovals: {noninteractive_mode: approve}\n");
    let flags = ["--assignee", "builder", "--sandbox", "off"];
    let id = builder.desk.create("do it", &flags);
    let shown = builder.desk.home.run(["kanban", "show", &id]);
    assert!(shown.stdout.contains("sandbox"), "{}", shown.stdout);
    let why = builder.desk.kanban(&["why", &id]);
    assert_eq!(why["sandbox"], "off");
    builder.work(&id, "done");
    assert!(builder.desk.home.user_home().join("escaped").exists());
    let other = builder
        .desk
        .create("another", &["--initial-status", "blocked"]);
    let why = builder.desk.home.run(["kanban", "why", &other]);
    assert!(
        why.stdout.contains("is up to terminal.sandbox"),
        "{}",
        why.stdout
    );
}

#[test]
fn acceptance_checks_are_confined() {
    let builder = builder("");
    let escape = "echo x > ~/escaped";
    let flags = ["--check", "test -w . && touch here", "--check", escape];
    let id = builder.desk.create("checked", &flags);
    let refused = builder
        .desk
        .home
        .run(["kanban", "complete", &id, "--summary", "x"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(
        refused.stderr.contains("Read-only file system"),
        "{}",
        refused.stderr
    );
    assert!(!builder.desk.home.user_home().join("escaped").exists());
    let free = builder
        .desk
        .create("free", &["--check", escape, "--sandbox", "off"]);
    let done = builder
        .desk
        .home
        .run(["kanban", "complete", &free, "--summary", "x"]);
    assert_eq!(done.code, Some(0), "{done}");
}

#[test]
fn checks_that_an_agent_wants_are_confined_where_nothing_else_is() {
    let builder = builder("terminal: {sandbox: off}\n");
    let desk = &builder.desk;
    let check = "echo x > ~/escaped";
    let flags = ["--assignee", "builder", "--check", check];
    let args = [&["kanban", "create", "of an agent", "--json"][..], &flags].concat();
    let filed = desk.home.hermes(args).env("HERMES_AGENT_SHELL", "1").run();
    let filed = filed.succeeds().json();
    let id = filed["id"].as_str().unwrap();
    let refused = desk.home.run(["kanban", "complete", id, "--summary", "x"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    let escaped = desk.home.user_home().join("escaped");
    assert!(!escaped.exists(), "{refused}");
    // A person's run as the settings say.
    let own = desk.create("of a person", &flags);
    let done = desk
        .home
        .run(["kanban", "complete", &own, "--summary", "x"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(escaped.exists());
}
