//! `specify` and `decompose`: what a model proposes for cards in triage, and what becomes of it.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{Desk, assert_refuses, text};

/// A desk whose model is this server.
fn desk_asking(server: &ModelServer, more: &str) -> Desk {
    let desk = Desk::new();
    let url = server.base_url();
    desk.home.put(
        "config.yaml",
        format!("model: {{provider: custom, default: test-model, base_url: '{url}'}}\n{more}"),
    );
    desk
}

fn saying(answer: &Value) -> ModelServer {
    ModelServer::always(ScriptedAnswer::text(&answer.to_string()))
}

fn card(desk: &Desk, id: &str) -> Value {
    desk.json(&["show", id])["task"].clone()
}

/// The objects of `--json`, one a line.
fn lines(out: &str) -> Vec<Value> {
    let lines = out.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

#[test]
fn specify_turns_a_note_into_a_card() {
    let answer =
        "```json\n{\"title\": \"Mend the lexer\", \"body\": \"**Goal**\\nIt lexes.\"}\n```";
    let server = ModelServer::always(ScriptedAnswer::text(answer));
    let desk = desk_asking(&server, "");
    let id = desk.create("lexer broken??", &["--triage", "--body", "see issue"]);
    let outcome = desk.kanban(&["specify", &id, "--author", "ann"]);
    outcome.succeeds().prints(&format!(
        "Specified {id} → ready, now called \"Mend the lexer\"\n"
    ));
    let shown = card(&desk, &id);
    assert_eq!(shown["status"], json!("ready"));
    assert_eq!(shown["body"], json!("**Goal**\nIt lexes."));
    assert_eq!(desk.events(&id), ["created", "specified", "promoted"]);
    let comments = desk.json(&["show", &id])["comments"].clone();
    assert_eq!(comments[0]["author"], json!("ann"));
    // A whole answer is asked for, once, with the limits of the chapter.
    let question = &server.questions()[0].body;
    assert_eq!(server.received().len(), 1);
    assert_eq!(
        (&question["temperature"], &question["max_tokens"]),
        (&json!(0.3), &json!(6000))
    );
    assert!(question.get("stream").is_none(), "{question}");
    let asked = text(&question["messages"][1]["content"]);
    for part in [id.as_str(), "lexer broken??", "see issue"] {
        assert!(asked.contains(part), "{asked}");
    }
}

#[test]
fn a_model_is_shown_no_more_than_it_needs() {
    let server = saying(&json!({"body": "b"}));
    let desk = desk_asking(&server, "");
    let long = "ä".repeat(9_000);
    let id = desk.create(&long, &["--triage", "--body", &long]);
    desk.call(&["specify", &id])
        .env("HERMES_KANBAN_SPECIFY_MAX_TOKENS", "10")
        .run()
        .succeeds();
    let question = &server.questions()[0].body;
    assert_eq!(question["max_tokens"], json!(1500));
    let asked = text(&question["messages"][1]["content"]);
    assert_eq!(asked.matches('ä').count(), 399 + 3_999);
    assert_eq!(card(&desk, &id)["title"], json!(long));
}

#[test]
fn a_plain_answer_becomes_the_body_and_an_empty_one_fails() {
    for (answer, body) in [
        ("plain words", Some("plain words")),
        ("  ", None),
        ("{}", None),
    ] {
        let server = ModelServer::always(ScriptedAnswer::text(answer));
        let desk = desk_asking(&server, "auxiliary: {transient_retries: 0}\n");
        let id = desk.create("note", &["--triage", "--body", "old"]);
        let outcome = desk.kanban(&["specify", &id, "--json"]);
        let record = &lines(&outcome.stdout)[0];
        assert_eq!(record["ok"], json!(body.is_some()), "{record}");
        let shown = card(&desk, &id);
        match body {
            Some(body) => {
                outcome.succeeds();
                assert_eq!(
                    (&shown["body"], &shown["title"]),
                    (&json!(body), &json!("note"))
                );
            }
            None => {
                outcome.exits(1);
                assert_eq!(
                    (&shown["body"], &shown["status"]),
                    (&json!("old"), &json!("triage"))
                );
                assert_eq!(desk.events(&id), ["created"]);
            }
        }
    }
}

#[test]
fn specify_refuses_cards_outside_triage_without_a_request() {
    let server = saying(&json!({"title": "t"}));
    let desk = desk_asking(&server, "");
    let ready = desk.create("ready", &[]);
    for verb in ["specify", "decompose"] {
        for (id, why) in [
            ("t_00000000", "no such card"),
            (
                ready.as_str(),
                "the card is not in triage: its status is ready",
            ),
        ] {
            assert_refuses(&desk.kanban(&[verb, id]), 1, &format!("{id}: {why}"));
        }
        for args in [vec![verb], vec![verb, "t_00000000", "--all"]] {
            let message = "name a card or give --all, not both";
            assert_refuses(&desk.kanban(&args), 2, message);
        }
        let none = desk.kanban(&[verb, "--all"]);
        none.succeeds().prints("No cards in triage.\n");
    }
    let none = desk.kanban(&["specify", "--all", "--json"]);
    assert_eq!(lines(&none.stdout), [json!({"specified": 0, "total": 0})]);
    assert!(server.questions().is_empty());
}

#[test]
fn a_failing_model_leaves_the_card_in_triage() {
    let refused = ScriptedAnswer::status(401, &json!({"error": {"message": "bad key"}}));
    let server = ModelServer::always(refused);
    let desk = desk_asking(&server, "");
    let id = desk.create("note", &["--triage"]);
    for verb in ["specify", "decompose"] {
        let outcome = desk.kanban(&[verb, &id]);
        outcome.exits(1).prints("").says_part("(auth)");
        outcome.says_part("bad key");
    }
    assert_eq!(desk.events(&id), ["created"]);
    desk.home.put("config.yaml", "");
    let outcome = desk.kanban(&["specify", &id]);
    outcome.exits(1).says_part("no model is available");
}

#[test]
fn a_card_moved_meanwhile_is_left_alone() {
    let mut desk = None;
    let server = {
        let (sender, receiver) = std::sync::mpsc::channel::<(std::path::PathBuf, String)>();
        let server = ModelServer::start_with(move |_| {
            let (database, id) = receiver.recv().unwrap();
            let database = hermes_store::rusqlite::Connection::open(database).unwrap();
            database
                .execute("UPDATE tasks SET status = 'archived' WHERE id = ?1", [id])
                .unwrap();
            ScriptedAnswer::text(&json!({"title": "new"}).to_string())
        });
        let made = desk.insert(desk_asking(&server, ""));
        let id = made.create("note", &["--triage"]);
        sender
            .send((made.home.path("kanban.db"), id.clone()))
            .unwrap();
        let outcome = made.kanban(&["specify", &id]);
        outcome
            .exits(1)
            .says_part("moved while the model was working");
        server
    };
    assert_eq!(server.questions().len(), 1);
}

#[test]
fn specify_all_continues_after_a_failure() {
    let mut first = true;
    let server = ModelServer::start_with(move |_| {
        let answer = if std::mem::take(&mut first) {
            " "
        } else {
            r#"{"body": "b"}"#
        };
        ScriptedAnswer::text(answer)
    });
    let desk = desk_asking(&server, "");
    let tenant = ["--triage", "--tenant", "acme"];
    let cards = [desk.create("a", &tenant), desk.create("b", &tenant)];
    let other = desk.create("c", &["--triage"]);
    let outcome = desk.kanban(&["specify", "--all", "--tenant", "acme", "--json"]);
    outcome.succeeds();
    let records = lines(&outcome.stdout);
    let facts: Vec<(bool, bool)> = records
        .iter()
        .map(|one| {
            let known = cards.iter().any(|card| one["task_id"] == json!(card));
            (known, one["ok"] == json!(true))
        })
        .collect();
    assert_eq!(facts, [(true, false), (true, true)]);
    assert_eq!(desk.status(&other), "triage");
    // All of them failing is a failure.
    let server = ModelServer::always(ScriptedAnswer::text(" "));
    let desk = desk_asking(&server, "");
    desk.create("a", &["--triage"]);
    desk.kanban(&["specify", "--all"]).exits(1);
}

#[test]
fn a_card_is_split_among_the_profiles() {
    let server = saying(&json!({"fanout": true, "rationale": "two parts", "tasks": [
        {"title": "Write it", "body": "code", "assignee": "coder", "parents": []},
        {"title": "Look at it", "body": "read", "assignee": "stranger", "parents": [0, 9]},
    ]}));
    let more = "kanban: {default_assignee: reader, orchestrator_profile: boss}\n";
    let desk = desk_asking(&server, more);
    for (profile, purpose) in [("coder", "writes code"), ("reader", ""), ("boss", "")] {
        desk.home.run(["profile", "create", profile]).succeeds();
        if !purpose.is_empty() {
            desk.home
                .run(["profile", "describe", profile, "--text", purpose])
                .succeeds();
        }
    }
    let root = desk.create(
        "all of it",
        &["--triage", "--tenant", "acme", "--workspace", "dir:/srv"],
    );
    let outcome = desk.kanban(&["decompose", &root, "--json"]);
    let record = &lines(&outcome.succeeds().stdout)[0];
    let children: Vec<String> = record["child_ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(text)
        .collect();
    assert_eq!(
        (&record["ok"], &record["fanout"], children.len()),
        (&json!(true), &json!(true), 2)
    );
    let facts = |id: &str| {
        let card = card(&desk, id);
        (
            text(&card["status"]),
            text(&card["assignee"]),
            text(&card["tenant"]),
            text(&card["workspace_kind"]),
        )
    };
    let of = |status: &str, who: &str| {
        let words = [status, who, "acme", "dir"].map(str::to_owned);
        let [status, who, tenant, kind] = words;
        (status, who, tenant, kind)
    };
    assert_eq!(facts(&children[0]), of("ready", "coder"));
    assert_eq!(facts(&children[1]), of("todo", "reader"));
    assert_eq!(facts(&root), of("todo", "boss"));
    assert!(desk.events(&root).contains(&"decomposed".to_owned()));
    let asked = text(&server.questions()[0].body["messages"][1]["content"]);
    assert!(asked.contains("- coder: writes code"), "{asked}");
    assert!(asked.contains("- reader: (not described"), "{asked}");
    assert!(asked.contains("goes to: reader"), "{asked}");
}

#[test]
fn decomposed_cards_wait_if_configured() {
    let server = saying(&json!({"fanout": true, "tasks": [{"title": "a"}, {"title": "b"}]}));
    let desk = desk_asking(&server, "kanban: {auto_promote_children: false}\n");
    let root = desk.create("all", &["--triage"]);
    desk.kanban(&["decompose", &root]).succeeds();
    assert_eq!(
        desk.count("SELECT count(*) FROM tasks WHERE status = 'todo'"),
        3
    );
    let server =
        saying(&json!({"fanout": false, "title": "One", "body": "b", "assignee": "nobody"}));
    let desk = desk_asking(&server, "");
    let id = desk.create("one", &["--triage"]);
    let outcome = desk.kanban(&["decompose", &id]);
    outcome.succeeds().prints_part("one piece of work");
    let shown = card(&desk, &id);
    assert_eq!(
        (&shown["title"], &shown["assignee"]),
        (&json!("One"), &json!("default"))
    );
    assert_eq!(desk.count("SELECT count(*) FROM tasks"), 1);
}

#[test]
fn plans_that_cannot_be_used_write_nothing() {
    for plan in [
        json!({"fanout": true, "tasks": []}),
        json!({"fanout": true, "tasks": ["a"]}),
        json!({"fanout": true, "tasks": [{"title": "a"}, {"body": "no title"}]}),
        json!({"fanout": true, "tasks": [
            {"title": "a", "parents": [1]}, {"title": "b", "parents": [0]}]}),
        json!({"fanout": false}),
        json!("words"),
    ] {
        let server = saying(&plan);
        let desk = desk_asking(&server, "");
        let id = desk.create("all", &["--triage"]);
        desk.kanban(&["decompose", &id]).exits(1).prints("");
        assert_eq!(desk.events(&id), ["created"], "{plan}");
        assert_eq!(desk.count("SELECT count(*) FROM tasks"), 1, "{plan}");
        assert_eq!(desk.count("SELECT count(*) FROM task_links"), 0, "{plan}");
    }
}

#[test]
fn triage_works_with_the_replay_provider() {
    let desk = Desk::new();
    desk.home.put(
        "config.yaml",
        "model: {provider: replay, script: turns.yaml}\n",
    );
    desk.home.put(
        "turns.yaml",
        r#"turns:
  - text: for conversations
  - match: {task: triage_specifier}
    text: '{"title": "Clear", "body": "b"}'
  - match: {task: kanban_decomposer}
    text: '{"fanout": true, "tasks": [{"title": "a"}, {"title": "b", "parents": [0]}]}'
"#,
    );
    let clear = desk.create("note", &["--triage"]);
    desk.kanban(&["specify", &clear]).succeeds();
    assert_eq!(card(&desk, &clear)["title"], json!("Clear"));
    let large = desk.create("much", &["--triage"]);
    let outcome = desk.kanban(&["decompose", &large]);
    outcome.succeeds().prints_part("2 cards");
}
