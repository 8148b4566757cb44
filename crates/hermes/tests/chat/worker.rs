//! Workers of the board: reminded of their card, and honest about how they ended.

use hermes_testkit::{Answer, ModelServer, Run};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

/// Files a card, claims it, and gives the run of its worker.
struct Card {
    id: String,
    run: String,
}

impl Card {
    fn filed(world: &World, body: &str) -> Self {
        let filed = world.home.run([
            "kanban",
            "create",
            "Make it",
            "--body",
            body,
            "--assignee",
            "default",
            "--json",
        ]);
        filed.succeeds();
        let id = filed.json()["id"].as_str().unwrap().to_owned();
        world.home.run(["kanban", "claim", &id]).succeeds();
        let runs = world.home.run(["kanban", "runs", &id, "--json"]).json();
        let run = runs[0]["id"].to_string();
        Self { id, run }
    }

    fn worker(&self, world: &World, more: &[&str]) -> Run {
        let query = format!("work kanban task {}", self.id);
        let args = ["--cli", "--accept-hooks", "chat", "-q", query.as_str()];
        world
            .home
            .hermes(args.iter().chain(more))
            .env("HERMES_KANBAN_TASK", &self.id)
            .env("HERMES_KANBAN_RUN_ID", &self.run)
    }

    fn show(&self, world: &World) -> Value {
        world
            .home
            .run(["kanban", "show", &self.id, "--json"])
            .json()
    }

    fn exit_record(&self, world: &World) -> Value {
        let mut found = Vec::new();
        find(&world.home.root(), &self.id, &mut found);
        let text = found
            .iter()
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .find(|text| text.contains("\"run_id\""));
        serde_json::from_str(&text.unwrap()).unwrap()
    }
}

fn find(directory: &std::path::Path, name: &str, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, name, found);
        } else if path.to_string_lossy().contains(name) {
            found.push(path);
        }
    }
}

#[test]
fn a_worker_that_forgets_its_card_is_reminded_and_completes_it() {
    let world = World::answering([
        Answer::text("all done"),
        Answer::call("kanban_complete", &json!({"summary": "made it"})),
        Answer::text("completed"),
    ]);
    let card = Card::filed(&world, "do it");
    card.worker(&world, &[]).run().succeeds();
    assert_eq!(world.bodies().len(), 3);
    let reminder = world.bodies()[1].to_string();
    assert!(reminder.contains("Your card is still open"), "{reminder}");
    assert_eq!(card.show(&world)["task"]["status"], json!("done"));
    assert_eq!(card.exit_record(&world)["code"], json!(0));
}

#[test]
fn a_worker_is_reminded_twice_and_then_left_alone() {
    let world = World::with(ModelServer::always(Answer::text("all done")));
    let card = Card::filed(&world, "do it");
    card.worker(&world, &[]).run().succeeds();
    assert_eq!(world.bodies().len(), 3);
    let card = Card::filed(&world, "do it");
    card.worker(&world, &[])
        .env("HERMES_KANBAN_STOP_NUDGE", "0")
        .run()
        .succeeds();
    assert_eq!(world.bodies().len(), 4);
}

#[test]
fn a_wall_is_told_by_code_and_record() {
    let wall = Answer::status(402, &json!({"error": {"message": "insufficient credits"}}));
    let world = World::with(ModelServer::always(wall));
    let card = Card::filed(&world, "do it");
    card.worker(&world, &[]).run().exits(75);
    assert_eq!(card.exit_record(&world)["code"], json!(75));
}

#[test]
fn a_used_up_budget_is_recorded_as_a_timeout() {
    let world = World::with(ModelServer::start_with(|request| {
        match request.body.get("tools") {
            Some(_) => Answer::call("kanban_show", &json!({})),
            None => Answer::text("so far"),
        }
    }));
    let card = Card::filed(&world, "do it");
    card.worker(&world, &["--max-turns", "2"]).run().exits(1);
    let shown = card.show(&world);
    let events = shown["events"].to_string();
    assert!(events.contains("timed_out"), "{shown}");
    assert_ne!(shown["task"]["status"], json!("running"));
}

#[test]
fn pictures_of_the_card_are_in_the_first_request() {
    let world = World::with(ModelServer::always(Answer::text("done")));
    let picture = world.home.user_home().join("shot.png");
    std::fs::write(&picture, b"\x89PNG\r\n\x1a\n").unwrap();
    let body = format!("see {} and `/tmp/example.png`", picture.display());
    let card = Card::filed(&world, &body);
    card.worker(&world, &[]).run().succeeds();
    let first = &world.bodies()[0]["messages"][1]["content"];
    let text = first.to_string();
    assert!(text.contains("data:image/png;base64,"), "{text}");
    assert_eq!(text.matches("image_url\"").count(), 2, "{text}");
}

#[test]
fn a_worker_has_the_tools_of_the_board_whatever_its_profile_says() {
    let server = ModelServer::always(Answer::text("done"));
    let world = World::configured(server, "toolsets: [file]\n");
    let card = Card::filed(&world, "do it");
    card.worker(&world, &[]).run().succeeds();
    let body = &world.bodies()[0];
    let tools = body["tools"].to_string();
    assert!(tools.contains("kanban_complete") && !tools.contains("\"terminal\""));
    assert!(body["messages"][0].to_string().contains("kanban_heartbeat"));
}

#[test]
fn a_worker_that_is_asked_to_end_leaves_soon_and_says_how() {
    let slow = Answer::text("late").after(std::time::Duration::from_mins(1));
    let world = World::with(ModelServer::always(slow));
    let card = Card::filed(&world, "do it");
    let mut running = card.worker(&world, &[]).start();
    world.server.wait_for_questions(1);
    let pid = i32::try_from(running.pid()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(running.wait().code(), Some(143));
    assert_eq!(card.exit_record(&world)["code"], json!(143));
}
