//! Workers of cards with a goal: they go on until a judge finds it reached.

use hermes_store::rusqlite::Connection;
use hermes_testkit::{ModelServer, ProgramCall, ProgramOutput, ReceivedRequest, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

/// Whether the question is one for the judge.
fn asks_the_judge(question: &ReceivedRequest) -> bool {
    question.body["messages"][0]["content"]
        .as_str()
        .is_some_and(|text| text.contains("You judge whether the goal"))
}

fn verdict(done: bool, reason: &str) -> ScriptedAnswer {
    ScriptedAnswer::text(&json!({"done": done, "reason": reason}).to_string())
}

/// A server with one list of answers for the worker and one for the judge; the last of each is
/// repeated.
fn court(
    worker: impl IntoIterator<Item = ScriptedAnswer>,
    judge: impl IntoIterator<Item = ScriptedAnswer>,
) -> ModelServer {
    let mut worker: Vec<ScriptedAnswer> = worker.into_iter().collect();
    let mut judge: Vec<ScriptedAnswer> = judge.into_iter().collect();
    let next = |answers: &mut Vec<ScriptedAnswer>| {
        if answers.len() > 1 {
            answers.remove(0)
        } else {
            answers[0].clone()
        }
    };
    ModelServer::start_with(move |question| {
        if asks_the_judge(question) {
            next(&mut judge)
        } else {
            next(&mut worker)
        }
    })
}

/// A card with a goal in the hands of its worker.
struct Card {
    world: World,
    id: String,
    run: String,
}

impl Card {
    fn before(server: ModelServer, more: &str) -> Self {
        let world = World::configured(server, more);
        let args = [
            "kanban",
            "create",
            "Ship it",
            "--body",
            "with tests",
            "--goal",
        ];
        let filed = world
            .home
            .run(args.iter().chain(&["--assignee", "default", "--json"]));
        filed.succeeds();
        let id = filed.json()["id"].as_str().unwrap().to_owned();
        world.home.run(["kanban", "claim", &id]).succeeds();
        let runs = world.home.run(["kanban", "runs", &id, "--json"]).json();
        let run = runs[0]["id"].to_string();
        Self { world, id, run }
    }

    fn worker(&self) -> ProgramCall {
        let query = format!("work kanban task {}", self.id);
        let args = [
            "--cli",
            "--accept-hooks",
            "chat",
            "-q",
            query.as_str(),
            "-Q",
        ];
        self.world
            .home
            .hermes(args)
            .env("HERMES_KANBAN_TASK", &self.id)
            .env("HERMES_KANBAN_RUN_ID", &self.run)
            .env("HERMES_KANBAN_GOAL_MODE", "1")
            .env("HERMES_KANBAN_STOP_NUDGE", "0")
    }

    fn status(&self) -> Value {
        let shown = self.world.home.run(["kanban", "show", &self.id, "--json"]);
        shown.json()["task"]["status"].clone()
    }

    /// Why it is blocked.
    fn reason(&self) -> String {
        let shown = self
            .world
            .home
            .run(["kanban", "show", &self.id, "--json"])
            .json();
        let events = shown["events"].as_array().unwrap();
        let blocked = events.iter().rev().find(|event| event["kind"] == "blocked");
        blocked.unwrap()["payload"]["reason"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// How many questions the worker and the judge were asked.
    fn asked(&self) -> (usize, usize) {
        let questions = self.world.server.questions();
        let judged = questions.iter().filter(|one| asks_the_judge(one)).count();
        (questions.len() - judged, judged)
    }
}

fn completing(summary: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("kanban_complete", &json!({"summary": summary}))
}

#[test]
fn goal_worker_takes_turns_until_the_goal_is_reached() {
    let server = court(
        [
            ScriptedAnswer::text("half of it"),
            completing("shipped, tests pass"),
            ScriptedAnswer::text("completed"),
        ],
        [
            verdict(false, "There are no tests."),
            verdict(true, "all there"),
        ],
    );
    let card = Card::before(server, "");
    let outcome: ProgramOutput = card.worker().run();
    outcome.succeeds().prints("completed\n");
    outcome.says_part("There are no tests.");
    assert_eq!(card.status(), json!("done"));
    assert_eq!(card.asked(), (3, 2));
    // One conversation: the second turn knows of the first and of the verdict.
    let questions = card.world.server.questions();
    let second = questions.iter().filter(|one| !asks_the_judge(one)).nth(1);
    let second = second.unwrap().body.to_string();
    assert!(second.contains("half of it") && second.contains("There are no tests."));
    let judged = questions.iter().find(|one| asks_the_judge(one)).unwrap();
    let shown = judged.body["messages"][1]["content"].as_str().unwrap();
    for part in ["Ship it", "with tests", "half of it"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(judged.body.get("stream").is_none() && judged.body.get("tools").is_none());
    // Verdicts have a row of their own.
    let state = Connection::open(card.world.home.path("state.db")).unwrap();
    let calls: i64 = state
        .query_row(
            "SELECT sum(api_call_count) FROM session_model_usage WHERE task = 'goal_judge'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(calls, 2);
}

#[test]
fn completion_is_refused_if_the_judge_finds_the_goal_not_reached() {
    let server = court(
        [
            completing("done, I think"),
            completing("done with tests"),
            ScriptedAnswer::text("ok"),
        ],
        [
            verdict(false, "Where are the tests?"),
            verdict(true, "there"),
        ],
    );
    let card = Card::before(server, "");
    card.worker().run().succeeds().prints("ok\n");
    assert_eq!((card.status(), card.asked()), (json!("done"), (3, 2)));
    let second = card.world.bodies()[2].to_string();
    assert!(second.contains("Where are the tests?"), "{second}");
}

#[test]
fn exhausted_goal_turns_block_the_card() {
    let server = court(
        [ScriptedAnswer::text("still at it")],
        [verdict(false, "Not yet.")],
    );
    let card = Card::before(server, "");
    let worker = card.worker().env("HERMES_KANBAN_GOAL_MAX_TURNS", "3");
    worker.run().succeeds();
    assert_eq!(card.status(), json!("blocked"));
    assert!(
        card.reason().contains("after 3 turns: Not yet."),
        "{}",
        card.reason()
    );
    assert_eq!(card.asked(), (3, 3));
}

#[test]
fn goal_worker_with_an_open_card_is_reminded_once() {
    let server = court([ScriptedAnswer::text("all done")], [verdict(true, "it is")]);
    let card = Card::before(server, "");
    card.worker().run().succeeds();
    assert_eq!(card.status(), json!("blocked"));
    assert!(
        card.reason().contains("never completed"),
        "{}",
        card.reason()
    );
    assert_eq!(card.asked(), (2, 2));
}

#[test]
fn unreachable_judge_does_not_stop_the_worker() {
    let gone = || ScriptedAnswer::status(401, &json!({"error": {"message": "no judge"}}));
    let server = court(
        [
            ScriptedAnswer::text("all done"),
            completing("shipped"),
            ScriptedAnswer::text("bye"),
        ],
        [gone()],
    );
    let card = Card::before(server, "");
    let outcome = card.worker().run();
    outcome.succeeds().prints("bye\n").says_part("no judge");
    assert_eq!(card.status(), json!("done"));
    // Whoever says nothing more is left to the board's own rules.
    let card = Card::before(court([ScriptedAnswer::text("all done")], [gone()]), "");
    card.worker().run().succeeds();
    assert_eq!((card.status(), card.asked().0), (json!("running"), 2));
}

#[test]
fn a_turn_that_fails_is_not_judged() {
    let wall = ScriptedAnswer::status(402, &json!({"error": {"message": "insufficient credits"}}));
    let card = Card::before(court([wall], [verdict(true, "never")]), "");
    card.worker().run().exits(75);
    assert_eq!(card.asked(), (1, 0));
}

#[test]
fn goal_card_is_blocked_with_certain_kinds_only() {
    let block = |kind: &str| {
        let arguments = json!({"reason": "which one?", "kind": kind});
        ScriptedAnswer::call("kanban_block", &arguments)
    };
    let server = court(
        [
            block("capability"),
            block("needs_input"),
            ScriptedAnswer::text("blocked"),
        ],
        [verdict(false, "never asked")],
    );
    let card = Card::before(server, "");
    card.worker().run().succeeds();
    assert_eq!((card.status(), card.asked()), (json!("blocked"), (3, 0)));
    let refused = card.world.bodies()[1].to_string();
    assert!(refused.contains("needs_input"), "{refused}");
}

#[test]
fn the_judge_has_a_model_of_its_own_if_one_is_named() {
    let judge = ModelServer::always(verdict(true, "yes"));
    let more = format!(
        "auxiliary: {{goal_judge: {{base_url: '{}', model: wise}}, title_generation: {{enabled: \
         false}}}}\n",
        judge.base_url()
    );
    let server = ModelServer::start([completing("shipped"), ScriptedAnswer::text("ok")]);
    let card = Card::before(server, &more);
    card.worker().run().succeeds();
    assert_eq!(card.status(), json!("done"));
    assert_eq!(judge.questions()[0].body["model"], json!("wise"));
}

#[test]
fn completion_by_a_person_is_judged_as_well() {
    let server = court(
        [ScriptedAnswer::text("")],
        [verdict(false, "No."), verdict(true, "Yes.")],
    );
    let card = Card::before(server, "");
    let complete = ["kanban", "complete", &card.id, "--summary", "shipped"];
    let refused = card.world.home.run(complete);
    refused.exits(1).says_part("goal was not reached: No.");
    assert_eq!(card.status(), json!("running"));
    card.world.home.run(complete).succeeds();
    assert_eq!(card.status(), json!("done"));
    // Without a judge it passes, and says so.
    let card = Card::before(
        court([ScriptedAnswer::text("")], [ScriptedAnswer::text("hm")]),
        "",
    );
    let passed = card.world.home.run(["kanban", "complete", &card.id]);
    passed.succeeds().says_part("without a verdict");
}
