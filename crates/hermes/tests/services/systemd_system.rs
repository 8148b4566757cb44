//! A service of the system, which runs as an account.

use pretty_assertions::assert_eq;

use crate::executed::{RunsScripts as _, json};
use crate::machine::Machine;

#[test]
fn a_service_of_the_system_runs_as_the_account_that_was_named() {
    let machine = Machine::boot();
    for verb in ["start", "stop", "restart"] {
        let absent = machine.run("root", &format!("hermes gateway {verb} --system"));
        assert_eq!(absent.code, 1, "{absent:?}");
        assert!(
            absent.stderr.contains("is no service of the system"),
            "{absent:?}"
        );
    }
    let nameless = machine.run("root", "hermes gateway install --system");
    assert_eq!(nameless.code, 2, "{nameless:?}");
    assert!(nameless.stderr.contains("--run-as-user"), "{nameless:?}");
    let unknown = machine.run(
        "root",
        "hermes gateway install --system --run-as-user nobody7",
    );
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(
        unknown.stderr.contains("no account 'nobody7'"),
        "{unknown:?}"
    );
    let powerless = machine.run("joe", "hermes gateway install --system --run-as-user joe");
    assert_eq!(powerless.code, 1, "{powerless:?}");
    assert!(powerless.stderr.contains("needs root"), "{powerless:?}");
    machine.root("test ! -e /etc/systemd/system/hermes-gateway.service");

    let said = machine.root("SUDO_USER=joe hermes gateway install --system");
    assert!(
        said.contains("✓ Installed /etc/systemd/system/hermes-gateway.service"),
        "{said}"
    );
    let pid = machine.root("systemctl show -P MainPID hermes-gateway");
    assert_eq!(machine.root(&format!("ps -o user= -p {pid}")), "joe");
    // Nothing in the account's home is root's, and root has no home of Hermes.
    assert_eq!(machine.root("find /home/joe/.hermes ! -user joe"), "");
    machine.root("test ! -e /root/.hermes");

    // The account sees its service; only root can stop it.
    let status = json(&machine.joe("hermes gateway status --json"));
    assert_eq!(status["manager"], "systemd (system)");
    assert_eq!(status["service_running"], true);
    let powerless = machine.run("joe", "hermes gateway stop");
    assert_eq!(powerless.code, 1, "{powerless:?}");
    assert!(powerless.stderr.contains("needs root"), "{powerless:?}");

    machine.root("hermes gateway restart --system");
    let next = machine.root("systemctl show -P MainPID hermes-gateway");
    assert_ne!(pid, next);
    machine.root("hermes gateway stop --system");
    assert_eq!(
        machine
            .run("root", "systemctl is-active hermes-gateway")
            .stdout,
        "inactive"
    );
    assert_eq!(machine.root("find /home/joe/.hermes ! -user joe"), "");
    machine.root("hermes gateway uninstall --system");
    machine.root("test ! -e /etc/systemd/system/hermes-gateway.service");
}
