//! Settings and keys in the browser.

use pretty_assertions::assert_eq;

use crate::browser::Browser;
use crate::served::Served;

const ORIGIN: &str =
    "document.querySelector('[data-key=\"terminal.timeout\"] .origin').textContent";

fn change(browser: &mut Browser, value: &str) {
    browser.fill("#s-terminal-timeout", value);
    browser.key("Enter", 0);
}

#[test]
fn a_setting_is_changed_and_says_where_it_comes_from() {
    let served = Served::new();
    let mut browser = Browser::start();
    browser.open(&served.url("/config"));
    assert_eq!(browser.eval(ORIGIN), "Default");
    change(&mut browser, "77");
    browser.until(
        "the origin is the file",
        &format!("{ORIGIN}.startsWith('Set in config.yaml, line ')"),
    );
    assert_eq!(
        served.hermes(&["config", "get", "terminal.timeout"]).trim(),
        "77"
    );
    change(&mut browser, "soon");
    browser.until("the mistake is told", "document.querySelector('[data-key=\"terminal.timeout\"] .wrong').textContent.includes('terminal.timeout')");
    assert_eq!(
        served.hermes(&["config", "get", "terminal.timeout"]).trim(),
        "77"
    );
}

/// Two tabs edit one setting: the later one is told, and nothing is lost in silence.
#[test]
fn the_later_of_two_tabs_is_told() {
    let served = Served::new();
    let mut first = Browser::start();
    let mut second = Browser::start();
    first.open(&served.url("/config"));
    second.open(&served.url("/config"));
    change(&mut first, "41");
    first.until("it is saved", &format!("{ORIGIN} !== 'Default'"));
    change(&mut second, "42");
    second.until("the other change is told", "document.getElementById('sure').open && document.querySelector('#sure p').textContent.includes('41')");
    assert_eq!(
        served.hermes(&["config", "get", "terminal.timeout"]).trim(),
        "41"
    );
    second.click("#sure button[value=no]");
    second.until(
        "the value of the other tab is shown",
        "document.getElementById('s-terminal-timeout').value === '41'",
    );
    change(&mut second, "43");
    second.until(
        "it is saved",
        "document.getElementById('s-terminal-timeout').dataset.was === '43'",
    );
    assert_eq!(
        served.hermes(&["config", "get", "terminal.timeout"]).trim(),
        "43"
    );
}

#[test]
fn a_key_is_set_masked_and_revealed() {
    let secret = "sk-or-v1-0123456789abcdef0123456789abcdef";
    let served = Served::new();
    let mut browser = Browser::start();
    browser.open(&served.url("/keys"));
    browser.click("[data-open=new-key]");
    browser.fill("#new-key input[name=key]", "OPENROUTER_API_KEY");
    browser.fill("#new-key input[name=value]", secret);
    browser.click("#new-key .primary");
    browser.until(
        "it is listed",
        "document.getElementById('value-OPENROUTER_API_KEY') !== null",
    );
    let page = browser.eval("document.documentElement.outerHTML");
    assert!(
        !page.as_str().unwrap().contains(secret),
        "the page has the key"
    );
    browser.click("[data-reveal=OPENROUTER_API_KEY]");
    browser.until(
        "it is shown",
        &format!("document.getElementById('value-OPENROUTER_API_KEY').textContent === '{secret}'"),
    );
    // Names that would change programs are refused with the reason.
    browser.click("[data-open=new-key]");
    browser.fill("#new-key input[name=key]", "LD_PRELOAD");
    browser.fill("#new-key input[name=value]", "/tmp/x.so");
    browser.click("#new-key .primary");
    browser.until(
        "the reason is told",
        "document.querySelector('#new-key .wrong').textContent.includes('LD_PRELOAD')",
    );
    assert!(!served.home.read(".env").contains("LD_PRELOAD"));
}
