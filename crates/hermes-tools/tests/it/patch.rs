//! `patch`.

use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::stage::Stage;

#[test]
fn a_replacement_reports_its_diff() {
    let stage = Stage::new();
    let path = stage.file("a.py", "def f():\n    return 1\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let result = stage.call(
        "patch",
        json!({"path": "a.py", "old_string": "return 1", "new_string": "return 2"}),
    );
    assert_eq!(
        result,
        json!({
            "success": true,
            "diff": "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n",
            "files_modified": ["a.py"],
            "lint": {"a.py": {"status": "ok"}},
        })
    );
    assert_eq!(stage.text("a.py"), "def f():\n    return 2\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn indentation_line_ends_and_marks_of_the_file_are_kept() {
    let stage = Stage::new();
    stage.file("a", "\u{feff}if x:\r\n    if y:\r\n        z()\r\n");
    let result = stage.call(
        "patch",
        json!({"path": "a", "old_string": "if y:\n    z()", "new_string": "if y:\n    z()\n    w()"}),
    );
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(
        stage.text("a"),
        "\u{feff}if x:\r\n    if y:\r\n        z()\r\n        w()\r\n"
    );
}

#[test]
fn several_places_need_a_word() {
    let stage = Stage::new();
    stage.file("a", "x\nx\n");
    let args = json!({"path": "a", "old_string": "x", "new_string": "y"});
    assert!(stage.refused("patch", args).contains("2 times"));
    assert_eq!(stage.text("a"), "x\nx\n");
    let args = json!({"path": "a", "old_string": "x", "new_string": "y", "replace_all": true});
    assert_eq!(stage.call("patch", args)["success"], true);
    assert_eq!(stage.text("a"), "y\ny\n");
}

#[test]
fn what_is_not_there_is_answered_with_the_nearest_lines() {
    let stage = Stage::new();
    stage.file("a", "alpha\nlet total = sum(items);\nomega\n");
    let args = json!({"path": "a", "old_string": "let totals = sum(item);", "new_string": "q"});
    let message = stage.refused("patch", args);
    assert!(
        message.contains("     2|let total = sum(items);"),
        "{message}"
    );
}

const FOUR: &str = "*** Begin Patch\n*** Update File: a\n@@ second @@\n same\n-old\n+new\n\
                    *** Add File: sub/b\n+one\n+two\n*** Delete File: c\n\
                    *** Move File: d -> e\n*** End Patch";

#[test]
fn a_patch_changes_adds_deletes_and_moves() {
    let stage = Stage::new();
    stage.file("a", "first\nsame\nold\nsecond\nsame\nold\n");
    stage.file("c", "gone\n");
    stage.file("d", "moved\n");
    let result = stage.call("patch", json!({"mode": "patch", "patch": FOUR}));
    assert_eq!(result["files_modified"], json!(["a"]), "{result}");
    assert_eq!(result["files_created"], json!(["sub/b", "e"]));
    assert_eq!(result["files_deleted"], json!(["c", "d"]));
    assert_eq!(stage.text("a"), "first\nsame\nold\nsecond\nsame\nnew\n");
    assert_eq!(stage.text("sub/b"), "one\ntwo\n");
    assert_eq!(stage.text("e"), "moved\n");
    assert!(!stage.work("c").exists() && !stage.work("d").exists());
}

#[test]
fn one_bad_part_means_no_change_at_all() {
    let stage = Stage::new();
    stage.file("a", "first\nsame\nold\nsecond\nsame\nold\n");
    stage.file("c", "gone\n");
    // `d` does not exist.
    let message = stage.refused("patch", json!({"mode": "patch", "patch": FOUR}));
    assert_eq!(message, "File not found: d");
    assert!(stage.work("c").exists() && !stage.work("sub").exists());
    // A directory that cannot be written to stops the last step: the first ones are put back.
    stage.file("locked/d", "x\n");
    let locked = stage.work("locked");
    let patch = FOUR.replace("d -> e", "locked/d -> e");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).unwrap();
    let is_root = std::fs::write(locked.join("probe"), "").is_ok();
    let result = stage.call("patch", json!({"mode": "patch", "patch": patch}));
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).unwrap();
    if !is_root {
        assert!(
            result["error"]
                .as_str()
                .unwrap()
                .contains("No file was changed"),
            "{result}"
        );
        assert_eq!(stage.text("a"), "first\nsame\nold\nsecond\nsame\nold\n");
        assert!(stage.work("c").exists() && !stage.work("e").exists());
    }
}

#[test]
fn guard_binary_and_bad_input() {
    let stage = Stage::new();
    stage.file("bin", [0_u8, 1]);
    stage.file("latin", b"caf\xe9\n");
    std::fs::write(stage.root("forbidden/x"), "x").unwrap();
    let replace = |path: &str| json!({"path": path, "old_string": "x", "new_string": "y"});
    assert!(
        stage
            .refused("patch", replace("../forbidden/x"))
            .starts_with("Write denied")
    );
    assert!(stage.refused("patch", replace("bin")).contains("binary"));
    assert!(stage.refused("patch", replace("latin")).contains("UTF-8"));
    assert!(
        stage
            .refused("patch", replace("nowhere"))
            .contains("not found")
    );
    assert!(
        stage
            .refused("patch", json!({"path": "bin"}))
            .contains("'old_string'")
    );
    assert!(
        stage
            .refused("patch", json!({"mode": "patch"}))
            .contains("'patch'")
    );
    assert!(
        stage
            .refused("patch", json!({"mode": "sed"}))
            .contains("one of replace, patch")
    );
    let same = json!({"path": "bin", "old_string": "x", "new_string": "x"});
    assert!(stage.refused("patch", same).contains("same"));
    assert_eq!(std::fs::read(stage.work("latin")).unwrap(), b"caf\xe9\n");
}

#[test]
fn edits_after_which_a_file_no_longer_parses_are_refused() {
    let stage = Stage::new();
    stage.file("a.py", "def f(x):\n    return (x)\n");
    let args = json!({"path": "a.py", "old_string": "(x)\n", "new_string": "(x\n"});
    let message = stage.refused("patch", args.clone());
    assert!(
        message.contains("line 2: '(' was never closed") && message.contains("\"force\": true"),
        "{message}"
    );
    assert_eq!(stage.text("a.py"), "def f(x):\n    return (x)\n");
    let mut forced = args;
    forced["force"] = json!(true);
    assert_eq!(stage.call("patch", forced)["success"], true);
    assert_eq!(stage.text("a.py"), "def f(x):\n    return (x\n");
    // It is broken now: mending it step by step is allowed.
    let args = json!({"path": "a.py", "old_string": "def f(x)", "new_string": "def g((x)"});
    let result = stage.call("patch", args);
    assert_eq!(result["lint"]["a.py"]["status"], "error");
    // Of a patch that breaks one file nothing is written.
    stage.file("b.json", "{\n}\n");
    stage.file("c", "x\n");
    let patch = "*** Begin Patch\n*** Update File: c\n-x\n+y\n*** Update File: b.json\n {\n+,\n }\n\
                 *** End Patch";
    let message = stage.refused("patch", json!({"mode": "patch", "patch": patch}));
    assert!(message.contains("b.json was not written"), "{message}");
    assert_eq!(stage.text("c"), "x\n");
}

#[test]
fn quotes_dashes_and_escapes_fit_the_file() {
    let stage = Stage::new();
    stage.file(
        "a",
        "\u{201c}One\u{201d} \u{2014} it\u{2019}s two\u{2026}\nx = 'y'\n",
    );
    let replace = |old: &str, new: &str| {
        let args = json!({"path": "a", "old_string": old, "new_string": new});
        assert_eq!(stage.call("patch", args)["success"], true);
    };
    replace("\"One\" -- it's two...", "\"One\" -- it's three...");
    replace("x = \\'y\\'", "x = \\'z\\'");
    assert_eq!(
        stage.text("a"),
        "\u{201c}One\u{201d} \u{2014} it\u{2019}s three\u{2026}\nx = 'z'\n"
    );
}

#[test]
fn lenient_patch_headers_and_blank_ends() {
    let stage = Stage::new();
    stage.file("a", "one\ntwo\n");
    let patch = "  *** Update File: a\n one\n-two\n+2\n\n*** End Patch";
    let result = stage.call("patch", json!({"mode": "patch", "patch": patch}));
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(stage.text("a"), "one\n2\n");
}

#[test]
fn masks_are_not_written_back() {
    let stage = Stage::new();
    stage.file(".env", "API_KEY=hunter2-and-more-than-that\nMODE=dev\n");
    let shown = stage.call("read_file", json!({"path": ".env"}));
    let shown = shown["content"].as_str().unwrap();
    assert!(shown.contains("API_KEY=hunter...that"), "{shown}");
    let message = stage.refused(
        "write_file",
        json!({"path": ".env", "content": "API_KEY=hunter...that\nMODE=live\n"}),
    );
    assert!(
        message.contains("'hunter...that' in line 1 is the mask"),
        "{message}"
    );
    let args = json!({"path": ".env", "old_string": "API_KEY=hunter2-and-more-than-that",
        "new_string": "API_KEY=***"});
    assert!(stage.refused("patch", args).contains("is the mask"));
    let args = json!({"path": ".env", "old_string": "MODE=dev", "new_string": "MODE=live"});
    assert_eq!(stage.call("patch", args)["success"], true);
    assert_eq!(
        stage.text(".env"),
        "API_KEY=hunter2-and-more-than-that\nMODE=live\n"
    );
}
