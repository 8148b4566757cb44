use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;

fn gateway() -> GatewayDefinition {
    GatewayDefinition {
        program: "/usr/local/bin/hermes".to_owned(),
        profile: None,
        suffix: String::new(),
        home: "/home/joe/.hermes".to_owned(),
        path: "/usr/local/bin:/usr/bin:/bin".to_owned(),
        drain: Duration::from_mins(3),
        watchdog: None,
    }
}

fn joe() -> Account {
    Account {
        name: "joe".to_owned(),
        uid: 1000,
        gid: 1000,
        group: "staff".to_owned(),
        home: "/home/joe".to_owned(),
    }
}

#[test]
fn a_unit_of_the_user_has_every_directive() {
    let expected = "\
[Unit]
Description=Hermes gateway
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
ExecStart=/usr/local/bin/hermes gateway run
WorkingDirectory=/home/joe/.hermes
Environment=\"HERMES_HOME=/home/joe/.hermes\"
Environment=\"PATH=/usr/local/bin:/usr/bin:/bin\"
Restart=always
RestartSec=5
RestartForceExitStatus=75
RestartPreventExitStatus=78
KillMode=mixed
KillSignal=SIGTERM
TimeoutStopSec=210
ExecReload=/bin/kill -USR1 $MAINPID

[Install]
WantedBy=default.target
";
    assert_eq!(unit(&gateway(), None), expected);
}

#[test]
fn a_unit_of_the_system_names_its_account() {
    let mut gateway = gateway();
    gateway.profile = Some("coder".to_owned());
    gateway.watchdog = Some(Duration::from_secs(90));
    gateway.drain = Duration::ZERO;
    let text = unit(&gateway, Some(&joe()));
    for line in [
        "ExecStart=/usr/local/bin/hermes --profile coder gateway run",
        "User=joe",
        "Group=staff",
        "Environment=\"HOME=/home/joe\"",
        "Environment=\"LOGNAME=joe\"",
        "NotifyAccess=main",
        "WatchdogSec=90s",
        "TimeoutStopSec=60",
        "WantedBy=multi-user.target",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert_eq!(account_of(&text).as_deref(), Some("joe"));
}

#[test]
fn no_definition_carries_an_activated_environment_or_replaces_a_gateway() {
    for account in [None, Some(&joe())] {
        let text = unit(&gateway(), account);
        assert!(!text.contains("VIRTUAL_ENV"), "{text}");
        assert!(!text.contains("--replace"), "{text}");
        assert!(!is_of_python(&text), "{text}");
    }
}

#[test]
fn unusual_paths_are_quoted() {
    let mut gateway = gateway();
    gateway.program = "/opt/my $tools/100%/hermes \"x\"".to_owned();
    gateway.home = "/home/joe/my agents/50%".to_owned();
    let text = unit(&gateway, None);
    assert!(
        text.contains(r#"ExecStart="/opt/my $$tools/100%%/hermes \"x\"" gateway run"#),
        "{text}"
    );
    assert!(
        text.contains("WorkingDirectory=/home/joe/my agents/50%%\n"),
        "{text}"
    );
    assert!(
        text.contains("Environment=\"HERMES_HOME=/home/joe/my agents/50%%\"\n"),
        "{text}"
    );
}

#[test]
fn another_path_and_trailing_space_make_no_difference() {
    let wanted = unit(&gateway(), None);
    let mut later = gateway();
    later.path.push_str(":/opt/new");
    let there = unit(&later, None).replace('\n', " \n");
    assert!(is_current(&there, &wanted));
    later.drain = Duration::from_mins(5);
    assert!(!is_current(&unit(&later, None), &wanted));
}

#[test]
fn units_of_the_python_runtime_are_known() {
    let interpreter = "[Service]\nExecStart=/home/joe/hermes/venv/bin/python -m hermes_cli.main gateway run --replace\n";
    let environment = "[Service]\nExecStart=/usr/bin/hermes gateway run\nEnvironment=\"VIRTUAL_ENV=/home/joe/hermes/venv\"\n";
    assert!(is_of_python(interpreter));
    assert!(is_of_python(environment));
}

#[test]
fn only_units_that_run_a_gateway_are_taken_for_one() {
    for command in [
        "/home/joe/venv/bin/python -m hermes_cli.main gateway run --replace",
        "/usr/bin/python3 /home/joe/hermes-agent/hermes_cli/main.py gateway run",
        "/usr/bin/python3 gateway/run.py",
        "-/usr/local/bin/hermes gateway run",
        "\"/home/joe/bin/hermes\" gateway run",
    ] {
        let unit = format!("[Service]\n ExecStart={command}\n");
        assert!(runs_a_gateway(&unit), "{command}");
    }
    for unit in [
        "[Service]\nExecStart=/usr/bin/hermes-mail --serve\n",
        "[Service]\nExecStart=/usr/bin/hermes serve gateway\n",
        "[Unit]\nDescription=hermes gateway\n[Service]\nExecStart=/usr/bin/true\n",
        "",
    ] {
        assert!(!runs_a_gateway(unit), "{unit}");
    }
}
