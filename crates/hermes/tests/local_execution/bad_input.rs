//! What nobody should hand in, and what may happen to a machine: each is answered in words, and the
//! next command works.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::talk::Talk;
use super::{Place, text};

#[test]
fn a_program_that_starts_in_a_directory_that_is_gone() {
    // check 15
    let place = Place::new();
    let gone = place.work("a/gone");
    std::fs::create_dir_all(&gone).unwrap();
    let script = "cd \"$GONE\" && rmdir \"$GONE\" && exec \"$HERMES\" exec -- 'pwd -P'";
    let run = |script: &str| {
        std::fs::create_dir_all(&gone).unwrap();
        place
            .hermes(&["-c", script])
            .program("/bin/bash")
            .env("GONE", &gone)
            .env("HERMES", place.home.program())
            .run()
    };
    let outcome = run(script);
    outcome
        .succeeds()
        .prints(&format!("{}\n", place.work("a").display()))
        .says_part("a/gone is gone or cannot be entered");
    // Without a name there is nothing to go back to.
    let outcome = run(&script.replace("&& exec", "&& exec env -u PWD"));
    outcome.refuses(1, "the current directory no longer exists");
}

#[test]
fn commands_that_are_none() {
    // check 20, 21, 30
    let place = Place::new();
    let mut talk = place.talk();
    let result = talk.run("echo a\0b");
    assert_eq!(result["status"], "error", "{result}");
    assert!(text(&result, "error").contains("NUL"), "{result}");

    let long = format!("echo {}", "x".repeat(1_000_000));
    let result = talk.run(&long);
    assert_eq!(result["status"], "blocked", "{}", result["error"]);
    let error = text(&result, "error");
    assert!(error.contains("file") && error.len() < 1000, "{error}");
    // As text for a program it is fine.
    let file = json!({"path": "long.sh", "content": long});
    talk.call_in("main", "write_file", &file);
    let result = talk.run("bash long.sh | wc -c");
    assert_eq!(result["output"], "1000001", "{result}");

    for command in [
        "echo 'a", "echo \"a", "echo $(a", "if true", "(", "cat <<E", "echo a)",
    ] {
        let result = talk.run(command);
        assert_eq!(result.get("status"), None, "{command}: {result}");
        if command != "cat <<E" {
            assert_ne!(result["exit_code"], 0, "{command}: {result}");
        }
    }
    assert_eq!(talk.output("echo still here"), "still here");
}

#[test]
fn bytes_that_are_no_text() {
    // check 19
    let bytes = vec![0xff, b'a', 0xc3, b'(', 0xfe];
    let place = Place::that_approves().env("ODD_BYTES", OsString::from_vec(bytes));
    let mut talk = place.talk();
    let dump = "printf %s \"$ODD_BYTES\" | od -An -tx1";
    assert_eq!(talk.output(dump).trim(), "ff 61 c3 28 fe");
    assert_eq!(talk.background(dump, false).trim(), "ff 61 c3 28 fe");
    // They last: a session that exports them hands them on unchanged.
    talk.output("export MINE=$'\\xfe\\xff'$ODD_BYTES");
    let mine = talk.output("printf %s \"$MINE\" | od -An -tx1");
    assert_eq!(mine.trim(), "fe ff ff 61 c3 28 fe");
    let shown = talk.output("printf '%s|' \"$ODD_BYTES\"; printf 'caf\\xc3\\xa9 \\xe2\\x82'");
    assert_eq!(shown, "\u{fffd}a\u{fffd}(\u{fffd}|café \u{fffd}");
    // A directory with such a name is a directory.
    talk.output("mkdir $'\\xff\\xfe' && cd $'\\xff\\xfe' && touch inside");
    assert_eq!(talk.output("ls"), "inside");
}

/// Runs the program where these files cannot be executed.
fn without(place: &Place, shells: &[&str], args: &[&str]) -> hermes_testkit::ProgramOutput {
    let hide: Vec<String> = shells
        .iter()
        .map(|shell| format!("mount --bind /dev/null \"$(readlink -f {shell})\""))
        .collect();
    let script = format!("{}\nexec \"$0\" \"$@\"", hide.join("\n"));
    place.hermes(args).in_mount_namespace(&script).run()
}

#[test]
fn a_shell_that_is_missing() {
    // check 23
    let place = Place::new().env("SHELL", "/no/such/shell");
    let outcome = without(&place, &["/bin/bash"], &["exec", "--", "echo ok; exit 3"]);
    outcome.exits(3).prints("ok\n");
    let both = ["/bin/bash", "/bin/sh"];
    let outcome = without(&place, &both, &["exec", "--json", "--", "echo ok"]);
    let result = outcome.exits(1).json();
    assert_eq!(result["exit_code"], -1, "{result}");
    assert!(text(&result, "error").contains("/bin/sh"), "{result}");
    let call = r#"{"command": "echo ok", "background": true}"#;
    let outcome = without(&place, &both, &["tools", "call", "terminal", call]);
    assert_eq!(outcome.exits(1).json()["status"], "error");
}

fn with_start_up_file(text: &str) -> Place {
    let place = Place::new();
    std::fs::write(place.home.user_home().join(".bashrc"), text).unwrap();
    place
}

#[test]
fn start_up_files_that_print_exit_or_reset_everything() {
    // check 3, 11
    for file in [
        "echo noise; echo noise >&2; printf '\\033]0;title\\007'",
        "exit 3",
        "exit 0",
        "return 7",
        "set -e; false",
        "exec true",
        "kill -9 $$",
        "exec >/dev/null 2>&1 </dev/null",
        "trap 'echo bye' EXIT",
        "PATH=/nowhere; export PATH",
        "unset PATH HOME",
        "cd /",
        "'unbalanced",
        "echo() { false; }; alias echo=false; alias builtin=false",
        "readonly PATH HOME REPLY IFS",
        "shopt -s extdebug; trap 'false' DEBUG",
        "umask 777; ulimit -f 0",
    ] {
        let place = with_start_up_file(file);
        let mut talk = place.talk();
        for _ in 0..2 {
            let result = talk.run("command printf works");
            assert_eq!(result["output"], "works", "{file}: {result}");
            assert_eq!(result["exit_code"], 0, "{file}: {result}");
        }
        let here = talk.output("pwd -P");
        assert_eq!(place.work(&here), place.work(""), "{file}");
        assert_eq!(
            talk.background("command printf works", false),
            "works",
            "{file}"
        );
    }
}

#[test]
fn a_start_up_file_that_hangs_costs_its_time_once() {
    // check 11
    let place = with_start_up_file("export BEFORE=1; sleep 600");
    let mut talk = place.talk();
    assert_eq!(talk.output("echo works"), "works");
    let begun = std::time::Instant::now();
    assert_eq!(talk.output("echo again"), "again");
    assert!(begun.elapsed() < std::time::Duration::from_secs(15));
    drop(talk);
    let log = place.log();
    let warnings = log.lines().filter(|line| line.contains("WARN")).count();
    assert!(warnings >= 1, "{log}");
}

/// Makes the program a user of its own who may have few processes.
const FEW_PROCESSES: &str = r#"
chown -R 4712:4712 "$HOME" "$TMPDIR" "$PWD"
prlimit --pid $$ --nproc=60
exec setpriv --reuid 4712 --regid 4712 --clear-groups "$0" "$@"
"#;

#[test]
fn a_fork_bomb_under_limits_ends_with_its_time() {
    // check 16, 30
    let place = Place::that_approves();
    assert!(
        rustix::process::geteuid().is_root(),
        "only root can become a user of its own, and limits do not bind root"
    );
    // The one everybody knows is not even begun.
    let args = json!({"command": ":(){ :|:& };:", "background": true});
    let verdict = place.ask_guards().terminal(args);
    assert_eq!(verdict["hardline"], true, "{verdict}");
    place.home.put_outside(
        "work/bomb",
        "multiply() { multiply & multiply & wait; }\ntrap '' TERM\nmultiply\n",
        0o644,
    );
    place.home.put_outside(
        "work/escaping",
        "echo x >> count; setsid bash escaping & setsid bash escaping & wait\n",
        0o644,
    );
    let hermes = place
        .hermes(&["tools", "call", "--stdin"])
        .reachable_by_all()
        .in_mount_namespace(FEW_PROCESSES)
        .start();
    let mut talk = Talk::new(hermes);
    assert_eq!(talk.output("id -u"), "4712");
    for name in ["bomb", "escaping"] {
        let args = json!({"command": format!("bash {name} 2>/dev/null"), "timeout": 2});
        let result = talk.terminal(args);
        assert_eq!(result["exit_code"], 124, "{name}: {result}");
        assert_eq!(result["error"], serde_json::Value::Null, "{name}: {result}");
        // There is room again.
        let alive = talk.output("ps -u 4712 -o args= | grep -c '^bash' || true");
        assert_eq!(alive, "0", "{name}");
    }
}

/// A home on a file system that is as good as full.
const FULL: &str = r#"
cp "$HOME/.hermes/config.yaml" "$TMPDIR/config.yaml"
mount -t tmpfs -o size=128k tmpfs "$HOME/.hermes"
cp "$TMPDIR/config.yaml" "$HOME/.hermes/"
mkdir -p "$HOME/.hermes/logs"
cat /dev/zero > "$HOME/.hermes/filler" 2>/dev/null || true
exec "$0" "$@"
"#;

#[test]
fn a_full_disk_under_the_session_stops_no_command() {
    // check 19, 39
    let place = Place::that_approves();
    let hermes = place
        .hermes(&["tools", "call", "--stdin"])
        .in_mount_namespace(FULL)
        .start();
    let mut talk = Talk::new(hermes);
    assert_eq!(
        talk.output("mkdir sub; cd sub; export A=1; echo fine"),
        "fine"
    );
    assert_eq!(talk.output("echo $A ${PWD##*/}"), "1 sub");
    // Too long to be shown, and no room to keep it: what is shown comes all the same.
    let result = talk.run("head -c 300000 /dev/zero | tr '\\0' x; echo; echo LAST");
    assert_eq!(result["exit_code"], 0, "{}", result["error"]);
    assert!(text(&result, "output").ends_with("LAST"));
    assert_eq!(result.get("full_output_path"), None);
    // What cannot be written down is not started.
    let args = json!({"command": "touch ran", "background": true});
    let result = talk.terminal(args);
    assert_eq!(result["status"], "error", "{result}");
    assert!(text(&result, "error").contains("no space left"), "{result}");
    assert!(!place.work("sub/ran").exists());
    assert_eq!(talk.output("echo still here"), "still here");
}

#[test]
fn a_full_disk_under_the_temporary_directory_stops_no_command() {
    // check 29, 39
    let place = Place::that_approves();
    let full = "mount -t tmpfs -o size=16k tmpfs \"$TMPDIR\"\n\
                cat /dev/zero > \"$TMPDIR/filler\" 2>/dev/null || true\nexec \"$0\" \"$@\"";
    let hermes = place
        .hermes(&["tools", "call", "--stdin"])
        .in_mount_namespace(full)
        .start();
    let mut talk = Talk::new(hermes);
    assert_eq!(talk.output("export A=1; echo fine"), "fine");
    assert_eq!(talk.output("echo $A"), "1");
    let result = talk.script("print(1)");
    assert_eq!(result["status"], "error", "{result}");
    assert!(text(&result, "error").contains("No space left"), "{result}");
    assert_eq!(talk.output("echo still here"), "still here");
}
