//! Clients that watch one board of a dashboard, while it changes.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hermes_testkit::{Running, TestHome};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::client::Api;
use crate::vitals::{Trend, Vitals};

const TOKEN: &str = "token-of-the-soak-0123456789abcdef";
const EVENTS: &str = "/api/plugins/kanban/events/stream?since=0";
/// Changes of each count of reads.
const COUNTED: usize = 10;
/// Between two changes while time passes.
const PACE: Duration = Duration::from_millis(250);
/// Between two samples.
const SAMPLE: Duration = Duration::from_secs(5);
/// How long everybody may take to see a change on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// What came of it.
#[derive(Debug)]
pub struct WatchReport {
    /// The dashboard with all clients, before time passes.
    pub start: Vitals,
    /// The same when it has passed.
    pub end: Vitals,
    /// Growth of its memory in between.
    pub memory: Trend,
    /// Clients that watched.
    pub clients: usize,
    /// Changes of the board in all.
    pub changes: usize,
    /// Files read by the dashboard for a few changes with one client.
    pub reads_for_one: u64,
    /// Files read for as many changes with all of them.
    pub reads_for_all: u64,
    /// Changes that were counted.
    pub counted: usize,
    /// What clients have missed, or got twice.
    pub faults: Vec<String>,
    /// How long the dashboard took to end with all clients connected.
    pub ended_after: Duration,
}

impl WatchReport {
    /// Whether a change is read once, and not for every client: one read for each would be many.
    pub fn asks_once_a_change(&self) -> bool {
        let for_each = (self.clients * self.counted) as u64;
        self.reads_for_all < self.reads_for_one + for_each / 2
    }
}

/// A dashboard in a home of its own. Ends when dropped.
struct Watched {
    home: TestHome,
    running: Running,
    api: Api,
}

impl Watched {
    fn start(program: &Path) -> Self {
        let home = TestHome::new(program);
        home.hermes(["kanban", "create", "The first"])
            .run()
            .succeeds();
        let running = home
            .hermes(["dashboard", "--no-open", "--port", "0"])
            .env("HERMES_DASHBOARD_SESSION_TOKEN", TOKEN)
            .start();
        let line = running.next_line().unwrap_or_default();
        let port = line.strip_prefix("HERMES_DASHBOARD_READY port=");
        let port: Option<u16> = port.and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("not ready: {line:?} {:?}", running.errors()));
        let api = Api {
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            key: TOKEN.to_owned(),
        };
        Self { home, running, api }
    }

    fn change(&self) {
        let words = ["kanban", "create", "Another card"];
        self.home.hermes(words).run().succeeds();
    }

    /// The number of the last event.
    fn latest(&self) -> i64 {
        let board = self.api.call("GET", "/api/plugins/kanban/board", None);
        board.unwrap().json()["latest_event_id"].as_i64().unwrap()
    }

    fn vitals(&self) -> Vitals {
        Vitals::of(self.running.pid())
            .unwrap_or_else(|| panic!("the dashboard has ended: {:?}", self.running.errors()))
    }

    /// How often the process has read from files.
    fn reads(&self) -> u64 {
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.running.pid())).unwrap();
        let line = io.lines().find_map(|line| line.strip_prefix("syscr: "));
        line.and_then(|count| count.trim().parse().ok()).unwrap()
    }

    /// Changes the board a few times; the reads of the dashboard until everybody has seen that.
    fn count_reads(&self, clients: &[Client]) -> u64 {
        let before = self.reads();
        for _ in 0..COUNTED {
            self.change();
        }
        let reads = self.settled_reads();
        let latest = self.latest();
        wait_for(clients, latest);
        reads - before
    }

    /// The count once nothing is read for the last change any more.
    fn settled_reads(&self) -> u64 {
        let mut known = self.reads();
        loop {
            std::thread::sleep(Duration::from_millis(700));
            let now = self.reads();
            // The watcher looks once more every few seconds, which is no change.
            if now - known < 5 {
                return now;
            }
            known = now;
        }
    }
}

/// One who watches.
struct Client {
    seen: Arc<AtomicI64>,
    thread: JoinHandle<Result<(), String>>,
}

impl Client {
    fn start(api: &Api) -> Self {
        let seen = Arc::new(AtomicI64::new(0));
        let (api, last) = (api.clone(), Arc::clone(&seen));
        let thread = std::thread::Builder::new()
            .stack_size(128 << 10)
            .spawn(move || watch(&api, &last))
            .unwrap();
        Self { seen, thread }
    }
}

/// Reads events until the dashboard ends; every number must come once and in order.
fn watch(api: &Api, last: &AtomicI64) -> Result<(), String> {
    let accept = [("Accept", "text/event-stream")];
    let opened = api.open("GET", EVENTS, &accept, None);
    let mut answer = opened.map_err(|error| error.to_string())?;
    if answer.status != 200 {
        return Err(format!("status {}", answer.status));
    }
    let mut fault = None;
    // The end of the dashboard may cut the stream off.
    drop(answer.events(|event| {
        let data = event.lines().find_map(|line| line.strip_prefix("data: "));
        let frame: Value = data
            .and_then(|data| serde_json::from_str(data).ok())
            .unwrap_or_default();
        for one in frame["events"].as_array().into_iter().flatten() {
            let id = one["id"].as_i64().unwrap_or_default();
            let before = last.swap(id, Ordering::SeqCst);
            if id != before + 1 {
                fault = Some(format!("event {id} after {before}"));
            }
        }
        fault.is_some()
    }));
    fault.map_or(Ok(()), Err)
}

fn wait_for(clients: &[Client], latest: i64) {
    let deadline = Instant::now() + LIMIT;
    let is_behind = |client: &&Client| client.seen.load(Ordering::SeqCst) < latest;
    loop {
        let behind = clients.iter().filter(is_behind).count();
        if behind == 0 {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{behind} clients have not seen event {latest}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Lets so many clients watch a board for this time while it changes, and ends the dashboard then.
pub fn watchers(
    program: &Path,
    count: usize,
    time: Duration,
    told: impl Fn(Duration, Vitals),
) -> WatchReport {
    let mut watched = Watched::start(program);
    let mut clients = vec![Client::start(&watched.api)];
    wait_for(&clients, watched.latest());
    let reads_for_one = watched.count_reads(&clients);
    clients.extend((1..count).map(|_| Client::start(&watched.api)));
    wait_for(&clients, watched.latest());
    let reads_for_all = watched.count_reads(&clients);
    let mut changes = 2 * COUNTED;
    let start = watched.vitals();
    let (begun, mut samples, mut sampled) = (Instant::now(), Vec::new(), Instant::now());
    while begun.elapsed() < time {
        watched.change();
        changes += 1;
        std::thread::sleep(PACE);
        if sampled.elapsed() >= SAMPLE {
            sampled = Instant::now();
            let vitals = watched.vitals();
            told(begun.elapsed(), vitals);
            samples.push((begun.elapsed(), vitals.megabytes()));
        }
    }
    wait_for(&clients, watched.latest());
    let end = watched.vitals();
    let pid = Pid::from_raw(i32::try_from(watched.running.pid()).unwrap()).unwrap();
    let ending = Instant::now();
    kill_process(pid, Signal::TERM).unwrap();
    watched.running.wait();
    let ended_after = ending.elapsed();
    let ends = clients.into_iter().map(|client| client.thread.join());
    let faults = ends.filter_map(|end| end.unwrap().err()).collect();
    WatchReport {
        start,
        end,
        memory: Trend::through(&samples),
        clients: count,
        changes,
        reads_for_one,
        reads_for_all,
        counted: COUNTED,
        faults,
        ended_after,
    }
}
