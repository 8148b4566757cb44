//! `hermes cron` with the real binary, in a home of its own.
//!
//! `// check N` names the acceptance check of the chapter on the gateway that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests look at files and databases directly"
)]

mod agents;
mod commands;
mod damage;
mod scripts;
mod watching;

use std::path::PathBuf;

use hermes_testkit::{ProgramCall, ProgramOutput, TestHome};
use serde_json::{Value, json};

/// A user with scheduled jobs.
struct CronDesk {
    home: TestHome,
}

impl CronDesk {
    fn new() -> Self {
        Self {
            home: TestHome::new(env!("CARGO_BIN_EXE_hermes")),
        }
    }

    /// A user whose model always gives this answer.
    fn answering(answer: &str) -> Self {
        let desk = Self::new();
        let turns = json!({"turns": [{"text": answer}]});
        desk.home.put("replay.yaml", turns.to_string());
        let script = desk.home.path("replay.yaml");
        let config = json!({"model": {"provider": "replay", "default": "demo", "script": script}});
        desk.home.put("config.yaml", config.to_string());
        desk
    }

    fn call(&self, args: &[&str]) -> ProgramCall {
        self.home
            .hermes(["cron"].iter().chain(args).copied().collect::<Vec<_>>())
    }

    fn cron(&self, args: &[&str]) -> ProgramOutput {
        self.call(args).run()
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.call(args).arg("--json").run();
        output.succeeds();
        output.json()
    }

    /// Makes a job; gives its id.
    fn create(&self, args: &[&str]) -> String {
        let job = self.json(&[&["create"], args].concat());
        job["id"].as_str().unwrap().to_owned()
    }

    /// A job that only runs a script of this text.
    fn script_job(&self, schedule: &str, text: &str) -> String {
        let name = format!("s{}.sh", self.jobs().len());
        self.home.put(&format!("scripts/{name}"), text);
        self.create(&[schedule, "--script", &name, "--no-agent"])
    }

    fn jobs(&self) -> Vec<Value> {
        self.json(&["list", "--all"]).as_array().unwrap().clone()
    }

    fn job(&self, id: &str) -> Option<Value> {
        self.jobs().into_iter().find(|job| job["id"] == id)
    }

    /// Changes a job in the file, as another program would.
    fn edit(&self, id: &str, change: impl Fn(&mut Value)) {
        let options = hermes_fs::LockOptions::new("the jobs");
        let lock = self.home.path("cron/.jobs.lock");
        let _lock = hermes_fs::FileLock::acquire(&lock, &options).unwrap();
        let mut file: Value = serde_json::from_str(&self.home.read("cron/jobs.json")).unwrap();
        let jobs = file["jobs"].as_array_mut().unwrap();
        change(jobs.iter_mut().find(|job| job["id"] == id).unwrap());
        let path = self.home.path("cron/jobs.json");
        hermes_fs::write_atomic(&path, file.to_string().as_bytes(), 0o600).unwrap();
    }

    /// Lets a job have been due this many minutes ago.
    fn make_due(&self, id: &str, minutes: i64) {
        let then = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(minutes);
        self.edit(id, |job| {
            job["next_run_at"] = json!(then.to_string());
            if job["schedule"]["kind"] == "once" {
                job["schedule"]["run_at"] = json!(then.to_string());
            }
        });
    }

    fn runs(&self, id: &str) -> Value {
        self.json(&["runs", id])
    }

    /// The outputs of a job, oldest first.
    fn outputs(&self, id: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.home.path(&format!("cron/output/{id}"))) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        // One that is being written has another name until it is whole.
        let is_whole = |path: &PathBuf| path.extension().is_some_and(|end| end == "md");
        let mut paths: Vec<_> = paths.filter(is_whole).collect();
        paths.sort();
        paths
            .iter()
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect()
    }
}
