//! Cards in the browser.

use hermes_testkit::eventually;
use pretty_assertions::assert_eq;

use crate::browser::Browser;
use crate::served::Served;

fn column_of(id: &str) -> String {
    format!("document.getElementById('card-{id}')?.closest('.column').dataset.status")
}

#[test]
fn a_card_is_dragged_to_another_column_and_stays_there() {
    let served = Served::new();
    let id = served.card("Water the plants", &["--assignee", "nobody-yet"]);
    let mut browser = Browser::start();
    browser.open(&served.url("/board"));
    assert_eq!(browser.eval(&column_of(&id)), "ready");
    browser.drag(&format!("#card-{id}"), "#column-scheduled ul");
    browser.until(
        "the card is there",
        &format!("{} === 'scheduled'", column_of(&id)),
    );
    browser.until(
        "the board says the same",
        &format!("fetch('/board').then((r) => r.text()).then((t) => new DOMParser().parseFromString(t, 'text/html').querySelector('#column-scheduled #card-{id}') !== null)"),
    );
    // Nobody starts a card by hand.
    browser.drag(&format!("#card-{id}"), "#column-running ul");
    browser.until("the reason is told", "[...document.querySelectorAll('.toast.bad')].some((one) => one.innerText.includes('dispatcher'))");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_card_is_moved_and_opened_with_the_keyboard() {
    let served = Served::new();
    let id = served.card("Answer the letter", &["--assignee", "nobody-yet"]);
    let mut browser = Browser::start();
    browser.open(&served.url("/board"));
    browser.eval(&format!("document.getElementById('card-{id}').focus()"));
    // From ready past running, which is closed, to blocked, which asks why.
    browser.key("ArrowRight", 8);
    browser.until(
        "the reason is asked for",
        "document.getElementById('block').open",
    );
    browser.fill("#block textarea", "waits for a stamp");
    browser.click("#block button[value=yes]");
    browser.until(
        "it is blocked",
        &format!("{} === 'blocked'", column_of(&id)),
    );
    eventually("the board knows the reason", || {
        served
            .hermes(&["kanban", "show", &id])
            .contains("waits for a stamp")
    });
    browser.until(
        "the focus stays on it",
        &format!("document.activeElement.id === 'card-{id}'"),
    );
    browser.key("Enter", 0);
    browser.until("the drawer shows it", "document.querySelector('#drawer[open] #sheet h2.title')?.textContent === 'Answer the letter'");
    browser.fill("#sheet textarea[name=body]", "I have one in the drawer.");
    browser.click("#sheet form[data-note='Comment added.'] button");
    browser.until("the comment is shown", "[...document.querySelectorAll('#sheet .prose')].some((one) => one.textContent === 'I have one in the drawer.')");
    browser.key("Escape", 0);
    browser.until(
        "the drawer is closed",
        "!document.getElementById('drawer').open",
    );
}

/// Triage is left by hand as well, and a card that is done is taken up again.
#[test]
fn a_card_leaves_triage_and_done_by_being_dragged() {
    let served = Served::new();
    let id = served.card("Which database?", &["--triage"]);
    let done = served.card("Count the sheep", &["--assignee", "nobody-yet"]);
    served.hermes(&["kanban", "complete", &done, "--summary", "Forty."]);
    let mut browser = Browser::start();
    browser.open(&served.url("/board"));
    let status = |id: &str| -> serde_json::Value {
        let shown = served.hermes(&["kanban", "show", id, "--json"]);
        serde_json::from_str::<serde_json::Value>(&shown).unwrap()["task"]["status"].clone()
    };
    for (card, column) in [
        (&id, "todo"),
        (&id, "triage"),
        (&id, "ready"),
        (&done, "ready"),
    ] {
        browser.drag(&format!("#card-{card}"), &format!("#column-{column} ul"));
        browser.until(
            &format!("the card is in {column}"),
            &format!("{} === '{column}'", column_of(card)),
        );
        eventually("the board says the same", || status(card) == column);
    }
    assert_eq!(
        browser.eval("document.querySelectorAll('.toast.bad').length"),
        0
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// What others do may draw the board anew while a card is in the hand.
#[test]
fn a_card_that_is_drawn_anew_in_mid_drag_is_moved_all_the_same() {
    let served = Served::new();
    let id = served.card("Which database?", &["--triage"]);
    let mut browser = Browser::start();
    browser.open(&served.url("/board"));
    browser.eval(&format!(
        "(() => {{
            const card = document.getElementById('card-{id}');
            const middle = (element) => {{
                const box = element.getBoundingClientRect();
                return {{ clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }};
            }};
            const pointer = (kind, at) =>
                new PointerEvent(kind, {{ pointerId: 1, button: 0, bubbles: true, ...at }});
            const there = middle(document.querySelector('#column-todo'));
            card.dispatchEvent(pointer('pointerdown', middle(card)));
            card.replaceWith(card.cloneNode(true));
            window.dispatchEvent(pointer('pointermove', there));
            window.dispatchEvent(pointer('pointerup', there));
        }})()"
    ));
    browser.until(
        "the card is in todo",
        &format!("{} === 'todo'", column_of(&id)),
    );
    eventually("the board says the same", || {
        let shown = served.hermes(&["kanban", "show", &id, "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown["task"]["status"] == "todo"
    });
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// A change by somebody else arrives without a reload.
#[test]
fn what_others_do_is_seen_at_once() {
    let served = Served::new();
    let id = served.card("Count the sheep", &["--assignee", "nobody-yet"]);
    let mut browser = Browser::start();
    browser.open(&served.url("/board"));
    browser.until(
        "the board is live",
        "document.querySelector('.pulse').dataset.state === 'live'",
    );
    let before = browser.navigations;
    served.hermes(&["kanban", "complete", &id, "--summary", "There were forty."]);
    browser.until(
        "the card is done",
        &format!("{} === 'done'", column_of(&id)),
    );
    browser.until(
        "its summary is shown",
        &format!(
            "document.querySelector('#card-{id} .summary')?.textContent.includes('forty') === true"
        ),
    );
    let other = served.card("Count them again", &[]);
    browser.until(
        "a new card appears",
        &format!("document.getElementById('card-{other}') !== null"),
    );
    assert_eq!(browser.navigations, before);
}

/// A worker finishes while somebody watches.
#[test]
fn a_worker_is_watched_to_its_end() {
    let served = Served::new();
    served.home.put(
        "script.yaml",
        "turns:\n  - calls: [{tool: kanban_complete, arguments: {summary: The work is done.}}]\n  - text: Done.\n",
    );
    let id = served.card("Do the work", &["--assignee", "default"]);
    let mut browser = Browser::start();
    browser.open(&served.url(&format!("/board#{id}")));
    browser.until(
        "the drawer is open",
        "document.querySelector('#drawer[open] #sheet') !== null",
    );
    let mut dispatcher = served
        .home
        .hermes(["kanban", "daemon", "--interval", "1"])
        .start();
    browser.until(
        "the card is done",
        &format!("{} === 'done'", column_of(&id)),
    );
    browser.until(
        "the drawer says so",
        "document.querySelector('#sheet')?.textContent.includes('The work is done.') === true",
    );
    browser.until("the attempt is listed", "document.querySelector('#sheet [data-key^=run-]')?.textContent.includes('completed') === true");
    dispatcher.kill();
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn cards_are_created_filtered_and_changed_together() {
    let served = Served::new();
    let mut browser = Browser::start();
    browser.open(&served.url("/board"));
    browser.click("[data-open=new-card]");
    browser.fill("#new-card input[name=title]", "From the browser");
    browser.fill("#new-card textarea[name=body]", "with a body");
    browser.click("#new-card footer .primary");
    browser.until("the card is there", "[...document.querySelectorAll('.card .title')].some((one) => one.textContent === 'From the browser')");
    served.card("Something else", &[]);
    browser.until(
        "both are there",
        "document.querySelectorAll('.card').length === 2",
    );
    browser.key("/", 0);
    browser.insert("browser");
    browser.until(
        "one is left",
        "document.querySelectorAll('.card:not([hidden])').length === 1",
    );
    browser.fill("#filters input[name=q]", " ");
    browser.until(
        "both again",
        "document.querySelectorAll('.card:not([hidden])').length === 2",
    );
    browser.eval("document.querySelectorAll('.pick').forEach((one) => one.click())");
    browser.until(
        "both are chosen",
        "document.getElementById('picked').textContent === '2 cards'",
    );
    browser.eval("document.querySelector('#bulk select[name=status]').value = 'done'");
    browser.click("#bulk button.primary");
    browser.until(
        "both are done",
        "document.querySelectorAll('#column-done .card').length === 2",
    );
    // A parent that does not exist is refused with the reason, and the form keeps what was typed.
    browser.click("[data-open=new-card]");
    browser.fill("#new-card input[name=title]", "Orphan");
    browser.fill("#new-card input[name=parents]", "t_00000000");
    browser.click("#new-card footer .primary");
    browser.until(
        "the reason is told",
        "document.querySelector('#new-card .wrong').textContent.includes('t_00000000')",
    );
    assert_eq!(
        browser.eval("document.querySelector('#new-card input[name=title]').value"),
        "Orphan"
    );
}
