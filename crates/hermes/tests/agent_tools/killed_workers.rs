//! Workers of cards, killed with SIGKILL a hundred times at moments nobody chose: the card is tried
//! again, its session can be gone on with, and nothing that was stored is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hermes_store::rusqlite::Connection;
use hermes_testkit::{ModelServer, ReceivedRequest, ScriptedAnswer, ScriptedCall};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::Desk;

/// Workers that are killed.
const KILLS: usize = 100;
/// Workers at once. Three that die of the same cause in one look would count as a broken machine,
/// and their cards as blocked.
const AT_ONCE: usize = 2;
/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);
/// Gives the moments of an earlier run again.
const SEED: &str = "HERMES_TEST_SEED";
/// What a person says to a session whose worker was killed.
const GO_ON: &str = "go on, please";

/// Moments, the same for the same seed; a failure names it.
struct Moments {
    seed: u64,
    state: u64,
}

impl Moments {
    fn new() -> Self {
        let given = std::env::var(SEED).ok();
        let seed = given.map_or_else(
            || RandomState::new().hash_one("moments") | 1,
            |text| text.parse().unwrap(),
        );
        Self { seed, state: seed }
    }

    /// A moment before `end`.
    fn before(&mut self, end: Duration) -> Duration {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let most = u64::try_from(end.as_micros()).unwrap();
        Duration::from_micros((self.state >> 16) % most)
    }
}

impl Drop for Moments {
    fn drop(&mut self) {
        if std::thread::panicking() {
            #[expect(clippy::print_stderr, reason = "a failure must be repeatable")]
            {
                eprintln!("the moments come again with {SEED}={}", self.seed);
            }
        }
    }
}

/// What the model does next, seen from what was done so far; ids are never given twice.
fn answer(request: &ReceivedRequest, number: usize) -> ScriptedAnswer {
    let messages = request.body["messages"].as_array().unwrap();
    let last = messages.iter().rfind(|message| message["role"] == "user");
    let told = last.map(|message| message["content"].to_string());
    if request.body.get("tools").is_none() || told.is_some_and(|told| told.contains(GO_ON)) {
        return ScriptedAnswer::text("gone on");
    }
    let steps = messages
        .iter()
        .filter(|message| message["tool_calls"].is_array())
        .count();
    let notes = json!({"path": "notes.txt"});
    let calls: &[(&str, Value)] = match steps {
        0 => &[("kanban_show", json!({}))],
        1 => &[(
            "write_file",
            json!({"path": "notes.txt", "content": "begun\n"}),
        )],
        2 => &[
            (
                "terminal",
                json!({"command": "echo more >> notes.txt; sleep 0.02"}),
            ),
            ("read_file", notes),
        ],
        3 => &[
            ("read_file", notes),
            ("search_files", json!({"pattern": "more"})),
            (
                "todo",
                json!({"todos": [{"id": "1", "content": "end", "status": "pending"}]}),
            ),
        ],
        4 => &[(
            "terminal",
            json!({"command": "sleep 0.05; echo last >> notes.txt"}),
        )],
        5 => &[("kanban_comment", json!({"body": "nearly there"}))],
        6 => &[("kanban_complete", json!({"summary": "noted"}))],
        _ => return ScriptedAnswer::text("Done."),
    };
    let calls = calls
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| ScriptedCall {
            id: format!("n{number}_{at}"),
            name: (*name).to_owned(),
            arguments: arguments.to_string(),
        });
    ScriptedAnswer::raw_calls(calls.collect()).after(Duration::from_millis(5))
}

/// The ids of the calls of a conversation in their order; every call has its result right behind
/// its message, and every result its call, or else the first that has not is told.
fn call_ids(messages: &[Value]) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    let mut open: BTreeSet<String> = BTreeSet::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            if !open.remove(id) {
                return Err(format!("a result without a call: {id}"));
            }
            continue;
        }
        if !open.is_empty() {
            return Err(format!("calls without results: {open:?}"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap().to_owned();
            all.push(id.clone());
            open.insert(id);
        }
    }
    if open.is_empty() {
        Ok(all)
    } else {
        Err(format!("calls without results: {open:?}"))
    }
}

/// An attempt at a card.
struct Attempt {
    card: String,
    run: i64,
    /// `None` if the worker had ended before it was looked for.
    pid: Option<Pid>,
}

/// What a question told of the past, and whether a person asked it: all that is looked at of it, so
/// that looking stays cheap.
struct Asked {
    calls: Result<Vec<String>, String>,
    by_person: bool,
}

struct Floor {
    desk: Desk,
    asked: Arc<Mutex<Vec<Asked>>>,
    _server: ModelServer,
}

impl Floor {
    fn new() -> Self {
        let desk = Desk::new();
        desk.home.run(["profile", "create", "builder"]).succeeds();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let kept = Arc::clone(&asked);
        let mut number = 0;
        let server = ModelServer::start_with(move |request| {
            number += 1;
            kept.lock().unwrap().push(Asked {
                calls: call_ids(request.body["messages"].as_array().unwrap()),
                by_person: request.contains(GO_ON),
            });
            answer(request, number)
        });
        desk.home.put(
            "profiles/builder/config.yaml",
            format!(
                "model:\n  default: m\n  provider: custom\n  base_url: {}\n  \
                 context_length: 200000\n",
                server.base_url()
            ),
        );
        desk.home
            .put("config.yaml", "kanban:\n  failure_limit: 1000\n");
        Self {
            desk,
            asked,
            _server: server,
        }
    }

    fn file(&self, number: usize) -> String {
        let title = format!("card {number}");
        self.desk.create(&title, &["--assignee", "builder"])
    }

    /// One look at the board; gives the attempts that began.
    fn dispatch(&self) -> Vec<Attempt> {
        let most = AT_ONCE.to_string();
        let report = self
            .desk
            .home
            .hermes(["kanban", "dispatch", "--json", "--max", &most])
            .env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "0")
            .on_host()
            .run();
        let spawned = report.succeeds().json()["spawned"].take();
        let cards = spawned.as_array().unwrap().iter();
        cards
            .map(|spawned| {
                let card = spawned["task_id"].as_str().unwrap().to_owned();
                let (run, pid): (i64, Option<i32>) = self
                    .board()
                    .query_row(
                        "SELECT id, worker_pid FROM task_runs WHERE task_id = ? \
                         ORDER BY id DESC LIMIT 1",
                        [&card],
                        |row| Ok((row.get(0)?, row.get(1)?)),
                    )
                    .unwrap();
                let pid = pid.and_then(Pid::from_raw);
                Attempt { card, run, pid }
            })
            .collect()
    }

    fn board(&self) -> Connection {
        Connection::open(self.desk.home.path("kanban.db")).unwrap()
    }

    fn sessions(&self) -> Option<Connection> {
        let path = self.desk.home.path("profiles/builder/state.db");
        path.exists().then(|| Connection::open(path).unwrap())
    }

    /// Whether the worker came to its end by itself: it says so last.
    fn ended_by_itself(&self, attempt: &Attempt) -> bool {
        let path = self
            .desk
            .home
            .path(&format!("kanban/logs/{}.exit", attempt.card));
        let record = std::fs::read_to_string(path).unwrap_or_default();
        let record: Value = serde_json::from_str(&record).unwrap_or_default();
        record["run_id"] == attempt.run && record["code"].is_i64()
    }

    /// What is stored of every session.
    fn stored(&self) -> BTreeMap<String, Vec<Value>> {
        let mut sessions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let Some(database) = self.sessions() else {
            return sessions;
        };
        let mut rows = database
            .prepare("SELECT session_id, role, tool_calls, tool_call_id FROM messages ORDER BY id")
            .unwrap();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let calls: Option<String> = row.get(2).unwrap();
            let calls: Value =
                calls.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
            let message = json!({
                "role": row.get::<_, String>(1).unwrap(),
                "tool_calls": calls,
                "tool_call_id": row.get::<_, Option<String>>(3).unwrap(),
            });
            sessions
                .entry(row.get(0).unwrap())
                .or_default()
                .push(message);
        }
        sessions
    }

    /// Everything that must hold whenever nobody is in the middle of a transaction.
    fn check(&self) {
        let stored: BTreeMap<String, Vec<String>> = self
            .stored()
            .into_iter()
            .map(|(session, messages)| {
                assert_eq!(messages[0]["role"], "user", "{session}");
                let ids = call_ids(&messages).unwrap();
                (session, ids)
            })
            .collect();
        for question in self.asked.lock().unwrap().iter() {
            let ids = question.calls.as_ref().unwrap();
            // What was sent had been stored before, in this order.
            let Some(first) = ids.first() else { continue };
            let session = stored.values().find(|kept| kept.first() == Some(first));
            let kept = session.unwrap_or_else(|| panic!("{first} is lost"));
            assert_eq!(ids[..], kept[..ids.len().min(kept.len())]);
        }
        let board = self.board();
        let count = |sql: &str| -> i64 { board.query_row(sql, [], |row| row.get(0)).unwrap() };
        let torn = count(
            "SELECT count(*) FROM tasks WHERE
                (status = 'running') <> (claim_lock IS NOT NULL)
                OR (status = 'running') <> (current_run_id IS NOT NULL)
                OR (status <> 'running' AND worker_pid IS NOT NULL)
                OR (status = 'running') <> (1 = (SELECT count(*) FROM task_runs
                    WHERE task_id = tasks.id AND ended_at IS NULL))",
        );
        assert_eq!(torn, 0, "cards whose parts do not fit together");
        let twice = count(
            "SELECT count(*) FROM (SELECT 1 FROM task_events WHERE kind = 'completed'
                GROUP BY task_id HAVING count(*) > 1)",
        );
        assert_eq!(twice, 0, "cards that were completed twice");
        let given_up =
            count("SELECT count(*) FROM tasks WHERE status NOT IN ('ready','running','done')");
        assert_eq!(given_up, 0, "cards that stand elsewhere");
    }

    /// A person goes on with a session whose worker is dead.
    fn go_on(&self, session: &str, calls: usize) {
        let args = ["-p", "builder", "chat", "-Q", "-q", GO_ON, "-r", session];
        let outcome = self.desk.home.run(args);
        outcome.succeeds().prints("gone on\n");
        let asked = self.asked.lock().unwrap();
        let last = asked.iter().rfind(|question| question.by_person).unwrap();
        assert_eq!(last.calls.as_ref().unwrap().len(), calls);
    }
}

/// Whether any thread is left. The first one may be a zombie already while another is still in the
/// middle of writing: until that has ended, its last transaction is on the disk but not yet seen.
fn is_alive(pid: Pid) -> bool {
    let process = format!("/proc/{}", pid.as_raw_pid());
    let threads = std::fs::read_dir(format!("{process}/task"));
    if threads.is_ok_and(|threads| threads.count() > 1) {
        return true;
    }
    let state = std::fs::read_to_string(format!("{process}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(')')?.1.trim_start().chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

#[test]
fn killed_a_hundred_times_every_card_is_done_and_nothing_is_lost() {
    let mut moments = Moments::new();
    let floor = Floor::new();
    let deadline = Instant::now() + PATIENCE;
    let in_time = || assert!(Instant::now() < deadline, "this takes too long");

    // How long a worker takes that nobody kills.
    let mut cards = vec![floor.file(0)];
    let begun = Instant::now();
    let first = floor.dispatch();
    while !floor.ended_by_itself(&first[0]) {
        in_time();
        std::thread::sleep(Duration::from_millis(5));
    }
    let life = begun.elapsed();

    let mut kills = 0;
    let mut seen = BTreeSet::new();
    let mut progress = BTreeSet::new();
    seen.extend(floor.stored().into_keys());
    while kills < KILLS {
        in_time();
        let open = floor.board().query_row(
            "SELECT count(*) FROM tasks WHERE status <> 'done'",
            [],
            |row| row.get::<_, i64>(0),
        );
        for _ in usize::try_from(open.unwrap()).unwrap()..AT_ONCE {
            cards.push(floor.file(cards.len()));
        }
        let attempts = floor.dispatch();
        let moments: Vec<Duration> = attempts.iter().map(|_| moments.before(life)).collect();
        std::thread::scope(|scope| {
            for (attempt, moment) in attempts.iter().zip(moments) {
                scope.spawn(move || {
                    std::thread::sleep(moment);
                    // Gone already, perhaps; its record tells.
                    let Some(pid) = attempt.pid else { return };
                    let sent = kill_process(pid, Signal::KILL);
                    while sent.is_ok() && is_alive(pid) {
                        in_time();
                        std::thread::sleep(Duration::from_millis(1));
                    }
                });
            }
        });
        kills += attempts
            .iter()
            .filter(|attempt| !floor.ended_by_itself(attempt))
            .count();
        floor.check();
        for (session, messages) in floor.stored() {
            if seen.insert(session.clone()) {
                let calls = call_ids(&messages).unwrap().len();
                progress.insert(calls);
                floor.go_on(&session, calls);
            }
        }
    }
    // Nobody is killed any more: what is left comes to its end.
    while cards.iter().any(|card| floor.desk.status(card) != "done") {
        in_time();
        floor.dispatch();
        std::thread::sleep(Duration::from_millis(20));
    }
    floor.check();
    assert!(cards.len() > 1, "no card was ever done");
    assert!(
        progress.len() > 3,
        "killed at the same place only: {progress:?}"
    );
    for database in [floor.board(), floor.sessions().unwrap()] {
        let verdict: String = database
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(verdict, "ok");
    }
}
