//! Workers of the board: reminded of their card, and honest about how they ended.

use std::time::{Duration, Instant};

use hermes_testkit::{ModelServer, ProgramCall, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

/// Files a card, claims it, and gives the run of its worker.
struct Card {
    id: String,
    run: String,
    lock: String,
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
        let shown = world.home.run(["kanban", "show", &id, "--json"]).json();
        let lock = shown["task"]["claim_lock"].as_str().unwrap().to_owned();
        Self { id, run, lock }
    }

    fn worker(&self, world: &World, more: &[&str]) -> ProgramCall {
        let query = format!("work kanban task {}", self.id);
        let args = ["--cli", "--accept-hooks", "chat", "-q", query.as_str()];
        world
            .home
            .hermes(args.iter().chain(more))
            .env("HERMES_KANBAN_TASK", &self.id)
            .env("HERMES_KANBAN_RUN_ID", &self.run)
            .env("HERMES_KANBAN_CLAIM_LOCK", &self.lock)
    }

    /// A fact about the card.
    fn fact(&self, world: &World, name: &str) -> Value {
        self.show(world)["task"][name].take()
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
fn worker_that_forgets_its_card_is_reminded_and_completes_it() {
    let world = World::answering([
        ScriptedAnswer::text("all done"),
        ScriptedAnswer::call("kanban_complete", &json!({"summary": "made it"})),
        ScriptedAnswer::text("completed"),
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
fn worker_is_reminded_twice_at_most() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("all done")));
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
fn worker_at_its_quota_exits_75_and_records_it() {
    let wall = ScriptedAnswer::status(402, &json!({"error": {"message": "insufficient credits"}}));
    let world = World::with(ModelServer::always(wall));
    let card = Card::filed(&world, "do it");
    card.worker(&world, &[]).run().exits(75);
    assert_eq!(card.exit_record(&world)["code"], json!(75));
}

#[test]
fn exhausted_budget_is_recorded_as_a_timeout() {
    let world = World::with(ModelServer::start_with(|request| {
        match request.body.get("tools") {
            Some(_) => ScriptedAnswer::call("kanban_show", &json!({})),
            None => ScriptedAnswer::text("so far"),
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
    let world = World::with(ModelServer::always(ScriptedAnswer::text("done")));
    let home = world.home.user_home();
    for (name, byte) in [
        ("shot.png", b'1'),
        ("photo.JPG", b'2'),
        ("fenced.png", b'3'),
    ] {
        std::fs::write(
            home.join(name),
            [b"\x89PNG\r\n\x1a\n", &[byte][..]].concat(),
        )
        .unwrap();
    }
    let body = format!(
        "see {home}/shot.png, ~/photo.JPG (and {home}/shot.png again), `{home}/fenced.png`,\n\
         https://example.com/a/b.webp?size=2. https://example.com/page and {home}/missing.gif\n\
         ```\n{home}/fenced.png\nhttps://example.com/fenced.png\n```\n",
        home = home.display()
    );
    let card = Card::filed(&world, &body);
    card.worker(&world, &[]).run().succeeds();
    let content = &world.bodies()[0]["messages"][1]["content"];
    let parts = content.as_array().unwrap().iter();
    let urls: Vec<&str> = parts
        .filter(|part| part["type"] == "image_url")
        .map(|part| part["image_url"]["url"].as_str().unwrap())
        .collect();
    // `\x89PNG…` and one byte more, in base64.
    assert_eq!(
        urls,
        [
            "data:image/png;base64,iVBORw0KGgox",
            "data:image/jpeg;base64,iVBORw0KGgoy",
            "https://example.com/a/b.webp?size=2",
        ]
    );
    // And not again later.
    let later = world.bodies()[1]["messages"].to_string();
    assert_eq!(later.matches("data:image/png").count(), 1);
}

#[test]
fn images_attached_to_the_card_are_in_the_first_request() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("done")));
    let home = world.home.user_home();
    std::fs::write(home.join("named.png"), b"\x89PNG\r\n\x1a\n1").unwrap();
    std::fs::write(home.join("attached.png"), b"\x89PNG\r\n\x1a\n2").unwrap();
    std::fs::write(home.join("notes.txt"), b"not an image").unwrap();
    let card = Card::filed(&world, &format!("see {}/named.png", home.display()));
    for name in ["attached.png", "notes.txt"] {
        let path = home.join(name);
        world
            .home
            .run(["kanban", "attach", &card.id, path.to_str().unwrap()])
            .succeeds();
    }
    card.worker(&world, &[]).run().succeeds();
    let content = &world.bodies()[0]["messages"][1]["content"];
    let parts = content.as_array().unwrap().iter();
    let urls: Vec<&str> = parts
        .filter(|part| part["type"] == "image_url")
        .map(|part| part["image_url"]["url"].as_str().unwrap())
        .collect();
    assert_eq!(
        urls,
        [
            "data:image/png;base64,iVBORw0KGgox",
            "data:image/png;base64,iVBORw0KGgoy",
        ]
    );
}

#[test]
fn a_worker_has_the_tools_of_the_board_whatever_its_profile_says() {
    let server = ModelServer::always(ScriptedAnswer::text("done"));
    let world = World::configured(server, "toolsets: [file]\n");
    let card = Card::filed(&world, "do it");
    card.worker(&world, &[]).run().succeeds();
    let body = &world.bodies()[0];
    let tools = body["tools"].to_string();
    assert!(tools.contains("kanban_complete") && !tools.contains("\"terminal\""));
    assert!(body["messages"][0].to_string().contains("kanban_heartbeat"));
}

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Whether a process with this command line lives.
fn runs(command: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).replace('\0', " ").trim() == command)
}

#[test]
fn worker_renews_its_claim_during_a_long_step() {
    for slow in [
        ScriptedAnswer::text("late").after(PATIENCE * 2),
        ScriptedAnswer::call("terminal", &json!({"command": "sleep 170"})),
    ] {
        let world = World::with(ModelServer::always(slow));
        let card = Card::filed(&world, "do it");
        let claimed_until = card.fact(&world, "claim_expires").as_i64().unwrap();
        let mut running = card
            .worker(&world, &[])
            .env("HERMES_KANBAN_CLAIM_TTL_SECONDS", "3")
            .start();
        world.server.wait_for_questions(1);
        // It was claimed for much longer than three seconds; from now on its worker decides.
        let expires = || card.fact(&world, "claim_expires").as_i64().unwrap();
        until("its worker has taken over the claim", || {
            expires() < claimed_until
        });
        let first = expires();
        until("the claim was prolonged twice its length", || {
            expires() > first + 6
        });
        assert!(card.fact(&world, "last_heartbeat_at").as_i64().unwrap() > first - 3);
        let kinds = card.show(&world)["events"].to_string();
        assert!(!kinds.contains("heartbeat"), "signs of life are silent");
        signal(running.pid(), rustix::process::Signal::TERM);
        assert_eq!(running.wait().code(), Some(143));
    }
}

#[test]
fn worker_that_lost_its_card_stops() {
    let world = World::with(ModelServer::always(ScriptedAnswer::call(
        "terminal",
        &json!({"command": "touch begun; sleep 171; touch ended"}),
    )));
    let card = Card::filed(&world, "do it");
    let place = world.home.outside("work");
    std::fs::create_dir(&place).unwrap();
    let mut running = card.worker(&world, &[]).in_directory(&place).start();
    until("its command runs", || place.join("begun").exists());
    world.home.run(["kanban", "reclaim", &card.id]).succeeds();
    assert_eq!(running.wait().code(), Some(1), "{:?}", running.errors());
    until("it has said why", || {
        let said = running.errors().join("\n");
        said.contains("lost the claim on") && said.contains("(reclaimed)")
    });
    assert!(!runs("sleep 171") && !place.join("ended").exists());
    assert_eq!(card.fact(&world, "status"), json!("ready"));
    assert_eq!(world.bodies().len(), 1);
}

#[test]
fn worker_may_answer_after_completing_its_card() {
    let world = World::answering([
        ScriptedAnswer::call("kanban_complete", &json!({"summary": "made it"})),
        ScriptedAnswer::text("completed").after(Duration::from_secs(3)),
    ]);
    let card = Card::filed(&world, "do it");
    card.worker(&world, &[]).run().succeeds();
    assert_eq!(card.fact(&world, "status"), json!("done"));
}

#[test]
fn worker_that_cannot_start_records_its_exit_code() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("done")));
    let card = Card::filed(&world, "do it");
    world.home.put("config.yaml", "model: [broken\n");
    card.worker(&world, &[]).run().exits(1);
    assert_eq!(card.exit_record(&world)["code"], json!(1));
}

#[test]
fn terminated_worker_ends_soon_and_records_its_exit_code() {
    let slow = ScriptedAnswer::text("late").after(std::time::Duration::from_mins(1));
    let world = World::with(ModelServer::always(slow));
    let card = Card::filed(&world, "do it");
    let mut running = card.worker(&world, &[]).start();
    world.server.wait_for_questions(1);
    signal(running.pid(), rustix::process::Signal::TERM);
    assert_eq!(running.wait().code(), Some(143));
    assert_eq!(card.exit_record(&world)["code"], json!(143));
}
