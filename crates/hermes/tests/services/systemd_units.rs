//! Units as systemd reads them.

use crate::executed::RunsScripts as _;
use crate::machine::Machine;

// check 22
#[test]
fn systemd_finds_nothing_wrong_with_units_of_unusual_homes() {
    let machine = Machine::boot();
    let home = "/home/joe/my agents/50%\\\"q\\\"";
    machine.joe(&format!("mkdir -p \"{home}\""));
    let install = format!("HERMES_HOME=\"{home}\" hermes gateway install");
    machine.joe(&install);
    let units = machine.joe("ls ~/.config/systemd/user/*.service");
    let verified = machine.run(
        "joe",
        &format!("XDG_RUNTIME_DIR=/run/user/1000 systemd-analyze verify --user '{units}'"),
    );
    assert_eq!(verified.code, 0, "{verified:?}");
    assert_eq!(verified.stderr, "");
    machine.joe(&format!("test -s \"{home}/gateway_state.json\""));

    machine.joe("hermes profile create coder");
    machine.root("SUDO_USER=joe hermes -p coder gateway install --system");
    let unit = "/etc/systemd/system/hermes-gateway-coder.service";
    let verified = machine.run("root", &format!("systemd-analyze verify {unit}"));
    assert_eq!(verified.code, 0, "{verified:?}");
    let text = machine.root(&format!("cat {unit}"));
    for line in [
        "--profile coder gateway run",
        "RestartPreventExitStatus=78",
        "User=joe",
    ] {
        assert!(text.contains(line), "{text}");
    }
    for word in ["VIRTUAL_ENV", "--replace"] {
        assert!(!text.contains(word), "{text}");
    }

    let ran = machine.run("joe", "HERMES_HOME=/tmp/x hermes gateway install");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("/tmp/x"), "{ran:?}");
    machine.root("test ! -e /tmp/x");
}
