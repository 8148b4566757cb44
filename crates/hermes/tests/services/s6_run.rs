//! `gateway run` where s6 supervises.

use std::io::Read;

use pretty_assertions::assert_eq;

use crate::container::{Container, Layout};
use crate::executed::{RunsScripts as _, json};

// check 31
#[test]
fn a_gateway_in_the_foreground_is_left_to_s6() {
    let container = Container::boot(Layout::Sealed);
    let mut call = container.start("echo $$ > /tmp/pid; exec hermes gateway run");
    container
        .wait_for("test \"$(s6-svstat -o up,ready /run/service/gateway-default)\" = 'true true'");
    container.wait_for(
        "tr '\\0' ' ' < /proc/$(cat /tmp/pid)/cmdline | grep -qx 'hermes gateway run (heartbeat) '",
    );
    let (_, wanted, pid) = container.slot("default");
    assert!(wanted);
    let status = json(&container.hermes("hermes gateway status --json"));
    assert_eq!(status["pids"], serde_json::json!([pid]));
    assert_eq!(status["desired_state"], "running");
    // The heartbeat is no gateway: nobody stops it with them.
    container.hermes("hermes gateway stop");
    container.hermes("kill -0 $(cat /tmp/pid)");
    container.hermes("kill $(cat /tmp/pid)");
    assert_eq!(call.wait().unwrap().code(), Some(143));
    let mut said = String::new();
    call.stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(
        said.contains("s6 supervision") && said.contains("--no-supervise"),
        "{said}"
    );
}

// check 31
#[test]
fn without_supervision_the_gateway_runs_where_it_is_called() {
    let container = Container::boot(Layout::Sealed);
    for call in [
        "exec hermes gateway run --no-supervise",
        "HERMES_GATEWAY_NO_SUPERVISE=yes exec hermes gateway run",
    ] {
        let mut running = container.start(&format!("echo $$ > /tmp/pid; {call}"));
        container.wait_for("su hermes -s /bin/sh -c 'HERMES_HOME=/opt/data hermes gateway status'");
        assert_eq!(container.slot("default"), (false, false, -1), "{call}");
        let status = json(&container.hermes("hermes gateway status --json"));
        assert_eq!(status["mismatch"], true, "{call}");
        container.hermes("hermes gateway stop");
        assert_eq!(running.wait().unwrap().code(), Some(0), "{call}");
        let mut said = String::new();
        let mut stderr = running.stderr.take().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        assert!(!said.contains("s6 supervision"), "{said}");
    }
}

#[test]
fn a_supervised_gateway_takes_over_from_one_that_is_not() {
    let container = Container::boot(Layout::Sealed);
    let mut stray = container.start("exec hermes gateway run --no-supervise");
    container.wait_for("su hermes -s /bin/sh -c 'HERMES_HOME=/opt/data hermes gateway status'");
    container.hermes("s6-svc -u /run/service/gateway-default");
    container
        .wait_for("test \"$(s6-svstat -o up,ready /run/service/gateway-default)\" = 'true true'");
    assert_eq!(stray.wait().unwrap().code(), Some(0));
    let (_, _, pid) = container.slot("default");
    let status = json(&container.hermes("hermes gateway status --json"));
    assert_eq!(status["pids"][0], pid);
    // Two that are supervised do not end each other.
    let second = container.run("hermes", "HERMES_S6_SUPERVISED_CHILD=1 hermes gateway run");
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.stderr.contains("already running"), "{second:?}");
    assert_eq!(container.slot("default"), (true, true, pid));
}
