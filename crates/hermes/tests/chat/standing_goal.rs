//! `/goal`: turns follow one another until a judge finds the goal reached.

use hermes_store::rusqlite::Connection;
use hermes_testkit::{ModelServer, OnScreen, ProgramOutput, ReceivedRequest, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, messages};

fn asks_the_judge(question: &ReceivedRequest) -> bool {
    question.contains("You judge whether the goal that a person")
}

fn verdict(verdict: &str, reason: &str) -> ScriptedAnswer {
    ScriptedAnswer::text(&json!({"verdict": verdict, "reason": reason}).to_string())
}

/// A model that always answers the same, and a judge with a list of verdicts, the last one for ever.
fn world(verdicts: Vec<ScriptedAnswer>, more: &str) -> World {
    let mut verdicts = verdicts;
    let server = ModelServer::start_with(move |question| {
        if !asks_the_judge(question) {
            return ScriptedAnswer::text("worked on it");
        }
        if verdicts.len() > 1 {
            verdicts.remove(0)
        } else {
            verdicts[0].clone()
        }
    });
    World::configured(server, more)
}

fn typed(world: &World, lines: &str) -> ProgramOutput {
    world.hermes(&["chat", "--cli"]).stdin(lines).run()
}

/// What the model was sent by the person, question by question.
fn turns(world: &World) -> Vec<String> {
    let questions = world.server.questions();
    let turns = questions.iter().filter(|one| !asks_the_judge(one));
    turns.map(last_message).collect()
}

/// What the person, or the goal in the person's place, said last.
fn last_message(question: &ReceivedRequest) -> String {
    let said = messages(&question.body);
    let last = said.iter().rev().find(|one| one["role"] == "user").unwrap();
    last["content"].as_str().unwrap().to_owned()
}

/// The goal as it is stored.
fn stored(world: &World) -> Value {
    let database = Connection::open(world.home.path("state.db")).unwrap();
    let text: String = database
        .query_row(
            "SELECT value FROM state_meta WHERE key LIKE 'goal:%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn turns_follow_until_the_judge_finds_the_goal_reached() {
    let world = world(
        vec![
            verdict("continue", "no tests yet"),
            verdict("done", "tests pass"),
        ],
        "",
    );
    typed(&world, "/goal Write the parser\n/goal\n")
        .succeeds()
        .says_part("Goal set: at most 20 turns")
        .says_part("The goal is not reached yet (1 of 20): no tests yet")
        .says_part("The goal is reached: tests pass")
        .says_part("Goal (reached, 2 of 20 turns): Write the parser");
    let turns = turns(&world);
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert_eq!(turns[0], "Write the parser");
    assert!(turns[1].contains("Goal: Write the parser"), "{}", turns[1]);
    let goal = stored(&world);
    assert_eq!(goal["status"], "done");
    assert_eq!(goal["turns_used"], 2);
    assert_eq!(goal["last_verdict"], "done");
    // A later message is an ordinary one.
    typed(&world, "hello\n").succeeds();
    assert_eq!(world.server.questions().len(), 5);
}

#[test]
fn goal_rests_when_its_turns_are_used_up_and_goes_on_in_a_resumed_session() {
    let world = world(vec![verdict("continue", "more")], "goals: {max_turns: 2}\n");
    typed(&world, "/goal Port it\n")
        .succeeds()
        .says_part("The goal is paused: its turns are used up (2 of 2)");
    assert_eq!(turns(&world).len(), 2);
    assert_eq!(stored(&world)["status"], "paused");
    let lines = "/goal status\n/goal resume\n/goal clear\n/goal\n";
    world
        .hermes(&["chat", "--cli", "-c"])
        .stdin(lines)
        .run()
        .succeeds()
        .says_part("Goal (paused, 2 of 2 turns, its turns are used up (2 of 2)): Port it")
        .says_part("The goal is given up");
    assert_eq!(turns(&world).len(), 4);
    assert_eq!(stored(&world)["status"], "cleared");
}

#[test]
fn subgoals_and_conditions_are_told_the_model_and_the_judge() {
    let world = world(vec![verdict("continue", "more")], "goals: {max_turns: 1}\n");
    typed(
        &world,
        "/subgoal early\n/goal verify: cargo test passes\n/goal Port it\n/subgoal docs too\n/subgoal changelog\n\
         /subgoal remove 1\n/subgoal remove 7\n/subgoal\n/goal show\n/goal resume\n",
    )
    .succeeds()
    .says_part("there is no goal")
    .says_part("say what the goal is")
    .says_part("Subgoal 2: changelog")
    .says_part("there is no subgoal '7'")
    .says_part("1. changelog");
    let turns = turns(&world);
    assert!(turns.last().unwrap().contains("1. changelog"), "{turns:?}");
    let judged = world.server.questions();
    let judged: Vec<_> = judged.iter().filter(|one| asks_the_judge(one)).collect();
    assert!(judged.last().unwrap().contains("1. changelog"));
    assert_eq!(stored(&world)["subgoals"], json!(["changelog"]));
}

#[test]
fn wrong_words_are_one_sentence_each() {
    let world = world(vec![verdict("done", "x")], "");
    for (line, message) in [
        ("/goal pause", "there is no goal"),
        ("/goal wait 12", "there is no goal"),
        ("/goal wait", "/goal wait needs more"),
        ("/goal wait x", "'x' is not the number of a process"),
        ("/subgoal clear", "there is no goal"),
    ] {
        typed(&world, &format!("{line}\n"))
            .exits(1)
            .says_part(message);
    }
    assert_eq!(world.server.questions().len(), 0);
}

#[test]
fn judge_that_cannot_be_read_pauses_the_goal_and_a_failed_turn_does_at_once() {
    let unreadable = world(vec![ScriptedAnswer::text("who knows")], "");
    typed(&unreadable, "/goal Port it\n")
        .succeeds()
        .says_part("its judge gives no verdict");
    assert_eq!(turns(&unreadable).len(), 3);
    let refused = World::with(ModelServer::always(ScriptedAnswer::status(
        403,
        &json!({"error": {"message": "no access"}}),
    )));
    typed(&refused, "/goal Port it\n")
        .exits(1)
        .says_part("The goal is paused: the turn failed");
}

#[test]
fn goal_waits_for_the_end_of_a_process() {
    let world = world(vec![verdict("continue", "more")], "goals: {max_turns: 1}\n");
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    typed(&world, "/goal Port it\n").succeeds();
    let mut screen = world.hermes(&["chat", "-c"]).start_on_screen(24, 80);
    screen.wait_for("test-model");
    screen.press("/goal resume\r");
    screen.wait_for("its turns are used up (1 of 1)");
    assert_eq!(turns(&world).len(), 2);
    let mut goal = stored(&world);
    goal["status"] = json!("active");
    goal["turns_used"] = json!(0);
    let database = Connection::open(world.home.path("state.db")).unwrap();
    database
        .execute(
            "UPDATE state_meta SET value = ?1 WHERE key LIKE 'goal:%'",
            [goal.to_string()],
        )
        .unwrap();
    screen.press(&format!("/goal wait {} the build\r", child.id()));
    screen.wait_for("The goal waits for the end of process");
    assert_eq!(turns(&world).len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    world.server.wait_for_questions(6);
    assert_eq!(turns(&world).len(), 3);
}

fn started(world: &World) -> OnScreen {
    let screen = world.hermes(&["chat"]).start_on_screen(24, 80);
    screen.wait_for("test-model");
    screen
}

#[test]
fn message_of_the_person_comes_before_the_next_turn_and_ctrl_c_pauses() {
    // The turns that the goal begins never end by themselves.
    let server = ModelServer::start_with(move |question| {
        if asks_the_judge(question) {
            return verdict("continue", "more to do");
        }
        let message = last_message(question);
        if message.contains("my own message") {
            ScriptedAnswer::text("answered yours")
        } else if message.contains("standing goal goes on") {
            ScriptedAnswer::pieces(&["slow ", "work ", "end"])
                .slowly(std::time::Duration::from_secs(30))
        } else {
            ScriptedAnswer::text("first step")
        }
    });
    let world = World::configured(server, "");
    let mut screen = started(&world);
    screen.press("/goal Port it\r");
    screen.wait_for("The goal is not reached yet (1 of 20)");
    world.server.wait_for_questions(3);
    screen.press("my own message\r");
    screen.wait_for("answered yours");
    // The goal goes on behind it, until it is interrupted.
    screen.wait_for("(2 of 20)");
    world.server.wait_for_questions(6);
    screen.press("\u{3}");
    screen.wait_for("The goal is paused: it was interrupted");
    assert_eq!(stored(&world)["status"], "paused");
}

/// Turns that end at once: the key comes in the middle of one, while the judge is asked, or after its
/// verdict, when the next turn is already decided.
#[test]
fn ctrl_c_at_any_moment_pauses_the_goal() {
    let more = "goals: {max_turns: 100000}\n";
    let world = world(vec![verdict("continue", "more to do")], more);
    // Long enough that nothing of it scrolls away.
    let mut screen = world.hermes(&["chat"]).start_on_screen(1_000, 80);
    screen.wait_for("test-model");
    screen.press("/goal Port it\r");
    for round in 1..=8 {
        let asked = world.server.questions().len();
        screen.wait_until("the goal goes on", |_| {
            world.server.questions().len() > asked + round % 3
        });
        screen.press("\u{3}");
        let notice = "The goal is paused: it was interrupted";
        screen.wait_until("the goal is paused once more", |shown| {
            shown.matches(notice).count() == round
        });
        assert_eq!(stored(&world)["status"], "paused");
        screen.press("/goal resume\r");
    }
}

#[test]
fn command_between_two_turns_does_not_end_the_goal() {
    let answers = std::sync::atomic::AtomicUsize::new(0);
    let server = ModelServer::start_with(move |question| {
        if asks_the_judge(question) {
            let done = question.contains("1. docs too");
            return verdict(if done { "done" } else { "continue" }, "says the judge");
        }
        // The first turn leaves time to type.
        let first = answers.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let pause = std::time::Duration::from_millis(if first { 500 } else { 0 });
        ScriptedAnswer::pieces(&["step ", "by ", "step"]).slowly(pause)
    });
    let world = World::configured(server, "");
    let mut screen = started(&world);
    screen.press("/goal Port it\r");
    screen.wait_for("Writing");
    screen.press("/subgoal docs too\r");
    screen.wait_for("next: /subgoal docs too");
    screen.wait_for("Subgoal 1: docs too");
    screen.wait_for("The goal is reached: says the judge");
    let turns = turns(&world);
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert!(turns[1].contains("1. docs too"), "{turns:?}");
}
