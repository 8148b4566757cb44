//! Calls of tools, approvals, and the transcript of them.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::started;
use crate::world::World;

#[test]
fn tool_call_is_one_line_that_unfolds() {
    let world = World::answering([
        ScriptedAnswer::call("terminal", &json!({"command": "seq 1 40"})),
        ScriptedAnswer::text("done"),
    ]);
    let mut screen = started(&world, &["--yolo"]);
    screen.press("go\r");
    screen.wait_for("  done");
    screen.wait_for("✓ Run seq 1 40");
    let all = screen.all_rows();
    assert!(
        all.iter()
            .any(|row| row.starts_with("✓ Run seq 1 40") && row.contains("40 lines"))
    );
    assert!(!all.iter().any(|row| row.trim() == "39"), "{all:?}");
    screen.press("\u{f}");
    screen.wait_until("line 40", |shown| {
        shown.lines().any(|row| row.trim() == "40")
    });
}

#[test]
fn change_of_a_file_is_shown_as_a_diff() {
    let world = World::answering([
        ScriptedAnswer::call(
            "write_file",
            &json!({"path": "a.txt", "content": "one\ntwo\n"}),
        ),
        ScriptedAnswer::call(
            "patch",
            &json!({"path": "a.txt", "old_string": "two", "new_string": "three"}),
        ),
        ScriptedAnswer::text("changed"),
    ]);
    let mut screen = started(&world, &["--yolo"]);
    screen.press("go\r");
    screen.wait_for("  changed");
    let shown = screen.rows();
    let find = |text: &str| shown.iter().any(|row| row.trim() == text);
    assert!(find("-two") && find("+three"), "{shown:?}");
    let colour = screen.with_screen(|model| {
        let rows: Vec<String> = model.rows(0, 80).collect();
        let row = rows.iter().position(|row| row.trim() == "+three").unwrap();
        model
            .cell(u16::try_from(row).unwrap(), 5)
            .unwrap()
            .fgcolor()
    });
    assert_eq!(colour, vt100::Color::Idx(2));
}

#[test]
fn approval_is_asked_in_place_and_answered_by_a_key() {
    let call = |path: &str| {
        ScriptedAnswer::call("terminal", &json!({"command": format!("rm -rf {path}")}))
    };
    let world = World::configured(
        ModelServer::start([
            call("./nothing-here"),
            call("./nothing-there"),
            ScriptedAnswer::text("over"),
        ]),
        "approvals: {mode: manual}",
    );
    let mut screen = started(&world, &[]);
    screen.press("go\r");
    screen.wait_for("This command needs your approval");
    screen.wait_for("[o]nce");
    let shown = screen.rows();
    let find = |text: &str| shown.iter().any(|row| row.trim().starts_with(text));
    assert!(
        find("rm -rf ./nothing-here") && find("Reason: ") && find("[o]nce"),
        "{shown:?}"
    );
    screen.press("o");
    screen.wait_for("Approved once: rm -rf ./nothing-here");
    screen.wait_for("nothing-there");
    screen.wait_for("[d]eny");
    screen.press("d");
    screen.wait_for("Denied: rm -rf ./nothing-there");
    screen.wait_for("  over");
}

#[test]
fn letters_of_a_word_do_not_answer_a_question() {
    let world = World::configured(
        ModelServer::start([
            ScriptedAnswer::call("terminal", &json!({"command": "rm -rf ./nothing-here"})),
            ScriptedAnswer::text("over"),
        ]),
        "approvals: {mode: manual}",
    );
    let mut screen = started(&world, &[]);
    screen.press("go\r");
    screen.wait_for("[o]nce");
    // Somebody who has not seen the question goes on typing; each of a, s, o, y and d is an answer.
    for letter in "please do say so".chars() {
        screen.press(&letter.to_string());
    }
    screen.wait_for("please do say so");
    let shown = screen.rows().join("\n");
    assert!(
        shown.contains("This command needs your approval"),
        "{shown}"
    );
    assert!(
        !shown.contains("Approved") && !shown.contains("Denied"),
        "{shown}"
    );
    // The keys are shown again when they count again.
    screen.wait_for("[o]nce");
    screen.press("d");
    screen.wait_for("Denied: rm -rf ./nothing-here");
    screen.wait_for("  over");
    // What was typed is still there.
    screen.wait_for("please do say so");
    assert!(!world.home.read("config.yaml").contains("command_allowlist"));
}

#[test]
fn approval_is_whole_in_forty_columns() {
    let world = World::configured(
        ModelServer::start([ScriptedAnswer::call(
            "terminal",
            &json!({"command": "rm -rf ./nothing-here"}),
        )]),
        "approvals: {mode: manual}",
    );
    let mut screen = world.hermes(&["chat"]).start_on_screen(24, 40);
    screen.wait_for("test-model");
    screen.press("go\r");
    screen.wait_for("[o]nce  [s]ession  [a]lways  [d]eny");
    screen.wait_for("denied in ");
}

#[test]
fn running_command_shows_its_last_lines_and_leaves_one() {
    let script = "for n in $(seq 1 30); do echo line-$n; done; printf 'key half-%s' secret; \
        while [ ! -e go-on ]; do sleep 0.05; done; echo over";
    let world = World::answering([
        ScriptedAnswer::call("terminal", &json!({"command": script})),
        ScriptedAnswer::text("all done"),
    ]);
    let mut screen = started(&world, &["--yolo"]);
    screen.press("go\r");
    screen.wait_for("    line-30");
    screen.wait_for("    key");
    let shown = screen.rows().join("\n");
    assert!(
        shown.contains("line-28") && !shown.contains("line-26"),
        "{shown}"
    );
    // A word that is not whole yet may be a secret.
    assert!(!shown.contains("half-secret"), "{shown}");
    screen.press("\u{f}");
    screen.wait_for("    line-21");
    screen.press("\u{f}");
    screen.wait_without("    line-21");
    std::fs::write(world.home.user_home().join("go-on"), "").unwrap();
    screen.wait_for("all done");
    let all = screen.all_rows();
    assert!(!all.iter().any(|row| row.contains("    line-")), "{all:?}");
    assert!(
        all.iter().any(|row| row.starts_with("✓ Run for n in")),
        "{all:?}"
    );
}

#[test]
fn transcript_shows_everything_and_leaves_the_scrollback_alone() {
    let world = World::answering([
        ScriptedAnswer::call("terminal", &json!({"command": "seq 1 9"})),
        ScriptedAnswer::text("counted"),
    ]);
    let mut screen = started(&world, &["--yolo"]);
    screen.press("go\r");
    screen.wait_for("  counted");
    screen.wait_without("Ctrl-C interrupts");
    let before = screen.rows();
    screen.press("\u{14}");
    screen.wait_for("q closes");
    assert!(screen.rows().iter().any(|row| row.trim() == "9"));
    screen.press("q");
    screen.wait_without("q closes");
    assert_eq!(screen.rows(), before);
}

#[test]
fn end_of_a_background_process_is_told_the_model_with_the_next_message() {
    let world = World::with(ModelServer::start_with(|question| {
        if question.contains("\"tool\"") || !question.contains("begin it") {
            let told = |round: &i32| question.contains(&format!("round {round}"));
            let rounds = (1..=50).take_while(told).count();
            return ScriptedAnswer::text(&format!("answer {rounds}"));
        }
        let call = json!({
            "command": "echo it-printed-$((6*7))", "background": true, "notify_on_complete": true,
        });
        ScriptedAnswer::call("terminal", &call)
    }));
    let mut screen = started(&world, &["--yolo"]);
    screen.press("begin it\r");
    screen.wait_for("  answer 0");
    // It may take a moment to end.
    for round in 1..=50 {
        screen.press(&format!("round {round}\r"));
        screen.wait_for(&format!("  answer {round}"));
        // With the next message, or with the result of the call if it ended before that.
        let told = world.bodies().last().unwrap().to_string();
        if told.contains("it-printed-42") {
            return;
        }
    }
    panic!("the model was never told");
}

#[test]
fn calls_at_the_same_time_keep_their_own_results_also_in_a_resumed_session() {
    let calls = [
        ("read_file", json!({"path": "first.txt"})),
        ("read_file", json!({"path": "second.txt"})),
    ];
    let world = World::answering([ScriptedAnswer::calls(&calls), ScriptedAnswer::text("read")]);
    let directory = world.home.outside("work");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("first.txt"), "alpha\n").unwrap();
    std::fs::write(directory.join("second.txt"), "beta\n").unwrap();
    let call = |args: &[&str]| {
        let screen = world
            .hermes(args)
            .in_directory(&directory)
            .start_on_screen(40, 80);
        screen.wait_for("test-model");
        screen
    };
    let in_order = |shown: &str| {
        let at = |text: &str| shown.find(text);
        let found = [at("first.txt"), at("alpha"), at("second.txt"), at("beta")];
        found.iter().all(Option::is_some) && found.is_sorted()
    };
    let mut screen = call(&["chat"]);
    screen.press("read both\r");
    screen.wait_for("  read");
    screen.press("\u{14}");
    screen.wait_until("each result below its call", in_order);
    screen.press("q");
    screen.press("\u{4}");
    screen.wait();
    let mut screen = call(&["chat", "-c"]);
    screen.press("\u{14}");
    screen.wait_until("each result below its call", in_order);
}
