//! Results that are kept in files: private, never one over the other, readable with the file tools.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use hermes_tools::{WriteRules, keep_result, readable};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::script_hosts::Programs;
use crate::stage::{FixedSession, Stage, files_registry};

/// A session whose temporary files are below the stage, in a directory where it may not write.
fn stage() -> Stage {
    let mut stage = Stage::new();
    with_temporary(&mut stage, "forbidden");
    stage
}

fn with_temporary(stage: &mut Stage, name: &str) {
    let path = std::env::var_os("PATH").unwrap();
    stage.context.session = Arc::new(FixedSession {
        cwd: stage.work(""),
        variables: vec![
            ("PATH".into(), path),
            ("TMPDIR".into(), stage.root(name).into()),
        ],
    });
    stage.context.conversation.session_id = Some("20260102_030405_abc/../x".to_owned());
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn every_part_of_a_kept_result_can_be_read() {
    let stage = stage();
    let lines: Vec<String> = (0..5000).map(|n| format!("value {n}")).collect();
    let result = json!({"output": lines.join("\n"), "exit_code": 0}).to_string();
    let path = keep_result("c1", &readable(&result), &stage.context).unwrap();
    let directory = stage.root("forbidden/hermes-results/20260102_030405_abc____x");
    assert_eq!(path.parent(), Some(directory.as_path()));
    let found = stage.call(
        "search_files",
        json!({"pattern": "value 4711$", "path": path}),
    );
    let line = found["matches"][0]["line"].as_u64().unwrap();
    let page = stage.call(
        "read_file",
        json!({"path": path, "offset": line, "limit": 2}),
    );
    let content = page["content"].as_str().unwrap();
    assert!(content.ends_with("|value 4712"), "{content}");
}

#[test]
fn results_of_one_name_do_not_meet_and_are_nobody_elses() {
    let stage = stage();
    let keep = |text: &str| keep_result("c1", text, &stage.context).unwrap();
    let (one, two) = (keep("one"), keep("two"));
    assert_eq!(std::fs::read_to_string(&one).unwrap(), "one");
    assert_eq!(std::fs::read_to_string(&two).unwrap(), "two");
    assert_eq!(mode(&one), 0o600);
    for above in one.ancestors().skip(1).take(2) {
        assert_eq!(mode(above), 0o700, "{}", above.display());
    }
    // One that was made too open is closed.
    let top = stage.root("forbidden/hermes-results");
    std::fs::set_permissions(&top, PermissionsExt::from_mode(0o755)).unwrap();
    keep("three");
    assert_eq!(mode(&top), 0o700);
}

#[test]
fn what_is_not_ours_is_not_used() {
    let stage = stage();
    std::fs::create_dir(stage.root("elsewhere")).unwrap();
    let top = stage.root("forbidden/hermes-results");
    std::os::unix::fs::symlink(stage.root("elsewhere"), &top).unwrap();
    let path = keep_result("c1", "text", &stage.context).unwrap();
    let user = std::fs::metadata(&path).unwrap().uid();
    assert!(
        path.starts_with(stage.root(&format!("forbidden/hermes-results-{user}"))),
        "{}",
        path.display()
    );
    assert_eq!(
        std::fs::read_dir(stage.root("elsewhere")).unwrap().count(),
        0
    );
}

#[test]
fn old_results_go_when_a_conversation_keeps_its_first() {
    let stage = stage();
    let old = stage.root("forbidden/hermes-results/old");
    let new = stage.root("forbidden/hermes-results/new");
    for directory in [&old, &new] {
        std::fs::create_dir_all(directory).unwrap();
        std::fs::write(directory.join("a.txt"), "x").unwrap();
    }
    let file = std::fs::File::open(&old).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    keep_result("c1", "text", &stage.context).unwrap();
    assert!(!old.exists() && new.exists());
}

#[test]
fn in_another_place_the_file_is_there() {
    let rules = WriteRules::Unrestricted;
    for programs in Programs::ALL {
        let mut stage = Stage::on_host_with(programs, rules.clone(), files_registry());
        with_temporary(&mut stage, "nowhere");
        let text = "it's\n".repeat(40_000);
        let path = keep_result("c/1", &text, &stage.context).unwrap();
        // The place has a temporary directory of its own.
        assert!(
            !path.starts_with(stage.root("nowhere")),
            "{}",
            path.display()
        );
        let page = stage.call("read_file", json!({"path": path, "offset": 40_000}));
        assert_eq!(page["content"], " 40000|it's", "{page}");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}
