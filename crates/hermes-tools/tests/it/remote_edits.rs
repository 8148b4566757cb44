//! `write_file` and `patch` in another place: whole or not at all, and the same answers as here.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use hermes_terminal::remote::{RemoteError, ScriptOutcome, ScriptRequest, ScriptRunner};
use hermes_tools::WriteRules;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::remote_reads::{anywhere, same_everywhere};
use crate::script_hosts::{Programs, program, run_child, signal_group, unusable};
use crate::stage::{Stage, files_registry};

/// Names of everything in the working directory, hidden or not.
fn listed(stage: &Stage) -> Vec<String> {
    let entries = std::fs::read_dir(stage.work("")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn few(stage: &Stage) {
    stage.file("a.txt", "old\n");
    stage.file("sub/x", "x\n");
    symlink("sub", stage.work("way")).unwrap();
    symlink("sub/fresh", stage.work("dangling")).unwrap();
}

#[test]
fn answers_are_the_same() {
    let call = |path: &str, content: &str| json!({"path": path, "content": content});
    let calls = [
        call("a.txt", "new\n"),
        call("a/b/c.json", "{\"é\": 1}"),
        call("a/b/c.json", "{"),
        call("new\nline\n", "two\nlines\n"),
        call("-rf", ""),
        call("it's \"$(touch x)\" `y` \\", "q"),
        call("~/in home", "h"),
        call("way/../up", "beside"),
        call("way/y", "through"),
        call("dangling", "made"),
        call(".", "x"),
        call("sub", "x"),
        call("", "x"),
        call("big", &"0123456789".repeat(300_000)),
        call("big", ""),
    ];
    same_everywhere("write_file", few, &calls);
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        few(&stage);
        for args in &calls {
            stage.call("write_file", args.clone());
        }
        // Not by way of a directory that would have to be made for it.
        let flat = stage.call("write_file", call("missing/../flat", "x"));
        assert_eq!(flat["dirs_created"], false);
        assert_eq!(
            listed(&stage),
            [
                "-rf",
                "a",
                "a.txt",
                "big",
                "dangling",
                "flat",
                "it's \"$(touch x)\" `y` \\",
                "new\nline\n",
                "sub",
                "up",
                "way",
            ],
            "{programs:?}"
        );
        assert_eq!(stage.text("new\nline\n"), "two\nlines\n");
        assert_eq!(stage.text("sub/y"), "through");
        assert_eq!(stage.text("sub/fresh"), "made");
        assert!(stage.work("dangling").is_symlink());
        assert_eq!(
            std::fs::read_to_string(stage.root("home/in home")).unwrap(),
            "h"
        );
    }
}

#[test]
fn bytes_mode_owner_and_links_survive() {
    // Every character, and line ends of all kinds.
    let content: String = ('\u{1}'..='\u{2ff}')
        .chain(['\r', '\n', '日', '\u{feff}'])
        .collect();
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        let path = stage.file("script", "old");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
        let is_root = std::os::unix::fs::chown(&path, Some(12345), Some(23456)).is_ok();
        symlink("script", stage.work("link")).unwrap();
        let args = json!({"path": "link", "content": content});
        let result = stage.call("write_file", args);
        assert_eq!(result["bytes_written"], content.len(), "{result}");
        assert_eq!(std::fs::read(&path).unwrap(), content.as_bytes());
        let meta = path.metadata().unwrap();
        assert_eq!(meta.mode() & 0o7777, 0o750, "{programs:?}");
        if is_root {
            assert_eq!((meta.uid(), meta.gid()), (12345, 23456));
        }
        assert_eq!(listed(&stage), ["link", "script"]);
        // A new file is as the umask there wants it, and is no more than that while it is written.
        stage.call("write_file", json!({"path": "new", "content": "x"}));
        let expected = stage.file("made by hand", "x").metadata().unwrap().mode();
        assert_eq!(stage.work("new").metadata().unwrap().mode(), expected);
    }
}

#[test]
fn what_changed_meanwhile_is_said() {
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        let path = stage.file("a", "one\n");
        stage.call("read_file", json!({"path": "a"}));
        let write =
            |content: &str| stage.call("write_file", json!({"path": "a", "content": content}));
        assert_eq!(write("two\n").get("_warning"), None);
        assert_eq!(write("three\n").get("_warning"), None);
        std::fs::write(&path, "other\n").unwrap();
        assert!(write("four\n")["_warning"].is_string(), "{programs:?}");
        std::fs::remove_file(&path).unwrap();
        assert!(write("five\n")["_warning"].is_string());
        std::fs::write(&path, "other\n").unwrap();
        let patch = json!({"path": "a", "old_string": "other", "new_string": "six"});
        assert!(stage.call("patch", patch)["_warning"].is_string());
        let patch = json!({"path": "a", "old_string": "six", "new_string": "seven"});
        assert_eq!(stage.call("patch", patch).get("_warning"), None);
    }
}

#[test]
fn what_cannot_be_written_says_why_and_leaves_nothing() {
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        stage.file("plain", "old\n");
        stage.file("locked/x", "old\n");
        let locked = stage.work("locked");
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).unwrap();
        let is_root = std::fs::write(locked.join("probe"), "").is_ok();
        let write = |path: &str| stage.call("write_file", json!({"path": path, "content": "new"}));
        let message = write("plain/x")["error"].to_string();
        assert!(
            message.contains("a part of the path is not a directory"),
            "{programs:?} {message}"
        );
        let message = write("/proc/hermes/x")["error"].to_string();
        assert!(
            message.contains("could not write /proc/hermes/x: "),
            "{message}"
        );
        if !is_root {
            let message = write("locked/x")["error"].to_string();
            assert!(message.contains("Permission denied"), "{message}");
        }
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).unwrap();
        if !is_root {
            assert_eq!(stage.text("locked/x"), "old\n");
            assert_eq!(std::fs::read_dir(&locked).unwrap().count(), 1);
        }
        assert_eq!(stage.text("plain"), "old\n");
    }
}

/// A place whose working directory has a disk of its own, too small for anything.
struct SmallDisk {
    stage: PathBuf,
}

impl ScriptRunner for SmallDisk {
    fn run_script(&self, job: &ScriptRequest<'_>) -> Result<ScriptOutcome, RemoteError> {
        let mut command = Command::new(program("unshare"));
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
            .arg(
                "mount -t tmpfs -o size=16k tmpfs work || exit 99
                 printf 'old\\n' >work/a
                 bash -c \"$1\"
                 code=$?
                 cp -a work/. after
                 exit $code",
            )
            .args(["sh", job.script])
            .current_dir(&self.stage);
        run_child(command, job, signal_group)
    }

    fn describe(&self) -> String {
        "the small disk".to_owned()
    }
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let stage = Stage::new();
    let place = SmallDisk {
        stage: stage.root(""),
    };
    let stage = stage.moved_to(Arc::new(place), WriteRules::Unrestricted);
    std::fs::create_dir(stage.root("after")).unwrap();
    let args = json!({"path": "a", "content": "x".repeat(100_000)});
    let message = stage.refused("write_file", args);
    assert_eq!(
        message,
        format!(
            "could not write {}: No space left on device",
            stage.work("a").display()
        )
    );
    let after = stage.root("after");
    assert_eq!(std::fs::read_to_string(after.join("a")).unwrap(), "old\n");
    assert_eq!(std::fs::read_dir(after).unwrap().count(), 1);
}

/// A place that loses the end of what it is sent.
struct Lossy(Arc<dyn ScriptRunner>);

impl ScriptRunner for Lossy {
    fn run_script(&self, job: &ScriptRequest<'_>) -> Result<ScriptOutcome, RemoteError> {
        let input = &job.input[..job.input.len().min(3)];
        self.0.run_script(&ScriptRequest { input, ..*job })
    }

    fn describe(&self) -> String {
        "a bad line".to_owned()
    }
}

#[test]
fn half_a_content_is_no_file() {
    let stage = Stage::new();
    let shell = crate::script_hosts::ShellHost::new(Programs::Gnu, &stage.root(""));
    let place = Lossy(Arc::new(shell));
    let stage = stage.moved_to(Arc::new(place), WriteRules::Unrestricted);
    stage.file("a", "old\n");
    let message = stage.refused("write_file", json!({"path": "a", "content": "new content"}));
    assert!(message.contains("arrived incomplete"), "{message}");
    assert_eq!(stage.text("a"), "old\n");
    assert_eq!(listed(&stage), ["a"]);
}

fn patchable(stage: &Stage) {
    stage.file("a", "first\nsame\nold\nsecond\nsame\nold\n");
    stage.file("c", "gone\n");
    stage.file("d", "moved\n");
    stage.file("crlf", "\u{feff}if x:\r\n    if y:\r\n        z()\r\n");
    stage.file("twice", "x\nx\n");
    stage.file("bin", [0_u8, 1]);
    stage.file("latin", b"caf\xe9\n");
    stage.file("new\nline", "x = 1");
    stage.file("data.json", "{\"a\": 1}");
    symlink("a", stage.work("link")).unwrap();
}

const SEVERAL: &str = "*** Begin Patch\n*** Update File: a\n@@ second @@\n same\n-old\n+new\n\
                       *** Add File: sub/b\n+one\n+two\n*** Delete File: c\n\
                       *** Move File: d -> e\n*** End Patch";

#[test]
fn patches_are_the_same() {
    let replace = |path: &str, old: &str, new: &str| json!({"path": path, "old_string": old, "new_string": new});
    let twice = "*** Begin Patch\n*** Update File: a\n-first\n+1st\n*** Update File: link\n-second\n\
                 +2nd\n*** End Patch";
    let there = "*** Begin Patch\n*** Add File: twice\n+x\n*** End Patch";
    let calls = [
        json!({"mode": "patch", "patch": twice}),
        json!({"mode": "patch", "patch": there}),
        json!({"mode": "patch", "patch": SEVERAL}),
        replace("crlf", "if y:\n    z()", "if y:\n    z()\n    w()"),
        replace("twice", "x", "y"),
        json!({"path": "twice", "old_string": "x", "new_string": "y", "replace_all": true}),
        replace("new\nline", "x = 1", "x = 2"),
        replace("data.json", "1}", "1"),
        replace("bin", "x", "y"),
        replace("latin", "x", "y"),
        replace("nowhere", "x", "y"),
        replace(".", "x", "y"),
        replace("a", "not there", "y"),
        json!({"mode": "patch", "patch": SEVERAL}),
    ];
    same_everywhere("patch", patchable, &calls);
    for programs in Programs::ALL {
        let stage = Stage::on_host(programs);
        patchable(&stage);
        for args in &calls {
            stage.call("patch", args.clone());
        }
        assert_eq!(stage.text("a"), "first\nsame\nold\nsecond\nsame\nnew\n");
        assert_eq!(
            stage.text("crlf"),
            "\u{feff}if x:\r\n    if y:\r\n        z()\r\n        w()\r\n"
        );
        assert_eq!(stage.text("new\nline"), "x = 2");
        assert_eq!(
            listed(&stage),
            [
                "a",
                "bin",
                "crlf",
                "data.json",
                "e",
                "latin",
                "link",
                "new\nline",
                "sub",
                "twice"
            ]
        );
    }
}

/// Fails when something is removed.
struct KeepsFiles(Arc<dyn ScriptRunner>);

impl ScriptRunner for KeepsFiles {
    fn run_script(&self, job: &ScriptRequest<'_>) -> Result<ScriptOutcome, RemoteError> {
        if job.script.contains("rm -f \"$1\"") {
            return Err(unusable("the connection was lost"));
        }
        self.0.run_script(job)
    }

    fn describe(&self) -> String {
        "a bad line".to_owned()
    }
}

#[test]
fn one_failing_step_means_no_change_at_all() {
    let stage = Stage::new();
    let shell = crate::script_hosts::ShellHost::new(Programs::Gnu, &stage.root(""));
    let place = KeepsFiles(Arc::new(shell));
    let stage = stage.moved_to(Arc::new(place), WriteRules::Unrestricted);
    patchable(&stage);
    let patch =
        "*** Begin Patch\n*** Update File: a\n-first\n+1st\n*** Delete File: c\n*** End Patch";
    let message = stage.refused("patch", json!({"mode": "patch", "patch": patch}));
    assert_eq!(message, "the connection was lost. No file was changed.");
    assert_eq!(stage.text("a"), "first\nsame\nold\nsecond\nsame\nold\n");
}

#[test]
fn a_machine_keeps_its_credentials_and_a_sandbox_has_none() {
    let machine = WriteRules::Machine {
        safe_roots: Vec::new(),
    };
    for rules in [machine, WriteRules::Unrestricted] {
        let is_machine = rules != WriteRules::Unrestricted;
        let stage = Stage::on_host_with(Programs::Gnu, rules, files_registry());
        std::fs::create_dir_all(stage.root("home/.ssh")).unwrap();
        std::fs::write(stage.root("home/.ssh/config"), "old\n").unwrap();
        symlink(stage.root("home/.ssh"), stage.work("keys")).unwrap();
        let denied = |result: &Value| {
            let error = result["error"].as_str().unwrap_or_default();
            error.starts_with("Write denied")
        };
        for path in [
            "~/.ssh/new",
            "keys/new2",
            "~/.hermes/config.yaml",
            "~/.bashrc",
        ] {
            let args = json!({"path": path, "content": "x"});
            let verdict = stage
                .context
                .registry
                .verdict("write_file", &args, &stage.context);
            assert_eq!(verdict["approved"], !is_machine, "{path}");
            let result = stage.call("write_file", args);
            assert_eq!(denied(&result), is_machine, "{path} {result}");
        }
        let args = json!({"path": "keys/config", "old_string": "old", "new_string": "new"});
        assert_eq!(denied(&stage.call("patch", args)), is_machine);
        let add = "*** Begin Patch\n*** Add File: keys/added\n+x\n*** End Patch";
        let result = stage.call("patch", json!({"mode": "patch", "patch": add}));
        assert_eq!(denied(&result), is_machine, "{result}");
        let kept = std::fs::read_to_string(stage.root("home/.ssh/config")).unwrap();
        assert_eq!(kept == "old\n", is_machine);
        let allowed = stage.call("write_file", json!({"path": "ok", "content": "x"}));
        assert_eq!(anywhere(&stage, &allowed)["bytes_written"], 1);
    }
}
