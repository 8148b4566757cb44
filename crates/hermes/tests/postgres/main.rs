//! Boards on a PostgreSQL server as people, gateways and browsers meet them: the real program, two homes
//! that stand for two machines, and a server that goes away.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::string_slice,
    reason = "tests access files and processes directly"
)]

mod away;
#[path = "../dashboard/client.rs"]
#[expect(dead_code, reason = "tests of the dashboard use more of it")]
mod client;
mod moving;
#[path = "../dashboard/server.rs"]
#[expect(dead_code, reason = "tests of the dashboard use more of it")]
mod server;
mod travel;

use std::time::{Duration, Instant};

use hermes_testkit::{PgDatabase, Postgres, ProgramOutput, Running, TestHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A worker that looks at its card and completes it.
const SCRIPT: &str = r#"turns:
  - match: {user: "/task (?<id>t_[0-9a-f]+)/", step: 1}
    calls: [{tool: kanban_show, arguments: {task_id: "${id}"}}]
  - match: {seen: "/# Kanban task t_[0-9a-f]+/", step: 2}
    calls: [{tool: kanban_complete, arguments: {summary: "done from afar"}}]
  - text: ok
"#;

/// A machine whose boards are on a server.
struct Machine {
    home: TestHome,
}

impl Machine {
    fn new(database: &PgDatabase) -> Self {
        let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
        let script = home.put_outside("script.yaml", SCRIPT, 0o600);
        home.put(
            "config.yaml",
            format!("kanban:\n  database: '{}'\n", database.url()),
        );
        home.put(".env", format!("PGPASSWORD='{}'\n", database.password()));
        // A profile that knows nothing of the server.
        home.put(
            "profiles/coder/config.yaml",
            format!(
                "model: {{provider: replay, script: '{}'}}\nterminal: {{sandbox: 'off'}}\n",
                script.display()
            ),
        );
        Self { home }
    }

    fn kanban(&self, args: &[&str]) -> ProgramOutput {
        self.home.hermes(["kanban"]).args(args).run()
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let call = self.home.hermes(["kanban"]).args(args).arg("--json");
        call.run().succeeds().json()
    }

    #[track_caller]
    fn create(&self, title: &str, flags: &[&str]) -> String {
        let args: Vec<&str> = ["create", title].iter().chain(flags).copied().collect();
        self.json(&args)["id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn status(&self, id: &str) -> String {
        let card = self.json(&["show", id]);
        card["task"]["status"].as_str().unwrap().to_owned()
    }

    /// Runs one of [`COMMANDS`]: `#N` is the Nth card of `cards`, to which those that it names are added.
    fn run_command(&self, command: &str, cards: &mut Vec<String>) -> ProgramOutput {
        self.home.put_outside("note.txt", "a note", 0o600);
        let words = command.split(' ').map(|word| {
            let number = word
                .strip_prefix('#')
                .and_then(|number| number.parse().ok());
            let card = number.and_then(|number: usize| cards.get(number - 1));
            card.cloned().unwrap_or_else(|| match word {
                "note.txt" => self.home.outside(word).display().to_string(),
                word => word.to_owned(),
            })
        });
        let words: Vec<String> = words.collect();
        let output = self.home.hermes(["kanban"]).args(&words).run();
        for part in output
            .stdout
            .split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_')
        {
            let is_card = part.len() == 10 && part.starts_with("t_");
            if is_card && !cards.iter().any(|card| card == part) {
                cards.push(part.to_owned());
            }
        }
        output
    }

    fn gateway(&self) -> Running {
        let call = self.home.hermes(["gateway", "run"]);
        let gateway = call.env("HERMES_GATEWAY_MAX_STARTS", "0").start();
        while let Some(line) = gateway.next_line() {
            if line.starts_with("Ready (PID ") {
                return gateway;
            }
        }
        panic!("the gateway ended: {:?}", gateway.errors());
    }

    fn wait_for(&self, id: &str, status: &str) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while self.status(id) != status {
            assert!(Instant::now() < deadline, "{}", self.json(&["show", id]));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn hosts_are_listed_and_cards_wait_for_the_one_they_ask_for() {
    let database = Postgres::shared().database();
    let (lap, gpu) = (Machine::new(&database), Machine::new(&database));
    let settings = |name: &str, labels: &str| {
        format!(
            "kanban:\n  database: '{}'\n  host_name: {name}\n  host_labels: {labels}\n  \
             max_in_progress_per_host: 2\n",
            database.url()
        )
    };
    lap.home.put("config.yaml", settings("lap", "[]"));
    gpu.home.put("config.yaml", settings("gpu1", "'gpu, ssd'"));
    let created = lap.kanban(&["create", "train", "--assignee", "coder", "--host", "gpu"]);
    created
        .succeeds()
        .says_part("no host is known yet that has the label gpu");
    let id = lap.json(&["list"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(lap.json(&["list"])[0]["host_labels"], json!(["gpu"]));
    lap.kanban(&["dispatch"])
        .succeeds()
        .prints_part("For other hosts (no host has the label gpu)");
    let why = lap.kanban(&["why", &id]);
    why.succeeds()
        .prints_part("No host has the label gpu (hosts: lap).");
    let mut gateway = gpu.gateway();
    gpu.wait_for(&id, "done");
    let shown = lap.json(&["show", &id]);
    assert_eq!(shown["runs"][0]["host"], "gpu1");
    lap.kanban(&["show", &id])
        .succeeds()
        .prints_part("  on gpu1");
    lap.kanban(&["runs", &id])
        .succeeds()
        .prints_part("  on gpu1");
    let hosts = lap.json(&["hosts"]);
    assert_eq!(
        (&hosts[0]["name"], &hosts[0]["labels"], &hosts[0]["state"]),
        (&json!("gpu1"), &json!(["gpu", "ssd"]), &json!("up"))
    );
    assert_eq!(
        (&hosts[1]["name"], &hosts[1]["here"]),
        (&json!("lap"), &json!(true))
    );
    let table = lap.kanban(&["hosts"]);
    let table = table.succeeds().stdout.clone();
    assert!(
        table.starts_with("NAME  LABELS    SLOTS  VERSION"),
        "{table}"
    );
    assert!(table.contains("gpu1  gpu, ssd  0/2"), "{table}");
    let refused = lap.kanban(&["hosts", "forget", "gpu1"]);
    refused
        .exits(1)
        .says_part("host gpu1 is up and cannot be forgotten");
    // A gateway that ends in order says so.
    let pid = gateway.pid().to_string();
    let told = std::process::Command::new("kill").arg(pid).status();
    assert!(told.unwrap().success());
    gateway.wait();
    lap.kanban(&["hosts", "forget", "gpu1"])
        .succeeds()
        .prints("Forgot host gpu1\n");
    let unknown = lap.kanban(&["create", "x", "--on", "moon"]);
    unknown
        .succeeds()
        .says_part("no host called moon is known yet");
    lap.kanban(&["create", "x", "--host", "two words"])
        .exits(2)
        .says_part("invalid host label: 'two words'");
}

#[test]
fn a_copied_home_is_refused_until_it_has_a_host_id_of_its_own() {
    let database = Postgres::shared().database();
    let (here, copy) = (Machine::new(&database), Machine::new(&database));
    here.kanban(&["dispatch"]).succeeds();
    let id = std::fs::read_to_string(here.home.path("kanban/host-id")).unwrap();
    copy.home.put("kanban/host-id", &id);
    let before = here.json(&["hosts"]);
    let refused = copy.kanban(&["dispatch"]);
    refused
        .exits(1)
        .says_part("two installations use the host id")
        .says_part("hermes kanban hosts new-id");
    assert_eq!(here.json(&["hosts"]), before);
    copy.kanban(&["hosts", "new-id"]).succeeds();
    copy.kanban(&["dispatch"]).succeeds();
    assert_eq!(here.json(&["hosts"]).as_array().unwrap().len(), 2);
}

#[test]
fn two_homes_share_a_board_and_neither_has_a_file() {
    let database = Postgres::shared().database();
    let (here, there) = (Machine::new(&database), Machine::new(&database));
    let id = here.create("shared", &["--assignee", "coder"]);
    assert_eq!(there.status(&id), "ready");
    there.kanban(&["comment", &id, "seen"]).succeeds();
    there.kanban(&["complete", &id]).succeeds();
    assert_eq!(here.status(&id), "done");
    let shown = here.json(&["show", &id]);
    assert_eq!(shown["comments"][0]["body"], "seen");
    // A profile that is not configured for the server is on the same board.
    let call = there.home.hermes(["-p", "coder", "kanban", "show", &id]);
    call.run().succeeds().prints_part("shared");
    // Another board is another schema; what is on it does not mix.
    here.kanban(&["boards", "create", "site"]).succeeds();
    here.kanban(&["--board", "site", "create", "elsewhere"])
        .succeeds();
    assert_eq!(here.json(&["list"]).as_array().unwrap().len(), 1);
    let schemas = "SELECT string_agg(nspname, ' ' ORDER BY nspname) FROM pg_namespace
                   WHERE nspname LIKE 'hermes%'";
    assert_eq!(database.sql(schemas), "hermes_default hermes_site");
    here.kanban(&["init"])
        .succeeds()
        .prints_part("Board database ready at postgres://boards@");
    for machine in [&here, &there] {
        assert!(!machine.home.has("kanban.db"));
        assert!(!machine.home.has("kanban/boards/site/kanban.db"));
    }
}

#[test]
fn one_board_can_be_on_a_server_beside_others_in_files() {
    let database = Postgres::shared().database();
    let machine = Machine::new(&database);
    machine.home.put("config.yaml", "");
    machine.kanban(&["boards", "create", "team"]).succeeds();
    let path = "kanban/boards/team/board.json";
    let mut info: Value = serde_json::from_str(&machine.home.read(path)).unwrap();
    info["database"] = json!(database.url());
    machine.home.put(path, info.to_string());
    machine.create("in a file", &[]);
    machine
        .kanban(&["--board", "team", "create", "on the server"])
        .succeeds();
    assert!(machine.home.has("kanban.db"));
    assert_eq!(
        database.sql("SELECT title FROM hermes_team.tasks"),
        "on the server"
    );
    // Renaming the board loses nothing of that.
    machine
        .kanban(&["boards", "rename", "team", "Team"])
        .succeeds();
    let boards = machine.json(&["boards", "list"]);
    let boards = boards.as_array().unwrap();
    let team = boards.iter().find(|board| board["slug"] == "team").unwrap();
    assert_eq!(team["database"], database.url());
    assert_eq!(team["total"], 1);
}

#[test]
fn a_gateway_works_on_cards_of_another_home_and_a_dashboard_shows_them() {
    let database = Postgres::shared().database();
    let (here, there) = (Machine::new(&database), Machine::new(&database));
    there.kanban(&["init"]).succeeds();
    let _gateway = there.gateway();
    let id = here.create("work", &["--assignee", "coder"]);
    here.wait_for(&id, "done");
    let runs = here.json(&["runs", &id]);
    assert_eq!(runs[0]["summary"], "done from afar", "{runs}");
    let dashboard = server::Server::local(&here.home);
    let board = dashboard.get("/api/plugins/kanban/board");
    assert!(board.to_string().contains(&id), "{board}");
    let made = dashboard.call(
        "POST",
        "/api/plugins/kanban/tasks",
        &json!({"title": "from a browser", "assignee": "coder"}),
    );
    assert_eq!(made.status, 200, "{}", made.body);
    let made = made.json()["task"]["id"].as_str().unwrap().to_owned();
    here.wait_for(&made, "done");
}

#[test]
fn while_the_server_is_away_commands_say_so_and_a_gateway_goes_on() {
    let server = Postgres::own();
    let database = server.database();
    let machine = Machine::new(&database);
    machine.kanban(&["init"]).succeeds();
    let gateway = machine.gateway();
    let first = machine.create("before", &["--assignee", "coder"]);
    machine.wait_for(&first, "done");
    server.stop();
    for command in [["list"].as_slice(), &["create", "x"], &["show", &first]] {
        let refused = machine.kanban(command);
        refused.exits(3).prints("");
        let mut lines = refused.stderr.lines();
        let sentence = lines.next().unwrap_or_default();
        assert!(sentence.starts_with("kanban: "), "{refused}");
        assert!(
            sentence.contains("no connection to the board's database"),
            "{refused}"
        );
        assert!(lines.all(|line| line.starts_with("hint: ")), "{refused}");
        assert!(!refused.stderr.contains(database.password()), "{refused}");
    }
    // A change of the settings has the gateway tick, whether or not its worker's end came in time; it has
    // noticed before the server is back.
    let settings = machine.home.read("config.yaml");
    machine.home.put("config.yaml", format!("{settings}\n"));
    let deadline = Instant::now() + Duration::from_mins(1);
    let log = || machine.home.read("logs/agent.log");
    while !log().contains("could not dispatch") {
        assert!(Instant::now() < deadline, "{}", log());
        std::thread::sleep(Duration::from_millis(20));
    }
    server.run();
    let second = machine.create("after", &["--assignee", "coder"]);
    machine.wait_for(&second, "done");
    drop(gateway);
    let log = log();
    assert!(!log.contains(database.password()), "{log}");
}

#[test]
fn four_hosts_complete_every_card_once_whatever_is_killed_or_cut() {
    let report = hermes_soak::storm(std::path::Path::new(env!("CARGO_BIN_EXE_hermes")), 200);
    println!("{report:#?}");
    assert_eq!(report.faults, Vec::<String>::new(), "{report:?}");
    assert!(report.workers_killed >= 8, "{report:?}");
    assert!(report.dispatchers_killed >= 2, "{report:?}");
    assert!(report.databases_killed >= 2, "{report:?}");
    assert!(report.links_cut >= 3, "{report:?}");
}

#[test]
fn a_password_in_an_address_is_refused_and_shown_nowhere() {
    let machine = Machine::new(&Postgres::shared().database());
    let address = "postgres://boards:hunter2-secret@127.0.0.1/x";
    machine.home.put(
        "config.yaml",
        format!("kanban: {{database: '{address}'}}\n"),
    );
    for args in [
        ["kanban", "list"].as_slice(),
        &["kanban", "boards", "list"],
        &["kanban", "boards", "show"],
        &["doctor"],
    ] {
        let output = machine.home.run(args);
        assert!(!output.stdout.contains("hunter2-secret"), "{output}");
        assert!(!output.stderr.contains("hunter2-secret"), "{output}");
    }
    machine
        .kanban(&["list"])
        .exits(3)
        .says_part("contains a password")
        .says_part("PGPASSWORD");
}

/// Commands in order; `#1` is the first card that was made, and so on.
const COMMANDS: &[&str] = &[
    "create one --assignee coder --priority 3 --body text --json",
    "create two --parent #1 --tenant acme --json",
    "create three --triage --json",
    "create four --idempotency-key K --max-runtime 90 --json",
    "create again --idempotency-key K --json",
    "swarm goal --worker coder:part --verifier coder --synthesizer coder --json",
    "list --json",
    "list --sort title --json",
    "list --status ready --assignee coder --limit 2",
    "show #1 --json",
    "link #1 #4",
    "unlink #1 #4",
    "assign #4 coder",
    "comment #1 hello",
    "attach #1 note.txt",
    "attachments #1 --json",
    "attach-rm 1",
    "claim #1",
    "heartbeat #1 --note here",
    "runs #1 --json",
    "reassign #1 other --reclaim",
    "edit #2 --check true",
    "block #2 why",
    "unblock #2",
    "schedule #4 later",
    "promote #2 --force",
    "notify-subscribe #1 --platform file --chat-id c",
    "notify-list --json",
    "notify-unsubscribe #1 --platform file --chat-id c",
    "complete #1 --summary well",
    "edit #1 --result better",
    "why #2",
    "why #4 --json",
    "dispatch --dry-run --json",
    "stats --json",
    "assignees --json",
    "context #2",
    "diagnostics --json",
    "archive #3",
    "archive --rm #3",
    "gc --event-retention-days 0 --archive-retention-days 0",
    "boards list --json",
    "reclaim #2",
    "show #9",
    "log #1",
];

/// What differs from run to run: names of cards, times, paths, processes.
fn comparable(machine: &Machine, cards: &[String], output: &ProgramOutput) -> String {
    let mut text = format!("{:?}\n{}\n{}", output.code, output.stdout, output.stderr);
    for (number, id) in cards.iter().enumerate() {
        text = text.replace(id, &format!("#{}", number + 1));
    }
    let home = machine.home.user_home().display().to_string();
    text = text.replace(&home, "HOME");
    let is_volatile = |line: &&str| {
        ["\"database\"", "  Database:", "DB path", "db_path"]
            .iter()
            .all(|word| !line.contains(word))
    };
    let lines: Vec<&str> = text.lines().filter(is_volatile).collect();
    let mut shown = String::new();
    let mut digits = 0;
    for sign in lines.join("\n").chars() {
        if sign.is_ascii_digit() {
            digits += 1;
            continue;
        }
        // Small numbers count; times and processes do not.
        if digits > 0 {
            shown.push('9');
        }
        digits = 0;
        shown.push(sign);
    }
    // Cards of one second are listed by their names, which are random.
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn every_command_says_on_a_server_what_it_says_on_a_file() {
    let database = Postgres::shared().database();
    let (file, server) = (Machine::new(&database), Machine::new(&database));
    file.home.put("config.yaml", "");
    let mut known: [Vec<String>; 2] = Default::default();
    for command in COMMANDS {
        let mut said = Vec::new();
        for (machine, cards) in [&file, &server].into_iter().zip(&mut known) {
            let output = machine.run_command(command, cards);
            // Refused or not, but understood.
            assert!(matches!(output.code, Some(0 | 1)), "{output}");
            said.push(comparable(machine, cards, &output));
        }
        assert!(
            !said[1].contains("database server"),
            "{command}: {}",
            said[1]
        );
        assert_eq!(said[0], said[1], "{command}");
    }
}
