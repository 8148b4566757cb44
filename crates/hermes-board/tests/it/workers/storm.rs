//! Several dispatchers, thousands of cards, and somebody who kills dispatchers and workers at random:
//! every card ends done, once, and nobody ever worked beside another one.
//!
//! All are real processes on one real board. A worker holds a lock for as long as it or anything it
//! started lives, so that the kernel tells whether two were at one card at the same time. When things
//! happen is left to chance; what must have come of it is not.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use hermes_board::model::{Outcome, RunId, Status, TaskId};
use hermes_board::store::{BoardStore, NewTask};
use hermes_board::{EventQuery, ListQuery, StoredBoard};
use hermes_proc::{ProcessHandle, kill_marked, processes_marked};
use hermes_store::{Integrity, integrity_check};
use pretty_assertions::assert_eq;

use super::make_executable;
use super::storm_place::{AT_ONCE, Chance, Place};
use crate::{assignee, process};

/// On a server every look is a question, and all processes are on this machine.
const CARDS: usize = if crate::ON_SERVER { 500 } else { 2_000 };
const DISPATCHERS: usize = 4;
/// Enough for any machine; a card that is stuck is found out by this.
const DEADLINE: Duration = Duration::from_mins(4);

/// Runs the other process as a worker: the arguments of one would mean nothing to it.
const WORKER: &str = "#!/bin/sh
exec \"$STORM_PROGRAM\" storm-work \"$STORM_ROOT\"
";

impl Place {
    fn notes(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn start_dispatcher(&self) -> Child {
        process("storm-dispatch", &self.0).spawn().unwrap()
    }

    /// Kills some of the workers that run, at most so many.
    fn kill_workers(&self, chance: &mut Chance, most: usize) -> usize {
        let database = self.board().database;
        let mut killed = 0;
        for process in processes_marked(&["HERMES_KANBAN_DB"]) {
            let is_worker = process.values[0] == database.as_os_str() && process.leads_session;
            if is_worker
                && killed < most
                && chance.next(3) == 0
                && let Ok(Some(handle)) = ProcessHandle::open(&process.identity)
            {
                handle.kill().unwrap();
                killed += 1;
            }
        }
        killed
    }
}

/// Ends what a failed test left.
struct Storm<'p>(&'p Place);

impl Drop for Storm<'_> {
    fn drop(&mut self) {
        std::fs::write(self.0.0.join("over"), "").unwrap();
        let database = self.0.board().database;
        let is_ours =
            |process: &hermes_proc::MarkedProcess| process.values[0] == database.as_os_str();
        kill_marked(&["HERMES_KANBAN_DB"], is_ours, Duration::from_secs(10));
    }
}

fn file_cards(store: &mut StoredBoard) {
    let mut before: Option<TaskId> = None;
    for number in 0..CARDS {
        let profile = if number % 3 == 0 { "beta" } else { "alpha" };
        let new = NewTask {
            assignee: Some(assignee(profile)),
            priority: i64::try_from(number % 7).unwrap(),
            // Every fifth waits for the one before.
            parents: before
                .take()
                .filter(|_| number % 5 == 4)
                .into_iter()
                .collect(),
            // Nobody here gives up.
            max_retries: Some(1_000),
            max_runtime_seconds: Some(4),
            ..NewTask::titled("card")
        };
        before = Some(store.create(&new).unwrap().task.id);
    }
}

#[test]
fn every_card_is_completed_once_whatever_is_killed() {
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    };
    let place = Place(directory.path().to_owned());
    for name in ["locks", "profiles/alpha", "profiles/beta"] {
        std::fs::create_dir_all(place.0.join(name)).unwrap();
    }
    let worker = place.0.join("worker");
    std::fs::write(&worker, WORKER).unwrap();
    make_executable(&worker, 0o755);
    let database = crate::setup::server_of(&place.0);
    let mut store = place.open();
    file_cards(&mut store);

    let _storm = Storm(&place);
    let began = Instant::now();
    let mut dispatchers: Vec<Child> = (0..DISPATCHERS).map(|_| place.start_dispatcher()).collect();
    let mut chance = Chance(5);
    let (mut workers_killed, mut dispatchers_killed) = (0, 0_u64);
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let counts = store.counts().unwrap();
        let done = counts.get("done").copied().unwrap_or(0);
        if done == CARDS as u64 {
            break;
        }
        assert!(began.elapsed() < DEADLINE, "only {done} are done");
        // As much harm as there is progress, so that a slow machine gets there as well.
        let most = usize::try_from(done / 6).unwrap() + AT_ONCE;
        workers_killed += place.kill_workers(&mut chance, most - workers_killed);
        if dispatchers_killed <= done / 50 {
            let number = usize::try_from(chance.next(DISPATCHERS as u64)).unwrap();
            dispatchers[number].kill().unwrap();
            dispatchers[number].wait().unwrap();
            dispatchers[number] = place.start_dispatcher();
            dispatchers_killed += 1;
        }
    }
    std::fs::write(place.0.join("over"), "").unwrap();
    for dispatcher in &mut dispatchers {
        assert!(dispatcher.wait().unwrap().success());
    }
    println!(
        "{CARDS} cards, {workers_killed} workers and {dispatchers_killed} dispatchers killed, {:?}",
        began.elapsed()
    );
    assert!(workers_killed >= 20 && dispatchers_killed >= 3);
    assert_eq!(place.notes("twice"), [] as [String; 0]);
    assert_eq!(place.notes("wrong"), [] as [String; 0]);
    each_is_done_once(&place, &store);
    if database.is_none() {
        let file = place.board().database;
        assert_eq!(integrity_check(&file).unwrap(), Integrity::Sound);
    }
}

fn each_is_done_once(place: &Place, store: &StoredBoard) {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in place.notes("successes") {
        let (task, run) = line.split_once(' ').unwrap();
        let runs = told.entry(task.to_owned()).or_default();
        runs.push(run.to_owned());
    }
    let cards = store.list(&ListQuery::default()).unwrap();
    assert_eq!(cards.len(), CARDS);
    for card in cards {
        let id = &card.id;
        assert_eq!(card.status(), Status::Done, "{id}");
        assert_eq!((&card.claim_lock, card.current_run_id), (&None, None));
        let runs = store.runs(id, None).unwrap();
        let completed: Vec<RunId> = runs
            .iter()
            .filter(|run| run.ended_how() == Some(Outcome::Completed))
            .map(|run| run.id)
            .collect();
        assert_eq!(completed.len(), 1, "{id}: {runs:?}");
        assert!(runs.iter().all(|run| run.ended_at.is_some()), "{runs:?}");
        for pair in runs.windows(2) {
            assert!(pair[0].ended_at <= Some(pair[1].started_at), "{runs:?}");
        }
        let events = store
            .events(&EventQuery {
                task: Some(id.clone()),
                kinds: vec!["completed".to_owned()],
                ..EventQuery::default()
            })
            .unwrap();
        assert_eq!(events.len(), 1, "{id}");
        // A worker that was killed in between could not tell.
        if let Some(told) = told.remove(id.as_str()) {
            assert_eq!(told, [completed[0].to_string()], "{id}");
        }
    }
    assert_eq!(told, BTreeMap::new());
}
