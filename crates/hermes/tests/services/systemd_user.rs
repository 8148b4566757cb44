//! A service of the user's own systemd.

use pretty_assertions::assert_eq;

use crate::executed::{RunsScripts as _, json};
use crate::machine::Machine;

/// `systemctl --user` for a shell without a login.
const BUS: &str = "export XDG_RUNTIME_DIR=/run/user/1000;";

fn main_pid(machine: &Machine) -> u32 {
    let script = format!("{BUS} systemctl --user show -P MainPID hermes-gateway");
    machine.joe(&script).parse().unwrap()
}

fn is_active(machine: &Machine) -> String {
    let script = format!("{BUS} systemctl --user is-active hermes-gateway");
    machine.run("joe", &script).stdout
}

#[test]
fn an_installed_gateway_is_kept_running_until_it_is_stopped() {
    let machine = Machine::boot();
    let said = machine.joe("hermes gateway install");
    assert!(
        said.contains("✓ Installed ~/.config/systemd/user/hermes-gateway.service"),
        "{said}"
    );
    assert!(
        said.contains("✓ Started the gateway of profile default (PID "),
        "{said}"
    );
    assert_eq!(is_active(&machine), "active");

    let status = json(&machine.joe("hermes gateway status --json"));
    assert_eq!(status["manager"], "systemd (user)");
    assert_eq!(status["service_installed"], true);
    assert_eq!(status["service_running"], true);
    assert_eq!(status["service_scope"], "user");
    assert_eq!(status["mismatch"], false);
    let first = main_pid(&machine);
    assert_eq!(status["pids"][0], first);

    // A second gateway would fight with the service.
    let second = machine.run("joe", "hermes gateway run");
    assert_eq!(second.code, 1, "{second:?}");
    assert!(
        second
            .stderr
            .contains("systemd (user) runs the gateway of profile default already"),
        "{second:?}"
    );

    machine.joe(&format!("kill -9 {first}"));
    machine.wait_for("runuser -u joe -- hermes gateway status >/dev/null");
    let second = main_pid(&machine);
    assert_ne!(first, second);

    let said = machine.joe("hermes gateway restart");
    assert!(said.contains("✓ Restarted"), "{said}");
    let third = main_pid(&machine);
    assert_ne!(second, third);

    let said = machine.joe("hermes gateway stop");
    assert!(
        said.contains("✓ Stopped the service of the gateway of profile default"),
        "{said}"
    );
    // Not "failed": the gateway was told that the signal is meant.
    assert_eq!(is_active(&machine), "inactive");
    let state = json(&machine.joe("cat ~/.hermes/gateway_state.json"));
    assert_eq!(state["gateway_state"], "stopped");
    assert_eq!(state["desired_state"], "stopped");
    assert_eq!(machine.run("joe", "hermes gateway stop").code, 3);

    let said = machine.joe("hermes gateway start");
    assert!(said.contains("✓ Started"), "{said}");
    assert_eq!(is_active(&machine), "active");
    let again = machine.joe("hermes gateway install");
    assert!(again.contains("is up to date"), "{again}");

    let said = machine.joe("hermes gateway uninstall");
    assert!(
        said.contains("removed ~/.config/systemd/user/hermes-gateway.service"),
        "{said}"
    );
    assert_eq!(is_active(&machine), "inactive");
    machine.joe("test ! -e ~/.config/systemd/user/hermes-gateway.service");
    assert_eq!(machine.run("joe", "hermes gateway status").code, 3);
    let said = machine.joe("hermes gateway uninstall");
    assert!(said.contains("is no service of this machine"), "{said}");
}

#[test]
fn a_unit_of_the_python_runtime_is_told_and_replaced() {
    let machine = Machine::boot();
    machine.joe(
        "mkdir -p ~/.config/systemd/user && cat > ~/.config/systemd/user/hermes-gateway.service <<'END'\n\
         [Service]\n\
         ExecStart=/home/joe/hermes-agent/venv/bin/python -m hermes_cli.main gateway run --replace\n\
         Environment=\"VIRTUAL_ENV=/home/joe/hermes-agent/venv\"\n\
         END",
    );
    let doctor = machine.run("joe", "hermes doctor");
    let told = doctor
        .stdout
        .contains("hermes-gateway.service sets VIRTUAL_ENV");
    assert!(told, "{doctor:?}");
    assert!(
        doctor.stdout.contains("hermes gateway install"),
        "{doctor:?}"
    );

    let said = machine.joe("hermes gateway install --no-start-now");
    assert!(said.contains("✓ Replaced"), "{said}");
    assert!(said.contains("was not started"), "{said}");
    let unit = machine.joe("cat ~/.config/systemd/user/hermes-gateway.service");
    assert!(!unit.contains("VIRTUAL_ENV"), "{unit}");
    assert!(
        unit.contains("ExecStart=/usr/local/bin/hermes gateway run"),
        "{unit}"
    );
    let doctor = machine.run("joe", "hermes doctor");
    assert!(!doctor.stdout.contains("VIRTUAL_ENV"), "{doctor:?}");
}

#[test]
fn a_drop_in_that_unsets_variables_works_and_leaves_the_unit_current() {
    let machine = Machine::boot();
    machine.joe(
        "mkdir -p .config/systemd/user/hermes-gateway.service.d && \
         printf '[Service]\\nEnvironment=VIRTUAL_ENV=/old MINE=1\\nUnsetEnvironment=VIRTUAL_ENV\\n' \
         > .config/systemd/user/hermes-gateway.service.d/clean.conf && hermes gateway install",
    );
    let variables = machine.root(&format!(
        "tr '\\0' '\\n' < /proc/{}/environ",
        main_pid(&machine)
    ));
    assert!(
        variables.lines().any(|line| line == "MINE=1"),
        "{variables}"
    );
    assert!(!variables.contains("VIRTUAL_ENV"), "{variables}");
    let status = machine.joe("hermes gateway status");
    assert!(!status.contains("outdated"), "{status}");
}

#[test]
fn a_start_that_cannot_succeed_is_reported_with_its_reason() {
    let machine = Machine::boot();
    machine.joe("hermes gateway install --no-start-now --no-start-on-login");
    machine.joe("echo 'model: [' > ~/.hermes/config.yaml");
    let ran = machine.run("joe", "hermes gateway start");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("the gateway did not start: "),
        "{ran:?}"
    );
    // It exits with 78, and systemd leaves it at that.
    machine.wait_for(&format!(
        "runuser -u joe -- bash -c '{BUS} systemctl --user is-failed hermes-gateway'"
    ));
    let restarts = format!("{BUS} systemctl --user show -P NRestarts hermes-gateway");
    assert_eq!(machine.joe(&restarts), "0");
}

#[test]
fn a_unit_that_is_outdated_is_told_and_brought_up_to_date_by_a_start() {
    let machine = Machine::boot();
    machine.joe("hermes gateway install --no-start-now --start-now");
    assert_eq!(is_active(&machine), "active");
    let file = "~/.config/systemd/user/hermes-gateway.service";
    machine.joe(&format!("sed -i s/RestartSec=5/RestartSec=99/ {file}"));
    let status = machine.joe("hermes gateway status");
    assert!(status.contains("(outdated; "), "{status}");

    machine.joe("hermes gateway restart");
    let unit = machine.joe(&format!("cat {file}"));
    assert!(unit.contains("RestartSec=5\n"), "{unit}");
    let status = machine.joe("hermes gateway status");
    assert!(!status.contains("outdated"), "{status}");
    // systemd goes by the new text, too.
    let pause = format!("{BUS} systemctl --user show -P RestartUSec hermes-gateway");
    assert_eq!(machine.joe(&pause), "5s");
}

#[test]
fn services_of_the_account_and_of_the_system_are_told_apart() {
    let machine = Machine::boot();
    machine.joe("hermes gateway install --no-start-now");
    let both = machine.run(
        "root",
        "hermes gateway install --system --run-as-user joe --no-start-now",
    );
    assert_eq!(both.code, 0, "{both:?}");
    machine.root("test -f /etc/systemd/system/hermes-gateway.service");
    let again = machine.run("joe", "hermes gateway install --no-start-now");
    assert!(
        again
            .stderr
            .contains("services of your account and of the system"),
        "{again:?}"
    );
    // Without a word the service of the account is meant.
    machine.joe("hermes gateway uninstall");
    machine.joe("test ! -e ~/.config/systemd/user/hermes-gateway.service");
    machine.root("test -f /etc/systemd/system/hermes-gateway.service");
    // Then the one that is left, which only root may remove.
    let refused = machine.run("joe", "hermes gateway uninstall");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("needs root"), "{refused:?}");
    machine.root("hermes gateway uninstall --system");
    machine.root("test ! -e /etc/systemd/system/hermes-gateway.service");
}

#[test]
fn the_service_of_an_early_installation_is_removed_and_nobody_elses() {
    let machine = Machine::boot();
    let none = machine.joe("hermes gateway migrate-legacy");
    assert!(none.contains("There is no service"), "{none}");
    machine.joe(
        "mkdir -p ~/.config/systemd/user && cat > ~/.config/systemd/user/hermes.service <<'END'\n\
         [Service]\n\
         ExecStart=/bin/sh -c 'exec sleep 1000 # /usr/bin/hermes gateway run'\n\
         Environment=\"VIRTUAL_ENV=/home/joe/hermes-agent/venv\"\n\
         [Install]\n\
         WantedBy=default.target\n\
         END",
    );
    machine.joe(&format!("{BUS} systemctl --user enable --now hermes"));
    // The system's is somebody else's mail program.
    machine.root(
        "printf '[Service]\\nExecStart=/usr/bin/hermes-mail\\n' > /etc/systemd/system/hermes.service",
    );
    let doctor = machine.run("joe", "hermes doctor");
    assert!(
        doctor.stdout.contains("hermes gateway migrate-legacy"),
        "{doctor:?}"
    );
    let install = machine.run("joe", "hermes gateway install --no-start-now");
    assert!(install.stderr.contains("migrate-legacy"), "{install:?}");

    let shown = machine.joe("hermes gateway migrate-legacy --dry-run");
    assert!(
        shown.contains("~/.config/systemd/user/hermes.service (systemd (user))"),
        "{shown}"
    );
    assert!(!shown.contains("/etc/systemd"), "{shown}");
    let unasked = machine.run("joe", "hermes gateway migrate-legacy");
    assert_eq!(unasked.code, 1, "{unasked:?}");
    assert!(unasked.stderr.contains("--yes"), "{unasked:?}");
    machine.joe("test -e ~/.config/systemd/user/hermes.service");

    let done = machine.joe("hermes gateway migrate-legacy --yes");
    assert!(done.contains("✓ Removed"), "{done}");
    machine.joe("test ! -e ~/.config/systemd/user/hermes.service");
    let active = format!("{BUS} systemctl --user is-active hermes");
    assert_eq!(machine.run("joe", &active).stdout, "inactive");
    machine.root("test -e /etc/systemd/system/hermes.service");
}
