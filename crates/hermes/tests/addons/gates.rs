//! Which switch closes the gate.

use crate::{Desk, FEATURE, error_code};

/// What an install ends with: nothing, or the code of its error.
fn outcome(config: &str, disable: Option<&str>, has_target: bool) -> String {
    let desk = Desk::new();
    desk.home.put("config.yaml", config);
    let target = desk.home.outside("target");
    let mut call = desk.call(&["install", FEATURE, "--json"]);
    if let Some(value) = disable {
        call = call.env("HERMES_DISABLE_LAZY_INSTALLS", value);
    }
    if has_target {
        call = call.env("HERMES_LAZY_INSTALL_TARGET", &target);
    }
    let outcome = call.run();
    if outcome.code == Some(0) {
        let store = if has_target { target } else { desk.store() };
        assert!(store.join("@envs").join(FEATURE).is_dir());
        assert_eq!(has_target, !desk.store().exists());
        return String::new();
    }
    outcome.exits(3);
    assert_eq!(desk.installs(), 0, "an installer was started");
    assert!(!target.exists() && !desk.store().exists());
    error_code(&outcome)
}

// check 4
#[test]
fn the_setting_beats_the_seal_and_a_target_opens_it() {
    for config in ["", "security: {allow_lazy_installs: true}\n", "a: [\n"] {
        for target in [false, true] {
            assert_eq!(outcome(config, None, target), "", "{config}");
            // What says no is no seal.
            assert_eq!(outcome(config, Some("0"), target), "", "{config}");
        }
        assert_eq!(
            outcome(config, Some("1"), false),
            "disabled_env",
            "{config}"
        );
        assert_eq!(outcome(config, Some("1"), true), "", "{config}");
    }
    assert_eq!(outcome("", Some("true"), false), "disabled_env");
    for config in [
        "security: {allow_lazy_installs: false}\n",
        "security: {allow_lazy_installs: 'false'}\n",
        "security: {allow_lazy_installs: 'Off'}\n",
        "security: {allow_lazy_installs: 0}\n",
        "security:\n  allow_lazy_installs: false\nbroken: [\n",
    ] {
        for (disable, target) in [
            (None, false),
            (None, true),
            (Some("1"), true),
            (Some("1"), false),
        ] {
            assert_eq!(
                outcome(config, disable, target),
                "disabled_config",
                "{config}"
            );
        }
    }
}

#[test]
fn a_blank_target_is_none() {
    let desk = Desk::new();
    for (value, path) in [
        ("", desk.store()),
        ("   ", desk.store()),
        (" /srv/x ", "/srv/x".into()),
    ] {
        let list = desk
            .call(&["list", "--json"])
            .env("HERMES_LAZY_INSTALL_TARGET", value);
        assert_eq!(
            list.run().succeeds().json()["store"]["path"],
            path.to_str().unwrap()
        );
    }
}

#[test]
fn a_closed_gate_says_which_switch_it_is() {
    let desk = Desk::new();
    desk.call(&["install", FEATURE])
        .env("HERMES_DISABLE_LAZY_INSTALLS", "yes")
        .run()
        .refuses(
            3,
            "Feature 'debug.selftest' unavailable: lazy installs disabled \
             (HERMES_DISABLE_LAZY_INSTALLS is set and HERMES_LAZY_INSTALL_TARGET is not)",
        )
        .says_part("hint: set HERMES_LAZY_INSTALL_TARGET to a directory that outlives updates\n");
    desk.home
        .run(["config", "set", "security.allow_lazy_installs", "false"])
        .succeeds();
    desk.install()
        .refuses(
            3,
            "Feature 'debug.selftest' unavailable: lazy installs disabled \
         (security.allow_lazy_installs=false)",
        )
        .says_part(
            "hint: to allow them, run: hermes config set security.allow_lazy_installs true\n",
        );
    assert_eq!(desk.state(FEATURE), "blocked");
}

#[test]
fn what_is_installed_stays_usable_behind_a_closed_gate() {
    let desk = Desk::new();
    desk.install().succeeds();
    desk.home
        .run(["config", "set", "security.allow_lazy_installs", "false"])
        .succeeds();
    assert_eq!(desk.state(FEATURE), "installed");
    desk.install().succeeds();
    desk.addons(&["install", FEATURE, "--force"]).exits(3);
}
