use std::ffi::OsString;
use std::time::Instant;

use hermes_home::SystemFacts;
use pretty_assertions::assert_eq;

use super::*;

/// An installation and a machine that boots.
struct Boot {
    directory: tempfile::TempDir,
}

impl Boot {
    fn new() -> Self {
        let boot = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        hermes_fs::create_dir_all(&boot.scan_directory(), 0o755).unwrap();
        hermes_fs::create_dir_all(&boot.root(), 0o700).unwrap();
        boot
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn scan_directory(&self) -> PathBuf {
        self.directory.path().join("service")
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        hermes_fs::create_dir_all(path.parent().unwrap(), 0o700).unwrap();
        hermes_fs::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
    }

    fn profile(&self, name: &str, state: &str) {
        self.put(&format!("profiles/{name}/SOUL.md"), "soul");
        if !state.is_empty() {
            self.put(&format!("profiles/{name}/gateway_state.json"), state);
        }
    }

    fn is_down(&self, profile: &str) -> bool {
        let slot = self.scan_directory().join(format!("gateway-{profile}"));
        assert!(slot.join("run").is_file(), "{profile} has no slot");
        slot.join("down").exists()
    }

    fn has_slot(&self, profile: &str) -> bool {
        let slot = self.scan_directory().join(format!("gateway-{profile}"));
        hermes_fs::exists_no_follow(&slot)
    }

    fn run(&self) -> Reconciled {
        self.run_with(&[], None, false)
    }

    fn run_with(
        &self,
        variables: &[(&str, &str)],
        command: Option<&str>,
        dry_run: bool,
    ) -> Reconciled {
        let own: Vec<(OsString, OsString)> = [
            ("HERMES_HOME", self.root()),
            ("S6_PROFILE_GATEWAY_SCANDIR", self.scan_directory()),
            ("HERMES_MANAGED_DIR", self.directory.path().join("none")),
        ]
        .map(|(name, path)| (name.into(), path.into()))
        .into();
        let further = variables
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        let env = Environment::from_pairs(own.into_iter().chain(further));
        let system = SystemFacts {
            uid: 10_000,
            start_dir: None,
            passwd: "/none".into(),
            file_system_root: self.directory.path().to_owned(),
        };
        let location = Location::resolve(&env, &system).unwrap();
        let caller = Caller {
            variables: Vec::new(),
            uid: 10_000,
            home: self.root(),
            file_system_root: self.directory.path().to_owned(),
            is_container: true,
        };
        let words = command.map(|text| text.split_whitespace().map(OsString::from));
        let command = words.map(MainCommand::of_words);
        Reconcile {
            caller: &caller,
            location: &location,
            env: &env,
            program: Path::new("/opt/hermes/bin/hermes"),
            main_command: command.as_ref(),
            dry_run,
        }
        .run()
    }
}

fn shown(done: &Reconciled) -> Vec<String> {
    let without_time = |row: &ReconcileRow| {
        let line = row.to_string();
        line.split_once(' ').unwrap().1.to_owned()
    };
    done.rows.iter().map(without_time).collect()
}

// check 28
#[test]
fn the_wanted_state_decides_and_else_the_last_one() {
    let rows = [
        (
            "a1",
            r#"{"desired_state":"running","gateway_state":"stopped"}"#,
            "started",
        ),
        ("a2", r#"{"desired_state":"running"}"#, "started"),
        (
            "b1",
            r#"{"desired_state":"stopped","gateway_state":"running"}"#,
            "registered",
        ),
        ("c1", r#"{"gateway_state":"running"}"#, "started"),
        ("c2", r#"{"gateway_state":"draining"}"#, "started"),
        ("c3", r#"{"gateway_state":"degraded"}"#, "started"),
        ("d1", r#"{"gateway_state":"stopped"}"#, "registered"),
        ("d2", r#"{"gateway_state":"starting"}"#, "registered"),
        ("d3", r#"{"gateway_state":"startup_failed"}"#, "registered"),
        ("d4", "", "registered"),
        ("d5", "{not json", "registered"),
        ("d6", r#"{"gateway_state":"of another age"}"#, "registered"),
        ("d7", "[]", "registered"),
    ];
    let boot = Boot::new();
    for (name, state, _) in rows {
        boot.profile(name, state);
        boot.put(&format!("profiles/{name}/gateway.pid"), "{\"pid\":7}");
        boot.put(&format!("profiles/{name}/processes.json"), "{}");
    }
    let done = boot.run();
    for (name, _, action) in rows {
        let row = done.rows.iter().find(|row| row.profile == name).unwrap();
        let line = row.to_string();
        assert!(line.ends_with(&format!("action={action}")), "{line}");
        assert_eq!(boot.is_down(name), action == "registered", "{name}");
        for gone in ["gateway.pid", "processes.json"] {
            let path = boot.root().join("profiles").join(name).join(gone);
            assert!(!path.exists(), "{name}");
        }
    }
    assert!(boot.is_down("default"));
    let shown = shown(&done);
    assert_eq!(shown[0], "profile=a1 prior_state=stopped action=started");
    assert_eq!(
        shown[11],
        "profile=d6 prior_state=of_another_age action=registered"
    );
    // The last line says that everything is done.
    assert_eq!(
        shown.last().unwrap(),
        "profile=default prior_state=None action=registered"
    );
    let log = boot.root().join("logs/container-boot.log");
    let log = hermes_fs::read_text_capped(&log, 1 << 20).unwrap();
    let lines: Vec<String> = done.rows.iter().map(ToString::to_string).collect();
    assert_eq!(log.lines().collect::<Vec<_>>(), lines);
    for line in lines {
        let (time, _) = line.split_once(' ').unwrap();
        let digits: String = time.chars().filter(char::is_ascii_digit).collect();
        assert_eq!((time.len(), digits.len()), (24, 18), "{time}");
    }
}

// check 28
#[test]
fn what_is_no_profile_gets_no_slot() {
    let boot = Boot::new();
    boot.profile("coder", r#"{"desired_state":"running"}"#);
    boot.profile("Bad Name", r#"{"desired_state":"running"}"#);
    boot.profile("default", r#"{"desired_state":"running"}"#);
    boot.put("profiles/stray/notes.txt", "no persona");
    boot.put("profiles/.hidden/SOUL.md", "soul");
    boot.put("profiles/file", "no directory");
    let done = boot.run();
    assert_eq!(
        shown(&done),
        [
            "profile=coder prior_state=None action=started",
            "profile=default prior_state=None action=registered",
        ]
    );
    assert_eq!(done.notes.len(), 2, "{:?}", done.notes);
    assert!(done.notes.iter().any(|note| note.contains("Bad Name")));
    assert!(
        done.notes
            .iter()
            .any(|note| note.contains("profiles/default"))
    );
    let slots = hermes_fs::read_dir(&boot.scan_directory()).unwrap();
    assert_eq!(slots.len(), 2);
}

// check 28
#[test]
fn a_profile_that_cannot_be_helped_stops_nobody() {
    let boot = Boot::new();
    for name in ["a", "broken", "c"] {
        boot.profile(name, r#"{"desired_state":"running"}"#);
    }
    hermes_fs::create_dir_all(&boot.root().join("logs/gateways"), 0o700).unwrap();
    let link = boot.root().join("logs/gateways/broken");
    hermes_fs::symlink(Path::new("/etc"), &link).unwrap();
    let done = boot.run();
    let rows = shown(&done);
    assert_eq!(rows[0], "profile=a prior_state=None action=started");
    assert!(
        rows[1].starts_with("profile=broken prior_state=None action=skipped error="),
        "{}",
        rows[1]
    );
    assert_eq!(rows[2], "profile=c prior_state=None action=started");
    assert!(!boot.has_slot("broken"));
    assert!(!boot.is_down("a") && !boot.is_down("c"));
}

// check 28
#[test]
fn under_one_gateway_for_all_named_profiles_stay_down() {
    for by_variable in [true, false] {
        let boot = Boot::new();
        boot.profile("coder", r#"{"desired_state":"running"}"#);
        boot.put("gateway_state.json", r#"{"gateway_state":"running"}"#);
        let variables: &[(&str, &str)] = if by_variable {
            &[("GATEWAY_MULTIPLEX_PROFILES", "true")]
        } else {
            boot.put("config.yaml", "gateway:\n  multiplex_profiles: true\n");
            &[]
        };
        boot.run_with(variables, None, false);
        assert!(boot.is_down("coder"), "{by_variable}");
        assert!(!boot.is_down("default"), "{by_variable}");
    }
}

#[test]
fn a_container_for_the_dashboard_leaves_gateways_alone() {
    let boot = Boot::new();
    boot.profile("coder", r#"{"desired_state":"running"}"#);
    let done = boot.run_with(&[], Some("dashboard --port 9119"), false);
    assert_eq!(
        shown(&done),
        ["profile=default prior_state=None action=skipped"]
    );
    assert!(done.notes[0].contains("dashboard"), "{:?}", done.notes);
    assert!(!boot.has_slot("coder") && !boot.has_slot("default"));
}

#[test]
fn the_command_of_a_container_without_a_state_says_what_is_wanted() {
    let boot = Boot::new();
    boot.run_with(&[], Some("gateway run"), false);
    assert!(!boot.is_down("default"));
    // Once there is a state, it decides.
    boot.put("gateway_state.json", r#"{"gateway_state":"stopped"}"#);
    boot.run_with(&[], Some("gateway run"), false);
    assert!(boot.is_down("default"));
    for (variables, command) in [
        (&[][..], "sleep infinity"),
        (&[][..], "gateway run --no-supervise"),
        (&[("HERMES_GATEWAY_NO_SUPERVISE", "1")][..], "gateway run"),
    ] {
        let boot = Boot::new();
        boot.run_with(variables, Some(command), false);
        assert!(boot.is_down("default"), "{command}");
    }
}

#[test]
fn a_linked_state_file_is_not_written_through() {
    let boot = Boot::new();
    let outside = boot.directory.path().join("outside");
    let link = boot.root().join("gateway_state.json");
    hermes_fs::symlink(&outside, &link).unwrap();
    boot.run_with(&[], Some("gateway run"), false);
    assert!(!hermes_fs::exists_no_follow(&outside));
}

#[test]
fn a_slot_of_an_earlier_boot_is_built_anew() {
    let boot = Boot::new();
    boot.put("gateway_state.json", r#"{"desired_state":"running"}"#);
    boot.run();
    let run = boot.scan_directory().join("gateway-default/run");
    hermes_fs::write_atomic(&run, b"old", 0o755).unwrap();
    boot.put("gateway_state.json", r#"{"desired_state":"stopped"}"#);
    boot.run();
    assert!(boot.is_down("default"));
    let text = hermes_fs::read_text_capped(&run, 1 << 20).unwrap();
    assert!(text.contains("gateway run"), "{text}");
}

#[test]
fn a_dry_run_changes_nothing() {
    let boot = Boot::new();
    boot.profile("coder", r#"{"desired_state":"running"}"#);
    boot.put("profiles/coder/gateway.pid", "{\"pid\":7}");
    let done = boot.run_with(&[], Some("gateway run"), true);
    assert_eq!(
        shown(&done),
        [
            "profile=coder prior_state=None action=started",
            "profile=default prior_state=None action=registered",
        ]
    );
    assert!(!boot.has_slot("coder") && !boot.has_slot("default"));
    assert!(boot.root().join("profiles/coder/gateway.pid").exists());
    assert!(!boot.root().join("logs").exists());
    assert!(!boot.root().join("gateway_state.json").exists());
    assert!(!boot.root().join("profiles/coder/profile.yaml").exists());
}

// check 29
#[test]
fn ports_are_stored_and_survive_the_next_boot() {
    let boot = Boot::new();
    boot.profile("coder", "");
    boot.profile("holder", "");
    boot.put("profiles/holder/profile.yaml", "gateway_port: 9653\n");
    let port = |name: &str| {
        hermes_home::profiles::load_meta(&boot.root().join("profiles").join(name)).gateway_port
    };
    boot.run();
    assert_eq!((port("coder"), port("holder")), (Some(9654), Some(9653)));
    hermes_fs::remove_tree(&boot.root().join("profiles/holder")).unwrap();
    boot.run();
    assert_eq!(port("coder"), Some(9654));
}

#[test]
fn fifty_profiles_take_less_than_a_third_of_a_second() {
    let boot = Boot::new();
    for number in 0..50 {
        boot.profile(&format!("p{number}"), r#"{"desired_state":"running"}"#);
        boot.put(
            &format!("profiles/p{number}/config.yaml"),
            "model:\n  default: some/model\nagent:\n  restart_drain_timeout: 20\n",
        );
    }
    // The first boot also stores fifty ports, which waits for the disk.
    boot.run();
    // The quickest of some: others may have the processor.
    let took = (0..5).map(|_| {
        let begun = Instant::now();
        let done = boot.run();
        assert_eq!(done.rows.len(), 51);
        assert!(done.rows.iter().all(|row| row.error.is_none()));
        begun.elapsed()
    });
    let took = took.min().unwrap();
    assert!(took.as_millis() < 300, "{took:?}");
}
