//! What is kept, removed, verified and repaired.

use std::fs::{self, File};

use hermes_testkit::Tree;
use pretty_assertions::assert_eq;

use crate::{Desk, FEATURE, error_code, names, set_mode};

// check 18
#[test]
fn a_changed_byte_is_found_and_repaired() {
    let desk = Desk::new();
    desk.install().succeeds();
    let file = desk.current(FEATURE).join("site/isodate/__init__.py");
    set_mode(&file, 0o644);
    fs::write(&file, "VERSION = '6.6.6'\n").unwrap();
    set_mode(&file, 0o444);
    // The size is the same.
    desk.addons(&["verify", "--fast"]).succeeds();
    let outcome = desk.addons(&["verify", "--json"]);
    outcome.exits(1);
    let json = outcome.json();
    assert_eq!(json["ok"], false);
    assert_eq!(json["addons"][0]["changed"][0], "isodate/__init__.py");
    desk.addons(&["verify"])
        .exits(1)
        .prints_part("✗ debug.selftest is damaged\n    changed: isodate/__init__.py\n")
        .says_part("verify --repair");
    desk.addons(&["verify", "--repair"]).succeeds();
    assert_eq!(desk.served(FEATURE), "VERSION = '0.7.2'\n");
}

#[test]
fn missing_and_added_files_are_found() {
    let desk = Desk::new();
    desk.install().succeeds();
    let site = desk.current(FEATURE).join("site");
    for directory in ["", "isodate"] {
        set_mode(&site.join(directory), 0o755);
    }
    fs::remove_file(site.join("isodate/__init__.py")).unwrap();
    fs::write(site.join("sitecustomize.py"), "evil").unwrap();
    std::os::unix::fs::symlink("/etc", site.join("isodate/etc")).unwrap();
    let outcome = desk.addons(&["verify", "--fast", "--json"]);
    let found = outcome.exits(1).json()["addons"][0].clone();
    assert_eq!(found["missing"][0], "isodate/__init__.py");
    assert_eq!(found["extra"][0], "isodate/etc");
    assert_eq!(found["extra"][1], "sitecustomize.py");
    desk.addons(&["doctor"])
        .exits(1)
        .prints_part("debug.selftest is damaged");
    desk.addons(&["verify", "--repair", FEATURE]).succeeds();
    desk.addons(&["verify", "nope.x"]).exits(2);
    desk.addons(&["verify", "skill.youtube"])
        .exits(1)
        .says_part("'skill.youtube' unavailable: it is not installed");
}

// check 28
#[test]
fn what_is_in_use_stays_unless_forced() {
    let desk = Desk::new();
    desk.addons(&["remove", FEATURE])
        .succeeds()
        .prints("debug.selftest is not installed\n");
    desk.install().succeeds();
    let environment = desk.current(FEATURE);
    let lease = File::open(environment.join(".lease")).unwrap();
    lease.lock_shared().unwrap();
    let outcome = desk.addons(&["remove", FEATURE, "--json"]);
    outcome.exits(1);
    assert_eq!(error_code(&outcome), "in_use");
    assert_eq!(desk.state(FEATURE), "installed");

    // A newer generation comes into service beside it, and the collection leaves it alone.
    desk.lock(FEATURE, "0.7.3");
    desk.install().succeeds();
    assert_eq!(desk.served(FEATURE), "VERSION = '0.7.3'\n");
    assert!(environment.exists());
    desk.addons(&["gc"])
        .succeeds()
        .prints("Nothing to remove\n");
    lease.unlock().unwrap();

    let before = Tree::read(&desk.store());
    desk.addons(&["gc", "--dry-run"])
        .succeeds()
        .prints_part("Would remove ");
    before.is_still(&Tree::read(&desk.store()));
    let collected = desk.addons(&["gc", "--json"]);
    let collected = collected.succeeds().json();
    assert_eq!(
        collected["removed"][0]["path"],
        environment.to_str().unwrap()
    );
    assert!(!environment.exists());
    assert_eq!(desk.served(FEATURE), "VERSION = '0.7.3'\n");

    let current = desk.current(FEATURE);
    let lease = File::open(current.join(".lease")).unwrap();
    lease.lock_shared().unwrap();
    desk.addons(&["remove", FEATURE])
        .exits(1)
        .says_part("a process uses it now");
    desk.addons(&["remove", FEATURE, "--force"])
        .succeeds()
        .prints_part("✓ Removed debug.selftest");
    assert!(!current.exists());
    assert_eq!(desk.state(FEATURE), "absent");
}

// check 14
#[test]
fn what_a_process_uses_outlives_a_change_of_the_interpreter_and_is_not_started_again() {
    let desk = Desk::new();
    desk.lock("skill.youtube", "0.7.1");
    desk.install().succeeds();
    let used = desk.current(FEATURE);
    let lease = File::open(used.join(".lease")).unwrap();
    lease.lock_shared().unwrap();
    desk.python(13);
    desk.addons(&["install", "skill.youtube"]).succeeds();
    assert!(used.join("site/isodate/__init__.py").exists());
    desk.addons(&["gc"])
        .succeeds()
        .prints("Nothing to remove\n");
    // For whoever comes now it is not there.
    assert_eq!(desk.state(FEATURE), "absent");
    desk.addons(&["python", FEATURE, "-c", "pass"])
        .exits(1)
        .says_part("it is not installed");
    lease.unlock().unwrap();
    desk.addons(&["gc"])
        .succeeds()
        .prints_part("not in service any more");
    assert!(!used.exists());
    desk.install().succeeds();
    assert_eq!(desk.state(FEATURE), "installed");
}

// check 30
#[test]
fn packages_of_the_python_runtime_are_counted_and_left_alone() {
    let desk = Desk::new();
    desk.home.put("lazy-packages/.python-abi", crate::ABI);
    desk.home.put("lazy-packages/packaging/__init__.py", "x");
    desk.home
        .put("lazy-packages/packaging-1.dist-info/METADATA", "x");
    set_mode(&desk.store(), 0o700);
    desk.install().succeeds();
    desk.addons(&["gc"])
        .succeeds()
        .prints("Nothing to remove\n");
    let list = desk.addons(&["list", "--json"]);
    assert_eq!(list.succeeds().json()["store"]["legacy_packages"], 1);
    assert!(desk.home.has("lazy-packages/packaging/__init__.py"));
    desk.addons(&["gc", "--legacy"])
        .succeeds()
        .prints_part("installed by the Python runtime");
    assert!(!desk.home.has("lazy-packages/packaging"));
    assert_eq!(desk.state(FEATURE), "installed");
}

#[test]
fn what_settings_need_is_listed_and_named_by_doctor() {
    let desk = Desk::new();
    desk.home.put(
        "config.yaml",
        "tts: {provider: espeak}\nmcp_servers: {files: {addon: 'npm:@scope/server'}}\n",
    );
    let list = desk.addons(&["list", "--json"]);
    let rows = list.succeeds().json()["addons"].clone();
    let row = |at: usize| {
        let row = &rows[at];
        (
            row["feature"].clone(),
            row["state"].clone(),
            row["needed_by"].clone(),
        )
    };
    assert_eq!(
        row(0),
        (
            "tts.espeak".into(),
            "absent".into(),
            ["tts.provider"].as_slice().into()
        )
    );
    assert_eq!(
        row(1),
        (
            "npm:@scope/server".into(),
            "absent".into(),
            ["mcp_servers.files"].as_slice().into()
        )
    );
    desk.program(&["doctor"])
        .run()
        .prints_part("tts.espeak is not installed; tts.provider needs it")
        .prints_part("hermes addons install npm:@scope/server@<version>");
    desk.addons(&["doctor", "--json"]).exits(1);
    desk.lock("tts.espeak", "0.7.2");
    desk.addons(&["install", "tts.espeak"]).succeeds();
    let doctor = desk.addons(&["doctor"]);
    doctor.prints_part("mcp_servers.files needs it");
    assert!(!doctor.stdout.contains("tts.provider needs it"), "{doctor}");
    assert!(!desk.store().join("@node/npm:@scope+server").exists());
}

#[test]
fn doctor_has_rows_for_add_ons() {
    let desk = Desk::new();
    let rows = |desk: &Desk| {
        let json = desk.addons(&["doctor", "--json"]).json();
        let rows = json["rows"].as_array().unwrap().clone();
        let row = |row: &serde_json::Value| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            (text("id"), text("status"))
        };
        // What the kernel can do is not for this test.
        let rows = rows.iter().filter(|row| row["id"] != "addon_sandbox");
        rows.map(row).collect::<Vec<_>>()
    };
    let expected = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
        let owned = rows
            .iter()
            .map(|(id, status)| ((*id).to_owned(), (*status).to_owned()));
        owned.collect()
    };
    let good = [
        ("addon_gate", "ok"),
        ("addon_store", "ok"),
        ("addon_python", "ok"),
    ];
    assert_eq!(rows(&desk), expected(&good));
    assert!(!desk.store().exists());
    desk.install().succeeds();
    let installed: Vec<_> = good.into_iter().chain([("addon", "ok")]).collect();
    assert_eq!(rows(&desk), expected(&installed));
    fs::create_dir(desk.store().join("@trash/x")).unwrap();
    let leftover: Vec<_> = installed
        .iter()
        .copied()
        .chain([("addon_leftovers", "warning")])
        .collect();
    assert_eq!(rows(&desk), expected(&leftover));
    // The interpreter goes.
    fs::remove_file(desk.home.outside("bin/python-of-the-test")).unwrap();
    assert_eq!(desk.state(FEATURE), "broken");
    desk.addons(&["doctor"])
        .exits(1)
        .prints_part("its files or its interpreter are gone");
    assert_eq!(names(&desk.store().join("@envs")), [FEATURE]);
}
