//! Several dispatchers, thousands of cards, and somebody who kills dispatchers and workers at random:
//! every card ends done, once, and nobody ever worked beside another one.
//!
//! All are real processes on one real board. A worker holds a lock for as long as it or anything it
//! started lives, so that the kernel tells whether two were at one card at the same time. When things
//! happen is left to chance; what must have come of it is not.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hermes_board::boards::{Board, BoardSlug};
use hermes_board::completion::complete_card;
use hermes_board::dispatch::{Dispatcher, WORKER_TIMING, WorkerSetup};
use hermes_board::model::{Outcome, RunId, Status, TaskId};
use hermes_board::plan::Limits;
use hermes_board::store::{BoardStore, Completion, NewTask};
use hermes_board::{BoardOptions, EventQuery, ListQuery, SqliteBoard};
use hermes_config::Environment;
use hermes_home::{Location, SystemFacts};
use hermes_proc::home::ChildHome;
use hermes_proc::{EnvPolicy, ProcessHandle, kill_marked, processes_marked};
use hermes_store::{Integrity, integrity_check};
use pretty_assertions::assert_eq;

use super::make_executable;
use crate::assignee;

const ROLE: &str = "STORM_ROLE";
const ROOT: &str = "STORM_ROOT";
const PROGRAM: &str = "STORM_PROGRAM";
const CARDS: usize = 2_000;
const DISPATCHERS: usize = 4;
/// Most workers at a time.
const AT_ONCE: usize = 16;
/// Between two looks of one dispatcher.
const PAUSE: Duration = Duration::from_millis(20);
/// Enough for any machine; a card that is stuck is found out by this.
const DEADLINE: Duration = Duration::from_mins(4);

/// Runs this very program as a worker: the arguments of one would mean nothing to it.
const WORKER: &str = "#!/bin/sh
STORM_ROLE=work exec \"$STORM_PROGRAM\" --exact workers::storm::role --quiet
";

/// Numbers that look random and are the same for the same seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % below
    }
}

#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let place = Place(std::env::var_os(ROOT).unwrap().into());
    match role.as_str() {
        "dispatch" => place.dispatch(),
        "work" => place.work(),
        other => unreachable!("{other}"),
    }
}

/// The directory of the storm.
struct Place(PathBuf);

impl Place {
    fn board(&self) -> Board {
        Board::below(&self.0, &BoardSlug::default_board())
    }

    fn open(&self) -> SqliteBoard {
        SqliteBoard::open(&self.board(), &BoardOptions::default()).unwrap()
    }

    /// Adds a line to a file. Lines of several processes do not mix.
    fn note(&self, file: &str, line: &str) {
        let path = self.0.join(file);
        let mut file = OpenOptions::new().create(true).append(true).open(path);
        let line = format!("{line}\n");
        file.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    fn notes(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn is_over(&self) -> bool {
        self.0.join("over").exists()
    }

    fn dispatch(&self) {
        let env = Environment::from_pairs([("HOME", &self.0), ("HERMES_HOME", &self.0)]);
        let location = Location::resolve(&env, &SystemFacts::of_process()).unwrap();
        let program = self.0.join("worker");
        let home = ChildHome::default();
        let workers = WorkerSetup {
            base: vec![
                ("PATH".into(), "/usr/bin:/bin".into()),
                (ROOT.into(), self.0.clone().into()),
                (PROGRAM.into(), std::env::current_exe().unwrap().into()),
            ],
            timing: WORKER_TIMING,
            ..WorkerSetup::new(
                &env,
                &crate::home_at(&self.0),
                &location,
                EnvPolicy::new(self.0.clone(), program, home),
                hermes_board::dispatch::LogRotation::default(),
            )
        };
        let limits = Limits {
            crash_grace_seconds: 0,
            // A dispatcher that dies between claiming and starting leaves its card for so long.
            claim_ttl_seconds: 2,
            max_in_progress: Some(AT_ONCE),
            ..Limits::default()
        };
        let mut dispatcher = Dispatcher::new(crate::home_at(&self.0), limits, workers);
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
        let home = crate::home_at(&self.0);
        match complete_card(&mut self.open(), &home, &task, &completion) {
            Ok(_) => self.note("successes", &format!("{task} {run}")),
            Err(error) => self.note("refused", &format!("{task} {run}: {error}")),
        }
        std::process::exit(0);
    }

    fn start_dispatcher(&self) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "workers::storm::role", "--quiet"])
            .env(ROLE, "dispatch")
            .env(ROOT, &self.0)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
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

fn file_cards(store: &mut SqliteBoard) {
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
}

fn each_is_done_once(place: &Place, store: &SqliteBoard) {
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
    let database = place.board().database;
    assert_eq!(integrity_check(&database).unwrap(), Integrity::Sound);
}
