//! Background processes with real supervisors.

use std::time::{Duration, Instant};

use hermes_terminal::SessionKey;
use hermes_terminal::background::{EndReason, NoticeKind};
use hermes_tools::NoticeSupport;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use hermes_testkit::eventually;

use super::world::{World, is_alive};

impl World {
    fn start(&self, command: &str) -> String {
        self.start_with(json!({ "command": command }))
    }

    pub(crate) fn start_with(&self, mut args: Value) -> String {
        args["background"] = json!(true);
        let result = self.call(args);
        assert_eq!(result["exit_code"], 0, "{result}");
        result["session_id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn process(&self, args: Value) -> Value {
        self.process_in("main", args)
    }

    fn wait(&self, id: &str) -> Value {
        self.process(json!({"action": "wait", "session_id": id, "timeout": 20}))
    }

    pub(crate) fn notices(&self) -> Vec<hermes_terminal::background::Notice> {
        self.terminal
            .processes()
            .drain_notices(&SessionKey::new("main"))
    }

    fn entries(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("home/processes.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Waits until every process of the session has ended, without being shown the end of any.
    pub(crate) fn idle(&self) {
        let processes = self.terminal.processes_of(&SessionKey::new("main"));
        eventually("every process has ended", || {
            processes.list(0).iter().all(|one| one.ending.is_some())
        });
    }
}

#[test]
fn a_process_has_the_sessions_state_and_its_output_is_seen_while_it_runs() {
    let world = World::new();
    std::fs::create_dir(world.path("work/sub")).unwrap();
    world.output("export A=exported; f() { echo func; }; cd sub");
    let result = world.call(
        json!({"command": "echo $A; f; basename $PWD; read x; sleep 30", "background": true}),
    );
    let id = result["session_id"].as_str().unwrap();
    assert!(id.starts_with("proc_") && id.len() == 17, "{id}");
    assert_eq!(result["output"], "Background process started");
    assert!(result["hint"].is_string());
    let pid = result["pid"].as_u64().unwrap();
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
    let started = Instant::now();
    eventually("output", || {
        let poll = world.process(json!({"action": "poll", "session_id": id}));
        poll["output_preview"] == "exported\nfunc\nsub\n"
    });
    assert!(started.elapsed() < Duration::from_secs(2));
    let entry = &world.entries()[0];
    assert_eq!(entry["pid"], pid);
    assert_eq!(entry["pid_scope"], "host");
    assert_eq!(entry["session_key"], "main");
    let killed = world.process(json!({"action": "kill", "session_id": id}));
    assert_eq!(killed["status"], "killed");
    assert_eq!(killed["completion_reason"], "killed");
    assert_eq!(killed["termination_source"], "process.kill");
    assert_eq!(killed["exit_code"], -15);
    assert_eq!(
        world.process(json!({"action": "kill", "session_id": id}))["status"],
        "already_exited"
    );
    assert_eq!(world.entries(), [] as [Value; 0]);
}

#[test]
fn exit_codes_come_through_and_there_is_no_noise() {
    let world = World::new();
    let id = world.start("echo out; echo err >&2; exit 7");
    let result = world.wait(&id);
    assert_eq!(result["status"], "exited");
    assert_eq!(result["exit_code"], 7);
    assert_eq!(result["completion_reason"], "exited");
    assert_eq!(result["output"], "out\nerr\n");
    let id = world.start("kill -9 $$");
    assert_eq!(world.wait(&id)["exit_code"], -9);
    let id = world.start("sleep 30 & echo parent gone");
    let result = world.wait(&id);
    assert_eq!(
        (&result["exit_code"], &result["output"]),
        (&json!(0), &json!("parent gone\n"))
    );
    world
        .terminal
        .processes()
        .kill_started("stop", Duration::from_secs(1));
}

#[test]
fn wrong_calls_are_answered() {
    let world = World::new();
    assert_eq!(
        world.process(json!({"action": "poll"})),
        json!({"error": "session_id is required for poll"})
    );
    assert!(
        world.process(json!({"action": "dance"}))["error"]
            .as_str()
            .unwrap()
            .contains("submit")
    );
    assert!(world.process(json!({}))["error"].is_string());
    assert_eq!(
        world.process(json!({"action": "poll", "session_id": 5}))["status"],
        "not_found"
    );
    let result = world.call(json!({"command": "true", "background": true, "workdir": "/nowhere"}));
    assert_eq!(result["exit_code"], 126);
    let id = world.start("true");
    assert!(
        world.process(json!({"action": "log", "session_id": id, "limit": 0}))["error"].is_string()
    );
    assert!(
        world.process(json!({"action": "log", "session_id": id, "offset": -1}))["error"]
            .is_string()
    );
    assert!(
        world.process(json!({"action": "wait", "session_id": id, "timeout": 0}))["error"]
            .is_string()
    );
    world.idle();
}

#[test]
fn a_log_is_read_from_either_end() {
    let world = World::new();
    let id = world.start("seq 500");
    world.wait(&id);
    let log = |args: Value| {
        let mut all = json!({"action": "log", "session_id": id});
        all.as_object_mut()
            .unwrap()
            .extend(args.as_object().unwrap().clone());
        world.process(all)
    };
    let end = log(json!({}));
    assert_eq!(end["total_lines"], 500);
    assert_eq!(end["showing"], "lines 301-500 of 500");
    assert!(end["output"].as_str().unwrap().starts_with("301\n"));
    assert_eq!(log(json!({"offset": 0, "limit": 2}))["output"], "1\n2");
    assert_eq!(log(json!({"offset": 499}))["output"], "500");
    assert_eq!(log(json!({"offset": 9999}))["output"], "");
}

#[test]
fn the_end_is_told_once_unless_it_was_shown() {
    // check 25
    let world = World::new();
    let notify =
        |command: &str| world.start_with(json!({"command": command, "notify_on_complete": true}));
    let id = notify("echo done; exit 3");
    world.idle();
    world.process(json!({"action": "poll", "session_id": id}));
    let notices = world.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0].process_id, id);
    assert_eq!(notices[0].output, "done");
    assert!(
        matches!(&notices[0].kind, NoticeKind::Completion(ending) if ending.exit_code == Some(3) && ending.reason == EndReason::Exited)
    );
    assert!(notices[0].message().starts_with(&format!(
        "[IMPORTANT: Background process {id} exited (exit code 3)."
    )));
    assert_eq!(world.notices(), []);

    let id = notify("echo done");
    world.wait(&id);
    let id = notify("echo done");
    world.idle();
    world.process(json!({"action": "log", "session_id": id}));
    let id = notify("sleep 60");
    world.process(json!({"action": "kill", "session_id": id}));
    let quiet = world.start("true");
    world.idle();
    assert_eq!(world.notices(), []);
    assert_eq!(
        world.process(json!({"action": "poll", "session_id": quiet}))["status"],
        "exited"
    );
    // In a terminal, where the user saw it, asking is enough.
    let mut world = world;
    world.notices = NoticeSupport::DeliveredUnlessShown;
    let id = world.start_with(json!({"command": "true", "notify_on_complete": true}));
    world.idle();
    world.process(json!({"action": "poll", "session_id": id}));
    assert_eq!(world.notices(), []);
}

#[test]
fn sessions_that_cannot_hear_are_told_so() {
    // check 25
    let mut world = World::new();
    world.notices = NoticeSupport::Unsupported("one answer only".into());
    let result =
        world.call(json!({"command": "true", "background": true, "notify_on_complete": true}));
    assert_eq!(result["notify_on_complete"], false);
    assert_eq!(result["notify_unsupported"], "one answer only");
    world.notices = NoticeSupport::Delivered;
    let result = world.call(json!({"command": "true", "background": true, "notify_on_complete": true, "watch_patterns": ["x"]}));
    assert_eq!(result["notify_on_complete"], true);
    assert!(result["watch_patterns_ignored"].is_string());
    assert_eq!(result.get("watch_patterns"), None);
    world.idle();
}

#[test]
fn the_first_line_is_watched_and_so_is_one_in_two_pieces() {
    // check 24
    let world = World::new();
    let id = world.start_with(json!({"command": "echo READY one; sleep 0.2; echo other; sleep 30", "watch_patterns": ["READY"]}));
    eventually("the match", || {
        let listed = world.process(json!({"action": "list"}));
        listed["processes"][0]["watch_hit"] == true
    });
    let notices = world.notices();
    assert_eq!(notices.len(), 1);
    assert!(matches!(notices[0].kind, NoticeKind::WatchMatch { .. }));
    assert_eq!(notices[0].output, "READY one");
    world.process(json!({"action": "kill", "session_id": id}));
    let id = world.start_with(json!({"command": "printf REA; sleep 0.3; printf 'DY two\\n'; sleep 0.2; printf 'READY never ends'", "watch_patterns": ["READY"]}));
    world.wait(&id);
    let notices = world.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0].output, "READY two");
}

#[test]
fn a_kill_reaches_the_deaf_and_the_escaped() {
    let world = World::with(|settings| settings.background_grace = Duration::from_millis(500));
    let id = world.start(
        "trap '' TERM; echo $$ > pid; setsid sh -c 'trap \"\" TERM; echo $$ > pid2; while :; do sleep 1; done' & while :; do sleep 1; done",
    );
    eventually("both run", || {
        ["pid", "pid2"].iter().all(|name| {
            std::fs::read_to_string(world.path(&format!("work/{name}")))
                .is_ok_and(|text| text.ends_with('\n'))
        })
    });
    let started = Instant::now();
    let killed = world.process(json!({"action": "kill", "session_id": id}));
    assert!(
        started.elapsed() < Duration::from_millis(1500),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(killed["status"], "killed", "{killed}");
    assert_eq!(killed["exit_code"], -9);
    assert!(!is_alive(&world.path("work/pid")) && !is_alive(&world.path("work/pid2")));
}

#[test]
fn without_grace_there_is_only_a_request() {
    let world = World::with(|settings| settings.background_grace = Duration::ZERO);
    let id = world.start("trap '' TERM; echo up; while :; do sleep 0.1; done");
    eventually("it runs", || {
        world.process(json!({"action": "poll", "session_id": id}))["output_preview"] == "up\n"
    });
    let result = world.process(json!({"action": "kill", "session_id": id}));
    assert_eq!(result["status"], "error");
    assert_eq!(
        world.process(json!({"action": "poll", "session_id": id}))["status"],
        "running"
    );
    assert_eq!(
        world
            .terminal
            .processes()
            .kill_started("stop", Duration::from_millis(100)),
        1
    );
}

#[test]
fn a_terminal_takes_input_and_a_pipe_does_not() {
    let world = World::new();
    let pipe = world.start("sleep 30");
    let refused = world.process(json!({"action": "write", "session_id": pipe, "data": "x"}));
    assert_eq!(refused["status"], "error");
    assert!(refused["error"].as_str().unwrap().contains("pty=true"));
    world.process(json!({"action": "kill", "session_id": pipe}));
    let id = world.start_with(
        json!({"command": "stty size; tty -s && echo on a terminal; cat", "pty": true}),
    );
    let sent = world.process(json!({"action": "submit", "session_id": id, "data": "hello"}));
    assert_eq!(sent, json!({"status": "ok", "bytes_written": 6}));
    eventually("the echo", || {
        let poll = world.process(json!({"action": "poll", "session_id": id}));
        poll["output_preview"]
            .as_str()
            .unwrap()
            .matches("hello")
            .count()
            == 2
    });
    assert_eq!(
        world.process(json!({"action": "close", "session_id": id}))["status"],
        "ok"
    );
    let result = world.wait(&id);
    assert_eq!(result["exit_code"], 0);
    let output = result["output"].as_str().unwrap();
    assert!(
        output.contains("30 120\n") && output.contains("on a terminal\n"),
        "{output:?}"
    );
    let gone = world.process(json!({"action": "write", "session_id": id, "data": "x"}));
    assert_eq!(gone["status"], "already_exited");
    let token = world.call(
        json!({"command": "true || gh auth login --with-token", "background": true, "pty": true}),
    );
    assert!(token["pty_note"].is_string());
    world.idle();
}

#[test]
fn waiting_is_bounded_and_can_be_interrupted() {
    let world = World::with(|settings| settings.timeout = Duration::from_secs(1));
    let id = world.start("sleep 60");
    let started = Instant::now();
    let result = world.process(json!({"action": "wait", "session_id": id, "timeout": 50}));
    assert!(started.elapsed() < Duration::from_secs(3));
    assert_eq!(result["status"], "timeout");
    assert!(result["timeout_note"].as_str().unwrap().contains("50"));
    world.interrupt.raise();
    assert_eq!(world.wait(&id)["status"], "interrupted");
    world.interrupt.clear();
    world.process(json!({"action": "kill", "session_id": id}));
}

#[test]
fn a_session_sees_its_own_processes_and_no_others() {
    // check 28
    let world = World::new();
    let id = &world.start("sleep 60 # correct-horse-battery-staple");
    let listed = world.process(json!({"action": "list"}));
    let row = &listed["processes"][0];
    assert_eq!(row["session_id"], *id);
    assert_eq!(row["command"], "sleep 60 # ***");
    assert_eq!(row["status"], "running");
    assert_eq!(row["started_at"].as_str().unwrap().len(), 19);
    assert_eq!(
        world.process_in("other", json!({"action": "list"})),
        json!({"processes": []})
    );
    for action in ["poll", "log", "wait", "kill", "write", "submit", "close"] {
        let answer = world.process_in("other", json!({"action": action, "session_id": id}));
        assert_eq!(answer["status"], "not_found", "{action}");
    }
    let grace = Duration::from_secs(1);
    assert_eq!(world.terminal.processes().kill_started("stop", grace), 1);
}

#[test]
fn the_sixty_fifth_is_refused_and_makes_no_difference() {
    let world = World::new();
    for _ in 0..64 {
        world.start("sleep 300");
    }
    let refused = world.call(json!({"command": "sleep 300", "background": true}));
    assert_eq!(refused["status"], "error");
    assert!(refused["error"].as_str().unwrap().contains("64"));
    let grace = Duration::from_secs(1);
    assert_eq!(world.terminal.processes().kill_started("stop", grace), 64);
    assert_eq!(world.wait(&world.start("true"))["exit_code"], 0);
}

#[test]
fn after_a_restart_output_and_exit_code_are_still_there() {
    let world = World::new();
    let ended =
        world.start_with(json!({"command": "echo early; exit 5", "notify_on_complete": true}));
    world.idle();
    let running = world.start_with(
        json!({"command": "echo before; sleep 1; echo after; exit 4", "notify_on_complete": true}),
    );
    let home = world.path("home");
    let pty = world.start_with(json!({"command": "cat", "pty": true}));
    eventually("it printed", || {
        world.process(json!({"action": "poll", "session_id": running}))["output_preview"]
            == "before\n"
    });
    // The owner in the file is this very process; another Hermes would find it dead.
    let text = std::fs::read_to_string(home.join("processes.json")).unwrap();
    let second = World::at(world.dir);
    drop(world.terminal);
    std::fs::write(home.join("processes.json"), text).unwrap();
    assert_eq!(second.terminal.processes().recover().unwrap(), 2);
    let poll = second.process(json!({"action": "poll", "session_id": running}));
    assert_eq!(poll["detached"], true, "{poll}");
    assert!(poll["note"].is_string());
    assert_eq!(
        second.process(json!({"action": "submit", "session_id": pty, "data": "typed"}))["status"],
        "ok"
    );
    assert_eq!(
        second.process(json!({"action": "close", "session_id": pty}))["status"],
        "ok"
    );
    assert_eq!(second.wait(&pty)["exit_code"], 0);
    second.idle();
    let notices = second.notices();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].process_id, running);
    assert_eq!(notices[0].output, "before\nafter");
    assert!(
        matches!(&notices[0].kind, NoticeKind::Completion(ending) if ending.exit_code == Some(4))
    );
    assert_eq!(
        second.process(json!({"action": "poll", "session_id": ended}))["status"],
        "not_found"
    );
}

#[test]
fn a_process_that_ended_meanwhile_is_told_and_a_recycled_pid_is_not_touched() {
    let world = World::new();
    let me = std::process::id();
    let start = hermes_proc::start_time_of(me).unwrap();
    let entry = |id: &str, start: u64| {
        json!({
            "session_id": id, "command": "make", "pid": me, "pid_scope": "host", "host_start_time": start,
            "cwd": "/", "started_at": 1.5, "task_id": "main", "session_key": "main",
            "notify_on_complete": true, "watch_patterns": [], "future_field": {"kept": true},
        })
    };
    let mut sandboxed = entry("proc_box", start);
    sandboxed["pid_scope"] = json!("sandbox");
    std::fs::create_dir_all(world.path("home/cache/proc")).unwrap();
    std::fs::write(
        world.path("home/cache/proc/proc_done.exit"),
        r#"{"exit_code": 9}"#,
    )
    .unwrap();
    std::fs::write(world.path("home/cache/proc/proc_done.log"), "the log\n").unwrap();
    let all = json!([entry("proc_recycled", start - 1), entry("proc_done", start - 1), sandboxed, 5, {"session_id": "odd"}]);
    std::fs::write(world.path("home/processes.json"), all.to_string()).unwrap();
    assert_eq!(world.terminal.processes().recover().unwrap(), 0);
    let notices = world.notices();
    let codes: Vec<_> = notices
        .iter()
        .map(|notice| match &notice.kind {
            NoticeKind::Completion(ending) => (
                notice.process_id.as_str(),
                ending.exit_code,
                notice.output.as_str(),
            ),
            _ => panic!("{notice:?}"),
        })
        .collect();
    assert_eq!(
        codes,
        [
            ("proc_recycled", None, ""),
            ("proc_done", Some(9), "the log")
        ]
    );
    let killed = world.process(json!({"action": "kill", "session_id": "proc_recycled"}));
    assert_eq!(killed["status"], "already_exited");
    // An entry of the reference with a live process is adopted, without its output.
    std::fs::write(
        world.path("home/processes.json"),
        json!([entry("proc_live", start)]).to_string(),
    )
    .unwrap();
    assert_eq!(world.terminal.processes().recover().unwrap(), 1);
    assert_eq!(
        world.process(json!({"action": "poll", "session_id": "proc_live"}))["status"],
        "running"
    );
    assert_eq!(world.entries()[0]["future_field"], json!({"kept": true}));
}

#[test]
fn a_truncated_file_is_moved_aside_and_everything_goes_on() {
    let world = World::new();
    std::fs::write(
        world.path("home/processes.json"),
        "[{\"session_id\": \"proc_x\", ",
    )
    .unwrap();
    assert_eq!(world.terminal.processes().recover().unwrap(), 0);
    let names: Vec<_> = std::fs::read_dir(world.path("home"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("processes.json.bad-")),
        "{names:?}"
    );
    assert_eq!(world.wait(&world.start("echo fine"))["output"], "fine\n");
}

#[test]
fn a_lost_supervisor_is_noticed_and_takes_its_process_along() {
    let world = World::new();
    let command = "echo $PPID > ppid; setsid sh -c 'echo $$ > escaped; exec sleep 60' & echo $$ > pid; exec sleep 60";
    let id = world.start_with(json!({"command": command, "notify_on_complete": true}));
    eventually("it runs", || {
        ["pid", "escaped"].iter().all(|name| {
            let text = std::fs::read_to_string(world.path("work").join(name));
            text.is_ok_and(|text| text.ends_with('\n'))
        })
    });
    let supervisor = std::fs::read_to_string(world.path("work/ppid")).unwrap();
    world.output(&format!("kill -9 {supervisor}"));
    world.idle();
    let poll = world.process(json!({"action": "poll", "session_id": id}));
    assert_eq!(
        (&poll["completion_reason"], &poll["exit_code"]),
        (&json!("lost"), &json!(-1))
    );
    assert_eq!(world.notices().len(), 1);
    eventually("nothing of it is left", || {
        ["work/pid", "work/escaped"]
            .iter()
            .all(|name| !is_alive(&world.path(name)))
    });
}

/// A process with a watched word, one part of which is printed when a file appears.
fn watched(world: &World, end: &str) -> String {
    let command = format!(
        "echo $PPID > ppid; echo READY first; until [ -e {0} ]; do sleep 0.05; done; echo READY second; {end}",
        world.path("work/go").display()
    );
    let id = world.start_with(json!({"command": command, "watch_patterns": ["READY"]}));
    eventually("the first match", || {
        world.process(json!({"action": "list"}))["processes"][0]["watch_hit"] == true
    });
    assert_eq!(world.notices().len(), 1);
    id
}

#[test]
fn what_is_printed_while_nobody_listens_is_watched_all_the_same() {
    for end in ["sleep 60", "true"] {
        let world = World::new();
        let id = watched(&world, end);
        let World { dir, terminal, .. } = world;
        let supervisor = std::fs::read_to_string(dir.path().join("work/ppid")).unwrap();
        let connections = || {
            let open = std::fs::read_dir(format!("/proc/{}/fd", supervisor.trim())).unwrap();
            let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
            let sockets = links.filter(|link| {
                link.to_str()
                    .is_some_and(|name| name.starts_with("socket:"))
            });
            sockets.count()
        };
        let before = connections();
        drop(terminal);
        eventually("the supervisor is alone", || connections() < before);
        std::fs::write(dir.path().join("work/go"), "").unwrap();
        let directory = dir.path().join("home/cache/proc");
        let printed = |name: &str| {
            let text = std::fs::read_to_string(directory.join(format!("{id}.{name}")));
            text.unwrap_or_default()
        };
        eventually("it has printed", || printed("log").contains("second"));
        if end == "true" {
            eventually("it has ended", || !printed("exit").is_empty());
        }
        let world = World::at(dir);
        world.terminal.processes().recover().unwrap();
        let mut notices = Vec::new();
        eventually("the second match", || {
            notices.extend(world.notices());
            !notices.is_empty()
        });
        assert_eq!(notices.len(), 1, "{end}: {notices:?}");
        assert!(matches!(notices[0].kind, NoticeKind::WatchMatch { .. }));
        assert_eq!(notices[0].output, "READY second", "{end}");
        world.process(json!({"action": "kill", "session_id": id}));
    }
}

#[test]
fn much_output_does_not_stop_the_job_or_fill_the_disk() {
    let world = World::new();
    let id =
        world.start("head -c 30000000 /dev/zero | tr '\\0' 'x' | fold -w 99; echo; echo the-end");
    let result = world.wait(&id);
    assert_eq!(result["exit_code"], 0, "{}", result["status"]);
    assert!(result["output"].as_str().unwrap().ends_with("the-end\n"));
    let log = std::fs::metadata(world.path(&format!("home/cache/proc/{id}.log"))).unwrap();
    assert!(log.len() <= 2 * 1024 * 1024);
}
