//! Daemons: what forks twice, makes a session of its own and empties its environment.

use std::path::Path;
use std::time::Duration;

use hermes_proc::{
    Child, ChildEnv, ChildSpec, Group, KillTiming, ProcessTree, Streams, adopt_orphans,
    identity_of, kill_tree, reap_orphans, start_time_of,
};

use super::{eventually, read_pid};

const MARK: &str = "0123456789abcdef";

fn start(script: &str, mark: &str) -> Child {
    let spec = ChildSpec {
        streams: Streams::Given {
            input: None,
            output: None,
        },
        group: Group::Session,
        kill_on_drop: false,
        ..ChildSpec::new(
            "/bin/sh",
            ["-c", script],
            ChildEnv::from(vec![
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("HERMES_EXEC_ID".into(), mark.into()),
            ]),
        )
    };
    spec.spawn().unwrap()
}

/// A daemon that writes its pid to `file`, has no parent of ours, no session, no environment, and no
/// descriptor of ours.
fn daemon(file: &Path) -> String {
    format!(
        "env -i setsid /bin/sh -c 'exec 0</dev/null 1>&0 2>&0; cd /; \
         (setsid /bin/sh -c \"echo \\$\\$ >{0}.new; mv {0}.new {0}; exec sleep 1000\" &)'; sleep 1000",
        file.display()
    )
}

fn written_pid(file: &Path) -> u32 {
    eventually("the daemon runs", || read_pid(file).is_some());
    read_pid(file).unwrap()
}

fn lives(pid: u32) -> bool {
    start_time_of(pid).is_some() && !hermes_proc::is_zombie(pid)
}

const TIMING: KillTiming = KillTiming {
    grace: Duration::from_millis(300),
    timeout: Duration::from_secs(5),
    force: true,
};

#[test]
fn a_daemon_without_environment_and_session_ends_with_its_command() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let mut child = start(&daemon(&file), MARK);
    let pid = written_pid(&file);
    let environment = hermes_proc::environment_of(pid).unwrap();
    assert!(
        !environment.iter().any(|(name, _)| name == "HERMES_EXEC_ID"),
        "the daemon has kept its mark"
    );
    child.kill_tree(TIMING).unwrap();
    assert!(!lives(pid));
}

#[test]
fn a_daemon_of_another_command_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (ours, other) = (dir.path().join("ours"), dir.path().join("other"));
    let mut child = start(&daemon(&ours), MARK);
    let mut beside = start(&daemon(&other), "fedcba9876543211");
    let (ours, other) = (written_pid(&ours), written_pid(&other));
    child.kill_tree(TIMING).unwrap();
    assert!(!lives(ours));
    assert!(lives(other));
    beside.kill_tree(TIMING).unwrap();
    assert!(!lives(other));
}

#[test]
fn a_daemon_is_found_by_whoever_knows_nothing_but_the_mark() {
    // As the crash guard does, which is told no leader.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let mark = "00112233445566aa";
    let mut child = start(&daemon(&file), mark);
    let pid = written_pid(&file);
    let tree = ProcessTree {
        leader: 0,
        start_time: 0,
        mark: mark.to_owned(),
        supervisor: None,
        leader_is_ours: false,
    };
    let outcome = kill_tree(&tree, TIMING);
    assert!(outcome.survivors.is_empty(), "{outcome:?}");
    assert!(!lives(pid));
    child.wait().unwrap();
}

#[test]
fn a_daemon_that_changed_its_user_ends_too() {
    if !rustix::process::geteuid().is_root() {
        // Only root can become somebody else.
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = daemon(&file).replace(
        "exec sleep 1000",
        "exec setpriv --reuid=65534 --regid=65534 --clear-groups sleep 1000",
    );
    let mut child = start(&script, "00112233445566bb");
    let pid = written_pid(&file);
    eventually("the daemon has changed its user", || {
        hermes_proc::pids_of_user(65534).contains(&pid)
    });
    child.kill_tree(TIMING).unwrap();
    assert!(!lives(pid));
}

#[test]
fn orphans_without_any_mark_belong_to_their_supervisor() {
    adopt_orphans().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    // No mark at all: nothing but the parent tells whose it is.
    let child = start(&daemon(&file), "");
    let pid = written_pid(&file);
    let tree = ProcessTree {
        supervisor: identity_of(std::process::id()),
        ..child.tree()
    };
    let outcome = kill_tree(&tree, TIMING);
    assert!(outcome.survivors.is_empty(), "{outcome:?}");
    assert!(!lives(pid));
    // Reaped in the second step: the first found it dead, and a dead orphan is ours to bury.
    assert!(hermes_proc::is_zombie(pid));
    let mut child = child;
    child.wait().unwrap();
    reap_orphans();
    assert_eq!(start_time_of(pid), None);
}

/// As root it could raise the limit again; nobody else can.
#[test]
fn a_daemon_that_took_the_mark_of_the_kernel_away_ends_with_its_command() {
    adopt_orphans().unwrap();
    let dir = tempfile::tempdir().unwrap();
    for (number, limit) in ["0", "4294967297"].into_iter().enumerate() {
        let [file, other] = ["pid", "other"].map(|name| dir.path().join(format!("{name}{number}")));
        // `setsid` belongs to util-linux, as `prlimit` does.
        let script = daemon(&file).replace("env -i setsid", "env -i prlimit --locks=@ setsid");
        let mut child = start(&script.replace('@', limit), "00112233445566cc");
        // A child of our own that does the same is nobody's orphan.
        let beside = format!("exec prlimit --locks={limit} sleep 1000");
        let beside = start(&beside, "00112233445566dd");
        // And what another command left, mark and all, is that command's.
        let mut leaving = start(&daemon(&other), "00112233445566ee");
        let (pid, other) = (written_pid(&file), written_pid(&other));
        child.kill_tree(TIMING).unwrap();
        assert!(!lives(pid), "{limit}");
        assert!(!beside.has_ended() && lives(other), "{limit}");
        leaving.kill_tree(TIMING).unwrap();
        beside.kill_alone().unwrap();
        reap_orphans();
        assert_eq!(start_time_of(pid), None);
    }
}
