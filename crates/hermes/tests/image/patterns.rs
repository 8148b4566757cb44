//! What a container runs, and how it ends.

use std::time::Duration;

use pretty_assertions::assert_eq;

use crate::container::{Container, docker, docker_with_input, image, run};

// check 30
#[test]
fn five_patterns_run_what_they_name() {
    let version = run(&[], &["--version"]);
    assert_eq!(version.code, 0, "{version:?}");
    // What the boot hook has to say is not the command's output.
    assert!(version.stdout.starts_with("hermes "), "{version:?}");
    assert_eq!(version.stdout.lines().count(), 1, "{version:?}");
    assert!(
        version.stderr.contains("[stage2] Setup complete"),
        "{version:?}"
    );

    // No argument is a chat; it ends with its input.
    let chat = run(&[], &[]);
    let asked = run(&[], &["chat", "-q", "hi"]);
    for ran in [&chat, &asked] {
        assert!(ran.stderr.contains("hermes setup"), "{ran:?}");
    }
    let identity = run(
        &["--workdir=/tmp"],
        &["bash", "-c", "id -un; echo $HOME; pwd"],
    );
    assert_eq!(identity.stdout, "hermes\n/opt/data\n/tmp", "{identity:?}");
    let login = run(&[], &["login", "--help"]);
    assert!(login.stdout.contains("Usage: hermes login"), "{login:?}");
    let unknown = run(&[], &["no-such-thing"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");

    let sleeping = Container::boot(&[], &["sleep", "infinity"]);
    assert!(sleeping.stop() < Duration::from_secs(5));
    assert_eq!(sleeping.wait(), 143);
}

// check 30
#[test]
fn exit_code_of_the_main_program_is_that_of_the_container() {
    for (script, code) in [
        ("exit 42", 42),
        ("exit 0", 0),
        ("kill -9 $$", 137),
        ("sleep 1; exit 3", 3),
    ] {
        let ran = run(&[], &["sh", "-c", script]);
        assert_eq!(ran.code, code, "{script}: {ran:?}");
    }
    let missing = run(&[], &["/no/such/program"]);
    assert_eq!(missing.code, 2, "{missing:?}");
    // Interrupted where a program that listens is given the choice.
    let trapped = Container::boot(
        &[],
        &[
            "bash",
            "-c",
            "trap 'exit 7' INT; echo listening; while :; do sleep 0.05; done",
        ],
    );
    trapped.wait_until("it listens", || trapped.logs().contains("listening"));
    docker(&["kill", "--signal=INT", &trapped.id]);
    assert_eq!(trapped.wait(), 7);
}

// check 30
#[test]
fn input_and_terminal_are_those_of_the_main_program() {
    let echoed = docker_with_input(&["run", "--rm", "-i", image(), "cat"], "x\n");
    assert_eq!(
        (echoed.code, echoed.stdout.as_str()),
        (0, "x"),
        "{echoed:?}"
    );
    let terminal = run(
        &["--tty"],
        &["bash", "-c", "tty && test -t 1 && ps -o tpgid=,pgid= -p $$"],
    );
    assert_eq!(terminal.code, 0, "{terminal:?}");
    assert!(terminal.stdout.contains("/dev/pts/0"), "{terminal:?}");
    // In the foreground of its terminal.
    let groups = terminal.stdout.lines().last().unwrap();
    let groups: Vec<&str> = groups.split_whitespace().collect();
    assert_eq!(groups[0], groups[1], "{terminal:?}");
}

// check 30
#[test]
fn nobody_is_left_a_zombie() {
    let container = Container::boot(&[], &["sleep", "infinity"]);
    container.must("(setsid sleep 0.1 &) ; (setsid true &) ; true");
    container.wait_for("! pgrep -x true && test $(pgrep -cx sleep) = 2");
    assert_eq!(container.exec("ps -eo stat= | grep Z").stdout, "");
    assert_eq!(container.must("cat /proc/1/comm"), "s6-svscan");
}

#[test]
fn beside_another_init_it_runs_without_supervision_and_says_so() {
    let ran = run(&["--init"], &["sh", "-c", "id -un; exit 5"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (5, "hermes"), "{ran:?}");
    assert!(
        ran.stderr.contains("gateways are not supervised"),
        "{ran:?}"
    );
}

#[test]
fn entry_points_of_earlier_images_still_work() {
    let tini = run(
        &["--entrypoint=/usr/bin/tini"],
        &["-g", "--", "/opt/hermes/docker/entrypoint.sh", "version"],
    );
    assert_eq!(tini.code, 0, "{tini:?}");
    assert!(tini.stdout.contains("Install method: docker"), "{tini:?}");
    let script = run(
        &["--entrypoint=/opt/hermes/docker/entrypoint.sh"],
        &["sh", "-c", "exit 4"],
    );
    assert_eq!(script.code, 4, "{script:?}");
}

// check 40
#[test]
fn the_image_is_not_updated_from_within() {
    for args in [&["update"][..], &["update", "--check"]] {
        let ran = run(&[], args);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("docker pull"), "{ran:?}");
    }
}
