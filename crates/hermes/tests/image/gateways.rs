//! Gateways in the container: wanted ones run, and are back after whatever ends them.

use std::time::Duration;

use pretty_assertions::assert_eq;

use crate::container::{Container, Volume, docker, json, run};

/// The pid of a profile's gateway.
fn pid(container: &Container, profile: &str) -> String {
    let status = container.must(&format!("hermes -p {profile} gateway status --json"));
    pid_in(&status)
}

fn pid_in(status: &str) -> String {
    json(status)["pids"][0].to_string()
}

// check 31
#[test]
fn gateway_as_the_command_is_supervised() {
    let container = Container::boot(&[], &["gateway", "run"]);
    container.wait_for("hermes gateway status >/dev/null");
    let logs = docker(&["logs", &container.id]);
    assert!(logs.stderr.contains("s6 supervision"), "{logs:?}");
    assert!(logs.stderr.contains("--no-supervise"), "{logs:?}");
    // The gateway's own output is the container's.
    container.wait_until("the gateway's output arrives", || {
        docker(&["logs", &container.id])
            .stdout
            .contains("Hermes Gateway Starting")
    });
    let status = json(&container.must("hermes gateway status --json"));
    assert_eq!(status["manager"], "s6 (container supervisor)");
    assert_eq!(status["service_running"], true);
    let first = pid(&container, "default");
    let owner = container.must(&format!("ps -o user= -p {first}"));
    assert_eq!(owner, "hermes");

    // Killed, it is back in about a second, under another number; by the clock of the container.
    let took = container.must(&format!(
        "slot=/run/service/gateway-default; begun=$(date +%s%3N); kill -9 {first}; \
         until test \"$(s6-svstat -o ready,pid $slot)\" != 'true {first}' && s6-svstat -o ready $slot | grep -q true; \
         do sleep 0.02; done; echo $(($(date +%s%3N) - begun))"
    ));
    let took: u64 = took.parse().unwrap();
    assert!(took < 2_000, "{took} ms");
    assert_ne!(pid(&container, "default"), first);

    assert!(container.stop() < Duration::from_secs(10));
    assert_eq!(container.wait(), 143);
}

// check 31
#[test]
fn gateway_without_supervision_is_the_container() {
    let container = Container::boot(&[], &["gateway", "run", "--no-supervise"]);
    container.wait_for("hermes gateway status >/dev/null");
    let logs = docker(&["logs", &container.id]);
    assert!(!logs.stderr.contains("s6 supervision"), "{logs:?}");
    assert!(
        container
            .must("s6-svstat /run/service/gateway-default")
            .starts_with("down")
    );
    container.must(&format!("kill -INT {}", pid(&container, "default")));
    assert_eq!(container.wait(), 0, "{}", container.logs());
}

// check 32
#[test]
fn restart_keeps_running_gateways_running_and_stopped_ones_stopped() {
    let container = Container::boot(&[], &["sleep", "infinity"]);
    for profile in ["worker", "idle"] {
        container.must(&format!("hermes profile create {profile} --no-alias"));
        container.must(&format!("hermes -p {profile} gateway start"));
    }
    container.must("hermes -p idle gateway stop");
    let before = pid(&container, "worker");
    // What a crash of the whole machine leaves.
    docker(&["kill", &container.id]);
    docker(&["start", &container.id]);
    container.wait_until_ready(2);
    container.wait_for("hermes -p worker gateway status >/dev/null");
    assert_eq!(container.exec("hermes -p idle gateway status").code, 3);
    assert_eq!(container.exec("hermes gateway status").code, 3);
    container.must("test ! -e profiles/idle/gateway.pid");
    let log = container.must("cat logs/container-boot.log");
    for line in [
        " profile=worker prior_state=running action=started",
        " profile=idle prior_state=stopped action=registered",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }

    container.restart();
    container.wait_until_ready(3);
    container.wait_for("hermes -p worker gateway status >/dev/null");
    assert_eq!(container.exec("hermes -p idle gateway status").code, 3);
    assert_ne!(before, "null");
}

// 7.7
#[test]
fn two_containers_on_one_volume_do_not_share_a_gateway() {
    let volume = Volume::new();
    let mount = volume.mounted();
    let first = Container::boot(&[&mount, "--hostname=first"], &["gateway", "run"]);
    first.wait_for("hermes gateway status >/dev/null");
    let lock = json(&first.must("cat gateway.lock"));
    assert_eq!(lock["hostname"], "first");

    // Supervised or not, the second one ends, and says who has the home.
    for command in [
        &["gateway", "run", "--no-supervise"][..],
        &["gateway", "run"],
        &["gateway", "run", "--no-supervise", "--replace"],
    ] {
        let second = run(&[&mount], command);
        assert_eq!(second.code, 78, "{second:?}");
        assert!(second.stderr.contains("on host first"), "{second:?}");
    }
    first.must("hermes gateway status");

    // One that only looks on tells as well, and its slot is down, not tried over and over.
    let second = Container::boot(&[&mount], &["sleep", "infinity"]);
    second.wait_for("s6-svstat /run/service/gateway-default | grep '^down (exitcode 78)'");
    let status = second.exec("hermes gateway status");
    assert_eq!(status.code, 3, "{status:?}");
    assert!(status.stdout.contains("on host first"), "{status:?}");
    let start = second.exec("hermes gateway start");
    assert_eq!(start.code, 1, "{start:?}");
    assert!(start.stderr.contains("on host first"), "{start:?}");
    let stop = second.exec("hermes gateway stop");
    assert_eq!(stop.code, 3, "{stop:?}");

    // Killed, the first one is not waited for.
    docker(&["kill", &first.id]);
    second.must("hermes gateway start && hermes gateway status");
}

#[test]
fn ten_gateways_stop_within_five_seconds() {
    let container = Container::boot(&[], &["sleep", "infinity"]);
    container.must(
        "for n in $(seq 10); do hermes profile create p$n --no-alias >/dev/null && hermes -p p$n gateway start >/dev/null || exit 1; done",
    );
    let listed = container.must("hermes gateway list");
    assert_eq!(listed.matches("PID").count(), 10, "{listed}");
    let took = container.stop();
    assert!(took < Duration::from_secs(5), "{took:?}");
}
