//! How the program ends: by a signal while commands run, at the end of its input, and what becomes of
//! processes in the background.

use hermes_testkit::Running;
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use hermes_testkit::eventually;

use super::{Place, is_alive, text};

/// Leaves nothing out: a child, one in a session of its own, and a daemon.
const FAMILY: &str = "echo begun; sleep 60 & echo $! > child; \
    setsid sh -c 'echo $$ > escaped; exec sleep 60' & \
    setsid sh -c '(setsid sh -c \"echo \\$\\$ > daemon; exec sleep 60\" &)'; \
    echo $$ > shell; wait";
const MEMBERS: [&str; 4] = ["child", "escaped", "daemon", "shell"];

fn place() -> Place {
    Place::with_config(
        "terminal: {foreground_guard: false}\napprovals: {noninteractive_mode: approve}\n",
    )
}

fn send(hermes: &Running, signal: Signal) {
    let pid = Pid::from_raw(hermes.pid().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn pid_in(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.work(name)).unwrap_or_default()
}

fn wait_for_family(place: &Place) {
    eventually("all of them run", || {
        MEMBERS
            .iter()
            .all(|name| pid_in(place, name).ends_with('\n'))
    });
}

#[track_caller]
fn family_is_gone(place: &Place) {
    for name in MEMBERS {
        assert!(!is_alive(&pid_in(place, name)), "{name} lives");
    }
}

fn rest(hermes: &Running) -> Vec<String> {
    std::iter::from_fn(|| hermes.next_line()).collect()
}

const SIGNALS: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];

#[test]
fn a_signal_ends_exec_with_all_it_started_and_shows_what_there_is() {
    // check 17
    for (signal, code) in SIGNALS {
        let place = place();
        let mut hermes = place.hermes(&["exec", "--", FAMILY]).start();
        wait_for_family(&place);
        send(&hermes, signal);
        assert_eq!(rest(&hermes), ["begun", "[Command interrupted]"]);
        assert_eq!(hermes.wait().code(), Some(code));
        family_is_gone(&place);
    }
}

#[test]
fn a_signal_ends_a_tool_call_with_its_result() {
    // check 17
    for (signal, code) in SIGNALS {
        let place = place();
        let call = json!({"command": FAMILY}).to_string();
        let run = place.hermes(&["tools", "call", "terminal", &call]);
        let mut hermes = run.start();
        wait_for_family(&place);
        send(&hermes, signal);
        let result: Value = serde_json::from_str(&rest(&hermes).concat()).unwrap();
        assert_eq!(result["output"], "begun\n[Command interrupted]");
        assert_eq!(result["exit_code"], 130);
        assert_eq!(hermes.wait().code(), Some(code));
        family_is_gone(&place);
    }
}

#[test]
fn a_signal_ends_a_script_and_what_it_runs() {
    // check 17
    let place = place();
    let code = format!("from hermes_tools import terminal\nterminal({FAMILY:?})");
    let call = json!({ "code": code }).to_string();
    let mut hermes = place
        .hermes(&["tools", "call", "execute_code", &call])
        .start();
    wait_for_family(&place);
    send(&hermes, Signal::TERM);
    let result: Value = serde_json::from_str(&rest(&hermes).concat()).unwrap();
    assert_eq!(result["status"], "interrupted", "{result}");
    assert_eq!(hermes.wait().code(), Some(143));
    family_is_gone(&place);
}

#[test]
fn a_signal_that_is_ignored_from_the_start_stays_ignored() {
    // check 17: as under nohup
    let place = place();
    let gate = place.work("gate");
    let made = std::process::Command::new("mkfifo").arg(&gate).status();
    assert!(made.unwrap().success());
    let mut hermes = place
        .hermes(&[
            "-c",
            "trap '' HUP; exec \"$HERMES\" exec -- 'echo $$ > shell; read line < gate; echo on'",
        ])
        .program("/bin/sh")
        .env("HERMES", place.home.program())
        .start();
    eventually("it runs", || pid_in(&place, "shell").ends_with('\n'));
    send(&hermes, Signal::HUP);
    std::fs::write(&gate, "now\n").unwrap();
    assert_eq!(rest(&hermes), ["on"]);
    assert_eq!(hermes.wait().code(), Some(0));
}

#[test]
fn a_signal_ends_a_conversation_between_two_calls_and_in_one() {
    // check 17
    for (signal, code) in SIGNALS {
        let place = place();
        let mut talk = place.talk();
        talk.output("true");
        send(&talk.hermes, signal);
        assert_eq!(rest(&talk.hermes), [] as [&str; 0]);
        assert_eq!(talk.hermes.wait().code(), Some(code));

        let mut talk = place.talk();
        talk.send("main", "terminal", &json!({"command": FAMILY}));
        // Already on its way when the signal comes; it is not begun.
        talk.send("main", "terminal", &json!({"command": "touch late"}));
        wait_for_family(&place);
        send(&talk.hermes, signal);
        let result = talk.answer();
        assert_eq!(result["output"], "begun\n[Command interrupted]");
        assert_eq!(rest(&talk.hermes), [] as [&str; 0]);
        assert_eq!(talk.hermes.wait().code(), Some(code));
        family_is_gone(&place);
        assert!(!place.work("late").exists());
    }
}

#[test]
fn who_does_not_want_to_wait_sends_a_second_signal() {
    // check 17
    let place = place();
    // Deaf to the first attempt to end it, so that there is time for the second.
    let command = "trap '' TERM; echo $$ > shell; while :; do sleep 1; done";
    let mut hermes = place.hermes(&["exec", "--", command]).start();
    eventually("it runs", || pid_in(&place, "shell").ends_with('\n'));
    send(&hermes, Signal::INT);
    eventually("the program is gone", || {
        send(&hermes, Signal::INT);
        std::thread::sleep(std::time::Duration::from_millis(20));
        !is_alive(&hermes.pid().to_string())
    });
    let status = hermes.wait();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    // Two signals that come together are one; then the command was waited for.
    assert!(signal == Some(2) || status.code() == Some(130), "{status}");
    eventually("the guard ends the command", || {
        !is_alive(&pid_in(&place, "shell"))
    });
}

/// Starts a process in the background and closes the input; whether it still runs afterwards, and
/// what the program said.
fn after_the_end(place: &Place) -> (bool, Vec<String>) {
    let mut talk = place.talk();
    let result = talk.terminal(json!({"command": "sleep 60", "background": true}));
    let pid = result["pid"].to_string();
    talk.hermes.close_stdin();
    assert_eq!(talk.hermes.wait().code(), Some(0));
    let alive = is_alive(&pid);
    if alive {
        // What is kept is found by the next program.
        let id = text(&result, "session_id").to_owned();
        let end = place
            .talk()
            .process(json!({"action": "kill", "session_id": id}));
        assert_eq!(end["status"], "killed", "{end}");
    }
    let mut said = Vec::new();
    eventually("it has said everything", || {
        said.extend(talk.hermes.errors());
        alive || !said.is_empty()
    });
    (alive, said)
}

#[test]
fn background_processes_end_with_the_conversation_unless_they_are_kept() {
    let (alive, said) = after_the_end(&Place::new());
    assert_eq!(
        (alive, said),
        (false, vec!["Stopped 1 background process.".to_owned()])
    );
    let kept = Place::with_config("terminal: {background_on_exit: keep}\n");
    assert_eq!(after_the_end(&kept), (true, Vec::new()));
}

#[test]
fn a_conversation_ends_its_own_processes_only() {
    let place = Place::new();
    // One call is no conversation: what it started goes on.
    let call = r#"{"command": "sleep 60", "background": true}"#;
    let first = place.hermes(&["tools", "call", "terminal", call]).run();
    let first = first.succeeds().json();
    let (mut one, mut other) = (place.talk(), place.talk());
    let second = one.terminal(json!({"command": "sleep 60", "background": true}));
    let third = other.terminal(json!({"command": "sleep 60", "background": true}));
    one.hermes.close_stdin();
    one.hermes.wait();
    let alive = [&first, &second, &third].map(|result| is_alive(&result["pid"].to_string()));
    assert_eq!(alive, [true, false, true]);
    send(&other.hermes, Signal::TERM);
    assert_eq!(other.hermes.wait().code(), Some(143));
    assert!(!is_alive(&third["pid"].to_string()));
    let id = text(&first, "session_id");
    let call = json!({"action": "kill", "session_id": id}).to_string();
    let killed = place.hermes(&["tools", "call", "process", &call]).run();
    assert_eq!(killed.succeeds().json()["status"], "killed");
}
