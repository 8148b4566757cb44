//! Every page: there, useful without scripts, the same on a phone, and calm.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::browser::Browser;
use crate::served::Served;

/// Every page of the navigation.
pub(crate) const PAGES: &[&str] = &[
    "/board",
    "/chat",
    "/sessions",
    "/status",
    "/logs",
    "/usage",
    "/cron",
    "/skills",
    "/profiles",
    "/config",
    "/config?view=raw",
    "/keys",
];

fn filled() -> Served {
    let served = Served::new();
    served.card("Water the plants", &["--triage"]);
    served.card("Answer the letter", &["--assignee", "nobody-yet"]);
    served.hermes(&["chat", "-q", "Hello there"]);
    served.hermes(&["cron", "create", "every 2h", "Look after the plants"]);
    served
}

#[test]
fn every_page_is_there_and_the_keyboard_leads_to_it() {
    let served = filled();
    let mut browser = Browser::start();
    for path in PAGES {
        browser.open(&served.url(path));
        assert!(
            browser
                .eval("document.querySelector('.trouble')?.innerText ?? null")
                .is_null(),
            "{path}"
        );
        assert!(!browser.text("h1").is_empty(), "{path}");
    }
    browser.key("g", 0);
    browser.key("s", 0);
    browser.until(
        "g s goes to the sessions",
        "location.pathname === '/sessions'",
    );
    browser.until(
        "the page is ready",
        "document.documentElement.dataset.ready === '1'",
    );
    browser.key("?", 0);
    browser.until("? shows the keys", "document.getElementById('help').open");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn pages_say_what_they_know_without_scripts() {
    let served = filled();
    let mut browser = Browser::start();
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": true}),
    );
    browser.call("Page.navigate", json!({"url": served.url("/board")}));
    browser.until(
        "the cards are there",
        "document.querySelectorAll('.card').length === 2",
    );
    browser.call("Page.navigate", json!({"url": served.url("/sessions")}));
    browser.until(
        "the conversation is there",
        "document.querySelectorAll('#sessions tbody tr').length === 1",
    );
}

/// Nothing is wider than a phone, and the navigation is at hand.
#[test]
fn every_page_fits_a_phone() {
    let served = filled();
    let mut browser = Browser::start();
    browser.resize(390, 800);
    for path in PAGES {
        browser.open(&served.url(path));
        let wide = browser.eval("document.documentElement.scrollWidth");
        assert!(wide.as_i64().unwrap() <= 390, "{path} is {wide} wide");
        assert_eq!(
            browser.eval("getComputedStyle(document.querySelector('.bottom')).display"),
            "block"
        );
    }
}

/// Nothing moves while a page loads and while it is refreshed.
#[test]
fn pages_do_not_shift() {
    let served = filled();
    let mut browser = Browser::start();
    for path in PAGES {
        browser.open(&served.url(path));
        let shift = browser.eval(
            "new Promise((done) => { let sum = 0; new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value; }).observe({type: 'layout-shift', buffered: true}); setTimeout(() => done(sum), 600); })",
        );
        assert!(shift.as_f64().unwrap() < 0.05, "{path} shifts by {shift}");
    }
}

#[test]
fn what_is_not_there_says_so() {
    let served = Served::new();
    let mut browser = Browser::start();
    browser.open(&served.url("/board/t_00000000"));
    assert!(browser.text(".trouble").contains("t_00000000"));
    browser.open(&served.url("/sessions/nosuch"));
    assert!(!browser.text(".trouble").is_empty());
    browser.open(&served.url("/board"));
    assert!(browser.text("#no-cards").contains("hermes kanban create"));
    let answer = browser.eval("fetch('/api/nosuch', {headers: {'X-Hermes-Session-Token': document.querySelector('meta[name=hermes-token]').content}}).then(async (r) => [r.status, typeof (await r.json()).detail])");
    assert_eq!(answer, json!([404, "string"]));
}

/// Files that cannot be read are named, with what to do, and the dashboard goes on.
#[test]
fn a_damaged_board_and_a_missing_home_are_named() {
    let served = filled();
    let mut browser = Browser::start();
    browser.open(&served.url("/nosuch"));
    assert!(browser.text("main").contains("/nosuch"));
    let board = served.home.path("kanban.db");
    std::fs::write(&board, "no database at all").unwrap();
    browser.open(&served.url("/board"));
    assert!(browser.text(".trouble").contains("kanban.db"));
    assert!(browser.text(".trouble").contains("hermes doctor"));
    browser.open(&served.url("/sessions"));
    assert!(browser.eval("document.querySelector('.trouble')").is_null());
    // The same of conversations.
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        drop(std::fs::remove_file(served.home.path(name)));
    }
    let garbage = "no database, and long enough to be looked at ".repeat(40);
    std::fs::write(served.home.path("state.db"), garbage).unwrap();
    for path in ["/sessions", "/usage"] {
        browser.open(&served.url(path));
        let said = browser.text(".trouble");
        assert!(said.contains("state.db"), "{path}: {said}");
        assert!(said.contains("hermes doctor"), "{path}: {said}");
    }
    let home = served.home.root();
    std::fs::rename(&home, served.home.outside("elsewhere")).unwrap();
    browser.open(&served.url("/board"));
    assert!(browser.text("main").contains("hermes setup"));
    assert!(!home.exists(), "looking at a page has made a home");
}
