//! Two profiles, and a program that stands in for their workers and does what its card says.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_testkit::{ProgramCall, ProgramOutput, Running};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::{Desk, text};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// What every worker does first: it says who it is and where.
const WORKER: &str = r#"#!/bin/sh
here="$CREW_DIR/$HERMES_KANBAN_TASK"
mkdir -p "$here"
for word in "$@"; do printf '%s\n' "$word"; done > "$here/argv"
env | sort > "$here/env"
pwd > "$here/cwd"
readlink /proc/$$/fd/0 > "$here/stdin"
cut -d' ' -f5,6 /proc/$$/stat > "$here/session"
echo "attempt $HERMES_KANBAN_RUN_ID"
echo $$ >> "$here/pids"
if test -e "$CREW_DIR/$HERMES_KANBAN_TASK.sh"; then . "$CREW_DIR/$HERMES_KANBAN_TASK.sh"; fi
"#;

pub(crate) struct Crew {
    pub(crate) desk: Desk,
}

impl Crew {
    pub(crate) fn new() -> Self {
        let desk = Desk::new();
        for profile in ["alpha", "beta"] {
            fs::create_dir_all(desk.home.path("profiles").join(profile)).unwrap();
        }
        fs::create_dir_all(desk.home.outside("crew")).unwrap();
        desk.home.put_outside("worker", WORKER, 0o755);
        Self { desk }
    }

    /// A crew with these lines under `kanban:` in the configuration.
    pub(crate) fn configured(lines: &[&str]) -> Self {
        let crew = Self::new();
        crew.configure(lines);
        crew
    }

    pub(crate) fn configure(&self, lines: &[&str]) {
        let lines: Vec<String> = lines.iter().map(|line| format!("  {line}\n")).collect();
        let config = format!("kanban:\n{}", lines.concat());
        self.desk.home.put("config.yaml", config);
    }

    fn notes(&self) -> PathBuf {
        self.desk.home.outside("crew")
    }

    /// A call of `hermes kanban …` whose workers are ours.
    pub(crate) fn call(&self, args: &[&str]) -> ProgramCall {
        self.desk
            .call(args)
            .env("HERMES_BIN", self.desk.home.outside("worker"))
            .env("HERMES_REAL", self.desk.home.program())
            .env("CREW_DIR", self.notes())
            .env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "0")
    }

    pub(crate) fn kanban(&self, args: &[&str]) -> ProgramOutput {
        self.call(args).run()
    }

    /// One look at the board; gives what it says about it.
    #[track_caller]
    pub(crate) fn dispatch(&self, flags: &[&str]) -> Value {
        let args: Vec<&str> = ["dispatch", "--json"]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        self.kanban(&args).succeeds().json()
    }

    /// A dispatcher that looks again and again.
    pub(crate) fn daemon(&self, flags: &[&str]) -> Running {
        let args: Vec<&str> = ["daemon", "--interval", "0.1"]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        self.call(&args).start()
    }

    /// What workers of a card do after they have said who they are.
    pub(crate) fn script(&self, id: &str, script: &str) {
        fs::write(self.notes().join(format!("{id}.sh")), script).unwrap();
    }

    /// A card for alpha whose workers run this script.
    #[track_caller]
    pub(crate) fn file(&self, script: &str, flags: &[&str]) -> String {
        let mut args = vec!["--initial-status", "blocked", "--assignee", "alpha"];
        args.extend(flags);
        let id = self.desk.create("card", &args);
        self.script(&id, script);
        self.desk.kanban(&["unblock", &id]).succeeds();
        id
    }

    /// Ready cards for somebody, in the order in which they go. Their workers take for ever.
    pub(crate) fn ready(&self, count: usize, assignee: &str) -> Vec<String> {
        (0..count)
            .map(|number| {
                let priority = (100 - number).to_string();
                let flags = ["--assignee", assignee, "--priority", &priority];
                let id = self.desk.create(&format!("{assignee} {number}"), &flags);
                self.script(&id, "exec sleep 300");
                id
            })
            .collect()
    }

    /// What a worker wrote down.
    #[track_caller]
    pub(crate) fn note(&self, id: &str, name: &str) -> String {
        let path = self.notes().join(id).join(name);
        until(&format!("{name} of {id}"), || {
            fs::read_to_string(&path)
                .ok()
                .filter(|text| !text.is_empty())
        })
    }

    /// Process groups of all workers of a card.
    pub(crate) fn groups(&self, id: &str) -> Vec<Pid> {
        let pids = fs::read_to_string(self.notes().join(id).join("pids")).unwrap_or_default();
        let pids = pids.lines().map(|pid| pid.parse().unwrap());
        pids.map(|pid| Pid::from_raw(pid).unwrap()).collect()
    }

    /// Process groups of the workers on record.
    fn recorded(&self) -> Vec<Pid> {
        let database = self.desk.database();
        let Ok(mut query) = database.prepare("SELECT worker_pid FROM tasks") else {
            // A board that was never made has no workers.
            return Vec::new();
        };
        let pids = query.query_map([], |row| row.get::<_, Option<i32>>(0));
        let pids = pids.unwrap().flatten().flatten();
        pids.filter_map(Pid::from_raw).collect()
    }

    /// Waits until nothing of the workers of a card is left.
    #[track_caller]
    pub(crate) fn wait_for_end(&self, id: &str) {
        self.note(id, "pids");
        until(&format!("the end of the workers of {id}"), || {
            (!self.has_workers(id)).then_some(())
        });
    }

    /// Whether anything of the workers of a card is left.
    pub(crate) fn has_workers(&self, id: &str) -> bool {
        let groups = self.groups(id);
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|entry| process(&entry.path()))
            .any(|process| process.lives && groups.contains(&process.group))
    }

    /// Waits until a card stands there.
    #[track_caller]
    pub(crate) fn wait_for_status(&self, id: &str, status: &str) {
        until(&format!("{id} to be {status}"), || {
            (self.desk.status(id) == status).then_some(())
        });
    }

    /// How the attempts at a card ended, in order.
    #[track_caller]
    pub(crate) fn outcomes(&self, id: &str) -> Vec<Value> {
        let runs = self.desk.json(&["runs", id]);
        let runs = runs.as_array().unwrap();
        runs.iter().map(|run| run["outcome"].clone()).collect()
    }

    /// Lets time pass for everything on the board that has ended.
    pub(crate) fn age_ended_runs(&self, seconds: i64) {
        self.desk
            .database()
            .execute(
                "UPDATE task_runs SET ended_at = ended_at - ?1, started_at = started_at - ?1
                 WHERE ended_at IS NOT NULL",
                [seconds],
            )
            .unwrap();
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // Whatever still runs, also what has not come to say so yet.
        let cards = fs::read_dir(self.notes()).unwrap().flatten();
        let told = cards.flat_map(|card| self.groups(&card.file_name().to_string_lossy()));
        for group in told.chain(self.recorded()) {
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

struct Process {
    /// Ended ones stay until somebody has asked how they ended.
    lives: bool,
    group: Pid,
}

fn process(directory: &Path) -> Option<Process> {
    let stat = fs::read_to_string(directory.join("stat")).ok()?;
    // The name in parentheses may hold anything.
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    let state = words.next()?;
    let group = words.nth(1)?.parse().ok()?;
    Some(Process {
        lives: !matches!(state, "Z" | "X"),
        group: Pid::from_raw(group)?,
    })
}

/// Whether a process has not ended.
pub(crate) fn lives(pid: &str) -> bool {
    process(&Path::new("/proc").join(pid.trim())).is_some_and(|process| process.lives)
}

/// Waits for something; gives it.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Names of the cards in a bucket of rows.
#[track_caller]
pub(crate) fn cards(bucket: &Value) -> Vec<String> {
    let rows = bucket.as_array().unwrap();
    rows.iter()
        .map(|row| match row {
            Value::String(id) => id.clone(),
            row => text(&row["task_id"]),
        })
        .collect()
}
