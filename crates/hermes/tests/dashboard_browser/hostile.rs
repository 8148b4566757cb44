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

/// A name that a file can have.
const NAME: &str = "<img src=x onerror=window.owned=1>'\"&.md";

/// Nothing of a name has become a part of the page.
#[track_caller]
fn is_text(browser: &mut Browser, path: &str) {
    let made = browser.eval("document.querySelectorAll('[onerror], img[src=x]').length");
    assert_eq!(made, 0, "{path}");
    assert!(browser.eval("window.owned ?? null").is_null(), "{path}");
}

#[test]
fn scripts_in_names_of_files_stay_text() {
    let served = Served::new();
    let home = &served.home;
    home.put(
        "script.yaml",
        format!(
            "turns:\n  - calls: [{{tool: write_file, arguments: {{path: {}, content: x}}}}]\n  - text: Written.\n",
            serde_json::json!(NAME)
        ),
    );
    let kept = home.put_outside(NAME, "kept", 0o644);
    let workspace = home.outside("places").join(NAME);
    std::fs::create_dir_all(&workspace).unwrap();
    let place = format!("dir:{}", workspace.display());
    let id = served.card("With files", &["--workspace", &place]);
    served.hermes(&["kanban", "attach", &id, &kept.display().to_string()]);
    served.hermes(&["chat", "-q", "Write the file."]);
    served.hermes(&["cron", "create", "every 2h", "Look", "--name", NAME]);
    let skill = "---\nname: tidy\ndescription: Tidies.\n---\nTidy.\n";
    home.put(&format!("skills/{NAME}/tidy/SKILL.md"), skill);
    home.put(
        &format!("skills/{NAME}/SKILL.md"),
        skill.replace("tidy\n", &format!("{}\n", serde_json::json!(NAME))),
    );
    home.put(
        &format!("plugins/{NAME}/plugin.yaml"),
        format!("name: {}\n", serde_json::json!(NAME)),
    );
    home.put(&format!("logs/{NAME}.log"), "x\n");
    home.put(&format!("cron/output/{NAME}"), "x\n");

    let mut browser = Browser::start();
    for path in PAGES {
        browser.open(&served.url(path));
        is_text(&mut browser, path);
    }
    // Where such a name is shown, it is there letter by letter.
    browser.open(&served.url("/skills"));
    assert!(
        browser.text("main").contains(NAME),
        "{}",
        browser.text("main")
    );
    browser.open(&served.url("/cron"));
    assert!(
        browser.text("main").contains(NAME),
        "{}",
        browser.text("main")
    );
    let card = format!("/board/{id}");
    browser.open(&served.url(&card));
    let shown = browser.text("#sheet");
    assert!(
        shown.matches(NAME).count() >= 2,
        "workspace and attachment: {shown}"
    );
    is_text(&mut browser, &card);
    browser.open(&served.url("/sessions"));
    let href = browser.eval("document.querySelector('#sessions tbody a').getAttribute('href')");
    let session = href.as_str().unwrap().to_owned();
    browser.open(&served.url(&session));
    assert!(browser.text("#turns").contains("onerror=window.owned"));
    is_text(&mut browser, &session);
    let chat = session.replace("/sessions/", "/chat?session=");
    browser.open(&served.url(&chat));
    is_text(&mut browser, &chat);
    // An export is for the disk: no browser shows it as a page.
    let export = serde_json::json!(format!("{session}/export"));
    let answer = browser.eval(&format!(
        "fetch({export}).then(async (r) => [r.status, r.headers.get('content-type').split(';')[0], \
         r.headers.get('content-disposition').split(';')[0], r.headers.get('x-content-type-options'), \
         (await r.text()).includes('onerror=window.owned')])"
    ));
    let expected = serde_json::json!([200, "application/json", "attachment", "nosniff", true]);
    assert_eq!(answer, expected);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_home_with_a_script_in_its_name_is_text_on_every_page() {
    let home = crate::served::home();
    let place = home.outside("homes").join(NAME);
    std::fs::create_dir_all(&place).unwrap();
    let words = ["dashboard", "--no-open", "--port", "0"];
    let process = home.hermes(words).env("HERMES_HOME", &place).start();
    let served = Served::of(home, process);
    let mut browser = Browser::start();
    let mut shown = 0;
    for path in PAGES {
        browser.open(&served.url(path));
        is_text(&mut browser, path);
        shown += usize::from(browser.text("body").contains(NAME));
    }
    assert!(shown > 0, "no page shows the home");
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
