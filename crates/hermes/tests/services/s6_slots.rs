//! Slots: made with a profile, started, stopped, restarted, removed.

use pretty_assertions::assert_eq;

use crate::container::{Container, LAYOUTS, Layout};
use crate::executed::{RunsScripts as _, json};

// check 23
#[test]
fn s6_is_found_by_the_user_of_the_gateways() {
    let container = Container::boot(Layout::Sealed);
    assert_eq!(container.hermes("id -u"), "10000");
    let manager = || {
        let ran = container.run("hermes", "hermes gateway status --json");
        json(&ran.stdout)["manager"].as_str().unwrap().to_owned()
    };
    assert_eq!(manager(), "s6 (container supervisor)");
    container.root("rmdir /run/s6/basedir");
    assert_ne!(manager(), "s6 (container supervisor)");
    container.root("mkdir /run/s6/basedir && chmod 700 /run/s6");
    assert_ne!(manager(), "s6 (container supervisor)");
    container.root("chmod 755 /run/s6");
    assert_eq!(manager(), "s6 (container supervisor)");
}

// checks 9, 24 and 27
#[test]
fn a_profile_has_a_slot_from_its_creation_to_its_end() {
    for layout in LAYOUTS {
        let container = Container::boot(layout);
        let said = container.hermes("hermes profile create w");
        assert!(said.contains("s6 has a slot"), "{said}");
        container.root("test -e /run/service/gateway-w/down");
        assert_eq!(container.slot("w"), (false, false, -1), "{layout:?}");

        let said = container.hermes("hermes -p w gateway start");
        assert!(
            said.contains("✓ Started the gateway of profile w (PID "),
            "{said}"
        );
        let (up, wanted, first) = container.slot("w");
        assert!(up && wanted, "{layout:?}");
        container.root("test ! -e /run/service/gateway-w/down");
        let status = json(&container.hermes("hermes -p w gateway status --json"));
        assert_eq!(status["manager"], "s6 (container supervisor)");
        assert_eq!(status["service_installed"], true);
        assert_eq!(status["service_running"], true);
        assert_eq!(status["service_scope"], "container");
        assert_eq!(status["mismatch"], false);
        assert_eq!(status["pids"][0], first);
        assert_eq!(status["desired_state"], "running");
        assert_eq!(container.root(&format!("ps -o user= -p {first}")), "hermes");
        // Readiness comes over a descriptor.
        container.wait_for("test $(s6-svstat -o ready /run/service/gateway-w) = true");

        container.hermes(&format!("kill -9 {first}"));
        let second = container.next_ready("w", first);
        container
            .wait_for("su hermes -s /bin/sh -c 'HERMES_HOME=/opt/data hermes -p w gateway status'");

        let said = container.hermes("hermes -p w gateway restart");
        assert!(said.contains("✓ Restarted"), "{said}");
        let (_, _, third) = container.slot("w");
        assert_ne!(second, third);

        let said = container.hermes("hermes -p w gateway stop");
        assert!(
            said.contains("✓ Stopped the gateway of profile w (PID "),
            "{said}"
        );
        assert_eq!(container.slot("w"), (false, false, -1), "{layout:?}");
        container.root("test -e /run/service/gateway-w/down");
        let state = json(&container.hermes("cat /opt/data/profiles/w/gateway_state.json"));
        assert_eq!(state["desired_state"], "stopped");
        // Not taken for an accident.
        assert_eq!(state["gateway_state"], "stopped");
        container.root("test -e /opt/data/profiles/w/.clean_shutdown");
        let output = container.output();
        assert!(!output.contains("one signal more"), "{output}");
        assert_eq!(container.run("hermes", "hermes -p w gateway stop").code, 3);

        let said = container.hermes("hermes -p w gateway restart");
        assert!(said.contains("✓ Started"), "{said}");
        assert!(container.slot("w").0);

        let said = container.hermes("hermes profile delete w --yes");
        assert!(said.contains("✓ Deleted profile 'w'"), "{said}");
        container.root("test ! -e /run/service/gateway-w && test ! -e /opt/data/profiles/w");
        assert_eq!(
            container.root("ls -A /run/service | grep gateway-w || true"),
            ""
        );
        assert_eq!(
            container.root("pgrep -af '[s]6-supervise .*gateway-w' || true"),
            ""
        );
        let left = container.root("pgrep -af '[h]ermes -p w gateway' || true");
        assert_eq!(left, "");
    }
}

#[test]
fn a_start_that_cannot_succeed_is_reported_and_left_at_that() {
    // check 26
    let container = Container::boot(Layout::Sealed);
    container
        .hermes("hermes profile create w && echo 'model: [' > /opt/data/profiles/w/config.yaml");
    let ran = container.run("hermes", "hermes -p w gateway start");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("the gateway did not start: "),
        "{ran:?}"
    );
    container.wait_for(
        "test \"$(s6-svstat -o up,wantedup,exitcode /run/service/gateway-w)\" = 'false false 78'",
    );
    // The supervisor does not want it up, and has seen it end once.
    assert_eq!(
        container.root("s6-svdt /run/service/gateway-w | wc -l"),
        "1"
    );
}

#[test]
fn a_gateway_that_keeps_dying_is_started_at_growing_distances() {
    // check 26
    let container = Container::boot(Layout::Sealed);
    container.hermes(
        "hermes profile create w && hermes -p w config set gateway.respawn_storm.max_starts 2 && \
         hermes -p w config set gateway.respawn_storm.window_seconds 3600",
    );
    container.hermes("hermes -p w gateway start");
    let mut last = -1;
    for _ in 0..2 {
        last = container.next_ready("w", last);
        container.hermes(&format!("kill -9 {last}"));
    }
    let wait_until_held = |seconds: u32| {
        container.wait_for(&format!(
            "grep -q 'the gateway was started too often; it goes on in {seconds} s' \
             /opt/data/profiles/w/logs/gateway.log"
        ));
    };
    for seconds in [10, 20] {
        wait_until_held(seconds);
        let (_, _, held) = container.slot("w");
        container.hermes(&format!("kill -9 {held}"));
    }
    wait_until_held(40);
    let status = json(&container.hermes("cat /opt/data/profiles/w/gateway_state.json"));
    assert_eq!(status["gateway_state"], "starting");
}

// check 25
#[test]
fn a_registration_that_fails_leaves_the_profile_and_nothing_else() {
    for layout in LAYOUTS {
        let container = Container::boot(layout);
        container.put_before("s6-svscanctl", "echo 'no such luck' >&2; exit 111");
        let ran = container.run("hermes", "hermes profile create w");
        assert_eq!(ran.code, 0, "{layout:?} {ran:?}");
        assert!(
            ran.stderr.contains("could not be registered") && ran.stderr.contains("no such luck"),
            "{layout:?} {ran:?}"
        );
        container.root("test -d /opt/data/profiles/w");
        assert_eq!(
            container.root("ls -A /run/service | grep gateway-w || true"),
            "",
            "{layout:?}"
        );
        // The way out that the hint names.
        std::fs::remove_file(container.command.join("s6-svscanctl")).unwrap();
        container.hermes("hermes -p w gateway start");
        assert!(container.slot("w").0, "{layout:?}");
    }
}

#[test]
fn verbs_say_what_is_wrong() {
    let container = Container::boot(Layout::Sealed);
    container.hermes("hermes profile create w");
    container.put_before("s6-svc", "echo 'broken pipe dreams' >&2; exit 111");
    let ran = container.run("hermes", "hermes -p w gateway start");
    assert_eq!(ran.code, 1, "{ran:?}");
    let said = "✗ s6-svc start on 'gateway-w' failed (rc=111): broken pipe dreams";
    assert!(ran.stderr.starts_with(said), "{ran:?}");
    std::fs::remove_file(container.command.join("s6-svc")).unwrap();

    container.root("rm -rf /run/service/gateway-w && s6-svscanctl -an /run/service");
    for verb in ["stop", "restart"] {
        let ran = container.run("hermes", &format!("hermes -p w gateway {verb}"));
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.starts_with("✗ no such gateway 'w': "), "{ran:?}");
    }
    for verb in ["install", "uninstall"] {
        let said = container.hermes(&format!("hermes gateway {verb}"));
        assert!(said.contains("s6 supervises"), "{said}");
    }
}

#[test]
fn all_slots_are_stopped_and_restarted_at_once() {
    let container = Container::boot(Layout::Sealed);
    container.hermes("hermes profile create a && hermes profile create b");
    container.hermes("hermes gateway start && hermes -p a gateway start");
    let said = container.hermes("hermes gateway stop --all");
    assert_eq!(said, "✓ Stopped 3 profile gateway(s) under s6");
    for profile in ["default", "a", "b"] {
        assert_eq!(container.slot(profile), (false, false, -1), "{profile}");
    }
    let said = container.hermes("hermes gateway restart --all");
    assert_eq!(said, "✓ Restarted 3 profile gateway(s) under s6");
    for profile in ["default", "a", "b"] {
        assert!(container.slot(profile).0, "{profile}");
    }
    // One that cannot be told does not keep the others.
    container.root("rm -rf /run/service/gateway-b/supervise/control");
    let ran = container.run("hermes", "hermes gateway stop --all");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.stdout, "✓ Stopped 2 profile gateway(s) under s6");
    assert!(
        ran.stderr.starts_with("✗ Could not stop gateway-b: "),
        "{ran:?}"
    );
    let ran = container.run(
        "hermes",
        "S6_PROFILE_GATEWAY_SCANDIR=/var/empty hermes gateway stop --all",
    );
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.stderr, "✗ No profile gateways registered under s6");
}
