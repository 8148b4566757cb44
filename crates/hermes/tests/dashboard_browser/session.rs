//! Tokens, logins and the loop that must not be.

use std::time::Duration;

use hermes_testkit::TestHome;

use crate::browser::Browser;
use crate::served::{REPLAY, Served, start};

/// Acceptance check 26: the endpoint that answers 401 by design reloads nothing; a restarted server has
/// the page loaded anew exactly once.
#[test]
fn a_page_is_not_reloaded_in_a_minute_and_once_after_a_restart() {
    let mut served = Served::new();
    let mut browser = Browser::start();
    browser.open(&served.url("/board"));
    let status = browser.eval(
        "fetch('/api/auth/me', {headers: {'X-Hermes-Session-Token': \
         document.querySelector('meta[name=hermes-token]').content}}).then((r) => r.status)",
    );
    assert_eq!(status, 401);
    let before = browser.navigations;
    browser.watch(Duration::from_mins(1));
    assert_eq!(browser.navigations, before, "reloaded by itself");

    let token = "document.querySelector('meta[name=hermes-token]').content";
    let old = browser.eval(token);
    served.restart();
    browser.until(
        "the page has the token of the new server",
        &format!("{token} !== {old}"),
    );
    browser.until(
        "the page is live again",
        "document.querySelector('.pulse').dataset.state === 'live'",
    );
    browser.watch(Duration::from_secs(10));
    assert_eq!(browser.navigations, before + 1, "exactly one reload");
}

#[test]
fn somebody_logs_in_by_password_and_out_again() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    home.put(
        "config.yaml",
        format!(
            "{REPLAY}dashboard:\n  basic_auth:\n    username: ada\n    password: correct horse\n"
        ),
    );
    home.put("script.yaml", "turns:\n  - text: Hello.\n");
    let (_process, port) = start(&home, 0, &["--host", "0.0.0.0"]);
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let mut browser = Browser::start();
    browser.open(&url("/status"));
    browser.until("the login is asked for", "location.pathname === '/login'");
    browser.fill("input[name=username]", "ada");
    browser.fill("input[name=password]", "wrong");
    browser.click("#password button");
    browser.until(
        "the mistake is told",
        "document.querySelector('.wrong').textContent.includes('wrong')",
    );
    browser.fill("input[name=password]", "correct horse");
    browser.click("#password button");
    browser.until(
        "the page that was wanted",
        "location.pathname === '/status' && document.documentElement.dataset.ready === '1'",
    );
    assert_eq!(
        browser.eval("document.querySelector('meta[name=hermes-token]').content"),
        ""
    );
    assert!(browser.text(".foot").contains("ada"));
    // The board's events come with a ticket instead of a token.
    browser.open(&url("/board"));
    browser.until(
        "the board is live",
        "document.querySelector('.pulse').dataset.state === 'live'",
    );
    browser.click("#logout");
    browser.until("the login again", "location.pathname === '/login'");
    browser.open(&url("/keys"));
    browser.until("nothing without a login", "location.pathname === '/login'");
}
