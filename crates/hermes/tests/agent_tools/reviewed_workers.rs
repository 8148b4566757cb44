//! Work that goes back: the second worker of a card reads what a reviewer said about the lines of the
//! first, answers it, and the card is approved and merged.

use std::fs;

use hermes_testkit::git;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::Desk;
use crate::end_to_end::Builder;

const SCRIPT: &str = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls: [{tool: kanban_show, arguments: {}}]
  - match: {tool: kanban_show, last: "Say who is greeted."}
    calls: [{tool: terminal, arguments: {command: "printf 'greeting\nhello, world\n' > page.md"}}]
  - match: {tool: kanban_show}
    calls: [{tool: write_file, arguments: {path: page.md, content: "greeting\nhello\n"}}]
  - match: {tool: write_file}
    calls: [{tool: kanban_block, arguments: {reason: "review-required: the page is written"}}]
  - match: {tool: terminal}
    calls:
      - tool: kanban_comment
        arguments: {task_id: CARD, body: "The world is.", review_comment: 1, resolve: true}
  - match: {tool: kanban_comment}
    calls: [{tool: kanban_complete, arguments: {summary: The page greets the world.}}]
  - text: Done.
"#;

#[test]
fn second_worker_reads_the_comments_on_the_work_of_the_first() {
    let builder = Builder::new(SCRIPT, "");
    let desk = &builder.desk;
    let repository = desk.home.user_home().join("project");
    fs::create_dir_all(&repository).unwrap();
    git(&repository, &["init", "--quiet", "-b", "main"]);
    fs::write(repository.join(".gitignore"), ".worktrees/\n").unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "first"]);
    let workspace = format!("worktree:{}", repository.display());
    let flags = [
        "--assignee",
        "builder",
        "--workspace",
        &workspace,
        "--on-approve",
        "merge",
    ];
    let id = desk.create("a page", &flags);
    let script = desk.home.outside("script.yaml");
    fs::write(&script, SCRIPT.replace("CARD", &id)).unwrap();
    builder.work(&id, "blocked");

    let kanban = |args: &[&str]| desk.home.hermes(["kanban"]).args(args).run();
    kanban(&["review", "comment", &id, "page.md:2", "Say who is greeted."]).succeeds();
    kanban(&["review", "request-changes", &id]).succeeds();
    builder.work(&id, "done");
    let card = builder.card(&id);
    let runs = card["runs"].as_array().unwrap();
    assert_eq!(
        runs[1]["summary"],
        "The page greets the world.",
        "{}",
        builder.log(&id)
    );
    let told = builder.session(&runs[1]);
    for part in [
        "Comment 1 on page.md:2, by",
        "    hello",
        "Say who is greeted.",
    ] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    let comment = &desk.kanban(&["review", "list", &id])[0];
    assert_eq!(comment["resolved_by"], "builder");
    assert_eq!(comment["replies"][0]["body"], "The world is.");

    let approved = desk.kanban(&["review", "approve", &id]);
    assert_eq!(approved["landed"]["branch"], "main");
    let page = fs::read_to_string(repository.join("page.md")).unwrap();
    assert_eq!(page, "greeting\nhello, world\n");
}

#[test]
fn worker_answers_comments_on_its_own_card_only() {
    let desk = Desk::new();
    let (own, other) = (desk.create("own", &[]), desk.create("other", &[]));
    desk.home
        .hermes(["kanban", "claim", &other])
        .run()
        .succeeds();
    let file = desk.home.path(&format!("kanban/workspaces/{other}/a.txt"));
    fs::write(file, "a\n").unwrap();
    let words = ["kanban", "review", "comment", &other, "a.txt:1", "why?"];
    desk.home.hermes(words).run().succeeds();
    let run = desk.claimed(&own);
    let answer = |args: serde_json::Value| {
        let refused = desk.worker(&own, run, "kanban_comment", args);
        refused.exits(1).json()["error"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let foreign = answer(json!({"task_id": other, "body": "x", "review_comment": 1}));
    let message = format!("cannot answer review comments of card {other}");
    assert!(foreign.contains(&message), "{foreign}");
    let unknown = answer(json!({"task_id": own, "body": "x", "review_comment": 4}));
    assert_eq!(unknown, format!("{own} has no review comment 4"));
    let alone = answer(json!({"task_id": own, "body": "x", "resolve": true}));
    assert!(alone.contains("review_comment"), "{alone}");
    let shown = desk.worker(&own, run, "kanban_show", json!({"task_id": other}));
    assert_eq!(shown.succeeds().json()["review"][0]["body"], "why?");
}
