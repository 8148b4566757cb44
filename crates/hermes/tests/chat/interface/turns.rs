//! Messages during a turn, and what the turn does meanwhile.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{PAUSE, last_said, started};
use crate::world::World;

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
fn rollback_restores_files_in_the_interface() {
    let world = World::configured(
        ModelServer::start([
            ScriptedAnswer::call("write_file", &json!({"path": "a.txt", "content": "two"})),
            ScriptedAnswer::text("it is written"),
        ]),
        "checkpoints: {enabled: true}",
    );
    let directory = world.home.user_home().join("project");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("a.txt"), "one").unwrap();
    let call = world.hermes(&["chat"]).in_directory(&directory);
    let mut screen = call.start_on_screen(30, 100);
    screen.wait_for("test-model");
    screen.press("go\r");
    screen.wait_for("it is written");
    screen.press("/rollback\r");
    screen.wait_for("before write_file");
    screen.press("/rollback 1\r");
    screen.wait_for("Undone, so that the model knows: go");
    let text = std::fs::read_to_string(directory.join("a.txt")).unwrap();
    assert_eq!(text, "one");
}
