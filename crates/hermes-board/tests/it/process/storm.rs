//! The dispatchers and workers of the storm.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hermes_board::completion::complete_card;
use hermes_board::dispatch::{Dispatcher, LogRotation, WORKER_TIMING, WorkerSetup};
use hermes_board::model::{RunId, TaskId};
use hermes_board::plan::Limits;
use hermes_board::store::Completion;
use hermes_config::Environment;
use hermes_home::{Location, SystemFacts};
use hermes_proc::EnvPolicy;

use crate::fixture::home_at;
use crate::storm_place::{AT_ONCE, Chance, Place};

/// Between two looks of one dispatcher.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) fn dispatch(root: &Path) {
    Place(root.to_owned()).dispatch();
}

pub(crate) fn work(root: &Path) {
    Place(root.to_owned()).work();
}

impl Place {
    /// Adds a line to a file. Lines of several processes do not mix.
    fn note(&self, file: &str, line: &str) {
        let path = self.0.join(file);
        let mut file = OpenOptions::new().create(true).append(true).open(path);
        let line = format!("{line}\n");
        file.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    fn is_over(&self) -> bool {
        self.0.join("over").exists()
    }

    fn dispatch(&self) {
        let env = Environment::from_pairs([("HOME", &self.0), ("HERMES_HOME", &self.0)]);
        let location = Location::resolve(&env, &SystemFacts::of_process()).unwrap();
        let program = self.0.join("worker");
        let workers = WorkerSetup {
            base: vec![
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("STORM_ROOT".into(), self.0.clone().into()),
                (
                    "STORM_PROGRAM".into(),
                    std::env::current_exe().unwrap().into(),
                ),
            ],
            timing: WORKER_TIMING,
            ..WorkerSetup::new(
                &env,
                &home_at(&self.0),
                &location,
                EnvPolicy {
                    hermes_home: self.0.clone(),
                    hermes_program: program,
                    ..EnvPolicy::default()
                },
                LogRotation::default(),
            )
        };
        let limits = Limits {
            crash_grace_seconds: 0,
            // A dispatcher that dies between claiming and starting leaves its card for so long.
            claim_ttl_seconds: 2,
            max_in_progress: Some(AT_ONCE),
            ..Limits::default()
        };
        let mut dispatcher = Dispatcher::new(home_at(&self.0), limits, workers);
        let mut store = self.open();
        while !self.is_over() {
            match dispatcher.tick(&mut store) {
                Ok(report) => {
                    for failed in report.spawn_failed {
                        self.note("wrong", &format!("{}: {}", failed.task_id, failed.error));
                    }
                }
                Err(error) => self.note("wrong", &format!("a look failed: {error}")),
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn work(&self) {
        let task = TaskId::new(std::env::var("HERMES_KANBAN_TASK").unwrap());
        let run: i64 = std::env::var("HERMES_KANBAN_RUN_ID")
            .unwrap()
            .parse()
            .unwrap();
        let lock = File::create(self.0.join("locks").join(task.as_str())).unwrap();
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                self.note("twice", &format!("{task} {run}"));
                std::process::exit(9);
            }
            Err(TryLockError::Error(error)) => panic!("{error}"),
        }
        // Whoever this worker starts holds the lock, too.
        rustix::io::fcntl_setfd(&lock, rustix::io::FdFlags::empty()).unwrap();
        let mut chance = Chance(run.unsigned_abs());
        let child = (chance.next(8) == 0).then(|| {
            let mut away = Command::new("setsid");
            away.args(["sleep", "300"]).spawn().unwrap()
        });
        std::thread::sleep(Duration::from_millis(chance.next(30)));
        match chance.next(256) {
            // Leaves as if all were well.
            0..8 => std::process::exit(0),
            8..16 => std::process::exit(3),
            // Never comes to an end by itself.
            16 => std::thread::sleep(Duration::from_mins(5)),
            _ => {}
        }
        if let Some(mut child) = child {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let completion = Completion {
            expected_run: Some(RunId(run)),
            summary: Some("done".to_owned()),
            ..Completion::default()
        };
        let home = home_at(&self.0);
        match complete_card(&mut self.open(), &home, &task, &completion) {
            Ok(_) => self.note("successes", &format!("{task} {run}")),
            Err(error) => self.note("refused", &format!("{task} {run}: {error}")),
        }
        std::process::exit(0);
    }
}
