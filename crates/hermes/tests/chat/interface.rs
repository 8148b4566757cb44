//! The conversation at a terminal with a screen: what is typed, what is shown, what stays.

use std::time::Duration;

use hermes_testkit::{ModelServer, OnScreen, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, messages};

const PAUSE: Duration = Duration::from_millis(30);

/// The interface, with its first prompt on the screen.
fn started(world: &World, args: &[&str]) -> OnScreen {
    let args: Vec<&str> = ["chat"].iter().chain(args).copied().collect();
    let screen = world.hermes(&args).start_on_screen(24, 80);
    screen.wait_for("test-model");
    screen
}

fn last_said(world: &World) -> String {
    let said = world.last_messages();
    let last = said.iter().rev().find(|message| message["role"] == "user");
    last.unwrap()["content"].as_str().unwrap().to_owned()
}

/// What the person has said in the conversation, as the model was last told.
fn all_said(world: &World) -> Vec<String> {
    messages(world.bodies().last().unwrap())
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

/// Nothing that a terminal would answer: no position, no attributes, no colours, no version.
fn assert_asks_nothing(screen: &OnScreen) {
    let text = String::from_utf8_lossy(&screen.bytes()).into_owned();
    for query in [
        "\u{1b}[6n",
        "\u{1b}[5n",
        "\u{1b}[c",
        "\u{1b}[0c",
        "\u{1b}[>c",
        "\u{1b}[>0c",
        "\u{1b}[?u",
        "\u{1b}[>q",
        "\u{1b}Z",
        "]10;?",
        "]11;?",
        "]4;",
        "$p",
        "\u{1b}[18t",
        "\u{1b}[14t",
    ] {
        assert!(!text.contains(query), "asks {query:?}");
    }
}

#[test]
fn answer_streams_and_stays_and_the_terminal_is_given_back() {
    let answer = ScriptedAnswer::pieces(&["# Title\n\n- a **bold** ", "word\n- two\n\nDone"]);
    let world = World::answering([answer]);
    let mut screen = started(&world, &[]);
    screen.press("hello\r");
    screen.wait_for("Done");
    screen.wait_without("Ctrl-C interrupts");
    let rows = screen.rows();
    assert_eq!(
        rows[..10],
        [
            "❯ hello",
            "",
            "  Title",
            "",
            "  • a bold word",
            "  • two",
            "",
            "  Done",
            "",
            "❯"
        ]
    );
    assert!(rows[10].starts_with("  test-model"), "{rows:?}");
    assert_eq!(screen.cursor(), (9, 2));
    assert_asks_nothing(&screen);
    screen.press("\u{4}");
    let ended = screen.wait();
    ended.succeeds();
    assert!(
        ended.stdout.contains("Go on with: hermes --resume "),
        "{ended}"
    );
}

#[test]
fn text_typed_while_an_answer_streams_is_shown_and_kept() {
    let words: Vec<String> = (0..60).map(|n| format!("word{n} ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let long = ScriptedAnswer::pieces(&words).slowly(PAUSE);
    let world = World::configured(
        ModelServer::start([long, ScriptedAnswer::text("second answer")]),
        "display: {busy_input_mode: queue}",
    );
    let mut screen = started(&world, &[]);
    screen.press("first\r");
    screen.wait_for("word3");
    screen.press("typed meanwhile");
    screen.wait_for("❯ typed meanwhile");
    screen.press("\r");
    screen.wait_for("next: typed meanwhile");
    screen.wait_for("second answer");
    let all = screen.all_rows().join("\n");
    assert!(all.contains("word59"), "{all}");
    assert_eq!(last_said(&world), "typed meanwhile");
}

#[test]
fn message_during_a_turn_interrupts_it_unless_told_otherwise() {
    let words: Vec<String> = (0..500).map(|n| format!("word{n} ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let endless = ScriptedAnswer::pieces(&words).slowly(PAUSE);
    let world = World::answering([endless, ScriptedAnswer::text("the other answer")]);
    let mut screen = started(&world, &[]);
    screen.press("first\r");
    screen.wait_for("word3");
    screen.press("rather this\r");
    screen.wait_for("the other answer");
    let shown = screen.all_rows().join("\n");
    assert!(shown.contains("Interrupted"), "{shown}");
    assert_eq!(last_said(&world), "rather this");
}

#[test]
fn message_steers_the_turn_where_the_settings_say_so() {
    let world = World::configured(
        ModelServer::start([
            ScriptedAnswer::call("terminal", &json!({"command": "sleep 2"})),
            ScriptedAnswer::text("steered"),
        ]),
        "display: {busy_input_mode: steer}",
    );
    let mut screen = started(&world, &["--yolo"]);
    screen.press("go\r");
    screen.wait_for("Run sleep 2");
    screen.press("to the left\r");
    screen.wait_for("steered");
    let sent = world.last_messages();
    let result = sent.last().unwrap()["content"].as_str().unwrap();
    assert!(result.contains("to the left"), "{result}");
}

#[test]
fn ctrl_c_ends_the_turn_and_keeps_what_arrived_then_the_program() {
    let words: Vec<String> = (0..500).map(|n| format!("word{n} ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let endless = ScriptedAnswer::pieces(&words).slowly(PAUSE);
    let world = World::answering([endless, ScriptedAnswer::text("fresh answer")]);
    let mut screen = started(&world, &[]);
    screen.press("first\r");
    screen.wait_for("word5");
    screen.press("\u{3}");
    screen.wait_for("Interrupted");
    assert!(screen.rows().join("\n").contains("word5"));
    screen.press("second\r");
    screen.wait_for("fresh answer");
    let said: Vec<String> = world
        .last_messages()
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(said, ["first", "second"]);
    screen.press("\u{3}");
    screen.wait_for("Press Ctrl-C again to exit");
    screen.press("\u{3}");
    screen.wait().succeeds();
}

#[test]
fn ten_thousand_lines_arrive_once_each_for_few_bytes() {
    let lines: Vec<String> = (0..10_000)
        .map(|n| format!("this is line {n} of the answer"))
        .collect();
    let text = lines.join("\n");
    let pieces: Vec<&str> = text.split_inclusive(' ').collect();
    let world = World::answering([ScriptedAnswer::pieces(&pieces)]);
    let mut screen = started(&world, &[]);
    screen.press("count\r");
    screen.wait_for("this is line 9999 of the answer");
    screen.wait_without("Ctrl-C interrupts");
    let shown: Vec<String> = screen
        .all_rows()
        .into_iter()
        .filter(|row| row.contains("this is line"))
        .collect();
    let expected: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    assert_eq!(shown, expected);
    let bytes = screen.bytes();
    assert!(
        bytes.len() <= text.len() * 3,
        "{} for {}",
        bytes.len(),
        text.len()
    );
    // The screen is never cleared, and every frame is an update that is shown as a whole.
    let written = String::from_utf8_lossy(&bytes);
    assert!(!written.contains("\u{1b}[2J"));
    assert_eq!(
        written.matches("\u{1b}[?2026h").count(),
        written.matches("\u{1b}[?2026l").count()
    );
}

#[test]
fn resize_in_the_middle_of_a_stream_loses_nothing() {
    let words: Vec<String> = (0..80).map(|n| format!("- item number {n}\n")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answer = ScriptedAnswer::pieces(&words).slowly(Duration::from_millis(15));
    let world = World::answering([answer]);
    let mut screen = started(&world, &[]);
    screen.press("go\r");
    screen.wait_for("item number 10");
    screen.resize(24, 40);
    screen.wait_for("item number 30");
    screen.resize(12, 60);
    screen.wait_for("item number 50");
    screen.resize(30, 100);
    screen.wait_for("item number 79");
    screen.wait_without("Ctrl-C interrupts");
    let all = screen.all_rows();
    let items: Vec<&String> = all
        .iter()
        .filter(|row| row.contains("• item number"))
        .collect();
    let expected: Vec<String> = (0..80).map(|n| format!("  • item number {n}")).collect();
    assert_eq!(items, expected.iter().collect::<Vec<_>>());
    let prompts = all.iter().filter(|row| row.starts_with('❯')).count();
    assert_eq!(prompts, 2, "{}", all.join("\n"));
}

#[test]
fn paste_of_two_megabytes_is_a_label_and_arrives_whole() {
    let world = World::answering([ScriptedAnswer::text("got it")]);
    let mut screen = started(&world, &[]);
    let big = "0123456789 a line\n".repeat(111_112);
    let (head, tail) = ("look: ", " please");
    screen.press(head);
    // A terminal hands a paste over as fast as it is read.
    for piece in [format!("\u{1b}[200~{big}\u{1b}[201~"), tail.to_owned()] {
        screen.press(&piece);
    }
    screen.wait_for("[pasted 2 MB, 111112 lines] please");
    screen.press("\r");
    screen.wait_for("got it");
    assert_eq!(last_said(&world), format!("{head}{big}{tail}"));
}

#[test]
fn pasted_lines_are_one_message() {
    let world = World::answering([ScriptedAnswer::text("got it")]);
    let mut screen = started(&world, &[]);
    screen.paste("one\r\ntwo\rthree");
    screen.wait_for("three");
    screen.press("\r");
    screen.wait_for("got it");
    assert_eq!(last_said(&world), "one\ntwo\nthree");
}

#[test]
fn wide_and_combining_characters_stand_where_they_should() {
    let text = "日本語のテキスト e\u{301}a\u{308} family \u{1f468}\u{200d}\u{1f469} heart \u{2764}\u{fe0f} end";
    let world = World::answering([ScriptedAnswer::text(text)]);
    let mut screen = started(&world, &[]);
    screen.press("日本e\u{301}x");
    screen.wait_for("日本e\u{301}x");
    assert_eq!(screen.cursor().1, 2 + 4 + 2);
    screen.press("\u{7f}\u{7f}");
    screen.wait_without("e\u{301}");
    assert_eq!(screen.cursor().1, 2 + 4);
    screen.press("\r");
    screen.wait_for("end");
    let row = screen
        .rows()
        .into_iter()
        .find(|row| row.contains("family"))
        .unwrap();
    assert_eq!(
        row,
        "  日本語のテキスト e\u{301}a\u{308} family \u{1f468}\u{1f469} heart \u{2764} end"
    );
    assert_eq!(last_said(&world), "日本");
}

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
fn todo_list_is_shown_while_the_agent_works() {
    let todos = json!({"todos": [
        {"id": "1", "content": "read the code", "status": "completed"},
        {"id": "2", "content": "change the code", "status": "in_progress"},
    ]});
    let world = World::answering([
        ScriptedAnswer::call("todo", &todos),
        ScriptedAnswer::call("terminal", &json!({"command": "sleep 2"})),
        ScriptedAnswer::text("finished"),
    ]);
    let mut screen = started(&world, &["--yolo"]);
    screen.press("go\r");
    screen.wait_for("1 of 2 done");
    screen.wait_for("change the code");
    screen.wait_for("  finished");
    screen.wait_without("1 of 2 done");
}

#[test]
fn wait_before_a_retry_is_visible() {
    let busy = ScriptedAnswer::status(500, &json!({"error": {"message": "overloaded today"}}));
    let world = World::answering([busy, ScriptedAnswer::text("at last")]);
    let mut screen = started(&world, &[]);
    screen.press("go\r");
    screen.wait_for("Retrying in");
    screen.wait_for("at last");
}

#[test]
fn commands_and_files_are_completed() {
    let world = World::configured(
        ModelServer::start([ScriptedAnswer::text("read it")]),
        "quick_commands: {greet: {type: exec, command: echo hi}}",
    );
    let skill = "---\nname: haiku\ndescription: poems\n---\nWrite one.\n";
    world.home.put("skills/haiku/SKILL.md", skill);
    std::fs::write(world.home.user_home().join("notes-of-today.txt"), "x").unwrap();
    let mut screen = started(&world, &[]);
    screen.press("/stat");
    screen.wait_for("❯ /status");
    screen.press("\r");
    screen.wait_for("Provider");
    screen.wait_for("Approvals");
    // Skills and quick commands are offered as well.
    screen.press("/hai");
    screen.wait_for("❯ /haiku");
    screen.press("\u{15}/gr");
    screen.wait_for("❯ /greet");
    screen.press("\u{15}see @notes");
    screen.wait_for("notes-of-today.txt");
    screen.press("\t");
    screen.wait_for("see @file:notes-of-today.txt");
}

#[test]
fn history_is_searched_across_sessions() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("noted")));
    let mut screen = started(&world, &[]);
    screen.press("remember the parser\r");
    screen.wait_for("noted");
    screen.press("\u{4}");
    screen.wait().succeeds();
    let mut screen = started(&world, &[]);
    screen.press("\u{1b}[A");
    screen.wait_for("❯ remember the parser");
    screen.press("\u{3}");
    screen.wait_without("remember the parser");
    screen.press("\u{12}pars");
    screen.wait_for("search: pars");
    screen.press("\r");
    screen.wait_for("❯ remember the parser");
}

#[test]
fn history_search_finds_what_was_typed_elsewhere_once_and_newest_first() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("noted")));
    // None of these is in the history file of the terminal.
    for text in [
        "parse the dates",
        "parse the logs",
        "parse the dates",
        "unrelated",
    ] {
        world.ask(text).succeeds();
    }
    let mut screen = started(&world, &[]);
    screen.press("\u{12}");
    screen.wait_for("unrelated");
    screen.press("parse");
    screen.wait_without("unrelated");
    screen.wait_for("parse the logs");
    let rows = screen.rows();
    let found: Vec<&String> = rows
        .iter()
        .filter(|row| row.contains("parse the"))
        .collect();
    assert_eq!(found, ["❯ parse the dates", "  parse the logs"]);
    screen.press("\u{1b}[B\r");
    screen.wait_for("❯ parse the logs");
    screen.press("\u{15}\u{12}never typed");
    screen.wait_for("nothing found");
}

#[test]
fn shell_command_runs_at_the_terminal_and_is_not_sent() {
    let world = World::answering([ScriptedAnswer::text("hi")]);
    let mut screen = started(&world, &[]);
    screen.press("!echo from-the-$((40+2))-shell\r");
    screen.wait_for("from-the-42-shell");
    screen.wait_for("test-model");
    screen.press("hello\r");
    screen.wait_for("  hi");
    assert_eq!(world.bodies().len(), 1);
    assert_eq!(last_said(&world), "hello");
}

#[test]
fn editor_changes_the_text() {
    let world = World::answering([ScriptedAnswer::text("fine")]);
    let script = "#!/bin/sh\nprintf ' and\\nmore' >> \"$1\"\n";
    let editor = world.home.put_outside("editor.sh", script, 0o755);
    let call = world.hermes(&["chat"]).env("EDITOR", &editor);
    let mut screen = call.start_on_screen(24, 80);
    screen.wait_for("test-model");
    screen.press("begin\u{7}");
    screen.wait_for("begin and");
    screen.press("\r");
    screen.wait_for("  fine");
    assert_eq!(last_said(&world), "begin and\nmore");
}

#[test]
fn escape_twice_edits_a_message_in_a_fork_and_the_session_stays() {
    let world = World::answering(["one", "two", "three", "four"].map(ScriptedAnswer::text));
    let mut screen = started(&world, &[]);
    for (text, answer) in [("first", "  one"), ("second", "  two")] {
        screen.press(&format!("{text}\r"));
        screen.wait_for(answer);
        screen.wait_without("Ctrl-C interrupts");
    }
    screen.press("\u{1b}\u{1b}");
    screen.wait_for("Edit an earlier message");
    screen.press("\r");
    screen.wait_for("Now in ");
    screen.press(" again\r");
    screen.wait_for("  three");
    assert_eq!(all_said(&world), ["first", "second again"]);
    screen.press("\u{4}");
    screen.wait().succeeds();
    let listed = world.home.run(["sessions", "list", "--json"]);
    let sessions = listed.succeeds().json();
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let old = sessions
        .iter()
        .map(|session| session["id"].as_str().unwrap())
        .find(|id| {
            let stored = world.stored(id);
            stored.len() == 4 && stored.iter().all(|row| row["content"] != "second again")
        });
    let old = old.unwrap_or_else(|| panic!("the session is not whole: {sessions:?}"));
    let mut screen = started(&world, &["--resume", old]);
    screen.press("third\r");
    screen.wait_for("  four");
    assert_eq!(all_said(&world), ["first", "second", "third"]);
}

#[test]
fn first_message_is_edited_in_an_empty_fork() {
    let world = World::answering(["one", "two"].map(ScriptedAnswer::text));
    let mut screen = started(&world, &[]);
    screen.press("\u{1b}\u{1b}");
    screen.wait_for("There are no messages to edit yet");
    screen.press("first\r");
    screen.wait_for("  one");
    screen.wait_without("Ctrl-C interrupts");
    screen.press("\u{1b}\u{1b}");
    screen.wait_for("Edit an earlier message");
    screen.press("\r");
    screen.wait_for("Now in ");
    screen.press(" anew\r");
    screen.wait_for("  two");
    assert_eq!(all_said(&world), ["first anew"]);
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
fn narrow_terminals_without_colour_or_utf8_are_served() {
    let world = World::answering([ScriptedAnswer::text(
        "- a list\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    )]);
    let call = world
        .hermes(&["chat"])
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C");
    let mut screen = call.start_on_screen(12, 40);
    screen.wait_for("test-model");
    screen.press("hello\r");
    screen.wait_for("1 | 2");
    screen.wait_without("Ctrl-C interrupts");
    let rows = screen.rows();
    assert!(rows.iter().all(|row| row.is_ascii()), "{rows:?}");
    assert_eq!(rows[2], "  * a list");
    let written = String::from_utf8_lossy(&screen.bytes()).into_owned();
    for colour in 30..38 {
        assert!(!written.contains(&format!(";{colour}m")), "colour {colour}");
    }
}

#[test]
fn plain_mode_is_the_line_loop() {
    let world = World::answering([ScriptedAnswer::text("answered")]);
    let mut screen = world.hermes(&["chat", "--plain"]).start_on_screen(24, 80);
    screen.wait_for("> ");
    screen.press("hello\r");
    screen.wait_for("answered");
    assert!(!String::from_utf8_lossy(&screen.bytes()).contains('\u{1b}'));
}

#[test]
fn paused_program_gives_the_terminal_back_and_takes_it_again() {
    let world = World::answering([ScriptedAnswer::text("still here")]);
    let mut screen = started(&world, &[]);
    screen.press("draft");
    screen.wait_for("❯ draft");
    screen.signal(rustix::process::Signal::TSTP);
    screen.wait_without("❯ draft");
    screen.signal(rustix::process::Signal::CONT);
    screen.wait_for("❯ draft");
    screen.press("\r");
    screen.wait_for("still here");
}

#[test]
fn session_is_chosen_from_a_list_and_goes_on() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("noted")));
    for text in ["about the parser", "about the weather"] {
        world.ask(text).succeeds();
    }
    for args in [&["chat", "-r"][..], &["-r"], &["sessions", "browse"]] {
        let mut screen = world.hermes(args).start_on_screen(24, 80);
        screen.wait_for("about the weather");
        screen.press("parser");
        screen.wait_without("about the weather");
        screen.press("\r");
        screen.wait_for("Resumed");
        screen.press("more\r");
        screen.wait_for("  noted");
        let said = world.last_messages();
        let first = said
            .iter()
            .find(|message| message["role"] == "user")
            .unwrap();
        assert_eq!(first["content"], "about the parser");
        screen.press("\u{4}");
        screen.wait().succeeds();
    }
    let mut screen = world.hermes(&["-r"]).start_on_screen(24, 80);
    screen.wait_for("about the weather");
    screen.press("\u{1b}");
    screen.wait().succeeds();
    let refused = world.hermes(&["sessions", "browse"]).run();
    refused.exits(1).says_part("needs a terminal");
}

#[test]
fn skin_of_the_settings_colours_the_screen_and_another_takes_over() {
    let world = World::configured(
        ModelServer::always(ScriptedAnswer::text("fine")),
        "display: {skin: sea}",
    );
    let own = "colors: {ui_accent: '#0088ff', banner_title: '#0088ff'}\n";
    world.home.put("skins/sea.yaml", own);
    let call = world.hermes(&["chat"]).env("COLORTERM", "truecolor");
    let mut screen = call.start_on_screen(24, 80);
    screen.wait_for("test-model");
    let sign = |screen: &OnScreen| {
        let row = u16::try_from(
            screen
                .rows()
                .iter()
                .rposition(|row| row.starts_with('❯'))
                .unwrap(),
        );
        screen.with_screen(|model| model.cell(row.unwrap(), 0).unwrap().fgcolor())
    };
    assert_eq!(sign(&screen), vt100::Color::Rgb(0, 0x88, 0xff));
    screen.press("/skin slate\r");
    screen.wait_for("Skin: slate");
    screen.wait_for("test-model");
    assert_eq!(sign(&screen), vt100::Color::Rgb(0x7e, 0xb8, 0xf6));
    screen.press("/skin default\r");
    screen.wait_for("Skin: default");
    screen.press("hello\r");
    screen.wait_for("  fine");
    screen.wait_without("Ctrl-C interrupts");
    assert_eq!(sign(&screen), vt100::Color::Idx(6));
}

#[test]
fn broken_skin_is_one_warning_and_the_default() {
    for (file, says) in [
        ("colors: {ui_accent: blueish}\n", "colors.ui_accent is"),
        ("colors: [1\n", "skins/sea.yaml"),
        ("- x\n", "not a mapping"),
    ] {
        let world = World::configured(
            ModelServer::always(ScriptedAnswer::text("fine")),
            "display: {skin: sea}",
        );
        world.home.put("skins/sea.yaml", file);
        let mut screen = started(&world, &[]);
        screen.wait_for(says);
        screen.wait_for("the default skin is shown");
        screen.press("/status\r");
        screen.wait_for("Provider");
        screen.press("hello\r");
        screen.wait_for("  fine");
        let all = screen.all_rows().join("\n");
        assert_eq!(all.matches(says).count(), 1, "{all}");
    }
}

#[test]
fn settings_of_the_display_act_in_the_interface() {
    let answer = || ScriptedAnswer::text("fine");
    let call = || ScriptedAnswer::call("terminal", &json!({"command": "seq 1 40"}));
    let world = World::configured(
        ModelServer::start([answer(), call(), answer(), call(), answer(), answer()]),
        "display: {timestamps: true, timestamp_format: 'at-%H', runtime_footer: {enabled: true}}",
    );
    let mut screen = started(&world, &["--yolo"]);
    screen.press("hello\r");
    screen.wait_for("❯ hello  [at-");
    screen.wait_until("the line under the answer", |shown| {
        shown
            .lines()
            .any(|row| row.starts_with("  [at-") && row.contains("test-model · "))
    });
    // Typed ahead: each is run when the one before is over.
    screen.press("/timestamps off\r/footer off\r/statusbar\r/verbose off\r");
    for says in [
        "Times of messages: off",
        "under answers: off",
        "The status line is off",
        "Tool calls are not shown",
    ] {
        screen.wait_for(says);
    }
    screen.wait_until("each command above its output", |shown| {
        let at = |text: &str| shown.find(text);
        let (footer, bar) = (at("❯ /footer off"), at("❯ /statusbar"));
        footer.is_some() && footer < at("under answers: off") && at("under answers: off") < bar
    });
    screen.press("/redraw\r");
    screen.wait_without("fine");
    screen.press("again\r");
    screen.wait_for("  fine");
    screen.wait_without("Ctrl-C interrupts");
    let shown = screen.rows().join("\n");
    assert!(
        !shown.contains("[at-") && !shown.contains("Run seq") && !shown.contains("test-model"),
        "{shown}"
    );
    screen.press("/verbose verbose\r");
    screen.wait_for("with their output");
    screen.press("once more\r");
    screen.wait_until("the output", |shown| {
        shown.lines().any(|row| row.trim() == "40")
    });
}

#[test]
fn background_session_answers_above_what_is_typed() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("- from beside")));
    let mut screen = started(&world, &[]);
    screen.press("/background look it up\r");
    screen.wait_for("Background session");
    screen.wait_for("  • from beside");
    screen.press("still typing");
    screen.wait_for("❯ still typing");
}

#[test]
fn whole_reasoning_stays_above_the_answer_where_it_is_wanted() {
    let thoughts: Vec<String> = (1..8).map(|n| format!("thought {n}")).collect();
    let thought = thoughts.join("\n");
    let answer = || ScriptedAnswer::text("concluded").thinking(&thought);
    let world = World::configured(
        ModelServer::start([answer(), answer()]),
        "display: {reasoning_full: true}",
    );
    let mut screen = started(&world, &[]);
    screen.press("think\r");
    screen.wait_for("  concluded");
    let all = screen.all_rows().join("\n");
    assert!(
        all.contains("thought 1") && all.contains("thought 7"),
        "{all}"
    );
    screen.press("/reasoning hide\r");
    screen.wait_for("Reasoning is not shown");
    screen.press("/redraw\r");
    screen.wait_without("thought");
    screen.press("again\r");
    screen.wait_for("  concluded");
    assert!(!screen.rows().join("\n").contains("thought"));
}

#[test]
fn prompt_is_written_in_the_editor_and_sent() {
    let world = World::answering([ScriptedAnswer::text("fine")]);
    let script = "#!/bin/sh\nprintf ' and more' >> \"$1\"\n";
    let editor = world.home.put_outside("editor.sh", script, 0o755);
    let call = world.hermes(&["chat"]).env("EDITOR", &editor);
    let mut screen = call.start_on_screen(24, 80);
    screen.wait_for("test-model");
    screen.press("/prompt begin\r");
    screen.wait_for("  fine");
    assert_eq!(last_said(&world), "begin and more");
}
