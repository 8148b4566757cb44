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
