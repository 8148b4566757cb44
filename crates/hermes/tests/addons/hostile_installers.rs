//! Installers that write what no closure contains.

use std::fs;

use hermes_testkit::eventually;
use pretty_assertions::assert_eq;

use crate::{Desk, FEATURE, error_code, names};

// check 11
#[test]
fn what_no_closure_contains_is_refused_and_the_old_environment_serves() {
    let desk = Desk::new();
    desk.install().succeeds();
    let good = desk.current(FEATURE);
    let secret = desk.home.put_outside("victim", "mine", 0o644);
    let link = format!("ln -s {} \"$site/isodate/link\"", secret.display());
    let hard = format!("ln {} \"$site/isodate/link\"", secret.display());
    for (evil, why) in [
        (
            "mkdir \"$site/evil-1.dist-info\"; printf 'Name: evil\\nVersion: 1\\n' > \
             \"$site/evil-1.dist-info/METADATA\"",
            "missing nothing, unexpected evil==1",
        ),
        (
            "rm -r \"$site/\"*",
            "missing isodate==0.7.2, unexpected nothing",
        ),
        ("mkdir \"$site/evil-1.dist-info\"", "could not"),
        (link.as_str(), "it wrote a symbolic link, isodate/link"),
        ("ln -s /etc \"$site/etc\"", "it wrote a symbolic link, etc"),
        (hard.as_str(), "it wrote a hard link, isodate/link"),
        (
            "echo 'import os' > \"$site/evil.pth\"",
            "it wrote evil.pth, which would run at every start",
        ),
        (
            "mkfifo \"$site/pipe\"",
            "it wrote something that is no file, pipe",
        ),
        (
            "chmod u+s \"$site/isodate/__init__.py\"",
            "isodate/__init__.py would run with the rights of its owner",
        ),
        ("mkdir \"$site/evil.egg-info\"", "which no wheel contains"),
    ] {
        desk.uv(evil);
        let outcome = desk.addons(&["install", FEATURE, "--force", "--json"]);
        outcome.exits(1);
        assert_eq!(error_code(&outcome), "installer_failed");
        let message = outcome.json()["failed"][0]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.contains(why), "{evil}: {message}");
        assert_eq!(desk.current(FEATURE), good, "{evil}");
        assert_eq!(names(&desk.store().join("@stage")), [""; 0], "{evil}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "mine");
    desk.addons(&["verify"]).succeeds();
}

#[test]
fn programs_and_locks_of_the_installer_do_not_stay() {
    let desk = Desk::new();
    desk.uv("mkdir \"$site/bin\"; echo x > \"$site/bin/tool\"; : > \"$site/.lock\"");
    desk.install().succeeds();
    let site = desk.current(FEATURE).join("site");
    assert_eq!(names(&site), ["isodate", "isodate-0.7.2.dist-info"]);
}

#[test]
fn packages_that_cannot_be_imported_do_not_come_into_service() {
    let desk = Desk::new();
    let python = desk.home.outside("bin/python-of-the-test");
    let script = fs::read_to_string(&python).unwrap();
    let script = script.replace(
        "#!/bin/sh\n",
        "#!/bin/sh\n[ \"$4\" = -c ] && { echo 'ImportError: no luck' >&2; exit 1; }\n",
    );
    fs::write(&python, script).unwrap();
    let outcome = desk.addons(&["install", FEATURE, "--json"]);
    outcome
        .exits(1)
        .prints_part("cannot be imported: ImportError: no luck");
    assert_eq!(error_code(&outcome), "probe_failed");
    assert_eq!(names(&desk.store().join("@envs")), [""; 0]);
}

// check 10
#[test]
fn an_installer_that_hangs_is_ended_with_all_it_started() {
    let desk = Desk::new();
    desk.home
        .put("config.yaml", "addons: {install_timeout_seconds: 30}\n");
    let pid = desk.home.outside("pid");
    desk.uv(&format!(
        "sh -c 'echo $$ > {}; exec sleep 300'",
        pid.display()
    ));
    let outcome = desk.addons(&["install", FEATURE, "--json"]);
    outcome.exits(1);
    assert_eq!(error_code(&outcome), "timeout");
    let pid = fs::read_to_string(pid).unwrap();
    let process = std::path::Path::new("/proc").join(pid.trim());
    eventually("what it started has ended", || !process.exists());
    assert_eq!(names(&desk.store().join("@stage")), [""; 0]);
}
