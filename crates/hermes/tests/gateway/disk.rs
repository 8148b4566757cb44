//! What a turn waits for the disk for, seen by the system calls of the gateway: nobody is told of
//! anything, and nothing comes of it, before it is on the disk; and nothing is waited for twice.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

use hermes_testkit::Running;
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::json;

use crate::api_restart::Api;
use crate::post::kill;

const TURNS: &str = "api_turns.db-wal";
const SESSIONS: &str = "state.db-wal";
/// Stands for the start of a program.
const PROGRAM: &str = "program";

/// The calls of a gateway that wait for the disk, and its starts of programs.
struct Trace<'a> {
    api: &'a Api,
    strace: Child,
    /// Open as long as it writes there.
    _said: BufReader<ChildStderr>,
}

impl<'a> Trace<'a> {
    fn of(api: &'a Api, gateway: &Running) -> Self {
        let mut strace = Command::new("strace")
            .args(["-f", "-y", "-s", "4096", "-e"])
            .args(["trace=fsync,fdatasync,execve", "-o"])
            .arg(api.post.home.outside("trace"))
            .args(["-p", &gateway.pid().to_string()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It says so once it sees everything.
        let mut said = BufReader::new(strace.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("attached"), "{line}");
        Self {
            api,
            strace,
            _said: said,
        }
    }

    /// The files that were waited for, and the programs, in order.
    fn end(mut self) -> Vec<&'static str> {
        kill(self.strace.id(), Signal::INT);
        self.strace.wait().unwrap();
        let text = std::fs::read_to_string(self.api.post.home.outside("trace")).unwrap();
        let lines = text.lines().filter(|line| !line.contains("resumed>"));
        let what = lines.filter_map(|line| {
            let names = [TURNS, SESSIONS];
            let file = names
                .into_iter()
                .find(|name| line.contains(&format!("/{name}>")));
            let is_start = line.contains("execve(");
            file.or_else(|| is_start.then_some(PROGRAM))
        });
        what.collect()
    }
}

/// A gateway whose model plays this script after a first answer, which makes the files.
fn warm(script: &str) -> (Api, Running) {
    let api = Api::playing(
        &format!("turns:\n  - {{match: first, text: Hello.}}\n{script}"),
        "",
    );
    let gateway = api.start();
    ask(&api, "first", false);
    (api, gateway)
}

#[track_caller]
fn ask(api: &Api, text: &str, stream: bool) -> String {
    let body = json!({"messages": [{"role": "user", "content": text}], "stream": stream});
    let reply = api.send("POST", "/v1/chat/completions", "", &body.to_string());
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body
}

#[test]
fn an_answer_that_comes_whole_waits_for_the_disk_once() {
    let (api, gateway) = warm("  - text: Whole.\n");
    let trace = Trace::of(&api, &gateway);
    let answer = ask(&api, "second", false);
    assert_eq!(trace.end(), [SESSIONS]);
    assert!(answer.contains("Whole."), "{answer}");
}

#[test]
fn a_stream_begins_once_its_turn_and_message_are_on_disk() {
    let (api, gateway) = warm("  - text: Streamed.\n");
    let trace = Trace::of(&api, &gateway);
    let answer = ask(&api, "second", true);
    let mut waits = trace.end();
    // The answer last; the beginning of the turn and the message may come in any order.
    assert_eq!(waits.pop(), Some(SESSIONS));
    waits.sort_unstable();
    assert_eq!(waits, [TURNS, SESSIONS]);
    assert!(answer.contains("Streamed."), "{answer}");
}

#[test]
fn a_tool_is_called_once_its_turn_and_message_are_on_disk() {
    let call = "  - {calls: [{tool: terminal, arguments: {command: 'ls /'}}]}\n";
    let (api, gateway) = warm(&format!("{call}  - text: Done.\n"));
    let trace = Trace::of(&api, &gateway);
    let answer = ask(&api, "second", false);
    let waits = trace.end();
    let first = waits.iter().position(|what| *what == PROGRAM);
    let mut before = waits[..first.expect("a program was started")].to_vec();
    before.sort_unstable();
    assert_eq!(before, [TURNS, SESSIONS], "{waits:?}");
    assert!(answer.contains("Done."), "{answer}");
}
