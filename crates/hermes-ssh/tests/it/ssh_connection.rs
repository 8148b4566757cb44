//! Connecting to a real server, sharing the connection, and losing it.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use hermes_terminal::remote::{Transport, Trouble};
use pretty_assertions::assert_eq;

use crate::ssh_world::{Ending, Ran, SshWorld, echo, run, start};
use hermes_testkit::eventually;

fn said(text: &str) -> Ran {
    Ran {
        code: Some(0),
        stdout: text.to_owned(),
        stderr: String::new(),
    }
}

#[test]
fn programs_run_there_with_their_words_as_given() {
    let world = SshWorld::new();
    let host = world.connected();
    let home = world.server.remote_home();
    assert_eq!(
        run(&host, &["sh", "-c", "printf %s \"$HOME\""]),
        said(home.to_str().unwrap())
    );
    let odd = "it's $HOME; \"x\" * \\ \n end";
    assert_eq!(run(&host, &["printf", "%s", odd]), said(odd));
    assert_eq!(run(&host, &["sh", "-c", "exit 7"]).code, Some(7));
    // What Hermes knows stays here.
    assert_eq!(run(&host, &["printenv", "OPENAI_API_KEY"]).code, Some(1));
    for name in ["skills", "credentials", "cache"] {
        assert!(world.there(name).is_dir(), "{name}");
    }
    assert_eq!(
        host.describe(),
        format!("{}@127.0.0.1", world.server.user())
    );
}

#[test]
fn every_call_goes_over_one_connection_with_the_same_options() {
    let world = SshWorld::new();
    let host = world.connected();
    host.ensure().unwrap();
    run(&host, &["true"]);
    assert_eq!(world.server.logins(), 1);

    let uid = rustix::process::geteuid().as_raw();
    let directory = world.path("tmp").join(format!("hermes-ssh-{uid}"));
    let mode = std::fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let socket = directory.join(format!("{}.sock", world.settings().id()));
    assert!(socket.exists());
    let port = world.server.port().to_string();
    let key = world.server.key();
    let expected = [
        "-o",
        &format!("ControlPath={}", socket.display()),
        "-o",
        "ControlMaster=auto",
        "-o",
        "ControlPersist=300",
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=accept-new",
        "-o",
        "ConnectTimeout=10",
        "-p",
        &port,
        "-i",
        key.to_str().unwrap(),
        &host.describe(),
    ];
    for call in world.server.client_calls() {
        assert_eq!(call[..expected.len()], expected, "{call:?}");
    }
}

/// Acceptance 39, first part (hermes-agent#77506).
#[test]
fn leaving_does_not_end_what_others_run() {
    let world = SshWorld::new();
    let (first, second) = (world.connected(), world.connected());
    assert_eq!(world.server.logins(), 1);
    let mut program = start(second.launch(&["cat"]).unwrap());
    assert_eq!(echo(&mut program, "before\n"), "before\n");

    first.cleanup().unwrap();
    assert_eq!(echo(&mut program, "after\n"), "after\n");
    assert!(world.socket_exists());
    assert!(first.launch(&["true"]).is_err());

    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    second.cleanup().unwrap();
    assert!(!world.socket_exists(), "{:?}", world.control_files());
    // Nothing is left to do.
    second.cleanup().unwrap();

    first.ensure().unwrap();
    assert_eq!(run(&first, &["echo", "again"]), said("again\n"));
    assert_eq!(world.server.logins(), 2);
}

#[test]
fn a_share_of_another_process_counts_until_it_is_killed() {
    let world = SshWorld::new();
    let host = world.connected();
    let uid = rustix::process::geteuid().as_raw();
    let lock = world
        .path(&format!("tmp/hermes-ssh-{uid}"))
        .join(format!("{}.lock", world.settings().id()));
    let mut other = Ending(
        Command::new("flock")
            .args(["--shared", "--no-fork"])
            .arg(&lock)
            .args(["sh", "-c", "echo held; exec sleep 600"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut line = [0; 5];
    std::io::Read::read_exact(other.0.stdout.as_mut().unwrap(), &mut line).unwrap();

    host.cleanup().unwrap();
    assert!(world.socket_exists());
    drop(other);
    drop(world.connected());
    assert!(!world.socket_exists());
    assert_eq!(world.server.logins(), 1);
}

#[test]
fn many_callers_are_served_by_one_attempt() {
    let world = SshWorld::new();
    let host = world.host();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                host.ensure().unwrap();
                assert_eq!(run(&host, &["echo", "here"]), said("here\n"));
            });
        }
    });
    assert_eq!(world.server.logins(), 1);
}

#[test]
fn a_server_that_comes_back_is_used_again() {
    let mut world = SshWorld::new();
    let host = world.connected();
    let mut program = start(host.launch(&["cat"]).unwrap());
    assert_eq!(echo(&mut program, "x\n"), "x\n");

    world.server.stop();
    let ended = program.wait_with_output().unwrap();
    let words = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(255), "{words}");
    assert_eq!(host.diagnose(ended.status.code(), &words), Trouble::Gone);

    // While it is down, that is what the error says.
    let error = host.ensure().unwrap_err();
    assert!(
        error.message.starts_with("SSH connection failed: "),
        "{error}"
    );
    assert!(error.message.contains("Connection refused"), "{error}");
    assert!(error.is_missing_part);
    assert!(!world.socket_exists());

    world.server.start_again();
    host.ensure().unwrap();
    assert_eq!(run(&host, &["echo", "back"]), said("back\n"));
}

#[test]
fn a_command_on_a_dead_connection_tells_and_the_next_one_runs() {
    let mut world = SshWorld::new();
    let host = world.connected();
    world.server.stop();
    let ran = run(&host, &["true"]);
    assert_eq!(ran.code, Some(255));
    let trouble = host.diagnose(ran.code, &ran.stderr);
    assert!(
        matches!(&trouble, Trouble::Gone | Trouble::Passing(_)),
        "{trouble:?}"
    );
    world.server.start_again();
    host.ensure().unwrap();
    assert_eq!(run(&host, &["echo", "back"]), said("back\n"));
}

#[test]
fn a_killed_connection_process_is_replaced() {
    let world = SshWorld::new();
    let host = world.connected();
    let mut check = host.launch(&["true"]).unwrap();
    check.args.pop();
    let target = check.args.pop().unwrap();
    check.args.extend(["-O".into(), "check".into(), target]);
    let words = start(check).wait_with_output().unwrap().stderr;
    let words = String::from_utf8(words).unwrap();
    let digits = words.chars().filter(char::is_ascii_digit);
    let pid: i32 = digits.collect::<String>().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    eventually("the connection is gone", || {
        let ran = run(&host, &["echo", "here"]);
        ran.stdout == "here\n" || {
            assert_eq!(host.diagnose(ran.code, &ran.stderr), Trouble::Gone);
            host.ensure().unwrap();
            false
        }
    });
    assert_eq!(world.server.logins(), 2);
}

#[test]
fn another_host_key_is_refused_for_good() {
    let mut world = SshWorld::new();
    drop(world.connected());
    world.server.stop();
    world.server.change_host_key();
    world.server.start_again();
    let host = world.host();
    let error = host.ensure().unwrap_err();
    assert_eq!(
        error.message,
        "SSH connection failed: 127.0.0.1 has another host key than before"
    );
    let hint = error.hint.unwrap();
    let port = world.server.port();
    assert!(
        hint.contains(&format!("ssh-keygen -R '[127.0.0.1]:{port}'")),
        "{hint}"
    );
    assert!(!error.is_missing_part);
    assert!(!world.socket_exists());
}

#[test]
fn a_key_that_is_not_there_is_named() {
    let world = SshWorld::new();
    let missing = world.path("no-key");
    let host = world.host_with(|settings, _| settings.key = Some(missing.clone()));
    let error = host.ensure().unwrap_err();
    assert_eq!(
        error.message,
        format!(
            "terminal.ssh_key names {}: there is no such file",
            missing.display()
        )
    );
    assert!(world.server.client_calls().is_empty());

    // Without a key the server does not let us in, and nobody is asked for a password.
    let host = world.host_with(|settings, _| settings.key = None);
    let error = host.ensure().unwrap_err();
    assert!(error.message.contains("Permission denied"), "{error}");
    assert!(error.hint.unwrap().contains("terminal.ssh_key"));
    assert!(!error.is_missing_part);
}

#[test]
fn a_port_where_nobody_listens_is_refused_quickly() {
    let world = SshWorld::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let host = world.host_with(|settings, _| settings.port = port);
    let error = host.ensure().unwrap_err();
    assert!(error.message.contains("Connection refused"), "{error}");
    assert!(error.hint.unwrap().contains(&format!("port {port}")));
    assert!(error.is_missing_part);
    assert!(host.launch(&["true"]).is_err());
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let world = SshWorld::new();
    // Takes the connection and never speaks.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let host = world.host_with(|settings, surroundings| {
        settings.port = port;
        surroundings.timing.connect = Duration::from_millis(500);
    });
    let error = host.ensure().unwrap_err();
    assert_eq!(
        error.message,
        format!("SSH connection to {} timed out", host.describe())
    );
    assert!(error.is_missing_part);
}

#[test]
fn without_a_client_nothing_is_tried() {
    let world = SshWorld::new();
    let host = world.host_with(|_, surroundings| {
        let plan = std::mem::replace(
            &mut surroundings.environment,
            hermes_proc::EnvPlan::empty(hermes_proc::SpawnClass::Helper),
        );
        surroundings.environment = plan.with("PATH", world.path("tmp"));
    });
    let error = host.ensure().unwrap_err();
    assert!(error.message.contains("the program ssh"), "{error}");
    assert!(error.is_missing_part);
    assert!(world.control_files().is_empty());
}

#[test]
fn a_connection_that_does_not_answer_is_put_aside_and_not_ended() {
    let world = SshWorld::new();
    let first = world.connected();
    let mut program = start(first.launch(&["cat"]).unwrap());
    assert_eq!(echo(&mut program, "before\n"), "before\n");
    // As after a change of networks: the connection is there and nothing comes through.
    world.server.freeze_connections();
    let second = world.host_with(|_, surroundings| {
        surroundings.timing.connect = Duration::from_secs(5);
    });
    second.ensure().unwrap();
    assert_eq!(run(&second, &["echo", "new"]), said("new\n"));
    assert_eq!(world.server.logins(), 2);
    world.server.thaw_connections();
    assert_eq!(echo(&mut program, "after\n"), "after\n");
}
