//! Who has the terminal: the interface, a command, the shell.

use hermes_testkit::{ModelServer, ScriptedAnswer, eventually};
use pretty_assertions::assert_eq;

use super::{last_said, started};
use crate::world::World;

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
    // A shell lets it go on when it has stopped, not when it is about to.
    let stat = format!("/proc/{}/stat", screen.pid());
    eventually("the program has stopped", || {
        let stat = std::fs::read_to_string(&stat).unwrap();
        stat.rsplit(") ").next().unwrap().starts_with('T')
    });
    screen.signal(rustix::process::Signal::CONT);
    screen.wait_for("❯ draft");
    screen.press("\r");
    screen.wait_for("still here");
}

#[test]
fn keys_typed_while_a_command_runs_are_kept_and_not_shown_by_the_terminal() {
    let world = World::configured(
        ModelServer::always(ScriptedAnswer::text("hi")),
        "quick_commands:\n  slow: {type: exec, command: 'until [ -e go ]; do sleep 0.05; done; echo slow-done'}\n",
    );
    let directory = world.home.outside("work");
    std::fs::create_dir_all(&directory).unwrap();
    let mut screen = world
        .hermes(&["chat"])
        .in_directory(&directory)
        .start_on_screen(24, 80);
    screen.wait_for("test-model");
    screen.press("/slow\r");
    screen.wait_without("test-model");
    screen.press("typed ahead é");
    screen.press("\u{1b}[200~two\nlines\u{1b}[201~");
    std::fs::write(directory.join("go"), "").unwrap();
    screen.wait_for("slow-done");
    screen.wait_for("❯ typed ahead étwo");
    let rows = screen.all_rows();
    assert!(
        !rows.iter().any(|row| row.starts_with("typed ahead")),
        "{rows:#?}"
    );
    screen.press("\r");
    screen.wait_for("  hi");
    assert_eq!(last_said(&world), "typed ahead étwo\nlines");
}

#[test]
fn question_of_a_command_shows_what_is_typed_and_only_that_answers_it() {
    let world = World::configured(
        ModelServer::always(ScriptedAnswer::text("an answer")),
        "approvals: {destructive_slash_confirm: true}\n",
    );
    let mut screen = started(&world, &[]);
    screen.press("first\r");
    screen.wait_for("an answer");
    screen.press("/undo\r");
    screen.wait_for("[y/N]");
    screen.press("y");
    screen.wait_for("[y/N] y");
    screen.press("\r");
    screen.wait_for("Undone: first");
    // The terminal is the interface's own again.
    screen.press("draft");
    screen.wait_for("❯ draft");
}
