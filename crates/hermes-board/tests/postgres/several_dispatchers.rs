//! Dispatchers of several hosts on one board, all at once: limits hold over all of them, also when the
//! server ends the connection of whoever has its turn.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_board::boards::BoardSlug;
use hermes_board::dispatch::Dispatcher;
use hermes_board::model::{Placement, TaskId};
use hermes_board::plan::Limits;
use hermes_board::store::{BoardStore, NewTask, Snapshot};
use hermes_board::{BoardOptions, HostSettings, StoredBoard};
use hermes_testkit::{PgDatabase, Postgres};
use pretty_assertions::assert_eq;

use crate::fixture::{SERVER_FILE, home_at, worker_setup};
use crate::{assignee, file};

const HOSTS: usize = 4;
/// More than one host has slots for, fewer than all have together.
const FOR_ALL: usize = 6;
const PER_PROFILE: usize = 4;
const PER_HOST: usize = 2;

/// A machine with profiles and workers that take their time.
struct Machine {
    root: tempfile::TempDir,
    dispatcher: Dispatcher,
}

impl Machine {
    fn new(database: &PgDatabase, name: &str, labels: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let server = format!("{}\n{}", database.url(), database.password());
        std::fs::write(root.path().join(SERVER_FILE), server).unwrap();
        for profile in ["alpha", "beta"] {
            std::fs::create_dir_all(root.path().join("profiles").join(profile)).unwrap();
        }
        let program = root.path().join("worker");
        std::fs::write(&program, "#!/bin/sh\nexec sleep 600\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let limits = Limits {
            max_in_progress: Some(FOR_ALL),
            max_in_progress_per_profile: Some(PER_PROFILE),
            max_in_progress_per_host: Some(PER_HOST),
            ..Limits::default()
        };
        let workers = worker_setup(root.path());
        let dispatcher =
            Dispatcher::new(home_at(root.path()), limits, workers).on_host(HostSettings {
                name: Some(name.to_owned()),
                labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            });
        Self { root, dispatcher }
    }

    fn open(&self) -> StoredBoard {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> hermes_board::Result<StoredBoard> {
        let board = home_at(self.root.path()).board(&BoardSlug::default_board());
        StoredBoard::open(&board, &BoardOptions::default())
    }

    fn tick(&mut self) -> hermes_board::Result<()> {
        let mut store = self.try_open()?;
        self.dispatcher.tick(&mut store).map(drop)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let root = self.root.path();
        hermes_proc::kill_marked(
            &["HERMES_KANBAN_DB"],
            |process| Path::new(&process.values[0]).starts_with(root),
            Duration::from_secs(10),
        );
    }
}

fn machines(database: &PgDatabase) -> Vec<Machine> {
    let named = |number: usize| Machine::new(database, &format!("host{number}"), &[]);
    (0..HOSTS).map(named).collect()
}

fn file_cards(board: &mut StoredBoard, count: usize) -> Vec<TaskId> {
    let new = |number: usize| NewTask {
        assignee: Some(assignee(["alpha", "beta"][number % 2])),
        ..NewTask::titled("card")
    };
    (0..count).map(|number| file(board, &new(number))).collect()
}

fn assert_within_limits(board: &Snapshot) {
    let running = &board.running;
    assert!(running.len() <= FOR_ALL, "{} in progress", running.len());
    for profile in ["alpha", "beta"] {
        let of_profile = running
            .iter()
            .filter(|one| one.card.assignee.as_deref() == Some(profile));
        assert!(of_profile.count() <= PER_PROFILE, "{running:?}");
    }
    for one in running {
        assert!(one.host_id.is_some());
        let on_host = running.iter().filter(|other| other.host_id == one.host_id);
        assert!(on_host.count() <= PER_HOST, "{running:?}");
    }
}

/// Every dispatcher ticks so often, all at once; `meanwhile` goes on until they are done. Returns how
/// many ticks succeeded.
fn tick_all(machines: &mut [Machine], times: usize, meanwhile: impl Fn() + Sync) -> usize {
    let (barrier, are_done) = (Barrier::new(machines.len()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let disturber = scope.spawn(|| {
            while !are_done.load(Ordering::Acquire) {
                meanwhile();
            }
        });
        let ticking: Vec<_> = machines
            .iter_mut()
            .map(|machine| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut succeeded = 0;
                    for _ in 0..times {
                        barrier.wait();
                        succeeded += usize::from(machine.tick().is_ok());
                    }
                    succeeded
                })
            })
            .collect();
        let succeeded = ticking.into_iter().map(|one| one.join().unwrap()).sum();
        are_done.store(true, Ordering::Release);
        disturber.join().unwrap();
        succeeded
    })
}

#[test]
fn limits_hold_over_four_dispatchers_that_tick_at_once() {
    let database = Postgres::shared().database();
    let mut machines = machines(&database);
    let mut board = machines[0].open();
    file_cards(&mut board, 30);
    let watched = machines[1].open();
    let watch = std::sync::Mutex::new(watched);
    let succeeded = tick_all(&mut machines, 3, || {
        assert_within_limits(&watch.lock().unwrap().snapshot(2).unwrap());
    });
    assert_eq!(succeeded, HOSTS * 3);
    let snapshot = board.snapshot(2).unwrap();
    assert_within_limits(&snapshot);
    assert_eq!(snapshot.running.len(), FOR_ALL);
    let hosts = board.hosts().unwrap();
    assert_eq!(hosts.len(), HOSTS);
    let used: usize = hosts.iter().map(|used| used.running.len()).sum();
    assert_eq!(used, FOR_ALL);
}

#[test]
fn limits_hold_when_the_server_ends_the_connections_of_dispatchers_in_their_turn() {
    let database = Postgres::shared().database();
    let mut machines = machines(&database);
    let mut board = machines[0].open();
    file_cards(&mut board, 30);
    drop(board);
    tick_all(&mut machines, 6, || {
        database.sql(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
        // Time for a few claims in between.
        std::thread::sleep(Duration::from_millis(30));
    });
    let board = machines[0].open();
    assert_within_limits(&board.snapshot(2).unwrap());
    // Undisturbed they go on where they were.
    tick_all(&mut machines, 2, || {
        std::thread::sleep(Duration::from_millis(1));
    });
    assert_within_limits(&board.snapshot(2).unwrap());
}

#[test]
fn a_card_waits_for_the_host_it_asks_for_and_the_others_say_so() {
    let database = Postgres::shared().database();
    let mut desk = Machine::new(&database, "desk", &[]);
    let mut gpu = Machine::new(&database, "gpu1", &["gpu"]);
    let mut board = desk.open();
    let asking = |labels: &[&str], on| NewTask {
        assignee: Some(assignee("alpha")),
        placement: Placement::parse(labels.iter().copied(), on).unwrap(),
        ..NewTask::titled("card")
    };
    let id = file(&mut board, &asking(&["gpu"], None));
    let why = |machine: &mut Machine, board: &StoredBoard, id: &TaskId| {
        let verdicts = machine.dispatcher.why(board, id).unwrap();
        let sentences = verdicts
            .iter()
            .map(|one| one.sentence(|_| "then".to_owned()));
        sentences.collect::<Vec<_>>().join(" ")
    };
    let report = desk.dispatcher.tick(&mut board).unwrap();
    assert!(report.spawned.is_empty());
    assert_eq!(
        why(&mut desk, &board, &id),
        "No host has the label gpu (hosts: desk)."
    );
    assert_eq!(
        gpu.dispatcher.tick(&mut gpu.open()).unwrap().spawned.len(),
        1
    );
    let lock = hermes_board::own_lock();
    assert_eq!(
        why(&mut desk, &board, &id),
        format!("{lock} on host gpu1 is working on it; the claim lasts until then.")
    );
    // Both are on this machine, of one name and one boot: the attempt belongs to one of them.
    let running = &board.snapshot(2).unwrap().running[0];
    let run = board.run(running.claim.run.unwrap()).unwrap().unwrap();
    assert_eq!(run.host.as_deref(), Some("gpu1"));
    desk.dispatcher.limits.crash_grace_seconds = 0;
    let place = gpu.root.path().to_owned();
    let kill_worker = || {
        hermes_proc::kill_marked(
            &["HERMES_KANBAN_DB"],
            |process| Path::new(&process.values[0]).starts_with(&place),
            Duration::from_secs(10),
        );
    };
    kill_worker();
    let report = desk.dispatcher.tick(&mut board).unwrap();
    assert!(report.crashed.is_empty(), "desk judged a worker of gpu1");
    gpu.dispatcher.limits.crash_grace_seconds = 0;
    // A process has its marks a moment after it was started, and loses them a moment before its parent can
    // be told that it ended.
    let mut crashed = Vec::new();
    for _ in 0..100 {
        kill_worker();
        crashed = gpu.dispatcher.tick(&mut gpu.open()).unwrap().crashed;
        if !crashed.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(crashed, [id]);
    let more = file(&mut board, &asking(&[], Some("gpu1")));
    gpu.dispatcher.limits.max_in_progress_per_host = Some(1);
    gpu.dispatcher.tick(&mut gpu.open()).unwrap();
    let said = why(&mut desk, &board, &more);
    assert!(
        said == "Host gpu1 has no free slot." || said.contains("on host gpu1 is working"),
        "{said}"
    );
    gpu.dispatcher.leave(&BoardOptions::default());
    let waits = file(&mut board, &asking(&["gpu"], None));
    assert_eq!(
        why(&mut desk, &board, &waits),
        "Host gpu1 has been away for 0 s."
    );
}
