//! Log files: shared by processes, followed across rotations, free of secrets.

use std::collections::BTreeMap;

use hermes_testkit::{Running, TestHome};

use crate::{configured, fresh};

const WRITERS: usize = 4;
const LINES: usize = 50_000;

/// Small files that are all kept.
const ROTATING: &str = "logging: {max_size_mb: 2, backup_count: 40}\ntimezone: UTC\n";

fn writer(home: &TestHome, number: usize) -> Running {
    let mut input = String::new();
    for line in 0..LINES {
        input.push_str(&format!(
            "writer {number} line {line:05} of a record that has an end\n"
        ));
    }
    home.hermes(["internal", "log", "--logger", "agent.test"])
        .stdin(input)
        .start()
}

/// Writer and line of a log line that is whole; anything else is torn.
fn parse(line: &str) -> (usize, usize) {
    let whole = || {
        let (head, message) = line.split_once(" INFO agent.test: writer ")?;
        let well_formed = head.len() == 23 && head.as_bytes().get(19) == Some(&b',');
        let message = message.strip_suffix(" of a record that has an end")?;
        let (writer, line) = message.split_once(" line ")?;
        (well_formed && line.len() == 5).then_some(())?;
        Some((writer.parse().ok()?, line.parse().ok()?))
    };
    whole().unwrap_or_else(|| panic!("a torn line: {line:?}"))
}

/// How far each writer has been read; its lines must come in order, each once.
#[derive(Default)]
struct Progress(BTreeMap<usize, usize>);

impl Progress {
    fn take(&mut self, line: &str) {
        let (writer, number) = parse(line);
        let next = self.0.entry(writer).or_default();
        assert_eq!(number, *next, "writer {writer} lost or repeated a line");
        *next += 1;
    }

    fn is_complete(&self) -> bool {
        self.0.len() == WRITERS && self.0.values().all(|count| *count == LINES)
    }
}

// check 38
#[test]
fn four_processes_lose_and_tear_no_line_and_a_follower_sees_each_once() {
    let home = configured(ROTATING);
    let follower = home.hermes(["logs", "-f", "-n", "0"]).start();
    assert_eq!(
        follower.next_line().unwrap(),
        "--- ~/.hermes/logs/agent.log (last 0) ---"
    );
    let writers: Vec<Running> = (0..WRITERS).map(|number| writer(&home, number)).collect();
    for mut writer in writers {
        assert!(writer.wait().success());
    }

    // Files from the oldest to the newest.
    let mut files: Vec<(usize, std::path::PathBuf)> = std::fs::read_dir(home.path("logs"))
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name()?.to_str()?;
            let age = name.strip_prefix("agent.log")?.trim_start_matches('.');
            Some((if age.is_empty() { 0 } else { age.parse().ok()? }, path))
        })
        .collect();
    files.sort();
    assert!(files.len() > 5, "no rotation: {files:?}");
    let mut written = Progress::default();
    for (_, path) in files.iter().rev() {
        // While one process rotates the others write on: how far depends on how long the rotating
        // one is off the processor, but never another file's worth.
        let size = std::fs::metadata(path).unwrap().len();
        assert!(size < 4 << 20, "{}: {size}", path.display());
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.ends_with('\n'), "{}", path.display());
        // The line of `config set` that made the home is there too.
        text.lines()
            .filter(|line| !line.contains(" hermes_cli"))
            .for_each(|line| written.take(line));
    }
    assert!(written.is_complete(), "{:?}", written.0);

    let mut followed = Progress::default();
    while !followed.is_complete() {
        followed.take(&follower.next_line().unwrap());
    }
}

// check 38
#[test]
fn a_token_is_masked_in_all_four_files() {
    let home = configured("");
    home.put(".env", "OWN_PASSWORD=an-unusual-known-value\n");
    let message = "key sk-proj-abcdefghijklmnopqrstuvwxyz0123 and an-unusual-known-value\n";
    for (mode, logger) in [("gateway", "gateway.telegram"), ("dashboard", "gui.pages")] {
        home.hermes(["internal", "log", "--level", "ERROR", "--mode", mode])
            .args(["--logger", logger])
            .stdin(message)
            .run()
            .succeeds();
    }
    for (file, count) in [
        ("agent.log", 2),
        ("errors.log", 2),
        ("gateway.log", 1),
        ("gui.log", 1),
    ] {
        let text = home.read(&format!("logs/{file}"));
        let masked = text
            .lines()
            .filter(|line| line.contains("key sk-pro...0123 and "))
            .count();
        assert_eq!(masked, count, "{file}: {text}");
        assert!(!text.contains("abcdefghij"), "{file}: {text}");
        assert!(!text.contains("an-unusual-known-value"), "{file}: {text}");
        assert_eq!(home.mode(&format!("logs/{file}")), 0o600);
    }
}

fn put_log(home: &TestHome) {
    home.put(
        "logs/agent.log",
        "2026-01-02 03:04:05,006 INFO agent.turn: first\n\
         2026-01-02 03:04:06,006 ERROR [s1] tools.terminal: broke\n\
         with a second line\n\
         2026-01-02 03:04:07,006 WARNING [s2] agent.turn: careful\n\
         2026-01-02 03:04:08,006 DEBUG cli: detail\n",
    );
}

#[test]
fn filters_choose_records_with_all_their_lines() {
    let home = fresh();
    put_log(&home);
    let lines = |args: &[&str]| {
        let outcome = home.hermes(["logs"]).args(args).run();
        let text = outcome.succeeds().stdout.clone();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(&[]).len(), 5);
    assert_eq!(
        lines(&["-n", "1"]),
        ["2026-01-02 03:04:08,006 DEBUG cli: detail"]
    );
    assert_eq!(
        lines(&["--level", "error"]),
        [
            "2026-01-02 03:04:06,006 ERROR [s1] tools.terminal: broke",
            "with a second line"
        ]
    );
    assert_eq!(lines(&["--level", "WARNING"]).len(), 3);
    assert_eq!(
        lines(&["--session", "s2"]),
        ["2026-01-02 03:04:07,006 WARNING [s2] agent.turn: careful"]
    );
    assert_eq!(lines(&["--component", "tools"]).len(), 2);
    assert_eq!(lines(&["--since", "1h"]), Vec::<String>::new());
    home.run(["logs", "--level", "error", "-n", "7"])
        .prints_part("--- ~/.hermes/logs/agent.log [level>=error] (last 7) ---\n");
}

#[test]
fn bad_questions_are_refused_in_a_sentence() {
    let home = fresh();
    put_log(&home);
    home.run(["logs", "nope"]).refuses(1, "unknown log 'nope'");
    home.run(["logs", "../../x"])
        .refuses(1, "unknown log '../../x'");
    home.run(["logs", "--level", "loud"])
        .refuses(1, "unknown log level 'loud'");
    home.run(["logs", "--component", "x"])
        .refuses(1, "unknown component 'x'");
    home.run(["logs", "--since", "soon"])
        .refuses(1, "'soon' is not an age");
    home.run(["logs", "-n", "x"]).exits(2);
    home.run(["logs", "errors"]).exits(1).prints("");
}
