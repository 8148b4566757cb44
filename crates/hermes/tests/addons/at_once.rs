//! Several installs at once, and installs that are killed.

use std::fs;
use std::process::Command;

use hermes_testkit::eventually;
use pretty_assertions::assert_eq;

use crate::{Desk, FEATURE, names};

// check 7
#[test]
fn of_many_installs_at_once_one_does_the_work() {
    for count in [2, 20] {
        let desk = Desk::new();
        desk.uv("sleep 0.3");
        let mut running: Vec<_> = (0..count)
            .map(|_| desk.call(&["install", FEATURE]).start())
            .collect();
        for one in &mut running {
            let status = one.wait();
            assert!(status.success(), "{:?}", one.errors());
        }
        assert_eq!(desk.installs(), 1);
        assert_eq!(names(&desk.store().join("@envs").join(FEATURE)).len(), 1);
        assert_eq!(desk.state(FEATURE), "installed");
    }
}

#[test]
fn whoever_waits_says_for_whom() {
    let desk = Desk::new();
    let gate = desk.home.outside("gate");
    desk.uv(&format!(
        "while [ ! -e {} ]; do sleep 0.05; done",
        gate.display()
    ));
    let mut first = desk.call(&["install", FEATURE]).start();
    eventually("the installer was started", || desk.installs() == 1);
    assert_eq!(desk.state(FEATURE), "installing");
    let mut second = desk.call(&["install", FEATURE]).start();
    let expected = format!(
        "debug.selftest: waiting for {} installing debug.selftest",
        first.pid()
    );
    let mut told = Vec::new();
    eventually("the second one waits", || {
        told.extend(second.errors());
        told.contains(&expected)
    });
    // A third one is tired of waiting.
    let mut third = desk.call(&["install", FEATURE]).start();
    let expected = format!("waiting for {} installing debug.selftest", first.pid());
    eventually("the third one waits", || {
        third.errors().iter().any(|line| line.contains(&expected))
    });
    let interrupt = ["-INT".to_owned(), third.pid().to_string()];
    assert!(
        Command::new("kill")
            .args(interrupt)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(third.wait().code(), Some(1));
    assert_eq!(desk.state(FEATURE), "installing");
    fs::write(gate, "").unwrap();
    assert!(first.wait().success() && second.wait().success());
    assert_eq!(desk.installs(), 1);
}

#[test]
fn an_interrupted_install_ends_its_installer_and_leaves_nothing() {
    let desk = Desk::new();
    let pid = desk.home.outside("pid");
    desk.uv(&format!(
        "sh -c 'echo $$ > {}; exec sleep 300'",
        pid.display()
    ));
    let mut install = desk.call(&["install", FEATURE]).start();
    eventually("the installer works", || {
        fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))
    });
    let interrupt = ["-INT".to_owned(), install.pid().to_string()];
    assert!(
        Command::new("kill")
            .args(interrupt)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(install.wait().code(), Some(1));
    let pid = fs::read_to_string(pid).unwrap();
    eventually("the installer has ended", || {
        !std::path::Path::new("/proc").join(pid.trim()).exists()
    });
    assert_eq!(names(&desk.store().join("@stage")), [""; 0]);
    assert_eq!(names(&desk.store().join("@envs")), [""; 0]);
    // It is no failure that would keep tools from trying.
    assert_eq!(desk.state(FEATURE), "absent");
}

// check 8
#[test]
fn a_killed_install_leaves_nothing_in_service_and_the_next_one_succeeds() {
    let desk = Desk::new();
    desk.uv("sleep 60");
    let mut first = desk.call(&["install", FEATURE]).start();
    eventually("the installer was started", || desk.installs() == 1);
    first.kill();
    assert_eq!(desk.state(FEATURE), "absent");
    desk.uv("");
    desk.install().succeeds();
    assert_eq!(names(&desk.store().join("@stage")), [""; 0]);
    assert_eq!(desk.state(FEATURE), "installed");
}

/// Killed at its first write, its second, and so on: the old environment or the new one is in
/// service, whole, and the next install comes to its end.
#[test]
fn killed_at_any_write_the_old_or_the_new_environment_serves() {
    let prepared = Desk::new();
    prepared.install().succeeds();
    let (mut old, mut new) = (0, 0);
    for point in 1.. {
        let desk = Desk {
            home: prepared.home.copied(),
        };
        // The scripts name their own directory.
        desk.python(12);
        desk.uv("");
        desk.lock(FEATURE, "0.7.3");
        let outcome = desk.call(&["install", FEATURE]).kill_at_write(point).run();
        match desk.served(FEATURE).as_str() {
            "VERSION = '0.7.2'\n" => old += 1,
            "VERSION = '0.7.3'\n" => new += 1,
            other => panic!("at point {point}: {other}"),
        }
        desk.addons(&["verify"]).succeeds();
        if !outcome.was_killed() {
            outcome.succeeds();
            break;
        }
        desk.install().succeeds();
        assert_eq!(
            desk.served(FEATURE),
            "VERSION = '0.7.3'\n",
            "after point {point}"
        );
        desk.addons(&["gc"]).succeeds();
        assert_eq!(
            names(&desk.store().join("@stage")),
            [""; 0],
            "after point {point}"
        );
        assert_eq!(
            names(&desk.store().join("@trash")),
            [""; 0],
            "after point {point}"
        );
        let generations = names(&desk.store().join("@envs").join(FEATURE));
        assert_eq!(generations.len(), 1, "after point {point}");
    }
    assert!(old > 10 && new > 2, "{old} old, {new} new");
}
