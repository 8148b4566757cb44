//! `read_file`.

use std::sync::Arc;

use hermes_secret::{Redactor, Sink};
use hermes_tools::ReadFileTool;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::stage::{SECRET, Stage};

#[test]
fn lines_have_numbers_and_a_final_newline_is_no_line() {
    let stage = Stage::new();
    stage.file("a.txt", "a\nb\n");
    assert_eq!(
        stage.call("read_file", json!({"path": "a.txt"})),
        json!({"content": "     1|a\n     2|b", "total_lines": 2, "file_size": 4,
            "truncated": false, "is_binary": false, "is_image": false})
    );
}

#[test]
fn pages_say_where_to_go_on() {
    let stage = Stage::new();
    let lines: Vec<String> = (1..=3000).map(|n| format!("line {n}\r\n")).collect();
    stage.file("a.txt", lines.concat());
    let page = stage.call(
        "read_file",
        json!({"path": "a.txt", "offset": 11, "limit": "2"}),
    );
    assert_eq!(page["content"], "    11|line 11\n    12|line 12");
    assert_eq!(page["total_lines"], 3000);
    assert_eq!(page["truncated"], true);
    assert!(page["hint"].as_str().unwrap().contains("offset=13"));
    let page = stage.call("read_file", json!({"path": "a.txt", "limit": 100_000}));
    assert_eq!(page["content"].as_str().unwrap().lines().count(), 2000);
    let page = stage.call("read_file", json!({"path": "a.txt", "offset": 5000}));
    assert_eq!(page["content"], "");
    assert!(page["hint"].as_str().unwrap().contains("3000"));
}

#[test]
fn an_unchanged_page_is_not_repeated_and_insisting_is_blocked() {
    let stage = Stage::new();
    let path = stage.file("a.txt", "a\n");
    let read = || stage.call("read_file", json!({"path": "a.txt"}));
    assert!(read()["content"].is_string());
    let second = read();
    assert_eq!(
        (&second["status"], &second["dedup"]),
        (&json!("unchanged"), &json!(true))
    );
    assert!(read()["error"].as_str().unwrap().starts_with("BLOCKED"));
    // Another name of the same file is the same page.
    assert!(stage.call("read_file", json!({"path": path}))["error"].is_string());
    std::fs::write(&path, "changed\n").unwrap();
    assert_eq!(read()["content"], "     1|changed");
}

#[test]
fn tilde_is_the_home_of_commands() {
    let stage = Stage::new();
    std::fs::write(stage.root("home/x"), "here").unwrap();
    assert_eq!(
        stage.call("read_file", json!({"path": "~/x"}))["content"],
        "     1|here"
    );
}

#[test]
fn too_much_text_is_an_error_and_long_lines_are_cut() {
    let stage = Stage::new();
    stage.file("wide.txt", format!("{}\n", "é".repeat(5000)).repeat(60));
    let message = stage.refused("read_file", json!({"path": "wide.txt"}));
    assert!(message.contains("100000"), "{message}");
    let page = stage.call("read_file", json!({"path": "wide.txt", "limit": 1}));
    let line = page["content"].as_str().unwrap();
    assert!(line.ends_with("é... [truncated]"));
    assert_eq!(page["truncated"], true);
    assert_eq!(
        page.get("hint")
            .unwrap()
            .as_str()
            .unwrap()
            .contains('\u{fffd}'),
        false
    );
}

#[test]
fn a_huge_file_costs_its_page() {
    let stage = Stage::new();
    let path = stage.file("huge", "first\n");
    // Sparse: one line of 300 MB that is never held.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(300_000_000).unwrap();
    let page = stage.call("read_file", json!({"path": "huge"}));
    assert_eq!(page["is_binary"], true);
    let text: String = "x".repeat(99) + "\n";
    std::fs::write(&path, text.repeat(200_000)).unwrap();
    let page = stage.call("read_file", json!({"path": "huge", "offset": 199_999}));
    assert_eq!(page["total_lines"], 200_000);
    assert_eq!(page["content"].as_str().unwrap().lines().count(), 2);
}

#[test]
fn data_images_and_foreign_encodings_are_told_apart() {
    let stage = Stage::new();
    stage.file("data", [0_u8, 1, 2, 255]);
    stage.file("a.PNG", [0x89, b'P', b'N', b'G', 0]);
    stage.file("latin", b"caf\xe9 au lait, s'il vous plait\n");
    stage.file("empty", "");
    let read = |path: &str| stage.call("read_file", json!({"path": path}));
    assert_eq!(
        (&read("data")["is_binary"], &read("data")["content"]),
        (&json!(true), &json!(""))
    );
    assert_eq!(read("a.PNG")["is_image"], true);
    let latin = read("latin");
    assert!(
        latin["content"]
            .as_str()
            .unwrap()
            .contains("caf\u{fffd} au")
    );
    assert!(latin["hint"].is_string());
    assert_eq!(read("empty")["total_lines"], 0);
}

#[test]
fn credentials_devices_and_processes_are_refused_also_through_links() {
    let stage = Stage::new();
    std::fs::create_dir(stage.root("hermes/mcp-tokens")).unwrap();
    for name in [".env", "auth.json", "mcp-tokens/x"] {
        std::fs::write(stage.root("hermes").join(name), "value").unwrap();
    }
    std::os::unix::fs::symlink(stage.root("hermes/.env"), stage.work("innocent")).unwrap();
    for path in [
        "../hermes/.env",
        "innocent",
        "../hermes/auth.json",
        "../hermes/mcp-tokens/x",
    ] {
        let message = stage.refused("read_file", json!({"path": path}));
        assert!(message.contains("credentials"), "{path}: {message}");
    }
    for path in [
        "/dev/zero",
        "/proc/self/environ",
        "/proc/1/environ",
        "/dev/stdin",
    ] {
        let message = stage.refused("read_file", json!({"path": path}));
        assert!(
            message.contains("not read") || message.contains("device"),
            "{path}: {message}"
        );
    }
}

#[test]
fn fifos_directories_and_nonsense_are_answers() {
    let stage = Stage::new();
    stage.file("notes.txt", "x");
    std::process::Command::new("mkfifo")
        .arg(stage.work("fifo"))
        .status()
        .unwrap();
    assert!(
        stage
            .refused("read_file", json!({"path": "fifo"}))
            .contains("regular")
    );
    assert!(
        stage
            .refused("read_file", json!({"path": "."}))
            .contains("directory")
    );
    assert!(
        stage
            .refused("read_file", json!({"path": "a\u{0}b"}))
            .contains("NUL")
    );
    assert!(
        stage
            .refused("read_file", json!({"path": "  "}))
            .contains("empty")
    );
    assert!(stage.refused("read_file", json!({})).contains("'path'"));
    let missing = stage.call("read_file", json!({"path": "Notes.md"}));
    assert_eq!(missing["error"], "File not found: Notes.md");
    assert_eq!(missing["similar_files"], json!([stage.work("notes.txt")]));
}

#[test]
fn secrets_in_files_are_masked() {
    let stage = Stage::new();
    stage.file("a.txt", format!("token {SECRET}\n"));
    let shown = stage
        .call("read_file", json!({"path": "a.txt"}))
        .to_string();
    assert!(!shown.contains(SECRET), "{shown}");
}

#[test]
fn a_line_that_was_cut_is_said_with_the_way_to_its_rest() {
    let stage = Stage::new();
    let long = "x".repeat(5000);
    stage.file("one.json", format!("{{}}\n{long}"));
    let page = stage.call("read_file", json!({"path": "one.json"}));
    assert_eq!(page["truncated"], true);
    let hint = page["hint"].as_str().unwrap();
    assert!(
        hint.contains("sed -n 2p") && hint.contains("cut -c 2001-4000"),
        "{hint}"
    );
    // Settings say otherwise.
    let tool = ReadFileTool {
        max_lines: 1,
        max_line_chars: 10,
        ..ReadFileTool::default()
    };
    let stage = Stage::with(hermes_tools::ToolRegistry::default().with(tool));
    stage.file("one.json", format!("{long}\n{long}\n"));
    let page = stage.call("read_file", json!({"path": "one.json", "limit": 9}));
    assert_eq!(page["content"], "     1|xxxxxxxxxx... [truncated]");
    let hint = page["hint"].as_str().unwrap();
    assert!(
        hint.contains("offset=2") && hint.contains("cut -c 11-20"),
        "{hint}"
    );
}

#[test]
fn an_interrupt_is_heard_inside_a_file() {
    let stage = Stage::new();
    stage.file("long.log", "0123456\n".repeat(200_000));
    stage.context.interrupt.raise();
    let message = stage.refused("read_file", json!({"path": "long.log", "offset": 190_000}));
    assert!(message.contains("interrupted"), "{message}");
    // What was wanted had been read: only the count is not known.
    let page = stage.call("read_file", json!({"path": "long.log", "limit": 2}));
    assert_eq!(page["content"], "     1|0123456\n     2|0123456");
    assert!(
        page["hint"].as_str().unwrap().contains("more than"),
        "{page}"
    );
}

#[test]
fn files_of_variables_show_no_values_of_secret_names() {
    let mut stage = Stage::new();
    let redactor = Redactor::new([SECRET]).for_sink(Sink::Output);
    stage.context.redactor = Arc::new(redactor);
    let text = "DB_PASSWORD=hunter2hunter2\nURL=https://x/?token=abc\n";
    stage.file("prod.env", text);
    stage.file("notes.txt", format!("see below\n{text}"));
    std::os::unix::fs::symlink(stage.work("prod.env"), stage.work("link")).unwrap();
    for name in ["prod.env", "link"] {
        let page = stage.call(
            "read_file",
            json!({"path": name, "limit": if name == "link" { 9 } else { 5 }}),
        );
        let content = page["content"].as_str().unwrap();
        assert!(content.contains("DB_PASSWORD=***"), "{page}");
        assert!(content.contains("https://x/?token=abc"), "{page}");
    }
    let found = stage.call(
        "search_files",
        json!({"pattern": "PASSWORD", "file_glob": "*.env"}),
    );
    assert_eq!(found["matches"][0]["content"], "DB_PASSWORD=***");
    // Elsewhere a name says nothing: it may be source code.
    let page = stage.call("read_file", json!({"path": "notes.txt"}));
    assert!(page["content"].as_str().unwrap().contains("hunter2hunter2"));
}
