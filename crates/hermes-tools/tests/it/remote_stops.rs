//! Scripts in another place that are stopped, leave something behind or lose their connection.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hermes_proc::{identity_of, is_same_live_process};
use hermes_terminal::remote::{RemoteError, ScriptOutcome, ScriptRequest, ScriptRunner};
use hermes_tools::{CodeSettings, WriteRules};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::execute_code::{printed, run};
use crate::remote_scripts::{in_its_own_path, scripts_registry, stage, stage_with};
use crate::script_hosts::{Programs, ShellHost, Unreachable, unusable};
use crate::stage::Stage;

/// Runs a script that sleeps with a child, and says whether both are gone afterwards.
fn stopped(stage: &Stage, when_running: impl FnOnce() + Send) -> (Value, bool) {
    let code = "import subprocess, time, os\n\
        p = subprocess.Popen(['sleep', '300'])\n\
        print('said before')\n\
        open('pids', 'w').write('%d %d' % (os.getpid(), p.pid))\n\
        time.sleep(300)";
    let (result, processes) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(30);
            loop {
                let text = std::fs::read_to_string(stage.work("pids")).unwrap_or_default();
                let found: Vec<_> = text
                    .split(' ')
                    .filter_map(|pid| identity_of(pid.parse().ok()?))
                    .collect();
                if found.len() == 2 {
                    when_running();
                    return found;
                }
                assert!(Instant::now() < deadline, "the script never ran");
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        (run(stage, code), watcher.join().unwrap())
    });
    (result, !processes.iter().any(is_same_live_process))
}

#[test]
fn at_the_time_limit_it_is_stopped_and_what_it_said_is_kept() {
    for programs in [Programs::Gnu, Programs::Busybox] {
        let stage = stage_with(
            programs,
            CodeSettings {
                timeout: Duration::from_secs(3),
                ..CodeSettings::default()
            },
        );
        let (result, gone) = stopped(&stage, || {});
        assert_eq!(
            (&result["status"], &result["exit_code"]),
            (&json!("timeout"), &json!(124)),
            "{result}"
        );
        assert_eq!(
            result["output"],
            "said before\n\n[Script timed out after 3s and was stopped]"
        );
        assert!(gone, "{programs:?}");
    }
}

#[test]
fn an_interrupt_stops_it() {
    let stage = stage();
    let interrupt = Arc::clone(&stage.context.interrupt);
    let (result, gone) = stopped(&stage, move || interrupt.raise());
    assert_eq!(
        (&result["status"], &result["exit_code"]),
        (&json!("interrupted"), &json!(130)),
        "{result}"
    );
    assert_eq!(result["output"], "said before\n\n[Script interrupted]");
    assert!(gone);
}

#[test]
fn an_interrupt_stops_the_call_of_a_script_too() {
    let stage = stage();
    let interrupt = Arc::clone(&stage.context.interrupt);
    let marker = stage.work("started");
    let code = "from hermes_tools import terminal\n\
        open('started', 'w').close()\nprint(terminal('wait for the interrupt'))";
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(30);
            while !marker.exists() {
                assert!(Instant::now() < deadline, "the script never started");
                std::thread::sleep(Duration::from_millis(2));
            }
            interrupt.raise();
        });
        run(&stage, code)
    });
    assert_eq!(result["status"], "interrupted");
    assert_eq!(result.get("warning"), None, "the call was waited for");
}

#[test]
fn a_process_left_behind_does_not_hold_the_result() {
    let stage = stage();
    let started = Instant::now();
    let code = "import subprocess\np = subprocess.Popen(['sleep', '60'])\nprint(p.pid)";
    let output = printed(&stage, code);
    assert!(started.elapsed() < Duration::from_secs(30));
    let pid: i32 = output.trim().parse().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[test]
fn what_crashed_runs_left_is_swept_after_a_day() {
    let mine = format!("/tmp/hermes-script-test-{}", std::process::id());
    let (old, new) = (format!("{mine}-old"), format!("{mine}-new"));
    for path in [&old, &new] {
        std::fs::create_dir_all(path).unwrap();
    }
    let long_ago = std::time::SystemTime::now() - Duration::from_hours(72);
    let directory = std::fs::File::open(&old).unwrap();
    directory.set_modified(long_ago).unwrap();
    // Not followed, not removed.
    let elsewhere = tempfile::tempdir().unwrap();
    let link = format!("{mine}-link");
    symlink(elsewhere.path(), &link).unwrap();
    assert_eq!(printed(&stage(), "print(1)"), "1\n");
    assert!(!Path::new(&old).exists() && Path::new(&new).exists());
    assert!(elsewhere.path().exists());
    std::fs::remove_dir(&new).unwrap();
    std::fs::remove_file(&link).unwrap();
}

/// A place that breaks at one of its jobs.
struct Breaks {
    place: ShellHost,
    /// Part of the script that is not run any more.
    at: &'static str,
    seen: AtomicUsize,
    /// The directory of the script, which nobody removes over a connection that is lost.
    left: Mutex<Option<String>>,
}

impl Drop for Breaks {
    fn drop(&mut self) {
        let left = self.left.lock().unwrap().take();
        // Mostly it was removed all the same.
        drop(left.map(std::fs::remove_dir_all));
    }
}

impl ScriptRunner for Breaks {
    fn run_script(&self, job: &ScriptRequest<'_>) -> Result<ScriptOutcome, RemoteError> {
        if let Some((_, after)) = job.script.split_once("/tmp/hermes-script-") {
            let name = after.split(['\'', '/']).next().unwrap();
            *self.left.lock().unwrap() = Some(format!("/tmp/hermes-script-{name}"));
        }
        if job.script.contains(self.at) {
            self.seen.fetch_add(1, Ordering::Relaxed);
            return Err(unusable("the connection was lost"));
        }
        self.place.run_script(job)
    }

    fn describe(&self) -> String {
        "a bad line".to_owned()
    }
}

#[test]
fn a_broken_connection_ends_the_script_with_the_reason() {
    for at in [
        "field answered",
        "field requests",
        "field staged",
        "exec 3<",
    ] {
        let stage = Stage::with(scripts_registry(CodeSettings::default()));
        let place = ShellHost::new(Programs::Gnu, &stage.root("")).with_python();
        let place = Arc::new(Breaks {
            place,
            at,
            seen: AtomicUsize::new(0),
            left: Mutex::default(),
        });
        let moved = stage.moved_to(
            Arc::clone(&place) as Arc<dyn ScriptRunner>,
            WriteRules::Unrestricted,
        );
        let stage = in_its_own_path(moved);
        let code = "from hermes_tools import read_file\nprint(read_file('x'))";
        let started = Instant::now();
        let result = run(&stage, code);
        assert!(started.elapsed() < Duration::from_mins(1), "{at}");
        assert_eq!(result["status"], "error", "{at}: {result}");
        assert_eq!(result["error"], "the connection was lost", "{at}");
        assert!(place.seen.load(Ordering::Relaxed) >= 1);
    }
}

#[test]
fn a_place_that_cannot_be_reached_runs_nothing_here() {
    let stage = Stage::with(scripts_registry(CodeSettings::default()));
    let stage = stage.moved_to(Arc::new(Unreachable), WriteRules::Unrestricted);
    let result = run(&stage, "open('ran', 'w')");
    assert_eq!(
        result,
        json!({"status": "error", "output": "",
            "error": "The container engine is not running; start it."})
    );
    assert!(!stage.work("ran").exists());
}
