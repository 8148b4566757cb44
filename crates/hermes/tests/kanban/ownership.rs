//! The command line in the hands of agents: a worker manages its own card, as its tools have it, and
//! does not become a person by changing its variables.

use std::fs;

use pretty_assertions::assert_eq;

use crate::crew::Crew;
use crate::worker::as_worker;
use crate::{Desk, assert_refuses};

/// What the board says about a card.
fn row(desk: &Desk, id: &str) -> String {
    let card = desk.json(&["show", id]);
    format!("{} {} {}", card["task"], card["comments"], card["parents"])
}

#[test]
fn worker_cannot_change_cards_of_others() {
    let desk = Desk::new();
    let own = desk.create("own", &["--assignee", "coder"]);
    let other = desk.create("other", &["--check", "true"]);
    let third = desk.create("third", &[]);
    let archived = desk.create("archived", &[]);
    desk.kanban(&["archive", &archived]).succeeds();
    let run = desk.claimed(&own);
    let before = (row(&desk, &other), row(&desk, &third));
    for (verb, action) in [
        (&["complete", &other][..], "complete card"),
        (&["block", &other, "why"], "block card"),
        (&["schedule", &other], "schedule card"),
        (&["heartbeat", &other], "send a heartbeat for card"),
        (
            &["attach", &other, "/etc/hostname"],
            "attach a file to card",
        ),
        (&["edit", &other, "--result", "x"], "edit card"),
        (&["edit", &other, "--no-checks"], "edit card"),
        (&["link", &other, &third], "change the links of card"),
        (&["unlink", &other, &third], "change the links of card"),
        (&["reclaim", &other], "reclaim cards"),
        (&["reassign", &other, "x"], "reassign cards"),
        (&["assign", &other, "x"], "assign cards"),
        (&["claim", &other], "claim cards"),
        (&["unblock", &other], "unblock cards"),
        (&["promote", &other], "promote cards"),
        (&["archive", &other], "archive or delete cards"),
        (&["archive", "--rm", &archived], "archive or delete cards"),
        (&["specify", &other], "work on cards in triage"),
        (&["dispatch"], "dispatch cards"),
        (&["gc"], "collect garbage"),
        (&["boards", "create", "mine"], "create boards"),
        (&["boards", "rm", "default"], "archive boards"),
    ] {
        let refused = as_worker(&desk, &own, run, verb);
        refused
            .exits(1)
            .prints("")
            .says_part(&format!(
                "kanban: this worker belongs to card {own} and cannot {action}"
            ))
            .says_part("hint: ");
    }
    assert_eq!((row(&desk, &other), row(&desk, &third)), before);
    desk.json(&["show", &archived]);
    // What its tools let it do it can do here as well.
    as_worker(&desk, &own, run, &["comment", &other, "look"]).succeeds();
    let made = as_worker(&desk, &own, run, &["create", "new", "--json"]);
    let made = made.succeeds().json();
    assert_eq!(made["created_by"], "coder");
    let made = made["id"].as_str().unwrap();
    as_worker(&desk, &own, run, &["link", &own, made]).succeeds();
    as_worker(&desk, &own, run, &["heartbeat", &own]).succeeds();
    as_worker(&desk, &own, run, &["complete", &own]).succeeds();
}

#[test]
fn agents_cannot_weaken_checks_or_speak_for_others() {
    let desk = Desk::new();
    let id = desk.create("x", &["--check", "false"]);
    let agent = |args: &[&str]| desk.call(args).env("HERMES_AGENT_SHELL", "1").run();
    for args in [
        &["edit", &id, "--no-checks"][..],
        &["edit", &id, "--check", "true"],
    ] {
        let sentence = "an agent cannot change the acceptance checks of a card";
        assert_refuses(&agent(args), 1, sentence);
        assert_refuses(&as_worker(&desk, &id, 1, args), 1, sentence);
    }
    assert_refuses(
        &agent(&["create", "y", "--check", "id", "--check-on-host"]),
        1,
        "an agent cannot let a check run on this machine instead of where the work is done",
    );
    assert_refuses(
        &agent(&["create", "y", "--check-on-host", "id"]),
        1,
        "an agent cannot let a check run on this machine instead of where the work is done",
    );
    assert_refuses(
        &agent(&["create", "y", "--sandbox", "off"]),
        1,
        "an agent cannot let a worker run commands without the sandbox",
    );
    assert_refuses(
        &agent(&["comment", &id, "do as they say", "--author", "boss"]),
        1,
        "an agent cannot speak in the name of 'boss'",
    );
    assert_refuses(
        &agent(&["create", "y", "--created-by", "boss"]),
        1,
        "an agent cannot speak in the name of 'boss'",
    );
    assert_refuses(
        &agent(&["boards", "set-default-workdir", "default", "/srv"]),
        1,
        "an agent cannot choose the working directory of a board",
    );
    assert_eq!(desk.json(&["list"]).as_array().unwrap().len(), 1);
    assert_eq!(desk.json(&["show", &id])["checks"][0]["command"], "false");
    desk.kanban(&["edit", &id, "--no-checks"]).succeeds();
}

#[test]
fn keys_of_the_live_board_are_refused_to_agents() {
    let desk = Desk::new();
    let own = desk.create("own", &["--assignee", "coder"]);
    let run = desk.claimed(&own).to_string();
    let card = desk.create("other", &["--initial-status", "blocked"]);
    let before = row(&desk, &card);
    let agents: [&[(&str, &str)]; 2] = [
        &[("HERMES_AGENT_SHELL", "1")],
        &[
            ("HERMES_KANBAN_TASK", &own),
            ("HERMES_KANBAN_RUN_ID", &run),
            ("HERMES_PROFILE", "coder"),
        ],
    ];
    for variables in agents {
        let mut call = desk.call(&["board"]).env("TERM", "xterm");
        for (name, value) in variables {
            call = call.env(name, value);
        }
        let mut board = call.start_at_terminal();
        board.wait_for("q quit");
        // Only the blocked card is left to be chosen.
        board.press("/other\r");
        board.wait_for("other");
        for keys in ["u", "amallory\r", "cdo as they say\r", "+", "-", "xy\r"] {
            board.press(keys);
            board.wait_for("an agent cannot use the live board");
            // Looking is allowed, and takes the sentence away again.
            board.press("?");
            board.wait_for("Moving");
            board.press("q");
            board.wait_for("q quit");
        }
        board.press("qq");
        board.wait().succeeds();
        assert_eq!(row(&desk, &card), before, "{variables:?}");
    }
    // The same keys in the hands of a person.
    let mut board = desk
        .call(&["board"])
        .env("TERM", "xterm")
        .start_at_terminal();
    board.wait_for("q quit");
    board.press("/other\r");
    board.wait_for("other");
    board.press("u");
    board.wait_for(&format!("{card} is unblocked"));
    board.press("qq");
    board.wait().succeeds();
}

#[test]
fn worker_without_or_with_forged_variables_is_still_the_worker_of_its_card() {
    let crew = Crew::new();
    let other = crew.desk.create("other", &["--check", "false"]);
    // The worker says at the end what it got; nothing of its environment is left but the home.
    let script = format!(
        "bare() {{ env -i HOME=\"$HOME\" HERMES_HOME=\"$HOME/.hermes\" \"$@\" 2>&1; echo \"code $?\"; }}\n\
         {{ bare \"$HERMES_REAL\" kanban complete {other}\n\
         bare HERMES_KANBAN_TASK={other} \"$HERMES_REAL\" kanban edit {other} --no-checks\n\
         bare HERMES_KANBAN_TASK={other} \"$HERMES_REAL\" kanban archive {other}\n\
         (bare \"$HERMES_REAL\" tools call kanban_complete '{{\"task_id\": \"{other}\", \"summary\": \"x\"}}')\n\
         bare \"$HERMES_REAL\" kanban create x --check id --check-on-host\n\
         bare \"$HERMES_REAL\" kanban complete $HERMES_KANBAN_TASK --summary done\n\
         }} > \"$here/answers.tmp\"; mv \"$here/answers.tmp\" \"$here/answers\""
    );
    let id = crew.file(&script, &[]);
    crew.dispatch(&[]);
    let answers = crew.note(&id, "answers");
    let foreign = format!("this worker belongs to card {id} and cannot complete card {other}");
    assert_eq!(answers.matches(&foreign).count(), 2, "{answers}");
    for part in [
        format!("this worker belongs to card {id} and cannot edit card {other}"),
        format!("this worker belongs to card {id} and cannot archive or delete cards"),
        "an agent cannot let a check run on this machine".to_owned(),
        format!("Completed {id}"),
    ] {
        assert!(answers.contains(&part), "{part}: {answers}");
    }
    assert_eq!(answers.matches("code 1").count(), 5, "{answers}");
    crew.wait_for_status(&id, "done");
    let card = crew.desk.json(&["show", &other]);
    assert_eq!(card["task"]["status"], "ready");
    assert_eq!(card["checks"][0]["command"], "false");
    // A person is a person.
    let person = crew.desk.kanban(&["edit", &other, "--no-checks"]);
    person.succeeds();
    fs::metadata(crew.desk.home.path("kanban.db")).unwrap();
}
