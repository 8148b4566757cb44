//! Processes found again by what stands in their environment.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use hermes_proc::{
    Child, ChildSpec, ExitStatus, Group, MarkedProcess, Streams, kill_marked, processes_marked,
};
use pretty_assertions::assert_eq;

use super::{eventually, read_pid};

fn start(script: &str, cwd: &Path, marks: &[(&str, &str)]) -> Child {
    let mut variables: Vec<(OsString, OsString)> = vec![("PATH".into(), "/usr/bin:/bin".into())];
    variables.extend(
        marks
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    let spec = ChildSpec {
        cwd: Some(cwd.to_owned()),
        streams: Streams::Given {
            input: None,
            output: None,
        },
        group: Group::Session,
        ends_with_thread: true,
        ..ChildSpec::new("/bin/sh", ["-c", script], variables.as_slice())
    };
    spec.spawn().unwrap()
}

#[test]
fn marked_processes_are_found_and_killed_outside_their_session() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().to_str().unwrap();
    let escaping = "setsid sh -c 'echo $$ > escaped.tmp; mv escaped.tmp escaped; exec sleep 300' &
        echo $$ > leader.tmp; mv leader.tmp leader; exec sleep 300";
    let mut worker = start(
        escaping,
        dir.path(),
        &[("TEST_TASK", "t1"), ("TEST_RUN", run)],
    );
    let mut other = start(
        "exec sleep 300",
        dir.path(),
        &[("TEST_TASK", "t2"), ("TEST_RUN", run)],
    );
    let pid_in = |name: &str| {
        let path = dir.path().join(name);
        eventually(name, || read_pid(&path).is_some());
        read_pid(&path).unwrap()
    };
    let escaped = pid_in("escaped");
    assert_eq!(pid_in("leader"), worker.pid());

    let of_run = || -> Vec<(u32, bool, String)> {
        processes_marked(&["TEST_RUN", "TEST_TASK"])
            .into_iter()
            .filter(|process| process.values[0] == run)
            .map(|process| {
                let task = process.values[1].to_str().unwrap().to_owned();
                (process.identity.pid, process.leads_session, task)
            })
            .collect()
    };
    let mut expected = vec![
        (worker.pid(), true, "t1".to_owned()),
        (escaped, true, "t1".to_owned()),
        (other.pid(), true, "t2".to_owned()),
    ];
    expected.sort();
    eventually("all three are found", || of_run() == expected);

    let kill = |tasks: &[&str]| {
        let is_meant = |process: &MarkedProcess| {
            let task = process.values[1].to_str().unwrap();
            process.values[0] == run && tasks.contains(&task)
        };
        let names = ["TEST_RUN", "TEST_TASK"];
        let outcome = kill_marked(&names, is_meant, Duration::from_secs(10));
        (outcome.survivors.len(), outcome.forced)
    };
    assert_eq!(kill(&["t1"]), (0, true));
    assert_eq!(of_run(), [(other.pid(), true, "t2".to_owned())]);
    assert_eq!(worker.peek(), Some(ExitStatus::Signalled(9)));
    assert_eq!(worker.peek(), Some(ExitStatus::Signalled(9)));
    assert_eq!(worker.wait().unwrap(), ExitStatus::Signalled(9));

    assert_eq!(other.peek(), None);
    assert_eq!(kill(&["t1", "t2"]), (0, true));
    assert_eq!(other.wait().unwrap(), ExitStatus::Signalled(9));
    assert_eq!(kill(&["t1", "t2"]), (0, false));
}
