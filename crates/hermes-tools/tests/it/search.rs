//! `search_files`.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::stage::Stage;

fn stage() -> Stage {
    let stage = Stage::new();
    stage.file("a.rs", "line1\nfoo\nbar\nline22\n");
    stage.file("sub/b.py", "nothing\nbar here\n");
    stage.file("sub/data.bin", b"foo\0foo\n");
    stage.file(".hidden", "foo\n");
    stage
}

#[test]
fn regular_expressions_work_without_any_program() {
    let stage = stage();
    assert_eq!(
        stage.call("search_files", json!({"pattern": r"line\d+"})),
        json!({"total_count": 2, "matches": [
            {"path": "a.rs", "line": 1, "content": "line1"},
            {"path": "a.rs", "line": 4, "content": "line22"},
        ]})
    );
    let result = stage.call("search_files", json!({"pattern": "foo|bar"}));
    assert_eq!(result["total_count"], 3);
    assert_eq!(result["matches"][2]["path"], "sub/b.py");
}

#[test]
fn modes_globs_and_places() {
    let stage = stage();
    let search = |args: Value| stage.call("search_files", args);
    assert_eq!(
        search(json!({"pattern": "bar", "output_mode": "files_only"})),
        json!({"total_count": 2, "files": ["a.rs", "sub/b.py"]})
    );
    assert_eq!(
        search(json!({"pattern": "foo|bar", "output_mode": "count"})),
        json!({"total_count": 3, "counts": {"a.rs": 2, "sub/b.py": 1}})
    );
    assert_eq!(
        search(json!({"pattern": "bar", "file_glob": "*.py"}))["total_count"],
        1
    );
    assert_eq!(
        search(json!({"pattern": "bar", "path": "sub"}))["matches"][0]["path"],
        "sub/b.py"
    );
    let absolute = stage.work("a.rs");
    assert_eq!(
        search(json!({"pattern": "bar", "path": absolute}))["matches"][0]["path"],
        json!(absolute)
    );
    assert_eq!(
        search(json!({"pattern": "zzz"})),
        json!({"total_count": 0, "matches": []})
    );
}

#[test]
fn context_comes_with_its_match_and_pages_go_on() {
    let stage = stage();
    let result = stage.call(
        "search_files",
        json!({"pattern": "bar", "context": 1, "limit": 1}),
    );
    let lines = |result: &Value| -> Vec<u64> {
        let matches = result["matches"].as_array().unwrap();
        matches
            .iter()
            .map(|m| m["line"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(lines(&result), [2, 3, 4], "{result}");
    assert_eq!(
        (&result["total_count"], &result["truncated"]),
        (&json!(2), &json!(true))
    );
    let result = stage.call(
        "search_files",
        json!({"pattern": "bar", "context": 1, "limit": 1, "offset": 1}),
    );
    assert_eq!(lines(&result), [1, 2], "{result}");
    assert_eq!(result.get("truncated"), None);
}

#[test]
fn names_are_found_newest_first() {
    let stage = stage();
    let old = std::fs::File::options()
        .write(true)
        .open(stage.work("a.rs"))
        .unwrap();
    old.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let files = |pattern: &str| {
        stage.call(
            "search_files",
            json!({"pattern": pattern, "target": "files"}),
        )["files"]
            .clone()
    };
    assert_eq!(files("*.{rs,py}"), json!(["sub/b.py", "a.rs"]));
    assert_eq!(files("sub/*.py"), json!(["sub/b.py"]));
    assert_eq!(files("b.p"), json!(["sub/b.py"]));
    assert_eq!(files("*.none"), json!([]));
}

#[test]
fn results_are_bounded_and_counting_ends() {
    let stage = Stage::new();
    stage.file("many", "hit\n".repeat(20_000));
    stage.file("wide", format!("hit{}\n", "é".repeat(50_000)));
    let result = stage.call("search_files", json!({"pattern": "hit"}));
    assert_eq!(result["matches"].as_array().unwrap().len(), 50);
    assert_eq!(result["total_count"], 10_000);
    assert!(result["note"].is_string() && result["truncated"] == true);
    let result = stage.call("search_files", json!({"pattern": "hit", "path": "wide"}));
    let line = result["matches"][0]["content"].as_str().unwrap();
    assert!(line.chars().count() < 600 && line.ends_with("[truncated]"));
}

#[test]
fn ignored_linked_and_secret_files_are_left_out() {
    let stage = Stage::new();
    std::fs::create_dir(stage.work(".git")).unwrap();
    stage.file(".gitignore", "built/\n");
    stage.file("built/x", "needle\n");
    std::fs::write(stage.root("hermes/auth.json"), "needle\n").unwrap();
    std::fs::write(stage.root("hermes/notes"), "needle\n").unwrap();
    std::os::unix::fs::symlink(stage.root("hermes"), stage.work("link")).unwrap();
    let total = |path: &str| {
        stage.call("search_files", json!({"pattern": "needle", "path": path}))["total_count"]
            .clone()
    };
    assert_eq!(total("."), 0);
    assert_eq!(total("../hermes"), 1);
    assert!(
        stage
            .refused("search_files", json!({"pattern": "x", "path": "/dev"}))
            .contains("device")
    );
}

#[test]
fn bad_patterns_and_places_are_answers() {
    let stage = stage();
    let refused = |args: Value| stage.refused("search_files", args);
    assert!(refused(json!({"pattern": "("})).starts_with("Invalid regular expression"));
    assert!(refused(json!({"pattern": "[", "target": "files"})).starts_with("Invalid glob"));
    assert!(refused(json!({"pattern": ""})).contains("empty"));
    assert!(refused(json!({"pattern": "x", "path": "nowhere"})).contains("not found"));
    assert!(refused(json!({"pattern": "x", "target": "people"})).contains("one of"));
}

#[test]
fn an_interrupt_ends_the_walk() {
    let stage = stage();
    stage.context.interrupt.raise();
    let result = stage.call("search_files", json!({"pattern": "foo"}));
    assert_eq!(result["total_count"], 0);
    assert!(result["note"].as_str().unwrap().contains("interrupted"));
}

/// Largest resident size of this process so far, in kilobytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.unwrap().split_whitespace().next().unwrap();
    number.parse().unwrap()
}

/// Issue 12, 15: a pattern on one line of 2 MB took 1.15 GB and 100 s.
#[test]
fn costly_patterns_on_long_lines_are_bounded_in_memory_and_time() {
    let stage = stage();
    let mut letters: u64 = 7;
    let long: String = (0..2_000_000)
        .map(|_| {
            letters = letters
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'a' + u8::try_from((letters >> 33) % 26).unwrap())
        })
        .collect();
    std::fs::write(stage.work("short.txt"), "needle in short\n").unwrap();
    std::fs::write(
        stage.work("long.txt"),
        format!("first needle\n{long}\nlast needle\n"),
    )
    .unwrap();
    for pattern in [
        r"(?:[a-q][^u-z]{13}x){1,120}|needle",
        r"[a-z]{1,900}[A-Z]|needle",
        r"[a-z]*a[a-z]{300}[A-Z]|needle",
        r"(?:[ab][a-z]{1,80}c){1,25}[A-Z]|needle",
        r"(?:.{0,90}a){1,40}[A-Z]|needle",
        r"\w{1,60}[A-Z]|needle",
        r"(?:[a-z]{1,20}[e-p]){1,60}[A-Z]|needle",
    ] {
        let started = std::time::Instant::now();
        let found = stage.call("search_files", json!({"pattern": pattern}));
        let took = started.elapsed();
        let total = found["total_count"].as_u64();
        if let Some(error) = found["error"].as_str() {
            assert!(error.contains("too large"), "{pattern}: {error}");
        } else {
            assert!(
                total.unwrap() >= 2,
                "what was found is told: {pattern}: {found}"
            );
            assert!(
                total.unwrap() >= 3 || found["note"].is_string(),
                "what is missing is told: {pattern}: {found}"
            );
        }
        assert!(took.as_secs() < 45, "{pattern}: {took:?}");
        assert!(peak() < 200 * 1024, "{pattern}: {} kB", peak());
    }
    // An ordinary pattern reads such a file to its end.
    let found = stage.call("search_files", json!({"pattern": r"\w+ needle"}));
    assert_eq!(found["total_count"], 2, "{found}");
    assert_eq!(found.get("note"), None);
    let refused = stage.call("search_files", json!({"pattern": r"\w{5000}"}));
    assert!(
        refused["error"].as_str().unwrap().contains("too large"),
        "{refused}"
    );
}
