//! An engine that is missing, fails, hangs or dies: told in one sentence with the way out, in time,
//! and never run on this machine instead.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use hermes_testkit::EngineCall;
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::json;

use crate::fake_place::FakePlace;
use crate::place::{clients_of, eventually, signal, text};

/// Nothing was run: `here` would be in the directory of the caller.
const COMMAND: &str = "touch here";

#[track_caller]
fn nothing_was_run(place: &FakePlace) {
    assert!(!place.home.outside("work/here").exists());
    assert_eq!(place.engine.calls_of("exec"), []);
}

#[test]
fn an_override_that_names_nothing_is_an_error() {
    // check 32
    let place = FakePlace::new();
    let plain = place.home.put_outside("plain", "#!/bin/sh\n", 0o644);
    let directory = place.home.outside("work");
    for value in [
        "/no/such/engine",
        "nosuchengine",
        plain.to_str().unwrap(),
        directory.to_str().unwrap(),
    ] {
        for args in [
            &["exec", "--", COMMAND] as &[&str],
            &["sandbox", "list"],
            &["sandbox", "prune"],
        ] {
            let outcome = place.hermes(args).env("HERMES_DOCKER_BINARY", value).run();
            outcome.exits(3).prints("");
            outcome.says_part("HERMES_DOCKER_BINARY").says_part(value);
        }
    }
    nothing_was_run(&place);
}

#[test]
fn a_bare_name_is_looked_up_on_the_path() {
    // check 32
    let place = FakePlace::new();
    let directory = place.home.outside("engines");
    std::fs::create_dir(&directory).unwrap();
    std::os::unix::fs::symlink(place.engine.program(), directory.join("podman")).unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let run = place
        .hermes(&["exec", "--", "echo ran"])
        .env("HERMES_DOCKER_BINARY", "podman")
        .env("PATH", path);
    run.run().succeeds().prints("ran\n");
    assert_eq!(place.engine.calls_of("run").len(), 1);
}

#[test]
fn an_engine_that_refuses_tells_why_and_what_to_do() {
    let place = FakePlace::new();
    let cases = [
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            "Is the docker daemon running?",
            "start the daemon",
        ),
        (
            "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
            "permission denied",
            "group `docker`",
        ),
        (
            "Error response from daemon: client version 1.50 is too new. Maximum supported API version is 1.41",
            "client version 1.50 is too new",
            "",
        ),
    ];
    for (words, part, way_out) in cases {
        place.engine.fail("version", 1, words);
        // The list is not there either; whoever asked for the version was only the first.
        place.engine.fail("ps", 1, words);
        for args in [&["exec", "--", COMMAND] as &[&str], &["sandbox", "list"]] {
            let outcome = place.hermes(args).run();
            outcome
                .exits(3)
                .prints("")
                .says_part(part)
                .says_part(way_out);
        }
        let call = json!({ "command": COMMAND }).to_string();
        let outcome = place.hermes(&["tools", "call", "terminal", &call]).run();
        let result = outcome.exits(1).json();
        assert_eq!(
            (&result["exit_code"], &result["status"]),
            (&json!(-1), &json!("error"))
        );
        assert_eq!(result["output"], "");
        let error = text(&result, "error");
        assert!(error.starts_with("Failed to execute command: "), "{error}");
        assert!(error.contains(part) && error.contains(way_out), "{error}");
    }
    assert_eq!(place.engine.calls_of("run"), []);
    nothing_was_run(&place);
}

#[test]
fn a_file_that_is_no_program_is_named() {
    let place = FakePlace::new();
    let broken = place
        .home
        .put_outside("broken", "\u{7f}ELF and nothing else", 0o755);
    let outcome = place
        .hermes(&["exec", "--", COMMAND])
        .env("HERMES_DOCKER_BINARY", &broken)
        .run();
    outcome.exits(3).prints("");
    outcome
        .says_part(broken.to_str().unwrap())
        .says_part("could not be executed");
}

#[test]
fn a_failed_run_leaves_no_half_made_container() {
    let place = FakePlace::new();
    // As an engine that makes a container and cannot start it.
    place.engine.fail(
        "run",
        127,
        "docker: Error response from daemon: failed to create shim: no runtime\n",
    );
    let outcome = place.exec(COMMAND);
    outcome.exits(1).prints("").says_part("no runtime");
    let name = name_of(&place);
    let removed: Vec<String> = place
        .engine
        .calls_of("rm")
        .iter()
        .map(EngineCall::line)
        .collect();
    assert_eq!(removed, [format!("rm -f {name}")]);
    // The call as a whole is nobody's business.
    for part in ["--cap-drop", "--label", "sleep infinity"] {
        outcome.never_shows(part);
    }
    nothing_was_run(&place);
}

/// Name of the container in the only call of `run`.
#[track_caller]
fn name_of(place: &FakePlace) -> String {
    let runs = place.engine.calls_of("run");
    assert_eq!(runs.len(), 1, "{runs:?}");
    let at = runs[0].args.iter().position(|arg| arg == "--name").unwrap();
    runs[0].args[at + 1].clone()
}

#[test]
fn an_engine_that_cannot_limit_is_tried_without_limits_or_refused() {
    let refuse = "case \"$*\" in *--memory*) \
        echo 'docker: opening cpu.max for writing: cgroup controller is not available' >&2; exit 126;; \
        *) echo 0123456789abcdef;; esac";
    let place = FakePlace::new();
    place.engine.answer("run", refuse);
    let outcome = place.exec("echo ran");
    outcome
        .succeeds()
        .prints("ran\n")
        .says_part("run without limits");
    let place = FakePlace::with(json!({"docker_require_limits": true}));
    place.engine.answer("run", refuse);
    let outcome = place.exec(COMMAND);
    outcome
        .exits(1)
        .prints("")
        .says_part("docker_require_limits");
    assert_eq!(place.engine.calls_of("run").len(), 1);
    nothing_was_run(&place);
}

#[test]
fn an_engine_that_hangs_is_given_up() {
    let place = FakePlace::new();
    // A list that does not come is no reason not to make a container.
    place.engine.hang("ps");
    let begun = Instant::now();
    place.exec("echo ran").succeeds().prints("ran\n");
    assert!(
        begun.elapsed() < Duration::from_secs(50),
        "{:?}",
        begun.elapsed()
    );
    // An engine that does not even say its version is none.
    place.engine.hang("version");
    let begun = Instant::now();
    let outcome = place.hermes(&["sandbox", "list"]).run();
    assert!(
        begun.elapsed() < Duration::from_secs(50),
        "{:?}",
        begun.elapsed()
    );
    outcome.exits(3).prints("");
    outcome
        .says_part("did not answer `version` within 15 s")
        .says_part("start the engine");
}

#[test]
fn a_container_that_does_not_greet_is_given_up() {
    let place = FakePlace::new();
    place.engine.hang("exec");
    let begun = Instant::now();
    let outcome = place.exec(COMMAND);
    assert!(
        begun.elapsed() < Duration::from_secs(50),
        "{:?}",
        begun.elapsed()
    );
    outcome
        .exits(1)
        .prints("")
        .says_part("did not answer within");
}

/// Ends a process; gone already is as good.
fn end(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    let _: rustix::io::Result<()> = rustix::process::kill_process(pid, Signal::KILL);
}

#[test]
fn whoever_does_not_want_to_wait_for_a_slow_engine_need_not() {
    for verb in ["version", "image-inspect", "run", "exec"] {
        let place = FakePlace::new();
        place
            .engine
            .answer(verb, "echo $$ > $FAKE/state/reached; exec sleep 60");
        let reached = place.engine.state().join("reached");
        let mut exec = place.hermes(&["exec", "--", COMMAND]).start();
        let mut slow = String::new();
        eventually("the engine is slow", || {
            slow = std::fs::read_to_string(&reached).unwrap_or_default();
            slow.ends_with('\n')
        });
        let begun = Instant::now();
        signal(&exec, Signal::INT);
        let status = exec.wait();
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "{verb}: {:?}",
            begun.elapsed()
        );
        let killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(2);
        assert!(killed || status.code() == Some(130), "{verb}: {status}");
        end(slow.trim().parse().unwrap());
    }
}

#[test]
fn an_engine_that_dies_in_mid_command_is_told() {
    let place = FakePlace::new();
    let mut talk = place.talk();
    talk.output("true");
    let begun = place.home.outside("begun");
    let command = format!("echo some; touch {}; sleep 60", begun.display());
    talk.send("main", "terminal", &json!({"command": command}));
    eventually("it runs", || begun.exists());
    // Everything the engine had started dies with it; the next call finds an engine that is down.
    place.engine.fail(
        "exec",
        1,
        "Cannot connect to the Docker daemon at unix:///x.sock. Is the docker daemon running?",
    );
    clients_of(&talk.hermes).into_iter().for_each(end);
    let result = talk.answer();
    assert_eq!(result["exit_code"], -1, "{result}");
    assert!(
        text(&result, "error").contains("it was not run again"),
        "{result}"
    );
    assert!(
        text(&result, "error").contains("may still be running"),
        "{result}"
    );
    let result = talk.run("echo again");
    assert!(
        text(&result, "error").contains("Is the docker daemon running?"),
        "{result}"
    );
    assert!(
        text(&result, "error").contains("start the daemon"),
        "{result}"
    );
}

#[test]
fn a_program_that_may_not_be_executed_is_named() {
    let place = FakePlace::new();
    let mut mode = std::fs::metadata(place.engine.program())
        .unwrap()
        .permissions();
    mode.set_mode(0o600);
    std::fs::set_permissions(place.engine.program(), mode).unwrap();
    let outcome = place.exec(COMMAND);
    outcome
        .exits(3)
        .prints("")
        .says_part("neither an executable file");
}
