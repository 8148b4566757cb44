//! Modes on a machine that is no container: directories 0700, secrets 0600. Inside one they are
//! left as the image set them.

use std::os::unix::fs::PermissionsExt;

use hermes_testkit::TestHome;

use crate::fresh;

/// A home that everybody may read.
fn open_to_all() -> TestHome {
    let home = fresh();
    home.put("config.yaml", "terminal: {timeout: 5}\n");
    home.put(".env", "A_TOKEN=one\n");
    std::fs::create_dir(home.path("sessions")).unwrap();
    for (name, mode) in [
        ("", 0o755),
        ("sessions", 0o755),
        ("config.yaml", 0o644),
        (".env", 0o644),
    ] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(home.path(name), mode).unwrap();
    }
    home
}

#[test]
fn a_host_closes_directories_and_secrets_to_others() {
    let home = open_to_all();
    home.hermes(["config", "set", "B_TOKEN", "two"])
        .on_host()
        .run()
        .succeeds();
    assert_eq!(home.mode(""), 0o700);
    assert_eq!(home.mode("sessions"), 0o700);
    assert_eq!(home.mode(".env"), 0o600);
    // A file that was not written keeps its mode.
    assert_eq!(home.mode("config.yaml"), 0o644);
}

#[test]
fn a_container_leaves_modes_alone() {
    for (name, value) in [
        ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
        ("HERMES_SKIP_CHMOD", "1"),
        ("HERMES_CONTAINER", "1"),
    ] {
        let home = open_to_all();
        home.hermes(["config", "set", "B_TOKEN", "two"])
            .on_host()
            .env(name, value)
            .run()
            .succeeds();
        assert_eq!(home.mode(".env"), 0o644, "{name}");
        if name == "KUBERNETES_SERVICE_HOST" {
            assert_eq!(home.mode(""), 0o755);
        }
    }
}

#[test]
fn the_wanted_mode_counts_everywhere() {
    let home = open_to_all();
    home.hermes(["config", "set", "terminal.timeout", "6"])
        .env("HERMES_HOME_MODE", "0750")
        .run()
        .succeeds();
    assert_eq!(home.mode(""), 0o750);
    assert_eq!(home.mode("sessions"), 0o750);
    assert_eq!(home.mode("memories"), 0o750);
}

#[test]
fn doctor_finds_open_secrets_and_closes_them_when_asked() {
    let home = open_to_all();
    let before = home.tree();
    home.hermes(["doctor"])
        .on_host()
        .run()
        .exits(1)
        .prints_part("✗ ~/.hermes/.env can be read by others (mode 0644)\n");
    before.is_still(&home.tree());
    let fixed = home.hermes(["doctor", "--fix"]).on_host().run();
    fixed.prints_part("\n1 to fix:\n  1. no conversation can run: ");
    assert_eq!(home.mode(".env"), 0o600);
    assert_eq!(home.mode(""), 0o700);
}
