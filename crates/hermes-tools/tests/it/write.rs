//! `write_file`.

use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::stage::Stage;

#[test]
fn directories_are_made_and_data_files_checked() {
    let stage = Stage::new();
    let result = stage.call(
        "write_file",
        json!({"path": "a/b/c.json", "content": "{\"é\": 1}"}),
    );
    assert_eq!(
        result,
        json!({"bytes_written": 9, "dirs_created": true, "lint": {"status": "ok"}})
    );
    assert_eq!(stage.text("a/b/c.json"), "{\"é\": 1}");
    let broken = json!({"path": "a/b/c.json", "content": "{\n"});
    let message = stage.refused("write_file", broken.clone());
    assert!(message.contains("does not parse: line 2: EOF"), "{message}");
    assert_eq!(stage.text("a/b/c.json"), "{\"é\": 1}");
    let mut forced = broken;
    forced["force"] = json!(true);
    let result = stage.call("write_file", forced);
    assert_eq!(result["dirs_created"], false);
    assert_eq!(result["lint"]["status"], "error");
    assert_eq!(stage.text("a/b/c.json"), "{\n");
}

#[test]
fn new_files_that_do_not_parse_are_refused() {
    let stage = Stage::new();
    for (name, content, reason) in [
        ("a.json", "{\"a\": 1,}", "line 1: "),
        ("a.yaml", "a: 1\nb: [2\n", "line 2: unclosed bracket"),
        ("a.toml", "[a]\nb = \n", "line 2: "),
        (
            "a.py",
            "def f():\nreturn 1\n",
            "line 1: an indented block is missing",
        ),
    ] {
        let args = json!({"path": name, "content": content});
        let message = stage.refused("write_file", args);
        assert!(message.contains(reason), "{message}");
        assert!(!stage.work(name).exists(), "{name}");
    }
}

#[test]
fn line_ends_and_byte_order_mark_survive() {
    let stage = Stage::new();
    for (before, content, after, note) in [
        (
            "a\r\nb\r\n",
            "a\nc\n",
            "a\r\nc\r\n",
            Some("The file keeps its CRLF line ends."),
        ),
        (
            "\u{feff}a\n",
            "b\n",
            "\u{feff}b\n",
            Some("The file keeps its byte-order mark."),
        ),
        (
            "\u{feff}a\r\n",
            "b\nc\n",
            "\u{feff}b\r\nc\r\n",
            Some("The file keeps its byte-order mark and CRLF line ends."),
        ),
        ("\u{feff}a\r\n", "\u{feff}b\r\n", "\u{feff}b\r\n", None),
        ("a\n", "b\r\n", "b\r\n", None),
        ("a\r\nb\n", "c\n", "c\n", None),
    ] {
        stage.file("f", before);
        let result = stage.call("write_file", json!({"path": "f", "content": content}));
        assert_eq!(stage.text("f"), after, "{before:?}");
        assert_eq!(result["bytes_written"], after.len());
        assert_eq!(result["note"].as_str(), note, "{before:?}");
    }
}

#[test]
fn mode_and_links_survive() {
    let stage = Stage::new();
    let path = stage.file("script", "old");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    std::os::unix::fs::symlink("script", stage.work("link")).unwrap();
    stage.call("write_file", json!({"path": "link", "content": "new"}));
    assert!(stage.work("link").is_symlink());
    assert_eq!(stage.text("script"), "new");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    let left: Vec<_> = std::fs::read_dir(stage.work("")).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn the_guard_is_asked_after_links() {
    let stage = Stage::new();
    std::os::unix::fs::symlink(stage.root("forbidden"), stage.work("way")).unwrap();
    let args = json!({"path": "way/x", "content": "c"});
    assert!(
        stage
            .refused("write_file", args.clone())
            .starts_with("Write denied")
    );
    assert!(!stage.root("forbidden/x").exists());
    let verdict = stage
        .context
        .registry
        .verdict("write_file", &args, &stage.context);
    assert_eq!(verdict["approved"], false);
    let args = json!({"path": "way/x", "content": "c", "cross_profile": true});
    let verdict = stage
        .context
        .registry
        .verdict("write_file", &args, &stage.context);
    assert_eq!(verdict, json!({"approved": true}));
    assert!(
        !stage.root("forbidden/x").exists(),
        "a verdict writes nothing"
    );
    stage.call("write_file", args);
    assert!(stage.root("forbidden/x").exists());
}

#[test]
fn what_changed_meanwhile_is_said() {
    let stage = Stage::new();
    let path = stage.file("a", "one\n");
    stage.call("read_file", json!({"path": "a"}));
    std::fs::write(&path, "one and a half\n").unwrap();
    let write = |content: &str| stage.call("write_file", json!({"path": "a", "content": content}));
    assert!(
        write("two\n")["_warning"]
            .as_str()
            .unwrap()
            .contains("changed")
    );
    assert_eq!(write("three\n").get("_warning"), None);
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let stage = Stage::new();
    stage.file("dir/a", "old");
    stage.file("file", "old");
    assert!(
        stage
            .refused("write_file", json!({"path": "dir", "content": ""}))
            .contains("directory")
    );
    let message = stage.refused("write_file", json!({"path": "file/x", "content": ""}));
    assert!(message.contains("file"), "{message}");
    assert_eq!(stage.text("file"), "old");
    std::process::Command::new("mkfifo")
        .arg(stage.work("fifo"))
        .status()
        .unwrap();
    assert!(
        stage
            .refused("write_file", json!({"path": "fifo", "content": ""}))
            .contains("regular")
    );
    assert!(
        stage
            .refused("write_file", json!({"path": "a"}))
            .contains("'content'")
    );
}
