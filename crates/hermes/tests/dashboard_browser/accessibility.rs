//! axe-core finds nothing serious on any page, light or dark.

use hermes_testkit::NodePackage;
use serde_json::Value;

use crate::browser::Browser;
use crate::pages::PAGES;
use crate::review::Project;
use crate::served::Served;

const RUN: &str = "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations\
    .filter((one) => one.impact === 'serious' || one.impact === 'critical')\
    .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')}`))";

fn violations(browser: &mut Browser, axe: &str) -> Vec<Value> {
    // The page's policy is about its own scripts; this one comes from outside of it.
    browser.eval(&format!("{axe}; undefined"));
    browser.eval(RUN).as_array().unwrap().clone()
}

#[test]
fn axe_finds_nothing_serious_on_any_page() {
    let package = NodePackage::install("axe-core-4.11.0", "axe-core@4.11.0");
    let axe = std::fs::read_to_string(package.file("axe-core/axe.min.js")).unwrap();
    let served = Served::new();
    let id = served.card("Water the plants", &["--triage", "--body", "All of them."]);
    served.card(
        "Answer the letter",
        &["--assignee", "nobody-yet", "--priority", "3"],
    );
    served.hermes(&["chat", "-q", "Hello there"]);
    served.hermes(&["cron", "create", "every 2h", "Look after the plants"]);
    let project = Project::new(&served);
    let reviewed = project.reviewed_card();
    served.hermes(&[
        "kanban",
        "review",
        "comment",
        &reviewed,
        "poem.txt:2",
        "Why?",
    ]);
    let mut browser = Browser::start();
    let mut found = Vec::new();
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        for path in PAGES {
            browser.open(&served.url(path));
            for one in violations(&mut browser, &axe) {
                found.push(format!("{scheme} {path} {one}"));
            }
        }
        browser.open(&served.url(&format!("/board/{id}")));
        for one in violations(&mut browser, &axe) {
            found.push(format!("{scheme} card {one}"));
        }
        browser.open(&served.url(&format!("/board/{reviewed}/review")));
        browser.click(".pin[data-line='1']");
        for one in violations(&mut browser, &axe) {
            found.push(format!("{scheme} review {one}"));
        }
        browser.click("[data-open=approve]");
        for one in violations(&mut browser, &axe) {
            found.push(format!("{scheme} approval {one}"));
        }
        browser.open(&served.url(&format!("/board#{id}")));
        browser.until(
            "the drawer is open",
            "document.querySelector('#drawer[open] #sheet') !== null",
        );
        for one in violations(&mut browser, &axe) {
            found.push(format!("{scheme} drawer {one}"));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
