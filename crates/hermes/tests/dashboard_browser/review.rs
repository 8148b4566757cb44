//! The review page: comments on lines that reach the next worker, and work that is approved.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_testkit::git;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::served::Served;

const POEM: &str = "one\ntwo\nthree\nfour\nfive\n";

/// A repository of the user's, and cards that are worked on in it.
pub(crate) struct Project<'s> {
    served: &'s Served,
    pub(crate) repository: PathBuf,
}

impl<'s> Project<'s> {
    pub(crate) fn new(served: &'s Served) -> Self {
        let repository = served.home.user_home().join("project");
        fs::create_dir_all(&repository).unwrap();
        git(&repository, &["init", "--quiet", "-b", "main"]);
        fs::write(repository.join("poem.txt"), POEM).unwrap();
        fs::write(repository.join("before.txt"), "a\nb\nc\nd\ne\nf\n").unwrap();
        fs::write(repository.join("picture.bin"), [0, 1, 2, 255]).unwrap();
        fs::write(repository.join(".gitignore"), ".worktrees/\n").unwrap();
        git(&repository, &["add", "."]);
        git(&repository, &["commit", "--quiet", "-m", "first"]);
        Self { served, repository }
    }

    fn card(&self, assignee: &str) -> String {
        let workspace = format!("worktree:{}", self.repository.display());
        let flags = ["--workspace", &workspace, "--on-approve", "merge"];
        let flags = [&flags[..], &["--assignee", assignee]].concat();
        self.served.card("Improve the poem", &flags)
    }

    /// A card, taken by hand, and its worktree.
    fn taken(&self) -> (String, PathBuf) {
        let id = self.card("nobody-yet");
        self.served.hermes(&["kanban", "claim", &id]);
        let tree = self.repository.join(".worktrees").join(&id);
        assert!(tree.is_dir());
        (id, tree)
    }

    fn hand_over(&self, id: &str) {
        let words = ["kanban", "block", id, "review-required: look"];
        self.served.hermes(&words);
    }

    /// A card whose poem was changed, waiting for a review.
    pub(crate) fn reviewed_card(&self) -> String {
        let (id, tree) = self.taken();
        fs::write(tree.join("poem.txt"), POEM.replace("two", "zwei")).unwrap();
        self.hand_over(&id);
        id
    }

    fn show(&self, id: &str) -> Value {
        let shown = self.served.hermes(&["kanban", "show", id, "--json"]);
        serde_json::from_str(&shown).unwrap()
    }

    fn url(&self, id: &str) -> String {
        self.served.url(&format!("/board/{id}/review"))
    }
}

/// A worker whose second attempt depends on what the reviewer wrote.
const SCRIPT: &str = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls: [{tool: kanban_show, arguments: {}}]
  - match: {tool: kanban_show, last: "Say who is greeted."}
    calls: [{tool: terminal, arguments: {command: "printf 'greeting\nhello, world\n' > page.md"}}]
  - match: {tool: kanban_show}
    calls: [{tool: write_file, arguments: {path: page.md, content: "greeting\nhello\n"}}]
  - match: {tool: write_file}
    calls: [{tool: kanban_block, arguments: {reason: "review-required: the page is written"}}]
  - match: {tool: terminal}
    calls: [{tool: kanban_complete, arguments: {summary: The page greets the world.}}]
  - text: Done.
"#;

#[test]
fn a_comment_on_a_line_reaches_the_next_worker_and_its_work_is_approved_and_merged() {
    let served = Served::new();
    served.home.put("script.yaml", SCRIPT);
    let project = Project::new(&served);
    let id = project.card("default");
    let mut dispatcher = served
        .home
        .hermes(["kanban", "daemon", "--interval", "1"])
        .start();
    let mut browser = Browser::start();
    let stands_in =
        |status: &str| format!("document.querySelector('#column-{status} #card-{id}') !== null");
    browser.open(&served.url("/board"));
    browser.until("the first worker hands over", &stands_in("blocked"));
    // The card leads there.
    browser.open(&served.url(&format!("/board/{id}")));
    browser.click("#sheet a[href$='/review']");
    browser.until(
        "the review is ready",
        "document.documentElement.dataset.ready === '1' && document.getElementById('review') !== null",
    );
    browser.click(".file[data-file='page.md'] .pin[data-line='2']");
    browser.until(
        "the form has the focus",
        "document.activeElement.name === 'body'",
    );
    browser.insert("Say who is greeted.");
    browser.click("tr.thread form button.primary");
    browser.until(
        "the comment stands below its line",
        "document.querySelector('.file[data-file=\"page.md\"] tr.thread .prose')?.textContent === 'Say who is greeted.' && document.querySelector('tr.thread form button.primary') === null",
    );
    browser.click("[data-open=send-back]");
    browser.click("#send-back button.primary");
    browser.until(
        "it is sent back",
        "!document.getElementById('send-back').open",
    );
    browser.open(&served.url("/board"));
    browser.until("the second worker is done", &stands_in("done"));
    let card = project.show(&id);
    let runs = card["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{card}");
    assert_eq!(runs[1]["summary"], "The page greets the world.");
    dispatcher.kill();

    browser.open(&project.url(&id));
    assert!(
        browser
            .text(".file[data-file='page.md']")
            .contains("hello, world")
    );
    browser.click("[data-open=approve]");
    assert!(
        browser
            .text("#approve")
            .contains("merge its branch into main")
    );
    browser.click("#approve button.primary");
    browser.until(
        "the page says what was done",
        "document.querySelector('#review .about').textContent.includes('merged into main')",
    );
    let page = fs::read_to_string(project.repository.join("page.md")).unwrap();
    assert_eq!(page, "greeting\nhello, world\n");
    let branch = git(&project.repository, &["branch", "--show-current"]);
    assert_eq!(branch.trim(), "main");
    let approval = &project.show(&id)["review"]["approval"];
    assert_eq!(
        (&approval["by"], &approval["action"]),
        (&json!("dashboard"), &json!("merge"))
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn lines_are_chosen_and_commented_on_with_the_keyboard() {
    let served = Served::new();
    let project = Project::new(&served);
    let id = project.reviewed_card();
    let mut browser = Browser::start();
    browser.open(&project.url(&id));
    // Into the first file, past the removed line to the line now there, and one more.
    browser.key("]", 0);
    browser.key("ArrowDown", 0);
    browser.key("ArrowDown", 0);
    browser.key("ArrowDown", 8);
    browser.key("Enter", 0);
    browser.until(
        "the form is about both lines",
        "document.querySelector('tr.thread .where')?.textContent === 'On lines 2 to 3'",
    );
    browser.insert("Keep it English.");
    browser.key("Enter", 2);
    browser.until(
        "the comment is there",
        "document.querySelector('tr.thread .remark .prose')?.textContent === 'Keep it English.'",
    );
    let review = &project.show(&id)["review"];
    let comment = &review["comments"][0];
    assert_eq!(
        (
            &comment["first_line"],
            &comment["last_line"],
            &comment["quote"]
        ),
        (&json!(2), &json!(3), &json!("zwei\nthree"))
    );
    // A form that is not wanted goes, and what was typed in another stays while the page refreshes.
    browser.click(".pin[data-line='4']");
    browser.key("Escape", 0);
    browser.until(
        "the form is gone",
        "document.querySelector('tr.thread form:not([data-api*=replies])') === null",
    );
    browser.click(".pin[data-line='4']");
    browser.insert("half a thought");
    browser.click("[data-api$='/resolve']");
    browser.until(
        "the comment is resolved",
        "document.querySelector('#review .remark.resolved') !== null",
    );
    assert_eq!(
        browser.eval("document.querySelector('tr.thread[data-local-only] textarea').value"),
        "half a thought"
    );
    assert_eq!(
        browser.eval("document.querySelector('tr.thread[data-local-only]').previousElementSibling.querySelector('.pin').dataset.line"),
        "4"
    );
}

const SCRIPT_TEXT: &str = "<script>window.owned=1</script><img src=x onerror=window.owned=1>";

#[test]
fn hostile_names_and_contents_stay_text_and_nothing_is_hidden() {
    let served = Served::new();
    let project = Project::new(&served);
    let (id, tree) = project.taken();
    let write = |name: &str, content: &str| fs::write(tree.join(name), content).unwrap();
    let hostile = "\"><img src=x onerror=window.owned=1>.html";
    write(hostile, SCRIPT_TEXT);
    write("new\nline\u{202e}gpj.exe", "x\n");
    write(
        "poem.txt",
        &POEM.replace("two", "if admin \u{202e}\u{2066}// all\u{2069}"),
    );
    write("picture.bin", "\0\u{3}");
    git(&tree, &["mv", "before.txt", "after.txt"]);
    project.hand_over(&id);
    let mut browser = Browser::start();
    browser.open(&project.url(&id));
    let text = browser.text("#review");
    for part in [
        SCRIPT_TEXT,
        hostile,
        "if admin \\u{202e}\\u{2066}// all\\u{2069}",
        "before.txt → after.txt",
        "renamed",
        "no text, or too large to show",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!text.contains('\u{202e}'), "{text}");
    // A comment on a file with such a name, with a script in it.
    browser.click(".file[data-file*=onerror] .pin[data-line='1']");
    browser.insert(SCRIPT_TEXT);
    browser.click("tr.thread form button.primary");
    browser.until(
        "the comment is there",
        "document.querySelector('.file[data-file*=onerror] .remark .prose') !== null",
    );
    assert_eq!(
        browser.text(".file[data-file*=onerror] .remark .prose"),
        SCRIPT_TEXT
    );
    assert!(browser.eval("window.owned ?? null").is_null());
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// A diff of many lines is shown in parts, and the page stays small; it fits a phone.
#[test]
fn a_big_diff_is_bounded_and_shown_file_by_file() {
    let served = Served::new();
    let project = Project::new(&served);
    let (id, tree) = project.taken();
    let lines: Vec<String> = (1..=30_000).map(|line| format!("line {line}")).collect();
    fs::write(tree.join("big.txt"), lines.join("\n")).unwrap();
    fs::write(tree.join("wide.txt"), "x".repeat(100_000)).unwrap();
    fs::write(tree.join("poem.txt"), POEM.replace("two", "zwei")).unwrap();
    project.hand_over(&id);
    let mut browser = Browser::start();
    browser.resize(390, 800);
    browser.open(&project.url(&id));
    let rows = browser.eval("document.querySelectorAll('tr.line').length");
    assert!(rows.as_i64().unwrap() < 100, "{rows} rows");
    assert!(
        browser
            .text(".file[data-file='big.txt']")
            .contains("30000 lines")
    );
    assert!(browser.text(".file[data-file='poem.txt']").contains("zwei"));
    let wide = browser.eval("document.documentElement.scrollWidth");
    assert!(wide.as_i64().unwrap() <= 390, "{wide} wide");
    browser.click(".file[data-file='big.txt'] .more a");
    browser.until(
        "the file alone is shown as far as it goes",
        "document.querySelectorAll('tr.line').length === 20000",
    );
    let wide = browser.eval("document.documentElement.scrollWidth");
    assert!(wide.as_i64().unwrap() <= 390, "{wide} wide");
}

/// What is approved is what was looked at.
#[test]
fn work_that_changes_while_it_is_looked_at_is_not_approved() {
    let served = Served::new();
    let project = Project::new(&served);
    let id = project.reviewed_card();
    let tree: &Path = &project.repository.join(".worktrees").join(&id);
    let mut browser = Browser::start();
    browser.open(&project.url(&id));
    fs::write(tree.join("backdoor.txt"), "open\n").unwrap();
    browser.click("[data-open=approve]");
    browser.click("#approve button.primary");
    browser.until(
        "the reason is told",
        "document.querySelector('#approve .wrong').textContent.includes('has changed since it was reviewed')",
    );
    browser.key("Escape", 0);
    browser.click(".pin[data-line='1']");
    browser.insert("And this?");
    browser.click("tr.thread form button.primary");
    browser.until(
        "the page says that it shows other work than before",
        "!document.getElementById('changed').hidden",
    );
    // Also now the first state is what would be approved.
    browser.click("[data-open=approve]");
    browser.click("#approve button.primary");
    browser.until(
        "the reason is told again",
        "document.querySelector('#approve .wrong').textContent.includes('has changed since')",
    );
    assert_eq!(project.show(&id)["task"]["status"], "blocked");
    assert!(!project.repository.join("backdoor.txt").exists());
}

#[test]
fn a_card_without_work_says_so() {
    let served = Served::new();
    let id = served.card("Not begun", &["--assignee", "nobody-yet"]);
    let mut browser = Browser::start();
    browser.open(&served.url(&format!("/board/{id}/review")));
    assert!(browser.text(".trouble").contains("nobody has worked on it"));
    browser.open(&served.url("/board/t_00000000/review"));
    assert!(browser.text(".trouble").contains("t_00000000"));
}
