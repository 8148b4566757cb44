//! Text of others, which must stay text.

use pretty_assertions::assert_eq;

use crate::browser::Browser;
use crate::pages::PAGES;
use crate::served::Served;

const SCRIPT: &str = "<img src=x onerror=\"window.owned=1\"><script>window.owned=1</script>\"'><svg onload=window.owned=1>";

#[test]
fn scripts_in_cards_comments_logs_and_sessions_stay_text() {
    let served = Served::new();
    let id = served.card(SCRIPT, &["--body", SCRIPT, "--assignee", "nobody-yet"]);
    served.hermes(&["kanban", "comment", &id, SCRIPT]);
    served.hermes(&["kanban", "complete", &id, "--summary", SCRIPT]);
    served.hermes(&["chat", "-q", SCRIPT]);
    served.home.put(
        "logs/agent.log",
        format!("2026-11-17 10:00:00,000 ERROR agent: {SCRIPT}\n"),
    );
    let mut browser = Browser::start();
    for path in PAGES {
        browser.open(&served.url(path));
        assert!(browser.eval("window.owned ?? null").is_null(), "{path}");
    }
    browser.open(&served.url(&format!("/board#{id}")));
    browser.until(
        "the drawer shows it",
        "document.querySelector('#drawer[open] #sheet .prose') !== null",
    );
    assert_eq!(browser.text("#sheet h2.title"), SCRIPT);
    browser.open(&served.url("/sessions"));
    browser.click("#sessions tbody a");
    browser.until(
        "the conversation",
        "document.querySelector('.turn .said') !== null",
    );
    assert_eq!(browser.text(".turn.user .said"), SCRIPT);
    browser.open(&served.url("/sessions?q=onerror"));
    browser.open(&served.url("/logs"));
    assert!(browser.text("#log").contains("window.owned=1"));
    assert!(browser.eval("window.owned ?? null").is_null());
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_page_of_another_site_cannot_show_the_dashboard_or_read_it() {
    let served = Served::new();
    let mut browser = Browser::start();
    browser.open("data:text/html,<title>evil</title>");
    let url = served.url("/board");
    let read = browser.eval(&format!(
        "fetch('{url}').then((r) => r.text(), () => 'refused')"
    ));
    assert_eq!(read, "refused");
    browser.eval(&format!("{{ const f = document.createElement('iframe'); f.src = '{url}'; f.id = 'f'; document.body.append(f); new Promise((done) => f.onload = done) }}"));
    let shown = browser.eval("(() => { try { return document.getElementById('f').contentDocument?.body.innerText ?? ''; } catch { return ''; } })()");
    assert_eq!(shown, "");
    let opened = browser.eval(&format!(
        "new Promise((done) => {{ const s = new WebSocket('ws://127.0.0.1:{}/api/plugins/kanban/events?since=0'); s.onopen = () => done('open'); s.onerror = () => done('refused'); }})",
        served.port
    ));
    assert_eq!(opened, "refused");
}
