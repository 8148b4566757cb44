//! Several processes on one file, and processes that die.
//!
//! The test program starts itself again: an ignored test plays the other process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hermes_session::{
    Health, Message, NewSession, Role, SearchRequest, SessionId, SessionStore, Step, Usage, check,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{call, new_session, sql_in};

/// How long the writers write.
const SPAN: Duration = Duration::from_secs(6);
/// Writers at once.
const WRITERS: usize = 4;

/// This program as another process, playing the ignored test `role` on this home.
fn play(role: &str, home: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("processes::{role}"),
            "--ignored",
            "--nocapture",
        ])
        .env("SESSION_TEST_HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The home this process was given.
fn given_home() -> std::path::PathBuf {
    std::env::var_os("SESSION_TEST_HOME").unwrap().into()
}

/// A step with two calls, as large as an ordinary one.
fn step(number: usize) -> Step {
    let (a, b) = (format!("a{number}"), format!("b{number}"));
    Step {
        assistant: Message::calls(None, json!([call(&a, "terminal"), call(&b, "read_file")])),
        results: vec![
            Message::tool_result(
                a,
                "terminal",
                format!("output {number} {}", "line ".repeat(100)),
            ),
            Message::tool_result(b, "read_file", "content ".repeat(200)),
        ],
        usage: Some(Usage {
            api_calls: 1,
            input_tokens: 10,
            ..Usage::default()
        }),
    }
}

/// Writes until its time is over, then says how much and how long it waited at most.
#[test]
#[ignore = "played by another test"]
fn writer() {
    let mut store = SessionStore::open(&given_home()).unwrap();
    let id = store.create_session(&new_session("cli")).unwrap();
    let start = Instant::now();
    let mut longest = Duration::ZERO;
    let mut steps = 0;
    while start.elapsed() < SPAN {
        let before = Instant::now();
        store
            .append_user(&id, &Message::user(format!("question {steps}")))
            .unwrap();
        store.append_step(&id, &step(steps)).unwrap();
        longest = longest.max(before.elapsed());
        steps += 1;
    }
    println!("WROTE {id} {steps} {}", longest.as_millis());
}

// check 31
#[test]
fn four_processes_write_at_once_and_nothing_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let children: Vec<Child> = (0..WRITERS).map(|_| play("writer", home.path())).collect();
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
            longest < 10_000,
            "a write waited for {longest} ms: {wrote:?}"
        );
    }
    println!("{wrote:#?}");
    assert_eq!(check(home.path()).unwrap(), Health::Sound);
}
