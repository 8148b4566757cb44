//! Sessions shown in the documentation happen as shown.
//!
//! A block of kind `console` is one session in a home of its own: lines beginning with `$ ` are
//! typed, the others are what comes back, words and data alike.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;

use crate::read;

/// The sessions of a page.
fn sessions(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current: Option<String> = None;
    for line in page.lines() {
        match (&mut current, line.trim()) {
            (None, "```console") => current = Some(String::new()),
            (None, _) => {}
            (Some(_), "```") => found.extend(current.take()),
            (Some(session), _) => {
                session.push_str(line);
                session.push('\n');
            }
        }
    }
    found
}

/// What a session looks like when its commands are typed now.
fn replayed(session: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let programs = home.path().join(".local/bin");
    std::fs::create_dir_all(&programs).unwrap();
    symlink(env!("CARGO_BIN_EXE_hermes"), programs.join("hermes")).unwrap();
    let mut happened = String::new();
    for line in session.lines() {
        if let Some(typed) = line.strip_prefix("$ ") {
            happened.push_str(&format!(
                "{line}\n{}",
                answer(typed, home.path(), &programs)
            ));
        }
    }
    happened
}

fn answer(typed: &str, home: &Path, programs: &Path) -> String {
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {typed} ; }} 2>&1")])
        .env_clear()
        .env("HOME", home)
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env("TERM", "dumb")
        .current_dir(home)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_first_session_of_the_readme_happens_as_shown() {
    let sessions = sessions(&read("README.md"));
    assert_eq!(sessions.len(), 1, "the README shows one session");
    for session in sessions {
        assert_eq!(session, replayed(&session));
    }
}

/// Pages written by hand.
const PAGES: [&str; 7] = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/board.md",
    "docs/guide.md",
    "docs/moving-from-python.md",
    "docs/terminal-backends.md",
];

#[test]
fn pages_link_to_files_that_exist() {
    for page in PAGES {
        let text = read(page);
        let directory = Path::new(page).parent().unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| {
            let (link, _) = rest.split_once(')')?;
            (!link.contains("://")).then_some(link)
        });
        for link in links {
            let link = link.split('#').next().unwrap();
            let file = crate::project_file(directory.join(link).to_str().unwrap());
            assert!(file.exists(), "{page} links to {link}, which is not there");
        }
    }
}
