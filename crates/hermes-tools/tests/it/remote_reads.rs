//! `read_file` in another place: the same answers as on this machine.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use hermes_tools::WriteRules;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::script_hosts::{Programs, Unreachable};
use crate::stage::{FixedSession, SECRET, Stage, files_registry};

/// A result without the directory of its test.
pub(crate) fn anywhere(stage: &Stage, result: &Value) -> Value {
    let root = stage.root("").display().to_string();
    // A NUL inside a text is shown as another character that cannot be seen.
    let text = result
        .to_string()
        .replace(r"\u0000", r"\u0001")
        .replace(root.trim_end_matches('/'), "ROOT");
    serde_json::from_str(&text).unwrap()
}

/// Makes the same calls here and in every kind of place; the answers must be the same.
pub(crate) fn same_everywhere(tool: &str, prepare: fn(&Stage), calls: &[Value]) {
    let here = Stage::new();
    prepare(&here);
    let expected: Vec<Value> = calls
        .iter()
        .map(|args| anywhere(&here, &here.call(tool, args.clone())))
        .collect();
    for programs in Programs::ALL {
        let there = Stage::on_host(programs);
        prepare(&there);
        for (args, expected) in calls.iter().zip(&expected) {
            let mut result = anywhere(&there, &there.call(tool, args.clone()));
            if programs != Programs::Ripgrep
                && let Some(fields) = result.as_object_mut()
                && fields
                    .get("note")
                    .is_some_and(|note| note.to_string().contains("ripgrep"))
            {
                fields.shift_remove("note");
            }
            assert_eq!(&result, expected, "{programs:?} {tool} {args}");
        }
    }
}

fn files(stage: &Stage) {
    stage.file("a.txt", "a\nb\n");
    stage.file("open", "one\ntwo");
    stage.file("empty", "");
    stage.file("blank", "\n");
    stage.file("crlf", "\u{feff}one\r\ntwo\r\n");
    stage.file("data", [0_u8, 1, 2, 255]);
    stage.file("late", [b"text\n".repeat(4000), vec![0, 1]].concat());
    stage.file("a.PNG", [0x89, b'P', b'N', b'G', 0]);
    stage.file("latin", b"caf\xe9 au lait, s'il vous plait\n");
    stage.file("mostly-bad", b"\xff\xfe\xfd\n");
    stage.file("wide", format!("{}\nend\n", "é".repeat(5000)));
    stage.file("wider", format!("{}\n", "é".repeat(5000)).repeat(60));
    stage.file("secret", format!("token {SECRET}\n"));
    let lines: Vec<String> = (1..=3000).map(|n| format!("line {n}\n")).collect();
    stage.file("many", lines.concat());
    // As large as files that do not come whole.
    stage.file("long", lines.concat().repeat(10));
    stage.file(
        "long-data",
        [vec![b'x'; 200_000], vec![0; 200_000]].concat(),
    );
    stage.file("long-data-first", vec![0; 200_000]);
    stage.file("long-late", [b"text\n".repeat(40_000), vec![0, 1]].concat());
    stage.file("long-wide", format!("{}\nend", "é".repeat(100_000)));
    stage.file("long.png", vec![b'x'; 200_000]);
    stage.file("new\nline", "named over two lines\n");
    stage.file("it's $(touch x) \"q\" `y` \\", "quoted\n");
    stage.file("-n", "dashed\n");
    stage.file(" ", "blank name\n");
    stage.file("ends\n", "ends with a line end\n");
    stage.file("sub/inner", "inner\n");
    stage.file(
        OsStr::from_bytes(b"bad\xff").to_string_lossy().as_ref(),
        "x\n",
    );
    std::fs::write(
        stage.work("").join(OsStr::from_bytes(b"latin\xe9name")),
        "by link\n",
    )
    .unwrap();
    symlink(
        OsStr::from_bytes(b"latin\xe9name"),
        stage.work("link-to-latin"),
    )
    .unwrap();
    symlink("a.txt", stage.work("link")).unwrap();
    symlink("sub", stage.work("way")).unwrap();
    symlink("nothing", stage.work("dangling")).unwrap();
    symlink("loop", stage.work("loop")).unwrap();
    symlink("ends\n", stage.work("link-to-end")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        stage.work("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    std::fs::write(stage.root("home/x"), "here").unwrap();
}

#[test]
fn pages_are_the_same() {
    let names = [
        "a.txt",
        "open",
        "empty",
        "blank",
        "crlf",
        "data",
        "late",
        "a.PNG",
        "latin",
        "mostly-bad",
        "wide",
        "wider",
        "secret",
        "new\nline",
        "it's $(touch x) \"q\" `y` \\",
        "-n",
        " x",
        "ends\n",
        "bad\u{fffd}",
        "link-to-latin",
        "link",
        "way/inner",
        "way/../a.txt",
        "sub/../way/inner",
        "link-to-end",
        "fifo",
        ".",
        "way",
        "~/x",
        "~",
        "~x",
        "Many.md",
        "a",
        "dangling",
        "sub/nope",
        "nowhere/at/all",
        "a.txt/x",
        "./sub//inner",
        "/",
        "",
        "nul\0",
    ];
    let mut calls: Vec<Value> = names.iter().map(|path| json!({"path": path})).collect();
    for (offset, limit) in [
        (1, 1),
        (2, 1),
        (2999, 10),
        (3000, 1),
        (3001, 5),
        (9000, 1),
        (11, 2000),
    ] {
        calls.push(json!({"path": "many", "offset": offset, "limit": limit}));
    }
    for (offset, limit) in [
        (1, 3),
        (29_999, 10),
        (30_000, 1),
        (30_001, 5),
        (i64::MAX, 1),
    ] {
        calls.push(json!({"path": "long", "offset": offset, "limit": limit}));
    }
    for name in ["long-data", "long-data-first", "long-wide", "long.png"] {
        calls.push(json!({"path": name}));
    }
    calls.push(json!({"path": "long-late", "offset": 40_000}));
    calls.push(json!({"path": "long-wide", "offset": 2}));
    calls.push(json!({"path": "open", "offset": 2}));
    calls.push(json!({"path": "open", "offset": i64::MAX, "limit": 2000}));
    calls.push(json!({"path": "wide", "offset": 2}));
    calls.push(json!({"path": "late", "offset": 4000}));
    same_everywhere("read_file", files, &calls);
}

#[test]
fn a_link_in_a_circle_is_an_answer() {
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        files(&stage);
        let message = stage.refused("read_file", json!({"path": "loop"}));
        assert!(message.contains("too many"), "{message}");
    }
}

#[test]
fn devices_and_processes_are_not_read() {
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        for path in ["/dev/zero", "/proc/1/environ"] {
            let message = stage.refused("read_file", json!({"path": path}));
            let is_told = ["regular", "process", "device", "could not read"];
            assert!(
                is_told.iter().any(|part| message.contains(part)),
                "{path}: {message}"
            );
        }
    }
}

#[test]
fn pages_of_a_large_file_cost_their_lines() {
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        // Ten megabytes, and a line of five in the middle.
        let line = "x".repeat(99) + "\n";
        let text = line.repeat(25_000) + &"y".repeat(5_000_000) + "\n" + &line.repeat(25_000);
        stage.file("large", text);
        let page = stage.call("read_file", json!({"path": "large", "offset": 50_000}));
        assert_eq!(page["total_lines"], 50_001, "{programs:?}");
        assert_eq!(page["content"].as_str().unwrap().lines().count(), 2);
        let page = stage.call(
            "read_file",
            json!({"path": "large", "offset": 25_000, "limit": 3}),
        );
        let lines: Vec<&str> = page["content"].as_str().unwrap().lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].ends_with("y... [truncated]") && lines[2].ends_with('x'));
        assert_eq!(page["file_size"], 10_000_001);
    }
}

#[test]
fn an_unchanged_page_is_not_repeated_and_a_changed_one_is() {
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        let path = stage.file("a.txt", "a\n");
        let read = || stage.call("read_file", json!({"path": "a.txt"}));
        assert_eq!(read()["content"], "     1|a");
        assert_eq!(read()["status"], "unchanged");
        assert!(read()["error"].as_str().unwrap().starts_with("BLOCKED"));
        // The same size, a moment later.
        std::fs::write(&path, "b\n").unwrap();
        assert_eq!(read()["content"], "     1|b", "{programs:?}");
    }
}

#[test]
fn a_session_that_begins_in_its_home_reads_there() {
    let mut stage = Stage::on_host(Programs::Gnu);
    std::fs::write(stage.root("home/x"), "here").unwrap();
    for (cwd, path) in [("~", "x"), ("~/", "./x"), ("~/sub", "../x")] {
        std::fs::create_dir_all(stage.root("home/sub")).unwrap();
        stage.context.session = Arc::new(FixedSession {
            cwd: cwd.into(),
            variables: Vec::new(),
        });
        stage.context.files.forget_pages();
        let page = stage.call("read_file", json!({"path": path}));
        assert_eq!(page["content"], "     1|here", "{cwd} {page}");
    }
    stage.context.session = Arc::new(FixedSession {
        cwd: "relative".into(),
        variables: Vec::new(),
    });
    let message = stage.refused("read_file", json!({"path": "x"}));
    assert!(message.contains("not a full path"), "{message}");
}

#[test]
fn credentials_of_another_machine_are_not_shown() {
    let machine = WriteRules::Machine {
        safe_roots: Vec::new(),
    };
    for rules in [machine, WriteRules::Unrestricted] {
        let is_machine = rules != WriteRules::Unrestricted;
        let stage = Stage::on_host_with(Programs::Gnu, rules, files_registry());
        std::fs::create_dir_all(stage.root("home/.hermes/mcp-tokens")).unwrap();
        std::fs::write(stage.root("home/.hermes/.env"), "value\n").unwrap();
        std::fs::write(stage.root("home/.hermes/mcp-tokens/x"), "value\n").unwrap();
        symlink(stage.root("home/.hermes/.env"), stage.work("innocent")).unwrap();
        for path in ["~/.hermes/.env", "innocent", "~/.hermes/mcp-tokens/x"] {
            let result = stage.call("read_file", json!({"path": path}));
            let is_refused = result["error"]
                .as_str()
                .is_some_and(|e| e.contains("credentials"));
            let is_shown = result.to_string().contains("value");
            stage.context.files.forget_pages();
            assert_eq!(
                (is_refused, is_shown),
                (is_machine, !is_machine),
                "{result}"
            );
        }
    }
}

#[test]
fn what_may_not_be_read_says_so() {
    let stage = Stage::on_host(Programs::Gnu);
    let path = stage.file("locked/x", "x");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let result = stage.call("read_file", json!({"path": "locked/x"}));
    // Root reads everything.
    if std::fs::read(&path).is_err() {
        assert!(
            result["error"]
                .as_str()
                .unwrap()
                .contains("Permission denied")
        );
    } else {
        assert_eq!(result["content"], "     1|x");
    }
}

#[test]
fn a_place_that_cannot_be_reached_is_an_answer_and_not_this_machine() {
    let stage = Stage::new().moved_to(Arc::new(Unreachable), WriteRules::Unrestricted);
    stage.file("a.txt", "of this machine\n");
    let path = json!({"path": "a.txt"});
    let engine = "The container engine is not running; start it.";
    assert_eq!(stage.refused("read_file", path), engine);
    let write = json!({"path": "a.txt", "content": "x"});
    assert_eq!(stage.refused("write_file", write), engine);
    let patch = json!({"path": "a.txt", "old_string": "of", "new_string": "x"});
    assert_eq!(stage.refused("patch", patch), engine);
    assert_eq!(
        stage.refused("search_files", json!({"pattern": "of"})),
        engine
    );
    assert_eq!(stage.text("a.txt"), "of this machine\n");
}

#[test]
fn an_interrupt_ends_a_reading() {
    let stage = Stage::on_host(Programs::Gnu);
    stage.file("a.txt", "a\n");
    stage.context.interrupt.raise();
    let message = stage.refused("read_file", json!({"path": "a.txt"}));
    assert_eq!(message, "The call was interrupted.");
}
