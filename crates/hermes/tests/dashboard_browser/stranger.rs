//! The reference's own front-end, as its packages bring it, with this server behind it: its pages load
//! and act. What it asks for and does not exist here is refused as such, and the pages bear it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::browser::Browser;
use crate::served::Served;

/// The front-end of a version, installed once below the target directory, without what its program
/// needs.
fn front_end(version: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let all = target.join("reference");
    fs::create_dir_all(&all).unwrap();
    let lock = File::create(all.join(format!("front-end-{version}.lock"))).unwrap();
    lock.lock().unwrap();
    let directory = all.join(format!("front-end-{version}"));
    let packages = directory.join("packages");
    let complete = directory.join(".complete");
    if !complete.exists() {
        drop(fs::remove_dir_all(&directory));
        let run = |command: &mut Command| {
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{command:?}: {said}");
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&directory));
        run(Command::new(directory.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--no-deps"])
            .args(["--disable-pip-version-check", "--target"])
            .arg(&packages)
            .arg(format!("hermes-agent=={version}")));
        fs::write(complete, version).unwrap();
    }
    let dist = packages.join("hermes_cli/web_dist");
    assert!(dist.join("index.html").exists());
    assert!(
        packages
            .join("plugins/kanban/dashboard/dist/index.js")
            .exists()
    );
    dist
}

struct Stranger {
    served: Served,
    browser: Browser,
}

impl Stranger {
    fn new(version: &str) -> Self {
        let served = Served::with_front_end(&front_end(version));
        served.hermes(&["chat", "-q", "Hello there"]);
        served.hermes(&["cron", "create", "every 2h", "Look after the plants"]);
        served.card("Water the plants", &["--assignee", "nobody-yet"]);
        Self {
            served,
            browser: Browser::start(),
        }
    }

    /// Opens a page and waits until it shows this.
    #[track_caller]
    fn open(&mut self, path: &str, shows: &str) {
        self.browser.open(&self.served.url(path));
        let shows = serde_json::json!(shows);
        let shown = format!("document.querySelector('main')?.innerText.includes({shows}) === true");
        self.browser.until(&format!("{path} shows {shows}"), &shown);
    }

    /// Presses the button that says this, or is labelled so.
    #[track_caller]
    fn press(&mut self, label: &str) {
        let label = serde_json::json!(label);
        let find = format!(
            "[...document.querySelectorAll('main button, [role=dialog] button')].find((one) => \
             one.textContent.trim() === {label} || one.getAttribute('aria-label') === {label})"
        );
        let there = format!("Boolean({find})");
        self.browser.until(&format!("there is {label}"), &there);
        self.browser.eval(&format!("{find}.click()"));
    }

    /// What the API says, asked with the page's token.
    fn api(&mut self, path: &str) -> Value {
        let path = serde_json::json!(path);
        self.browser.eval(&format!(
            "fetch({path}, {{headers: {{'X-Hermes-Session-Token': window.__HERMES_SESSION_TOKEN__}}}}).then((r) => r.json())"
        ))
    }

    /// Nothing was thrown, and nothing was refused that this server says it serves.
    #[track_caller]
    fn is_content(&mut self) {
        assert_eq!(self.browser.complaints, Vec::<String>::new());
        let document = self.api("/api/openapi.json");
        let routes: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
        let refused: BTreeSet<(u64, String)> = self.browser.refusals.drain(..).collect();
        for (status, path) in refused {
            // By design: nobody has logged in on this machine.
            if path == "/api/auth/me" && status == 401 {
                continue;
            }
            assert_eq!(status, 404, "{path}");
            let served = routes.iter().find(|route| fits(route, &path));
            assert_eq!(served, None, "{path} is served, and was refused");
            let answer = self.api(&path);
            assert!(answer["detail"].is_string(), "{path}: {answer}");
        }
    }
}

/// Whether a path is of a route such as `/api/sessions/{session_id}`.
fn fits(route: &str, path: &str) -> bool {
    let parts = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    let (route, path) = (parts(route), parts(path));
    let same = |(wanted, part): (&String, &String)| wanted == part || wanted.starts_with('{');
    // `/api/sessions/empty/count` is not a message list: all parts count.
    route.len() == path.len() && route.iter().zip(&path).all(same)
}

fn pages_load(version: &str) {
    let mut stranger = Stranger::new(version);
    for (path, shows) in [
        ("/sessions", "Hello there"),
        ("/logs", "AGENT.LOG"),
        ("/config", "MULTIPLEX PROFILES"),
        ("/env", "SUDO_PASSWORD"),
        ("/cron", "Look after the plants"),
        ("/profiles", "default"),
        ("/skills", "board-worker"),
        ("/models", "replay"),
        ("/kanban", "Water the plants"),
    ] {
        stranger.open(path, shows);
    }
    // The state of the gateway and the version stand beside every page.
    let status = stranger.browser.text("body");
    assert!(status.contains("Gateway Status"), "{status}");
    stranger.is_content();
}

fn pages_act(version: &str) {
    let mut stranger = Stranger::new(version);
    stranger.open("/cron", "Look after the plants");
    stranger.press("Pause");
    let paused = "document.querySelector('main').innerText.includes('paused')";
    stranger.browser.until("the job is paused", paused);
    let jobs = stranger.served.hermes(&["cron", "list", "--all", "--json"]);
    assert!(jobs.contains("paused"), "{jobs}");

    // A switch is saved, and nothing else is written.
    stranger.open("/config", "MULTIPLEX PROFILES");
    let before = fs::read_to_string(stranger.served.home.path("config.yaml")).unwrap();
    stranger
        .browser
        .eval("document.querySelector('main [role=switch]').click()");
    stranger.press("Save");
    stranger.browser.until(
        "it is saved",
        "document.body.innerText.toLowerCase().includes('configuration saved')",
    );
    let after = fs::read_to_string(stranger.served.home.path("config.yaml")).unwrap();
    let added = after
        .strip_prefix(&before)
        .unwrap_or_else(|| panic!("{after}"));
    assert_eq!(added.trim().lines().count(), 1, "{added}");

    stranger.open("/env", "SUDO_PASSWORD");
    stranger.browser.eval(
        "(() => { let row = [...document.querySelectorAll('main *')].find((one) => one.children.length === 0 && one.textContent.trim() === 'SUDO_PASSWORD'); \
         const set = (one) => [...one.querySelectorAll('button')].find((button) => button.textContent.trim() === 'Set'); \
         while (!set(row)) row = row.parentElement; set(row).click(); })()",
    );
    let field = "main input[placeholder^=Enter]";
    stranger.browser.until(
        "a field is there",
        &format!("document.querySelector('{field}') !== null"),
    );
    stranger.browser.fill(field, "from-the-stranger-1234");
    stranger.press("Save");
    stranger.browser.until(
        "the key is saved",
        &format!("document.querySelector('{field}') === null"),
    );
    let env = fs::read_to_string(stranger.served.home.path(".env")).unwrap();
    assert!(env.contains("SUDO_PASSWORD=from-the-stranger-1234"));
    stranger.is_content();
}

fn board_acts(version: &str) {
    let mut stranger = Stranger::new(version);
    stranger.open("/kanban", "Water the plants");
    // Into triage.
    stranger.browser.click(".hermes-kanban-column-add");
    let idea = "main textarea[placeholder*=idea]";
    stranger.browser.until(
        "a form is there",
        &format!("document.querySelector('{idea}') !== null"),
    );
    stranger.browser.fill(idea, "From a stranger");
    stranger.press("Create");
    let card = "[...document.querySelectorAll('main *')].find((one) => one.children.length === 0 && one.textContent === 'From a stranger')";
    stranger
        .browser
        .until("the card is there", &format!("Boolean({card})"));
    stranger.browser.eval(&format!("{card}.click()"));
    let drawer = "document.querySelector('[class*=kanban-drawer]')";
    stranger.browser.until(
        "the card is shown",
        &format!("{drawer}?.innerText.includes('Decompose') === true"),
    );
    // Out of triage by hand.
    stranger.browser.eval(
        "[...document.querySelectorAll('button')].find((one) => one.textContent.trim() === '→ ready').click()",
    );
    let ready = |stranger: &mut Stranger| {
        let board = stranger.api("/api/plugins/kanban/board");
        let columns = board["columns"].as_array().unwrap();
        let column = columns.iter().find(|column| column["name"] == "ready");
        column.unwrap()["tasks"].to_string()
    };
    stranger.browser.until(
        "the drawer says that it is ready",
        &format!("/Status\\s+ready/i.test({drawer}?.innerText ?? '')"),
    );
    assert!(ready(&mut stranger).contains("From a stranger"));
    // What others do arrives by itself.
    let other = stranger.served.card("Seen at once", &["--triage"]);
    stranger.browser.until(
        "the new card appears",
        &format!("document.querySelector('main').innerText.includes('{other}')"),
    );
    stranger.is_content();
}

/// The incident: a page that reloaded itself for ever because of an answer that is by design.
fn page_stays(version: &str) {
    let mut stranger = Stranger::new(version);
    stranger.open("/sessions", "Hello there");
    let before = stranger.browser.navigations;
    stranger.browser.watch(Duration::from_mins(1));
    assert_eq!(stranger.browser.navigations, before);
    stranger.is_content();
}

macro_rules! with_each_front_end {
    ($($test:ident $name:ident;)+) => {
        mod with_0_15_1 {
            $(#[test] fn $test() { super::$name("0.15.1"); })+
        }
        mod with_0_19_0 {
            $(#[test] fn $test() { super::$name("0.19.0"); })+
        }
    };
}

with_each_front_end! {
    all_pages_load pages_load;
    a_job_is_paused_a_setting_switched_and_a_key_saved pages_act;
    the_board_is_shown_worked_with_and_live board_acts;
    no_page_is_loaded_again_within_a_minute page_stays;
}
