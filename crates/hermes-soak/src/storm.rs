//! A board on a server, four hosts in network namespaces that dispatch on it, and somebody who kills
//! workers, dispatchers and the database, and cuts links.
//!
//! When things happen is left to chance. What must have come of it is read from the board: every card
//! is done once, no attempt wrote after the next one had begun, and no limit was exceeded.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use hermes_testkit::{PgDatabase, Postgres, Running, TestHome};

const HOSTS: u32 = 4;
/// Most cards in progress on all hosts.
const AT_ONCE: i64 = 8;
/// Seconds that a claim lasts: what a host that was cut off keeps others waiting for.
const CLAIM: &str = "6";
/// Longest silence of a link, in milliseconds.
const LONGEST_CUT: u64 = 9_000;
/// How long the database stays away, at most, in milliseconds.
const LONGEST_OUTAGE: u64 = 2_000;
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// Time per card, and for what was interrupted last, on a slow machine.
const PER_CARD: Duration = Duration::from_secs(1);
const LAST: Duration = Duration::from_mins(2);

/// A worker that writes twice: it comments on its card, and completes it.
const SCRIPT: &str = r#"turns:
  - match: {user: "/task (?<id>t_[0-9a-f]+)/", step: 1}
    calls: [{tool: kanban_heartbeat, arguments: {note: "at work"}}]
  - match: {step: 2}
    calls: [{tool: kanban_complete, arguments: {summary: "done"}}]
  - text: ok
"#;

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct StormReport {
    pub cards: usize,
    pub workers_killed: usize,
    pub dispatchers_killed: usize,
    pub databases_killed: usize,
    pub links_cut: usize,
    /// Most cards in progress that were seen.
    pub most_at_once: i64,
    /// Attempts, of which one per card succeeded.
    pub attempts: i64,
    pub took: Duration,
    /// What must not be, one line each.
    pub faults: Vec<String>,
}

/// Numbers that look random and are the same every time.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % below
    }

    fn milliseconds(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.next(most))
    }
}

#[track_caller]
fn run(words: &[&str]) {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.unwrap_or_else(|error| panic!("{words:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?} (needs root): {said}");
}

/// A host: a network namespace with a link to this machine, a host name, a home, a dispatcher.
struct Host {
    number: u32,
    home: TestHome,
    dispatcher: Option<Running>,
    /// Until when its link is cut.
    cut_until: Option<Instant>,
}

/// The network between a host and this machine is 10.X.HOST.0/30.
fn network() -> u32 {
    128 + std::process::id() % 100
}

impl Host {
    fn new(program: &Path, database: &PgDatabase, number: u32) -> Self {
        let host = Self {
            number,
            home: TestHome::new(program),
            dispatcher: None,
            cut_until: None,
        };
        let (space, link) = (host.space(), host.link());
        let (here, there) = (host.address(1), host.address(2));
        run(&["ip", "netns", "add", &space]);
        run(&[
            "ip", "link", "add", &link, "type", "veth", "peer", "name", "eth0", "netns", &space,
        ]);
        run(&["ip", "address", "add", &format!("{here}/30"), "dev", &link]);
        run(&["ip", "link", "set", &link, "up"]);
        let there = format!("{there}/30");
        let inside = ["ip", "-n", &space];
        run(&[&inside[..], &["address", "add", &there, "dev", "eth0"]].concat());
        run(&[&inside[..], &["link", "set", "eth0", "up"]].concat());
        run(&[&inside[..], &["link", "set", "lo", "up"]].concat());
        let script = host.home.put_outside("script.yaml", SCRIPT, 0o600);
        let url = format!(
            "postgres://boards@{here}:{}/{}?sslmode=require&connect_timeout=2",
            database.port(),
            database.name
        );
        let config = format!(
            "kanban: {{database: '{url}', max_in_progress: {AT_ONCE}, \
             dispatch_interval_seconds: 1}}\n"
        );
        host.home.put("config.yaml", config);
        let password = format!("PGPASSWORD='{}'\n", database.password());
        host.home.put(".env", password);
        let model = format!(
            "model: {{provider: replay, script: '{}'}}\nterminal: {{sandbox: 'off'}}\n",
            script.display()
        );
        host.home.put("profiles/coder/config.yaml", model);
        host
    }

    fn space(&self) -> String {
        format!("storm{}-{}", std::process::id(), self.number)
    }

    fn link(&self) -> String {
        format!("st{}-{}", std::process::id() % 1_000_000, self.number)
    }

    fn address(&self, end: u32) -> String {
        format!("10.{}.{}.{end}", network(), self.number)
    }

    /// Starts a dispatcher there, under a host name of its own.
    fn dispatch(&mut self) {
        let named = format!("echo storm-{} >/proc/sys/kernel/hostname", self.number);
        let named = format!("{named} && exec \"$@\"");
        let space = format!("--net=/run/netns/{}", self.space());
        let call = self.home.hermes(["kanban", "daemon", "--quiet"]);
        let call = call
            .env("HERMES_KANBAN_CLAIM_TTL_SECONDS", CLAIM)
            .env("HERMES_KANBAN_CRASH_GRACE_SECONDS", "0");
        let words = [
            "nsenter", &space, "unshare", "--uts", "sh", "-c", &named, "sh",
        ];
        self.dispatcher = Some(call.wrapped(words).start());
    }

    fn end_dispatcher(&mut self) {
        if let Some(mut dispatcher) = self.dispatcher.take() {
            dispatcher.kill();
        }
    }

    fn cut(&mut self, time: Duration) {
        run(&["ip", "link", "set", &self.link(), "down"]);
        self.cut_until = Some(Instant::now() + time);
    }

    fn mend(&mut self) {
        run(&["ip", "link", "set", &self.link(), "up"]);
        self.cut_until = None;
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end_dispatcher();
        // Workers outlive their dispatcher; all of them are in this namespace.
        let space = self.space();
        let pids = Command::new("ip").args(["netns", "pids", &space]).output();
        let pids = pids.map(|output| output.stdout).unwrap_or_default();
        for pid in String::from_utf8_lossy(&pids).split_whitespace() {
            drop(Command::new("kill").args(["-KILL", pid]).status());
        }
        drop(
            Command::new("ip")
                .args(["netns", "delete", &space])
                .status(),
        );
        drop(
            Command::new("ip")
                .args(["link", "delete", &self.link()])
                .output(),
        );
    }
}

struct Storm {
    server: Postgres,
    database: PgDatabase,
    hosts: Vec<Host>,
    chance: Chance,
    report: StormReport,
}

/// Runs so many cards through a storm.
pub fn storm(program: &Path, cards: usize) -> StormReport {
    let server = Postgres::own_for_network(&format!("10.{}.0.0/16", network()));
    let database = server.database();
    let hosts = (1..=HOSTS).map(|number| Host::new(program, &database, number));
    let mut storm = Storm {
        hosts: hosts.collect(),
        server,
        database,
        chance: Chance(19),
        report: StormReport {
            cards,
            ..StormReport::default()
        },
    };
    storm.file_cards();
    let began = Instant::now();
    for host in &mut storm.hosts {
        host.dispatch();
    }
    storm.rage(began);
    storm.report.took = began.elapsed();
    for host in &mut storm.hosts {
        host.end_dispatcher();
    }
    storm.judge();
    storm.report
}

impl Storm {
    fn sql(&self, sql: &str) -> String {
        let sql = format!("SET search_path TO hermes_default; {sql}");
        self.database.sql(&sql)
    }

    fn number(&self, sql: &str) -> i64 {
        self.sql(sql).parse().unwrap_or(0)
    }

    /// The first by the program, which makes the board; the rest as it would have.
    fn file_cards(&self) {
        let first = ["kanban", "create", "card", "--assignee", "coder"];
        self.hosts[0].home.run(first).succeeds();
        let more = self.report.cards - 1;
        self.sql(&format!(
            "INSERT INTO tasks (id, title, assignee, status, priority, created_at, workspace_kind)
             SELECT 't_' || lpad(to_hex(n), 8, '0'), t.title, t.assignee, t.status, n % 7,
                 t.created_at, t.workspace_kind
             FROM tasks t, generate_series(1, {more}) n;
             INSERT INTO task_events (task_id, kind, payload, created_at)
             SELECT t.id, e.kind, e.payload, e.created_at FROM task_events e, tasks t
             WHERE t.id <> e.task_id AND e.kind = 'created';
             -- Nobody here gives up.
             UPDATE tasks SET max_retries = 1000"
        ));
    }

    /// Harm in step with progress, so that a slow machine gets there as well.
    fn rage(&mut self, began: Instant) {
        let cards = self.report.cards;
        let limit = PER_CARD * u32::try_from(cards).unwrap_or(u32::MAX) + LAST;
        loop {
            std::thread::sleep(LOOK);
            let row = self.sql(
                "SELECT count(*) FILTER (WHERE status = 'done') || ' ' ||
                     count(*) FILTER (WHERE status = 'running') FROM tasks",
            );
            let (done, running) = row.split_once(' ').unwrap();
            let done: usize = done.parse().unwrap();
            let running = running.parse().unwrap();
            self.report.most_at_once = self.report.most_at_once.max(running);
            if done == cards {
                return;
            }
            if began.elapsed() > limit {
                let fault = format!("only {done} of {cards} are done after {limit:?}");
                self.report.faults.push(fault);
                return;
            }
            for host in &mut self.hosts {
                if host.cut_until.is_some_and(|until| Instant::now() >= until) {
                    host.mend();
                }
            }
            self.harm(done);
        }
    }

    fn harm(&mut self, done: usize) {
        if self.report.workers_killed <= done / 8 {
            self.kill_a_worker();
        }
        if self.report.dispatchers_killed <= done / 40 {
            let host = usize::try_from(self.chance.next(HOSTS.into())).unwrap();
            self.hosts[host].end_dispatcher();
            self.hosts[host].dispatch();
            self.report.dispatchers_killed += 1;
        }
        if self.report.links_cut <= done / 25 {
            let host = usize::try_from(self.chance.next(HOSTS.into())).unwrap();
            let time = self.chance.milliseconds(LONGEST_CUT);
            if self.hosts[host].cut_until.is_none() {
                self.hosts[host].cut(time);
                self.report.links_cut += 1;
            }
        }
        if self.report.databases_killed < (done + 25) / 50 {
            self.server.kill();
            std::thread::sleep(self.chance.milliseconds(LONGEST_OUTAGE));
            self.server.run();
            self.report.databases_killed += 1;
        }
    }

    fn kill_a_worker(&mut self) {
        let pids = self.sql("SELECT worker_pid FROM tasks WHERE status = 'running'");
        let pids: Vec<&str> = pids.split_whitespace().collect();
        if pids.is_empty() {
            return;
        }
        let chosen = self.chance.next(pids.len() as u64);
        let pid = pids[usize::try_from(chosen).unwrap()];
        // It may have ended by now.
        if Command::new("kill")
            .args(["-KILL", pid])
            .output()
            .unwrap()
            .status
            .success()
        {
            self.report.workers_killed += 1;
        }
    }

    /// Reads from the board what must not be.
    fn judge(&mut self) {
        let wrong = [
            (
                "cards that were not completed exactly once",
                "SELECT count(*) FROM tasks t WHERE 1 <> (SELECT count(*) FROM task_events e
                     WHERE e.task_id = t.id AND e.kind = 'completed')",
            ),
            (
                "cards without exactly one attempt that succeeded",
                "SELECT count(*) FROM tasks t WHERE 1 <> (SELECT count(*) FROM task_runs r
                     WHERE r.task_id = t.id AND r.outcome = 'completed')",
            ),
            (
                "attempts that never ended",
                "SELECT count(*) FROM task_runs WHERE ended_at IS NULL",
            ),
            // Attempts are numbered as they begin, and events as they are written.
            (
                "events that an attempt wrote after the next one had begun",
                "SELECT count(*) FROM (SELECT run_id, max(run_id) OVER
                     (PARTITION BY task_id ORDER BY id) AS newest FROM task_events
                     WHERE run_id IS NOT NULL) e WHERE run_id < newest",
            ),
            (
                "attempts that began before the one before had ended",
                "SELECT count(*) FROM (SELECT started_at, max(ended_at) OVER
                     (PARTITION BY task_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING
                      AND 1 PRECEDING) AS before FROM task_runs) r WHERE started_at < before",
            ),
        ];
        for (what, sql) in wrong {
            let count = self.number(sql);
            if count > 0 {
                self.report.faults.push(format!("{count} {what}"));
            }
        }
        self.report.attempts = self.number("SELECT count(*) FROM task_runs");
        let most = self.report.most_at_once.max(self.most_by_events());
        self.report.most_at_once = most;
        if most > AT_ONCE {
            let fault = format!("{most} cards in progress at once, {AT_ONCE} are allowed");
            self.report.faults.push(fault);
        }
    }

    /// Most attempts between their first event and their last.
    fn most_by_events(&self) -> i64 {
        self.number(
            "WITH spans AS (SELECT min(id) AS first, max(id) AS last FROM task_events
                 WHERE run_id IS NOT NULL GROUP BY run_id),
             steps AS (SELECT first AS at, 1 AS step FROM spans
                 UNION ALL SELECT last, -1 FROM spans)
             SELECT COALESCE(max(open), 0) FROM
                 (SELECT sum(step) OVER (ORDER BY at, step) AS open FROM steps) s",
        )
    }
}
