//! A machine without any engine. Named for what it hides: where engines are usually found.

use pretty_assertions::assert_eq;

use crate::fake_place::FakePlace;

/// Hides the directories in which this machine has engines.
const HIDE: &str = "mount -t tmpfs none /usr/local/bin\nexec \"$0\" \"$@\"";

#[test]
fn without_an_engine_nothing_runs_and_everything_says_so() {
    // check 32
    let place = FakePlace::new();
    let empty = place.home.outside("empty");
    std::fs::create_dir(&empty).unwrap();
    let run = |args: &[&str]| {
        let run = place.hermes(args).without_env("HERMES_DOCKER_BINARY");
        // The shell that hides them needs its own programs; the program finds none.
        let inner = format!("export PATH={}\n{HIDE}", empty.display());
        let script = inner.replace("mount -t", "/bin/mount -t");
        run.in_mount_namespace(&script).run()
    };
    for args in [
        &["exec", "--", "touch here"] as &[&str],
        &["sandbox", "list"],
        &["sandbox", "exec", "--", "touch here"],
    ] {
        let outcome = run(args);
        outcome
            .exits(3)
            .prints("")
            .says_part("no container engine was found");
        outcome.says_part("HERMES_DOCKER_BINARY");
    }
    let call = r#"{"command": "touch here"}"#;
    let outcome = run(&["tools", "call", "terminal", call]);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let doctor = run(&["doctor"]);
    doctor.prints_part("no container engine was found");
    assert!(!place.home.outside("work/here").exists());
}
