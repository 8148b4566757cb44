//! Several processes on one file, and processes that die.
//!
//! The test program starts itself again with the same test, which then plays the other process.

#![expect(
    clippy::print_stdout,
    reason = "the other process tells the test what it did"
)]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hermes_session::{
    ConversationStep, Health, MessageRole, NewSession, SearchRequest, SessionId, SessionMessage,
    SessionStore, UsageRecord, check,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_store::{call, new_session, sql_in};

/// How long the writers write.
const SPAN: Duration = Duration::from_mins(1);
/// Writers at once.
const WRITERS: usize = 4;

/// Names the home to a process that plays a part in a test.
const HOME: &str = "SESSION_TEST_HOME";

/// This program as another process, playing its part in `test` on this home.
fn play(test: &str, home: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("processes::{test}"), "--nocapture"])
        .env(HOME, home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The home this process was given, if it plays a part.
fn given_home() -> Option<PathBuf> {
    std::env::var_os(HOME).map(PathBuf::from)
}

/// A step with two calls, as large as an ordinary one.
fn step(number: usize) -> ConversationStep {
    let (a, b) = (format!("a{number}"), format!("b{number}"));
    ConversationStep {
        assistant: SessionMessage {
            tool_calls: Some(json!([call(&a, "terminal"), call(&b, "read_file")])),
            ..SessionMessage::new(MessageRole::Assistant)
        },
        results: vec![
            SessionMessage::tool_result(
                a,
                "terminal",
                format!("output {number} {}", "line ".repeat(100)),
            ),
            SessionMessage::tool_result(b, "read_file", "content ".repeat(200)),
        ],
        usage: Some(UsageRecord {
            api_calls: 1,
            input_tokens: 10,
            ..UsageRecord::default()
        }),
    }
}

/// Writes until its time is over, then says how much and how long it waited at most.
fn write_for_a_while(home: &Path) {
    let mut store = SessionStore::open(home).unwrap();
    let id = store.create_session(&new_session("cli")).unwrap();
    let start = Instant::now();
    let mut longest = Duration::ZERO;
    let mut steps = 0;
    while start.elapsed() < SPAN {
        let before = Instant::now();
        store
            .append_user(&id, &SessionMessage::user(format!("question {steps}")))
            .unwrap();
        store.append_step(&id, &step(steps)).unwrap();
        longest = longest.max(before.elapsed());
        steps += 1;
    }
    println!("WROTE {id} {steps} {}", longest.as_millis());
}

// check 31
#[test]
fn four_concurrent_writers_lose_nothing() {
    if let Some(home) = given_home() {
        return write_for_a_while(&home);
    }
    let home = tempfile::tempdir().unwrap();
    let test = "four_concurrent_writers_lose_nothing";
    let children: Vec<Child> = (0..WRITERS).map(|_| play(test, home.path())).collect();
    let mut wrote = Vec::new();
    for mut child in children {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // To the end, or the other process cannot say its last words.
        let lines: Vec<String> = lines.map(Result::unwrap).collect();
        let line = lines.into_iter().find(|line| line.contains("WROTE "));
        assert!(child.wait().unwrap().success());
        wrote.push(line.unwrap());
    }
    let store = SessionStore::open_read_only(home.path()).unwrap().unwrap();
    for line in &wrote {
        let words: Vec<&str> = line
            .split_whitespace()
            .skip_while(|word| *word != "WROTE")
            .collect();
        let id = SessionId::parse(words[1]).unwrap();
        let steps: usize = words[2].parse().unwrap();
        let history = store.load_history(&id).unwrap();
        assert_eq!(
            (history.messages.len(), history.left_out.len()),
            (steps * 4, 0)
        );
        let session = store.session(&id).unwrap().unwrap();
        assert_eq!(
            session.counters.input_tokens,
            i64::try_from(steps * 10).unwrap()
        );
        // Two seconds are the aim; a machine that does other things at the same time gets more.
        let longest: u64 = words[3].parse().unwrap();
        assert!(
            longest < 5_000,
            "a write waited for {longest} ms: {wrote:?}"
        );
    }
    println!("{wrote:#?}");
    assert_eq!(check(home.path()).unwrap(), Health::Sound);
}

/// Writes turns until it is killed, saying when the person's first message is stored.
fn write_until_killed(home: &Path) {
    let mut store = SessionStore::open(home).unwrap();
    let id = store.create_session(&new_session("cli")).unwrap();
    for turn in 0.. {
        store
            .append_user(&id, &SessionMessage::user(format!("question {turn}")))
            .unwrap();
        if turn == 0 {
            println!("STARTED {id}");
        }
        for number in 0..8 {
            store.append_step(&id, &step(turn * 8 + number)).unwrap();
        }
    }
}

/// Starts a writer and waits for its first words.
fn started(home: &Path) -> (Child, SessionId) {
    let mut child = play("killed_writer_leaves_a_resumable_history", home);
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let line = lines.find(|line| line.contains("STARTED ")).unwrap();
    let (_, id) = line.split_once("STARTED ").unwrap();
    (child, SessionId::parse(id.trim()).unwrap())
}

// checks 13 and 14
#[test]
fn killed_writer_leaves_a_resumable_history() {
    if let Some(home) = given_home() {
        return write_until_killed(&home);
    }
    let home = tempfile::tempdir().unwrap();
    for round in 0..20_u64 {
        let (mut child, id) = started(home.path());
        // A different moment each time, from before the first answer to some turns later.
        std::thread::sleep(Duration::from_millis(round * 7));
        child.kill().unwrap();
        child.wait().unwrap();

        let mut store = SessionStore::open(home.path()).unwrap();
        let history = store.load_history(&id).unwrap();
        assert_eq!(history.left_out, [], "round {round}");
        assert_eq!(history.messages[0].message.text(), "question 0");
        // Whole steps behind whole steps: one of the person, then groups of three.
        let mut waiting = 0;
        for stored in &history.messages {
            match stored.message.role {
                MessageRole::Assistant => {
                    assert_eq!(waiting, 0, "round {round}");
                    waiting = stored.message.call_count();
                }
                MessageRole::Tool => waiting -= 1,
                _ => assert_eq!(waiting, 0, "round {round}"),
            }
        }
        assert_eq!(waiting, 0, "round {round}");
        let session = store.resume(&id).unwrap().session;
        let count = i64::try_from(history.messages.len()).unwrap();
        assert_eq!(session.counters.message_count, count);
        let steps = history
            .messages
            .iter()
            .filter(|m| m.message.role == MessageRole::Assistant)
            .count();
        assert_eq!(
            session.counters.api_call_count,
            i64::try_from(steps).unwrap()
        );
        store
            .append_user(&id, &SessionMessage::user("it goes on"))
            .unwrap();
        assert_eq!(
            store.load_history(&id).unwrap().messages.len(),
            history.messages.len() + 1
        );
    }
    assert_eq!(check(home.path()).unwrap(), Health::Sound);
}

/// Fills the disk, and finds everything that was confirmed.
fn fill_the_disk(home: &Path) {
    let mut store = SessionStore::open(home).unwrap();
    let id = store.create_session(&new_session("cli")).unwrap();
    let text = "words that fill the disk ".repeat(400);
    let mut stored = 0;
    let refused = loop {
        match store.append_user(&id, &SessionMessage::user(text.as_str())) {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 1_000, "the disk never fills");
    };
    assert!(refused.is_storage_full(), "{refused}");
    assert!(refused.hint().is_some());
    assert_eq!(store.load_history(&id).unwrap().messages.len(), stored);
    drop(store);
    // With room again it goes on.
    std::fs::remove_file(home.join("ballast")).unwrap();
    let mut store = SessionStore::open(home).unwrap();
    store
        .append_user(&id, &SessionMessage::user("room again"))
        .unwrap();
    assert_eq!(store.load_history(&id).unwrap().messages.len(), stored + 1);
    drop(store);
    assert_eq!(check(home).unwrap(), Health::Sound);
    println!("FILLED {stored}");
}

#[test]
fn full_disk_loses_nothing() {
    if let Some(home) = given_home() {
        return fill_the_disk(&home);
    }
    let home = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=4m tmpfs \"$SESSION_TEST_HOME\" &&
                  head -c 1m /dev/zero > \"$SESSION_TEST_HOME/ballast\" &&
                  exec \"$0\" --exact processes::full_disk_loses_nothing --nocapture";
    let uid = std::fs::metadata("/proc/self").unwrap().uid();
    // Root needs no namespace of users, and may not be allowed one in a container.
    let become_root = (uid != 0).then_some("--map-root-user");
    let output = Command::new("unshare")
        .arg("--mount")
        .args(become_root)
        .args(["sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(HOME, home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let cried = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("FILLED "),
        "{said}\n{cried}"
    );
}

#[test]
fn concurrent_processes_can_create_the_file() {
    let home = tempfile::tempdir().unwrap();
    let stores: Vec<_> = std::thread::scope(|scope| {
        let open = || SessionStore::open(home.path());
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for store in stores {
        let new = NewSession {
            source: "cli".to_owned(),
            ..NewSession::default()
        };
        store.unwrap().create_session(&new).unwrap();
    }
    let store = SessionStore::open(home.path()).unwrap();
    assert_eq!(store.stats().unwrap().total_sessions, 8);
    let request = SearchRequest {
        query: "x".to_owned(),
        ..SearchRequest::default()
    };
    assert_eq!(store.search(&request).unwrap(), []);
    sql_in(home.path(), "SELECT 1 FROM schema_version");
}
