//! Dispatching with real processes: workers are shell scripts that do as they are told.

mod board_loop;
mod caps;
mod checks;
mod default_assignee;
mod ends;
mod preflight;
mod start;
mod storm;
mod storm_place;
mod tick;
mod worktree;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_board::dispatch::Dispatcher;
use hermes_board::model::{RunId, TaskId};
use hermes_board::plan::{Limits, Plan, Report};
use hermes_board::store::{BoardStore, NewTask};
use hermes_board::{DispatchFlags, KanbanSettings, StoredBoard};
use hermes_config::{Config, Environment, Sources};

use crate::fixture::worker_setup;
use crate::{Fixture, assignee, file};

/// What every worker does first: it says who it is and where, then does what its card says.
const STUB: &str = r#"#!/bin/sh
export here="$STUB_DIR/$HERMES_KANBAN_TASK"
mkdir -p "$here"
for word in "$@"; do printf '%s\n' "$word"; done > "$here/argv"
env | sort > "$here/env"
pwd > "$here/cwd"
readlink /proc/$$/fd/0 > "$here/stdin"
cut -d' ' -f5,6 /proc/$$/stat > "$here/session"
echo "run $HERMES_KANBAN_RUN_ID"
echo $$ > "$here/pid.tmp"; mv "$here/pid.tmp" "$here/pid"
if test -e "$STUB_DIR/$HERMES_KANBAN_TASK.sh"; then . "$STUB_DIR/$HERMES_KANBAN_TASK.sh"; fi
"#;

/// A home with profiles, a board, and a program that stands in for workers.
pub(crate) struct Yard {
    fixture: Fixture,
    dispatcher: Dispatcher,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let fixture = Fixture::new();
        for profile in ["alpha", "beta"] {
            std::fs::create_dir_all(fixture.path("profiles").join(profile)).unwrap();
        }
        let stubs = fixture.path("stubs");
        std::fs::create_dir_all(&stubs).unwrap();
        let program = fixture.path("worker");
        std::fs::write(&program, STUB).unwrap();
        make_executable(&program, 0o755);
        let limits = Limits {
            crash_grace_seconds: 0,
            ..Limits::default()
        };
        let setup = worker_setup(fixture.dir.path());
        Self {
            dispatcher: Dispatcher::new(fixture.home.clone(), limits, setup),
            fixture,
        }
    }

    fn open(&self) -> StoredBoard {
        self.fixture.open()
    }

    /// What workers of a card do after they have said who they are.
    fn script(&self, id: &TaskId, script: &str) {
        let path = self.fixture.path("stubs").join(format!("{id}.sh"));
        std::fs::write(path, script).unwrap();
    }

    fn file_with(&self, store: &mut StoredBoard, script: &str, new: NewTask) -> TaskId {
        let new = NewTask {
            assignee: new.assignee.or(Some(assignee("alpha"))),
            ..new
        };
        let id = file(store, &new);
        self.script(&id, script);
        id
    }

    /// A card for alpha whose workers run this script.
    fn file(&self, store: &mut StoredBoard, script: &str) -> TaskId {
        self.file_with(store, script, NewTask::titled("card"))
    }

    fn tick(&mut self, store: &mut StoredBoard) -> Report {
        self.dispatcher.tick(store).unwrap()
    }

    fn preview(&mut self, store: &StoredBoard) -> Plan {
        self.dispatcher.preview(store).unwrap()
    }

    fn dry_run(&mut self, store: &mut StoredBoard) -> Report {
        self.dispatcher.preview(store).unwrap().report
    }

    /// Dispatches as this configuration says, except that nobody waits for a crash.
    fn configure(&mut self, yaml: &str) {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.yaml"), yaml).unwrap();
        let env = Environment::from_pairs([("HERMES_KANBAN_CRASH_GRACE_SECONDS", "0")]);
        let config = Config::load_read_only(&Sources::new(&env, home.path()));
        let settings = KanbanSettings::resolve(&config, &env, None, &DispatchFlags::default());
        self.dispatcher.limits = settings.limits;
    }

    /// As if this process had been killed and another one took its place.
    fn forget_children(&mut self) {
        self.dispatcher = self.another_dispatcher();
    }

    fn another_dispatcher(&self) -> Dispatcher {
        let Dispatcher {
            home,
            limits,
            workers,
            ..
        } = &self.dispatcher;
        Dispatcher::new(home.clone(), limits.clone(), workers.clone())
    }

    /// Ends the workers of all boards.
    fn end_everyone(&self) {
        let root = self.fixture.dir.path();
        hermes_proc::kill_marked(
            &["HERMES_KANBAN_DB"],
            |process| Path::new(&process.values[0]).starts_with(root),
            Duration::from_secs(10),
        );
    }

    fn said(&self, id: &TaskId, name: &str) -> String {
        let path = self.fixture.path("stubs").join(id.as_str()).join(name);
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// The worker of a card, once it has said who it is.
    fn worker_of(&self, id: &TaskId) -> u32 {
        eventually("a worker says who it is", || {
            !self.said(id, "pid").is_empty()
        });
        self.said(id, "pid").trim().parse().unwrap()
    }

    fn forget_worker(&self, id: &TaskId) {
        let path = self.fixture.path("stubs").join(id.as_str()).join("pid");
        std::fs::remove_file(path).unwrap();
    }

    /// Starts a card's worker and waits until it has ended.
    fn tick_until_ended(&mut self, store: &mut StoredBoard, id: &TaskId) -> Report {
        let report = self.tick(store);
        if report.spawned.iter().any(|row| row.task_id == *id) {
            let worker = self.worker_of(id);
            eventually("the worker ends", || !lives(worker));
            self.forget_worker(id);
        }
        report
    }
}

impl Drop for Yard {
    /// No test leaves a worker behind, also when it fails.
    fn drop(&mut self) {
        self.end_everyone();
    }
}

fn make_executable(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn lives(pid: u32) -> bool {
    hermes_proc::start_time_of(pid).is_some() && !hermes_proc::is_zombie(pid)
}

fn started(report: &Report) -> Vec<&str> {
    report
        .spawned
        .iter()
        .map(|row| row.task_id.as_str())
        .collect()
}

fn ids(list: &[TaskId]) -> Vec<&str> {
    list.iter().map(TaskId::as_str).collect()
}

fn run_of(store: &StoredBoard, id: &TaskId) -> RunId {
    store.task(id).unwrap().unwrap().current_run_id.unwrap()
}

/// Every file below a directory, with what is in it.
fn files_below(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.push((path.clone(), std::fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}
