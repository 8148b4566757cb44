//! Conversations in the browser.

use pretty_assertions::assert_eq;

use crate::browser::Browser;
use crate::served::{REPLAY, Served};

/// A dashboard whose agent runs commands outside of any sandbox, and has to ask.
fn asking() -> Served {
    let served = Served::new();
    let settings = format!("{REPLAY}terminal:\n  sandbox: 'off'\n");
    served.home.put("config.yaml", settings);
    served
}

#[test]
fn a_turn_is_streamed_and_a_command_approved() {
    let served = asking();
    served.home.put(
        "script.yaml",
        "turns:\n  - text: I clean up first.\n    calls: [{tool: terminal, arguments: {command: rm -rf scratch-of-the-test && echo cleared}}]\n  - text: It is gone.\n",
    );
    let mut browser = Browser::start();
    browser.open(&served.url("/chat"));
    browser.fill("#text", "Please clean up.");
    browser.key("Enter", 0);
    browser.until(
        "the question is asked",
        "document.querySelector('.ask') !== null",
    );
    assert!(browser.text(".ask").contains("rm -rf scratch-of-the-test"));
    browser.click(".ask button[data-choice=once]");
    browser.until("the turn is over", "[...document.querySelectorAll('.said')].some((one) => one.textContent.includes('It is gone.')) && document.getElementById('stop').hidden");
    assert!(browser.text("#turns").contains("Approved once."));
    assert_eq!(
        browser.eval("document.querySelectorAll('.turn .call').length"),
        1
    );

    // The conversation can be taken up again, also after the page is loaded anew.
    let session = browser.eval("new URLSearchParams(location.search).get('session')");
    let session = session.as_str().unwrap().to_owned();
    browser.open(&served.url(&format!("/chat?session={session}")));
    assert!(browser.text("#turns").contains("Please clean up."));
    assert!(browser.text("#turns").contains("It is gone."));
    browser.open(&served.url("/sessions"));
    browser.until(
        "it is listed",
        "document.querySelector('#sessions tbody tr') !== null",
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_command_that_is_denied_does_not_run() {
    let served = asking();
    let target = served.home.outside("precious");
    std::fs::create_dir(&target).unwrap();
    served.home.put(
        "script.yaml",
        format!(
            "turns:\n  - calls: [{{tool: terminal, arguments: {{command: rm -rf {}}}}}]\n  - text: As you wish.\n",
            target.display()
        ),
    );
    let mut browser = Browser::start();
    browser.open(&served.url("/chat"));
    browser.fill("#text", "Remove it.");
    browser.click("#send");
    browser.until(
        "the question is asked",
        "document.querySelector('.ask') !== null",
    );
    browser.click(".ask button[data-choice=deny]");
    browser.until(
        "the turn is over",
        "document.querySelector('#turns').innerText.includes('As you wish.')",
    );
    assert!(target.is_dir());
    assert!(browser.text("#turns").contains("Denied."));
}
