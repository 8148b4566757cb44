//! Workers that run for as long as the process that keeps them: started without a call, asked now and
//! then whether they still answer, and started again when they end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::{Wake, wait_for_any};
use serde_json::json;

use super::pool::{WorkerHost, Workers};
use super::process::Worker;
use super::shim;
use crate::addons::Addons;
use crate::catalog::FEATURES;
use crate::error::{AddonError, Code};
use crate::store::{Index, StoredFeature};

/// Between two questions whether a worker lives.
const PERIOD: Duration = Duration::from_secs(30);
/// For the answer.
const ANSWER: Duration = Duration::from_secs(5);
/// Questions without an answer after which a worker counts as crashed.
const MISSES: u32 = 3;

/// The workers that are kept, with the questions in a row that they did not answer.
#[derive(Default)]
pub struct Residents {
    kept: HashMap<&'static str, (Arc<Worker>, u32)>,
}

impl std::fmt::Debug for Residents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.kept.keys()).finish()
    }
}

impl Addons {
    /// Whether an add-on is installed whose worker is kept running. Looks at local files only.
    pub fn has_residents(&self) -> bool {
        !self.residents().is_empty()
    }

    fn residents(&self) -> Vec<&'static str> {
        let Ok(Some(store)) = self.existing_store() else {
            return Vec::new();
        };
        let (index, _) = Index::load(&store);
        let is_resident = |name: &&str| {
            shim::adapter(name).is_some() && StoredFeature::find(&store, name, &index).is_some()
        };
        let resident = FEATURES
            .iter()
            .filter(|feature| feature.addon().is_some_and(|addon| addon.resident));
        resident
            .map(|feature| feature.name)
            .filter(is_resident)
            .collect()
    }
}

impl Residents {
    /// Starts what is not running and asks what is, then waits until it is time to do so again, one of
    /// them has ended, or `wake` is raised. Failures are in the log, and in what `hermes addons list`
    /// says.
    pub fn attend(
        &mut self,
        workers: &Workers,
        addons: &Addons,
        host: &dyn WorkerHost,
        wake: &Wake,
    ) {
        let installed = addons.residents();
        self.kept.retain(|feature, _| installed.contains(feature));
        for feature in installed {
            match workers.running(addons, host, feature, wake) {
                Ok(worker) => self.ask(feature, worker, ANSWER),
                Err(error) => {
                    self.kept.remove(feature);
                    tracing::warn!(feature, "a resident add-on does not run: {error}");
                }
            }
        }
        let gone = self.kept.values().map(|(worker, _)| worker.gone());
        let awaited: Vec<&Wake> = gone.chain([wake]).collect();
        wait_for_any(&awaited, PERIOD);
    }

    /// Asks a worker whether it lives; ends it after the third question without an answer.
    fn ask(&mut self, feature: &'static str, worker: Arc<Worker>, limit: Duration) {
        let misses = match self.kept.remove(feature) {
            Some((before, misses)) if Arc::ptr_eq(&before, &worker) => misses,
            _ => 0,
        };
        let misses = if answers(&worker, limit) {
            0
        } else {
            misses + 1
        };
        if misses >= MISSES {
            let reason = format!("its worker did not answer {MISSES} times in a row");
            worker.fail(AddonError::new(Code::AddonCrashed, reason).of(feature));
            return;
        }
        self.kept.insert(feature, (worker, misses));
    }
}

fn answers(worker: &Worker, limit: Duration) -> bool {
    let Ok((number, reply)) = worker.send("ping", &json!({})) else {
        return false;
    };
    if reply.is_there.wait(limit) {
        return true;
    }
    worker.cancel(number);
    false
}

#[cfg(test)]
mod tests {
    use hermes_proc::{ChildSpec, EnvPlan, SpawnClass, Streams};
    use hermes_secret::Redactor;

    use super::super::history::History;
    use super::super::log::WorkerLog;
    use super::super::process::Start;
    use super::*;

    /// A worker that does this with every line it is sent.
    fn worker(home: &std::path::Path, with_a_line: &str) -> Arc<Worker> {
        let script = format!("while read -r line; do {with_a_line}; done");
        let env = EnvPlan::empty(SpawnClass::Helper).with("PATH", "/usr/bin:/bin");
        let started = Worker::start(Start {
            feature: "a.b".to_owned(),
            spec: ChildSpec {
                streams: Streams::Pipes { input: true },
                ends_with_thread: true,
                ..ChildSpec::new("/bin/sh", ["-c", script.as_str()], env)
            },
            log: WorkerLog::open(home, "a.b", Arc::new(Redactor::new([""; 0]))),
            history: History::of(home, "a.b"),
            lease: None,
            idle: None,
        });
        Arc::new(started.unwrap())
    }

    #[test]
    fn the_third_question_without_an_answer_ends_a_worker_and_counts_as_a_crash() {
        let home = tempfile::tempdir().unwrap();
        let silent = worker(home.path(), ":");
        let mut residents = Residents::default();
        let soon = Duration::from_millis(50);
        for left in [true, true, false] {
            residents.ask("a.b", Arc::clone(&silent), soon);
            assert_eq!(residents.kept.contains_key("a.b"), left);
            assert_eq!(silent.is_alive(), left);
        }
        let row = History::of(home.path(), "a.b").row(5);
        assert_eq!(row.restarts, 1);
        assert!(row.last_crash.unwrap().contains("did not answer 3 times"));
    }

    #[test]
    fn an_answer_makes_up_for_earlier_silence() {
        let home = tempfile::tempdir().unwrap();
        // The first two questions get no answer.
        let answer = r#"id=${line#*\"id\":}; id=${id%%,*}
            [ "$id" -gt 2 ] && printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id""#;
        let slow = worker(home.path(), answer);
        let mut residents = Residents::default();
        let misses = |residents: &Residents| residents.kept.get("a.b").map(|(_, misses)| *misses);
        for expected in [1, 2] {
            residents.ask("a.b", Arc::clone(&slow), Duration::from_millis(50));
            assert_eq!(misses(&residents), Some(expected));
        }
        residents.ask("a.b", Arc::clone(&slow), Duration::from_secs(30));
        assert_eq!(misses(&residents), Some(0));
        slow.stop();
    }
}
