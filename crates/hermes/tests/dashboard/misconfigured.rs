//! Certificates and proxies that do not work, a database that somebody else holds, secrets in events.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::json;

use super::server::{CANARY, Server, dashboard, home};

#[test]
fn certificates_and_proxies_that_do_not_work_are_named_and_let_nobody_in() {
    let home = home();
    let garbage = home.put_outside("garbage.pem", "no certificate", 0o644);
    let missing = home.outside("missing.pem");
    for (name, value, reason) in [
        (
            "HERMES_CA_BUNDLE",
            missing.display().to_string(),
            "missing.pem",
        ),
        (
            "HERMES_CA_BUNDLE",
            garbage.display().to_string(),
            "garbage.pem",
        ),
        (
            "HTTPS_PROXY",
            "http://127.0.0.1:9".to_owned(),
            "cannot be reached",
        ),
        ("HTTPS_PROXY", "no proxy at all".to_owned(), "proxy"),
    ] {
        let call = dashboard(&home)
            .args(["--host", "0.0.0.0"])
            .env("HERMES_DASHBOARD_OIDC_ISSUER", "https://id.example")
            .env("HERMES_DASHBOARD_OIDC_CLIENT_ID", "dash")
            .env(name, &value);
        let server = Server::start(call);
        let begun = server
            .request("GET", "/auth/login?provider=self-hosted")
            .send();
        let detail = begun.expect(503)["detail"].to_string();
        assert!(detail.contains(reason), "{name}={value}: {detail}");
        assert_eq!(server.request("GET", "/api/env").send().status, 401);
    }
}

/// A process that keeps everybody else from writing to a database.
struct Holder(Child);

impl Holder {
    fn of(path: &std::path::Path) -> Self {
        Self::running("", path)
    }

    /// One that keeps everybody else from reading, too.
    fn of_everything(path: &std::path::Path) -> Self {
        Self::running("store.execute('PRAGMA locking_mode=EXCLUSIVE')\n", path)
    }

    fn running(first: &str, path: &std::path::Path) -> Self {
        let script = format!(
            "import sqlite3, sys\n\
             store = sqlite3.connect(sys.argv[1])\n\
             {first}\
             store.execute('BEGIN EXCLUSIVE')\n\
             print('held', flush=True)\n\
             sys.stdin.read()\n"
        );
        let mut process = Command::new("python3")
            .args(["-c", &script])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut reader = BufReader::new(process.stdout.take().unwrap());
        reader.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "held");
        Self(process)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn a_board_that_somebody_else_holds_is_said_and_the_rest_goes_on() {
    let home = home();
    home.hermes(["kanban", "create", "A card"]).run().succeeds();
    let call = dashboard(&home).env("HERMES_KANBAN_BUSY_TIMEOUT_MS", "1500");
    let server = Server::start(call);
    let holder = Holder::of(&home.path("kanban.db"));
    let card = json!({"title": "Another"});
    let path = "/api/plugins/kanban/tasks";
    let creating = server.with_token("POST", path).json(&card);
    std::thread::scope(|scope| {
        let created = scope.spawn(|| creating.send());
        let begun = Instant::now();
        assert_eq!(server.request("GET", "/api/status").send().status, 200);
        assert!(begun.elapsed().as_secs() < 2, "{:?}", begun.elapsed());
        let created = created.join().unwrap();
        assert!(
            created.expect(503)["detail"].is_string(),
            "{}",
            created.body
        );
    });
    drop(holder);
    let created = server.call("POST", path, &card);
    assert_eq!(created.status, 200, "{}", created.body);
}

/// However long other programs would wait for the board, a page does not keep anybody waiting for more
/// than ten seconds.
#[test]
fn a_locked_board_is_given_up_after_ten_seconds() {
    let home = home();
    home.hermes(["kanban", "create", "A card"]).run().succeeds();
    let call = dashboard(&home).env("HERMES_KANBAN_BUSY_TIMEOUT_MS", "600000");
    let server = Server::start(call);
    let _holder = Holder::of_everything(&home.path("kanban.db"));
    let page = server.request("GET", "/board");
    let board = server.with_token("GET", "/api/plugins/kanban/board");
    let card = json!({"title": "Another"});
    let creating = server.with_token("POST", "/api/plugins/kanban/tasks");
    let creating = creating.json(&card);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let answers = [&board, &creating].map(|asked| scope.spawn(|| asked.send()));
        let shown = scope.spawn(|| page.send());
        for answer in answers {
            let answer = answer.join().unwrap();
            let detail = answer.expect(503)["detail"].to_string();
            assert!(
                detail.contains("kanban.db") && detail.contains("locked"),
                "{detail}"
            );
        }
        let shown = shown.join().unwrap();
        assert!(shown.body.contains("locked"), "{}", shown.body);
        assert!(shown.body.contains("names the program"), "{}", shown.body);
    });
    // The rest is room for a busy machine; without the cap it would be ten minutes.
    let taken = begun.elapsed();
    assert!((10..25).contains(&taken.as_secs()), "{taken:?}");
    // What has nothing to do with the board has gone on.
    assert_eq!(server.request("GET", "/api/status").send().status, 200);
}

#[test]
fn no_event_of_a_board_shows_a_secret() {
    let home = home();
    home.put(".env", format!("OPENROUTER_API_KEY={CANARY}\n"));
    let server = Server::local(&home);
    let title = format!("Use {CANARY} here");
    home.hermes(["kanban", "create", &title]).run().succeeds();
    let id = server.get("/api/plugins/kanban/board")["columns"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|column| column["tasks"][0]["id"].as_str().map(str::to_owned))
        .unwrap();
    let block = format!("--reason={CANARY}");
    home.hermes(["kanban", "block", &id, &block]).run();
    let stream = server
        .with_token("GET", "/api/plugins/kanban/events/stream?since=0")
        .header("Accept", "text/event-stream");
    let (answer, mut events) = stream.open();
    assert_eq!(answer.status, 200);
    let mut seen = String::new();
    let mut piece = [0; 4096];
    while !seen.contains("\"events\"") || !seen.ends_with("\n\n\r\n") {
        let length = events.read(&mut piece).unwrap();
        assert_ne!(length, 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    assert!(!seen.contains(CANARY), "{seen}");
    let cards = server.with_token("GET", "/api/plugins/kanban/board").send();
    assert!(!cards.body.contains(CANARY));
}
