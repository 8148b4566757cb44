//! Two dispatchers, one board: each takes the workers of the other for what they are.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::reference::Version;
use crate::world::World;

with_each_reference!(
    a_worker_of_ours_is_seen_by_their_dispatcher,
    a_worker_of_theirs_is_seen_by_our_dispatcher,
    their_dispatcher_and_ours_take_turns,
);

/// A worker that says its number and waits.
const WORKER: &str = "#!/bin/sh\necho $$ > \"$HOME/worker.tmp\"\n\
                      mv \"$HOME/worker.tmp\" \"$HOME/worker.pid\"\nexec sleep 300\n";

struct Yard {
    world: World,
}

impl Yard {
    fn new(version: Version) -> Self {
        let mut world = World::empty(version);
        let program = world.home().join("worker");
        fs::write(&program, WORKER).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(world.root("profiles/alpha")).unwrap();
        // Version 0.15.1 starts whatever PATH calls by its name.
        let programs = world.home().join("bin");
        fs::create_dir_all(&programs).unwrap();
        fs::copy(&program, programs.join("hermes")).unwrap();
        world.variables = vec![
            ("HERMES_BIN", program),
            (
                "PATH",
                PathBuf::from(format!(
                    "{}:/usr/local/bin:/usr/bin:/bin",
                    programs.display()
                )),
            ),
            ("HERMES_KANBAN_CRASH_GRACE_SECONDS", PathBuf::from("0")),
        ];
        Self { world }
    }

    fn json(text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn ours(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = ["kanban"].iter().chain(args).copied().collect();
        Self::json(&self.world.ours(&[&args[..], &["--json"]].concat()))
    }

    fn theirs(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = ["kanban"].iter().chain(args).copied().collect();
        Self::json(&self.world.theirs(&[&args[..], &["--json"]].concat()))
    }

    fn card(&self) -> String {
        let card = self.ours(&["create", "x", "--assignee", "alpha"]);
        card["id"].as_str().unwrap().to_owned()
    }

    /// The number of the worker, once it runs.
    fn worker(&self) -> String {
        let path = self.world.home().join("worker.pid");
        let begin = Instant::now();
        loop {
            if let Ok(pid) = fs::read_to_string(&path) {
                return pid.trim().to_owned();
            }
            assert!(begin.elapsed() < Duration::from_mins(1), "no worker");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the worker from outside.
    fn kill(&self) {
        let pid = self.worker();
        let status = Command::new("kill").args(["-KILL", &pid]).status();
        assert!(status.unwrap().success());
        let stat = format!("/proc/{pid}/stat");
        let begin = Instant::now();
        // What has ended and was not waited for counts as ended.
        while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(begin.elapsed() < Duration::from_mins(1), "the worker lives");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn status(&self, id: &str) -> Value {
        self.ours(&["show", id])["task"]["status"].clone()
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        if let Ok(pid) = fs::read_to_string(self.world.home().join("worker.pid")) {
            // It may have ended.
            drop(Command::new("kill").args(["-KILL", pid.trim()]).output());
        }
    }
}

fn a_worker_of_ours_is_seen_by_their_dispatcher(version: Version) {
    let yard = Yard::new(version);
    let id = yard.card();
    let started = yard.ours(&["dispatch"]);
    assert_eq!(started["spawned"][0]["task_id"], json!(id));
    yard.worker();
    // Even their dry run sweeps for real.
    let swept = yard.theirs(&["dispatch", "--dry-run"]);
    assert_eq!(swept["crashed"], json!([]), "{swept}");
    assert_eq!(yard.status(&id), "running");
    yard.kill();
    let swept = yard.theirs(&["dispatch", "--dry-run"]);
    assert_eq!(swept["crashed"], json!([id]), "{swept}");
    let card = yard.ours(&["show", &id]);
    assert_eq!(card["task"]["status"], "ready");
    assert_eq!(card["runs"][0]["outcome"], "crashed");
    assert_eq!(card["task"]["consecutive_failures"], 1);
}

fn a_worker_of_theirs_is_seen_by_our_dispatcher(version: Version) {
    let yard = Yard::new(version);
    let id = yard.card();
    let started = yard.theirs(&["dispatch"]);
    assert_eq!(started["spawned"][0]["task_id"], json!(id), "{started}");
    yard.worker();
    let looked = yard.ours(&["dispatch"]);
    assert_eq!(
        (&looked["crashed"], &looked["spawned"]),
        (&json!([]), &json!([]))
    );
    let why = yard.ours(&["why", &id]);
    assert_eq!(why["verdicts"][0]["verdict"], "in_progress", "{why}");
    yard.kill();
    let looked = yard.ours(&["dispatch", "--dry-run"]);
    assert_eq!(looked["crashed"], json!([id]), "{looked}");
    assert_eq!(yard.status(&id), "running", "a dry run changes nothing");
    fs::remove_file(yard.world.home().join("worker.pid")).unwrap();
    let looked = yard.ours(&["dispatch"]);
    assert_eq!(looked["crashed"], json!([id]), "{looked}");
    let card = yard.theirs(&["show", &id]);
    assert_eq!(card["runs"][0]["outcome"], "crashed");
}

/// The lock of a tick came with 0.19.0; before, a conditional claim was all that kept two apart.
fn their_dispatcher_and_ours_take_turns(version: Version) {
    let yard = Yard::new(version);
    let id = yard.card();
    if version.has_config_get {
        let script = "import subprocess, sys\n\
                      from hermes_cli import kanban_db as kb\n\
                      with kb._dispatch_tick_lock(kb.kanban_db_path()) as held:\n\
                      \x20   assert held\n\
                      \x20   done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n\
                      \x20   print(done.stdout)";
        let ours = env!("CARGO_BIN_EXE_hermes");
        let args = [ours, "kanban", "dispatch", "--json"];
        let report = Yard::json(&yard.world.python(script, &args));
        assert_eq!(report["skipped_locked"], true);
        assert_eq!(report["spawned"], json!([]));
        assert_eq!(yard.status(&id), "ready");
    }
    let first = yard.theirs(&["dispatch"]);
    let second = yard.ours(&["dispatch"]);
    assert_eq!(first["spawned"][0]["task_id"], json!(id), "{first}");
    assert_eq!(second["spawned"], json!([]));
    assert_eq!(second["skipped_locked"], false);
}
