//! `search_files` in another place: the same answers as on this machine, whatever programs it has.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_tools::WriteRules;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::remote_reads::same_everywhere;
use crate::script_hosts::Programs;
use crate::stage::{Stage, files_registry};

fn tree(stage: &Stage) {
    stage.file("a.rs", "line1\nfoo\nbar\nline22\n");
    stage.file("sub/b.py", "nothing\nbar here\n");
    stage.file("sub/data.bin", b"foo\0foo\n");
    stage.file("sub-x", "bar\n");
    stage.file("sub.y", "bar\r\n");
    stage.file(".hidden", "foo bar\n");
    stage.file(".git/config", "foo bar\n");
    stage.file("sub/.cache/x", "foo bar\n");
    stage.file("new\nline", "bar in a new line\n");
    stage.file("new\nline2/it's", "bar\n\nbar\n");
    stage.file("-r", "bar dash\n");
    stage.file(
        "unicode",
        "caf\u{e9} \u{65e5}\u{672c}\nstra\u{df}e 42\nÉcole\n",
    );
    stage.file("latin", b"caf\xe9 bar\n");
    stage.file("special", "a.b\n[x]\n$y {z}\n\\\n^\n-\n");
    stage.file(
        "wide",
        format!("{}needle{}\n", "w".repeat(400), "x".repeat(9000)),
    );
    symlink("sub", stage.work("link")).unwrap();
    symlink("a.rs", stage.work("link.rs")).unwrap();
}

#[test]
fn lines_are_the_same() {
    let patterns = [
        r"line\d+",
        "foo|bar",
        "^bar",
        "bar$",
        r"\bbar\b",
        "(?i)FOO",
        "b[a-c]r",
        r"caf. ",
        r"\w+ße",
        "[^a-z]42",
        r"a\.b",
        r"\[x\]",
        r"\$y \{",
        r"^\\$",
        "^-$",
        "^\\^$",
        r"\S+\s\d{2}",
        "é",
        "[é-ü]",
        "(?i)é",
        r"\p{Lu}",
        "^$",
        "needle",
        "bar.*here",
        "zzz",
        "ba(r|z)",
        "x{100}",
        "b.r",
        "^",
        "(",
        "a\nb",
        "o{2}?",
    ];
    let mut calls: Vec<Value> = patterns
        .iter()
        .map(|pattern| json!({"pattern": pattern, "limit": 1000}))
        .collect();
    for mode in ["files_only", "count"] {
        calls.push(json!({"pattern": "bar", "output_mode": mode}));
        calls.push(json!({"pattern": "bar", "output_mode": mode, "limit": 2, "offset": 1}));
    }
    for around in [1, 2, 20] {
        calls.push(json!({"pattern": "bar", "context": around}));
        calls.push(json!({"pattern": "bar", "context": around, "limit": 1, "offset": 2}));
        // Most of what grep finds for this is not meant.
        calls.push(json!({"pattern": r"\bbar\b [a-m]+\b", "context": around}));
    }
    for glob in [
        "*.py",
        "*.{py,rs}",
        "sub/*",
        "*/*.py",
        "**/*.py",
        "[ab].*",
        "b.p?",
        "*",
        "s*",
        "*'s",
    ] {
        calls.push(json!({"pattern": "bar", "file_glob": glob}));
    }
    for path in [
        "sub",
        "./sub/",
        "a.rs",
        "link",
        "link.rs",
        "~",
        ".",
        "nowhere",
        "sub/data.bin",
    ] {
        calls.push(json!({"pattern": "bar|foo", "path": path}));
    }
    for path in [".git", ".hidden", "-r", "new\nline"] {
        calls.push(json!({"pattern": "bar", "path": path}));
    }
    calls.push(json!({"pattern": "bar", "path": "sub/.cache"}));
    same_everywhere("search_files", tree, &calls);
}

#[test]
fn names_are_the_same() {
    let prepare = |stage: &Stage| {
        tree(stage);
        // All times differ by seconds, as not every system counts in less.
        let names = [
            "a.rs",
            "sub/b.py",
            "sub/data.bin",
            "sub-x",
            "sub.y",
            "new\nline",
            "-r",
            "latin",
            "special",
            "unicode",
            "wide",
            "new\nline2/it's",
        ];
        for (age, name) in (0_u64..).zip(names) {
            let file = std::fs::File::options()
                .write(true)
                .open(stage.work(name))
                .unwrap();
            let time = std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - age * 10);
            file.set_modified(time).unwrap();
        }
    };
    let patterns = [
        "*.{rs,py}",
        "sub/*.py",
        "b.p",
        "*.none",
        "sub*",
        "new*",
        "?.rs",
        "[ab].*",
        "-*",
        "a",
        "*.rs",
        "**/b.py",
        "{a,b}.*",
        "[",
    ];
    let mut calls: Vec<Value> = patterns
        .iter()
        .map(|pattern| json!({"pattern": pattern, "target": "files"}))
        .collect();
    for path in ["a.rs", ".hidden", "sub", "nowhere"] {
        calls.push(json!({"pattern": "*", "target": "files", "path": path}));
    }
    same_everywhere("search_files", prepare, &calls);
}

#[test]
fn only_ripgrep_reads_gitignore_and_the_result_says_so() {
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        std::fs::create_dir(stage.work(".git")).unwrap();
        stage.file(".gitignore", "built/\n");
        stage.file("built/x", "needle\n");
        stage.file("y", "needle\n");
        for args in [
            json!({"pattern": "needle"}),
            json!({"pattern": "needle", "file_glob": "*"}),
            json!({"pattern": "*", "target": "files"}),
        ] {
            let result = stage.call("search_files", args);
            let note = result["note"].as_str().unwrap_or_default();
            if programs == Programs::Ripgrep {
                assert_eq!((&result["total_count"], note), (&json!(1), ""), "{result}");
            } else {
                assert_eq!(result["total_count"], 2);
                assert!(note.contains(".gitignore"), "{result}");
            }
        }
    }
}

#[test]
fn results_are_bounded() {
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        stage.file("many", "hit\n".repeat(20_000));
        stage.file("more", "hit\n");
        stage.file("wide", format!("hit{}\n", "é".repeat(50_000)));
        let result = stage.call("search_files", json!({"pattern": "hit"}));
        assert_eq!(result["matches"].as_array().unwrap().len(), 50);
        assert!(result["total_count"].as_u64().unwrap() >= 10_000);
        assert_eq!(result["truncated"], true);
        assert!(
            result["note"].as_str().unwrap().contains("more results"),
            "{programs:?}"
        );
        let result = stage.call("search_files", json!({"pattern": "hit", "path": "wide"}));
        let line = result["matches"][0]["content"].as_str().unwrap();
        assert!(line.chars().count() < 600 && line.ends_with("[truncated]"));
    }
}

#[test]
fn an_expression_an_older_ripgrep_does_not_know_is_searched_all_the_same() {
    let stage = Stage::on_host(Programs::Ripgrep);
    stage.file("a", "one two\n");
    // Half a word boundary came with version 14.
    let result = stage.call("search_files", json!({"pattern": r"\b{start-half}two"}));
    assert_eq!(result["total_count"], 1, "{result}");
}

#[test]
fn credentials_of_another_machine_are_left_out() {
    let rules = WriteRules::Machine {
        safe_roots: Vec::new(),
    };
    for programs in Programs::ALL {
        let stage = Stage::on_host_with(programs, rules.clone(), files_registry());
        std::fs::create_dir_all(stage.root("home/.hermes/mcp-tokens")).unwrap();
        for name in ["auth.json", "mcp-tokens/x", "notes"] {
            std::fs::write(stage.root("home/.hermes").join(name), "needle\n").unwrap();
        }
        let search = |args: Value| stage.call("search_files", args)["total_count"].clone();
        assert_eq!(search(json!({"pattern": "needle", "path": "~/.hermes"})), 1);
        let names = json!({"pattern": "*", "path": "~/.hermes", "target": "files"});
        assert_eq!(search(names), 1, "{programs:?}");
        let refused = stage.refused("search_files", json!({"pattern": "x", "path": "/dev"}));
        assert!(refused.contains("device"));
    }
}

#[test]
fn what_was_found_in_time_is_told() {
    for programs in [Programs::Gnu, Programs::Ripgrep] {
        let stage = Stage::on_host(programs);
        stage.file("a", "foo\n");
        // Stands for a search that is ended after its first file.
        let timeout = stage.root("bin/timeout");
        let text = "#!/bin/sh\n[ \"$1\" != 1 ] || exit 0\nshift\n\"$@\"\nexit 124\n";
        std::fs::write(&timeout, text).unwrap();
        std::fs::set_permissions(&timeout, std::fs::Permissions::from_mode(0o755)).unwrap();
        let result = stage.call("search_files", json!({"pattern": "foo"}));
        assert_eq!(result["total_count"], 1, "{programs:?}: {result}");
        assert_eq!(result["truncated"], true, "{programs:?}: {result}");
        let note = result["note"].as_str().unwrap();
        assert!(
            note.starts_with("The search took too long"),
            "{programs:?}: {note}"
        );
    }
}

#[test]
fn an_interrupt_ends_a_search_in_the_middle() {
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        // A program that never ends on its own stands for a tree that takes hours.
        let slow = match programs {
            Programs::Gnu => "find",
            Programs::Ripgrep => "rg",
            // Asks nobody for its programs.
            Programs::Busybox => continue,
        };
        let path = stage.root("bin").join(slow);
        std::fs::remove_file(&path).unwrap();
        let endless = "#!/bin/sh\n: >\"$HOME/searching\"\nexec sleep 600\n";
        std::fs::write(&path, endless).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        stage.file("a", "foo\n");
        let interrupt = Arc::clone(&stage.context.interrupt);
        let marker = stage.root("home/searching");
        let watcher = std::thread::spawn(move || {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !marker.exists() {
                assert!(Instant::now() < deadline, "the search never began");
                std::thread::sleep(Duration::from_millis(5));
            }
            interrupt.raise();
        });
        let started = Instant::now();
        let result = stage.call("search_files", json!({"pattern": "foo"}));
        watcher.join().unwrap();
        assert!(started.elapsed() < Duration::from_secs(25), "{programs:?}");
        assert_eq!(
            result,
            json!({"total_count": 0, "matches": [], "truncated": true,
                "note": "The search was interrupted."}),
            "{programs:?}"
        );
    }
}
