//! The surface: help, completions, mistyped words, pipes and exit codes.

use std::path::Path;
use std::process::Command;

use hermes_testkit::TestHome;
use unicode_width::UnicodeWidthStr;

use crate::{configured, fresh};

#[test]
fn the_version_is_one_line_whatever_state_the_home_is_in() {
    let home = fresh();
    std::fs::write(home.root(), "a file").unwrap();
    for flag in ["--version", "-V"] {
        home.run([flag]).succeeds().prints(concat!(
            "hermes ",
            env!("CARGO_PKG_VERSION"),
            " (as hermes-agent 0.19.0)\n"
        ));
    }
    home.run(["--help"]).succeeds().says("");
    home.run(["completion", "bash"]).succeeds();
}

/// Names under "Commands:" of a help text.
fn commands_in(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

fn visit(home: &TestHome, path: &[String], seen: &mut usize) {
    let outcome = home.hermes(path).arg("--help").env("COLUMNS", "200").run();
    let help = &outcome.succeeds().says("").stdout;
    assert!(help.contains("Usage: hermes"), "{outcome}");
    for line in help.lines() {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
        assert_eq!(line.trim_end(), line, "{outcome}");
    }
    *seen += 1;
    for command in commands_in(help) {
        let mut below = path.to_vec();
        below.push(command);
        visit(home, &below, seen);
    }
}

#[test]
fn every_help_fits_eighty_columns() {
    let home = fresh();
    let mut seen = 0;
    visit(&home, &[], &mut seen);
    assert!(seen >= 33, "{seen} commands");
}

#[test]
fn a_mistyped_word_gets_a_suggestion() {
    let home = fresh();
    home.run(["profil", "list"])
        .exits(2)
        .prints("")
        .says_part("a similar subcommand exists: 'profile'");
    home.run(["profile", "lst"])
        .exits(2)
        .says_part("a similar subcommand exists: 'list'");
    home.run(["config", "get", "x", "--orign"])
        .exits(2)
        .says_part("'--origin'");
}

#[test]
fn completions_name_the_commands_and_bash_accepts_its_script() {
    let home = fresh();
    for shell in ["bash", "zsh", "fish"] {
        let outcome = home.run(["completion", shell]);
        outcome.succeeds().says("");
        for word in ["profile", "config", "doctor", "--clone-all"] {
            let word = if shell == "fish" {
                word.trim_start_matches("--")
            } else {
                word
            };
            outcome.prints_part(word);
        }
    }
    let script = home.run(["completion", "bash"]).stdout;
    let path = home.put_outside("completion.bash", script, 0o644);
    let syntax = Command::new("bash").arg("-n").arg(&path).output().unwrap();
    assert!(syntax.status.success(), "{syntax:?}");
    // The script really completes.
    let test = format!(
        ". '{}'; COMP_WORDS=(hermes prof); COMP_CWORD=1; _hermes hermes prof hermes; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        path.display()
    );
    let completed = Command::new("bash").args(["-c", &test]).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&completed.stdout),
        "profile\n",
        "{completed:?}"
    );
    home.run(["completion", "tcsh"]).exits(2);
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let home = configured("");
    let lines = "line of a log\n".repeat(20_000);
    home.hermes(["internal", "log"])
        .stdin(lines)
        .run()
        .succeeds();
    for args in [
        ["logs", "-n", "20000"].as_slice(),
        &["logs", "-f", "-n", "20000"],
        &["logs", "list"],
        &["config", "show"],
        &["config", "show", "--json"],
        &["config", "get", "terminal.timeout"],
        &["profile", "list"],
        &["profile", "list", "--json"],
        &["status"],
        &["doctor"],
        &["dump"],
        &["completion", "bash"],
        &["--help"],
        &["profile", "--help"],
        &["--version"],
        &["version"],
    ] {
        home.hermes(args).run_into_closed_pipe().exits(0).says("");
    }
}

#[test]
fn an_output_that_takes_nothing_is_an_error() {
    let home = fresh();
    home.hermes(["profile", "list"])
        .run_into(Path::new("/dev/full"))
        .exits(3)
        .says_part("Error: could not write the output: ");
}

#[test]
fn exit_codes_tell_mistakes_from_refusals() {
    let home = configured("");
    for (args, code) in [
        (["status"].as_slice(), 0),
        (&["config", "get", "no.such.key"], 1),
        (&["profile", "show", "nobody"], 1),
        (&["profile", "delete", "nobody", "--yes"], 1),
        (&["import", "/no/such/file"], 1),
        (&["profile", "import", "/no/such/file"], 1),
        // A conversation, and nobody to have it with.
        (&[], 1),
        (&["no-such-command"], 2),
        (&["config", "get"], 2),
        (&["config", "set", "a"], 2),
        (&["profile", "create"], 2),
        (&["logs", "--no-such-flag"], 2),
        (
            &[
                "profile",
                "install",
                "https://no.such.host.invalid/x.git",
                "-y",
            ],
            3,
        ),
    ] {
        let outcome = home.run(args);
        outcome.exits(code);
        if code != 0 {
            outcome.prints("");
            assert!(!outcome.stderr.is_empty(), "{outcome}");
        }
        outcome.never_shows("panicked");
    }
}

#[test]
fn colours_are_for_terminals() {
    let home = fresh();
    for args in [["doctor"].as_slice(), &["status"], &["profile", "nope"]] {
        home.run(args).never_shows("\u{1b}[");
    }
}

#[test]
fn a_bug_is_one_sentence_and_a_contained_one_goes_into_the_log() {
    let home = configured("model: {}\n");
    home.run(["internal", "panic"])
        .exits(70)
        .prints("")
        .says_part("Error: internal error: asked for, with OPENAI_API_KEY=")
        .never_shows("abcdefghijklmnopqrstuvwx");
    home.run(["internal", "panic", "--contained"])
        .succeeds()
        .prints("went on\n")
        .says("");
    let log = home.read("logs/errors.log");
    assert!(log.contains("internal error: asked for"), "{log}");
    assert!(!log.contains("abcdefghijklmnopqrstuvwx"), "{log}");
}

#[test]
fn a_home_that_a_container_shares_does_not_keep_the_host_from_updating() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    home.put(".install_method", "docker\n");
    let checked = home.hermes(["update", "--check"]).on_host().run();
    checked.succeeds().prints_part("hermes ");
    checked.says_part("To update: ");
}
