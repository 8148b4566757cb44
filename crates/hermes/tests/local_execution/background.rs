//! Background processes through the `process` tool.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::talk::Talk;
use hermes_testkit::eventually;

use super::{Place, is_alive, text};

fn poll(talk: &mut Talk, id: &str) -> Value {
    talk.process(json!({"action": "poll", "session_id": id}))
}

fn kill(talk: &mut Talk, id: &str) -> Value {
    talk.process(json!({"action": "kill", "session_id": id}))
}

#[test]
fn a_process_has_an_id_and_its_output_is_seen_at_once() {
    // check 23
    let place = Place::new();
    let mut talk = place.talk();
    talk.output("mkdir sub; cd sub; export MINE=exported");
    let command = "echo $MINE ${PWD##*/}; date +%s%N > ../written; sleep 20";
    let result = talk.terminal(json!({"command": command, "background": true}));
    assert_eq!(result["output"], "Background process started");
    let id = text(&result, "session_id").to_owned();
    let digits = id.strip_prefix("proc_").unwrap();
    assert!(
        digits.len() == 12 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{id}"
    );
    assert!(is_alive(&result["pid"].to_string()));
    eventually("it has written", || place.work("written").exists());
    let written = Instant::now();
    while poll(&mut talk, &id)["output_preview"] != "exported sub\n" {
        assert!(
            written.elapsed() < Duration::from_millis(200),
            "output comes late"
        );
    }
    assert_eq!(kill(&mut talk, &id)["status"], "killed");
}

#[test]
fn a_process_ends_with_its_exit_code_and_without_noise() {
    // check 23
    let place = Place::new();
    let mut talk = place.talk();
    for pty in [false, true] {
        let id = talk.start("echo out; exit 7", pty);
        let end = talk.wait(&id);
        assert_eq!(end["exit_code"], 7, "{end}");
        assert_eq!(text(&end, "output").replace('\r', ""), "out\n");
    }
}

#[test]
fn a_kill_reaches_everything_and_says_so_once() {
    // check 26
    let place = Place::with_config("terminal: {daemon_term_grace_seconds: 0.5}\n");
    let mut talk = place.talk();
    let deaf = "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 1; done' & echo $$ > parent; while :; do sleep 1; done";
    let id = talk.start(deaf, false);
    let pid_in = |name: &str| std::fs::read_to_string(place.work(name)).unwrap_or_default();
    eventually("both run", || {
        pid_in("child").ends_with('\n') && pid_in("parent").ends_with('\n')
    });
    let started = Instant::now();
    let result = kill(&mut talk, &id);
    assert_eq!(result["status"], "killed", "{result}");
    assert!(
        started.elapsed() < Duration::from_millis(1500),
        "{:?}",
        started.elapsed()
    );
    for name in ["child", "parent"] {
        assert!(!is_alive(&pid_in(name)), "{name} lives");
    }
    assert_eq!(kill(&mut talk, &id)["status"], "already_exited");
}

#[test]
fn only_a_terminal_takes_input() {
    // check 26
    let place = Place::new();
    let mut talk = place.talk();
    let id = talk.start("sleep 20", false);
    let refused = talk.process(json!({"action": "write", "session_id": id, "data": "x"}));
    assert!(text(&refused, "error").contains("pty=true"), "{refused}");
    kill(&mut talk, &id);
    // What is typed at once is not lost, however early it comes.
    for _ in 0..10 {
        let id = talk.start("cat", true);
        let sent = talk.process(json!({"action": "submit", "session_id": id, "data": "hello"}));
        assert_eq!(sent, json!({"status": "ok", "bytes_written": 6}));
        // Once from the terminal, once from the program.
        eventually("it echoes", || {
            let seen = poll(&mut talk, &id);
            text(&seen, "output_preview").matches("hello").count() == 2
        });
        talk.process(json!({"action": "close", "session_id": id}));
        assert_eq!(talk.wait(&id)["exit_code"], 0);
    }
}

#[test]
fn a_process_with_a_recycled_number_is_not_ours() {
    // check 27
    let place = Place::new();
    let mut stranger = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let entry = json!([{
        "session_id": "proc_0123456789ab", "command": "sleep 60", "pid": stranger.id(),
        "pid_scope": "host", "host_start_time": 1, "cwd": "/", "started_at": 1.0,
        "task_id": "main", "session_key": "main", "notify_on_complete": false,
        "watch_patterns": [],
    }]);
    place.home.put("processes.json", entry.to_string());
    let mut talk = place.talk();
    let list = talk.process(json!({"action": "list"}));
    let running = |list: &Value| {
        let processes = list["processes"].as_array().unwrap();
        processes
            .iter()
            .filter(|one| one["status"] == "running")
            .count()
    };
    assert_eq!(running(&list), 0, "{list}");
    kill(&mut talk, "proc_0123456789ab");
    drop(talk);
    assert!(stranger.try_wait().unwrap().is_none(), "it was signalled");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_broken_list_of_processes_is_moved_aside() {
    // check 27
    let place = Place::new();
    place
        .home
        .put("processes.json", "[{\"session_id\": \"proc_01234");
    assert_eq!(place.output("echo works"), "works");
    let names = std::fs::read_dir(place.home.root()).unwrap();
    let kept = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("processes.json.bad-"));
    assert_eq!(kept.count(), 1);
}

#[test]
fn the_sixty_fifth_process_is_refused() {
    // check 27
    let place = Place::new();
    let mut talk = place.talk();
    let ids: Vec<String> = (0..64).map(|_| talk.start("sleep 60", false)).collect();
    let refused = talk.terminal(json!({"command": "touch ran", "background": true}));
    assert!(text(&refused, "error").contains("64"), "{refused}");
    assert!(!place.work("ran").exists());
    for id in ids {
        assert_eq!(kill(&mut talk, &id)["status"], "killed");
    }
}

#[test]
fn a_list_has_the_processes_of_its_session() {
    // check 28
    let place = Place::new();
    let mut talk = place.talk();
    let id = talk.start("sleep 20", false);
    let list = json!({"action": "list"});
    let own = talk.call_in("main", "process", &list);
    assert_eq!(own["processes"][0]["session_id"], id, "{own}");
    assert_eq!(own["processes"][0]["status"], "running");
    let other = talk.call_in("other", "process", &list);
    assert_eq!(other["processes"], json!([]));
    kill(&mut talk, &id);
}

#[test]
fn a_process_outlives_hermes_and_is_found_again() {
    // check 27: the entry that is adopted
    let place = Place::new();
    let mut talk = place.talk();
    let result = talk.terminal(json!({"command": "echo begun; sleep 30", "background": true}));
    let id = text(&result, "session_id").to_owned();
    talk.hermes.kill();
    assert!(is_alive(&result["pid"].to_string()));
    let mut talk = place.talk();
    eventually("its output is there", || {
        poll(&mut talk, &id)["output_preview"] == "begun\n"
    });
    assert_eq!(poll(&mut talk, &id)["status"], "running");
    assert_eq!(kill(&mut talk, &id)["status"], "killed");
    assert!(!is_alive(&result["pid"].to_string()));
}
