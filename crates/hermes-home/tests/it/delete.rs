//! Deleting and renaming profiles, with what runs for them.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use hermes_home::profiles::{
    self, apply_delete, plan_delete, rename, stop_gateway, sweep, use_profile,
};
use hermes_home::{AliasRules, Aliases, Error, Sticky, gateway_pid, sticky_profile};
use hermes_proc::Stopped;
use pretty_assertions::assert_eq;

use crate::gateway_probe::FakeHermes;
use crate::test_root::{TestRoot, name, names_in, read, set_mode, tree, write};

const RULES: AliasRules<'_> = AliasRules {
    subcommands: &["chat"],
    path: None,
};

fn alias(test: &TestRoot, alias: &str, profile: &str) {
    let aliases = Aliases::of(&test.location());
    let checked = aliases.check(alias, RULES).unwrap();
    aliases
        .write(&checked, &name(profile), Path::new("/usr/bin/hermes"))
        .unwrap();
}

#[test]
fn a_plan_changes_nothing_and_tells_all() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    alias(&test, "coder", "coder");
    alias(&test, "cc", "coder");
    use_profile(&test.location(), &name("coder")).unwrap();
    let before = tree(test.user_home());
    let plan = plan_delete(&test.location(), &name("coder")).unwrap();
    assert_eq!(tree(test.user_home()), before);
    assert_eq!(plan.profile.name, name("coder"));
    assert_eq!(plan.aliases.len(), 2);
    assert_eq!(plan.processes, Vec::<u32>::new());
    assert!(plan.is_sticky);
    assert!(plan.profile.gateway_pid.is_none());
}

#[test]
fn everything_of_the_profile_goes_and_nothing_else() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    test.create("writer").unwrap();
    for (wrapper, profile) in [("coder", "coder"), ("cc", "coder"), ("writer", "writer")] {
        alias(&test, wrapper, profile);
    }
    use_profile(&test.location(), &name("coder")).unwrap();
    // What is hard to remove.
    let locked = test.profile("coder").join("locked");
    write(&locked.join("f"), "x");
    set_mode(&locked, 0o500);
    // What someone else keeps where the profile points to.
    write(&test.path("precious/f"), "x");
    std::os::unix::fs::symlink(test.path("precious"), test.profile("coder").join("link")).unwrap();

    let plan = plan_delete(&test.location(), &name("coder")).unwrap();
    let report = apply_delete(&test.location(), &plan).unwrap();
    assert_eq!(report.aliases.len(), 2);
    assert!(report.sticky_reset);
    assert_eq!(report.gateway, None);
    assert_eq!(test.on_disk(), ["writer"]);
    assert_eq!(names_in(&test.path(".local/bin")), ["writer"]);
    assert_eq!(sticky_profile(&test.location()), Sticky::Unset);
    assert!(!test.root().join("active_profile").exists());
    assert!(test.path("precious/f").exists());

    let again = apply_delete(&test.location(), &plan).unwrap_err();
    assert!(matches!(again, Error::Missing { .. }), "{again}");
}

#[test]
fn a_profile_that_is_a_link_loses_the_link_only() {
    let test = TestRoot::new();
    write(&test.path("disk/coder/SOUL.md"), "x");
    std::fs::create_dir_all(test.root().join("profiles")).unwrap();
    std::os::unix::fs::symlink(test.path("disk/coder"), test.profile("coder")).unwrap();
    let plan = plan_delete(&test.location(), &name("coder")).unwrap();
    apply_delete(&test.location(), &plan).unwrap();
    assert_eq!(test.on_disk(), Vec::<String>::new());
    assert!(test.path("disk/coder/SOUL.md").exists());
}

#[test]
fn default_and_missing_profiles_are_refused() {
    let test = TestRoot::new();
    let error = plan_delete(&test.location(), &name("default")).unwrap_err();
    assert_eq!(
        error.hint().unwrap(),
        "to remove everything, delete the directory ~/.hermes"
    );
    assert!(matches!(
        plan_delete(&test.location(), &name("gone")),
        Err(Error::Missing { .. })
    ));
}

#[test]
fn a_running_gateway_is_told_and_stopped() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    let home = test.profile("coder");
    let gateway = FakeHermes::start(&test, &["gateway", "run"], &home);
    let _lock = gateway.take_lock(&home);
    let stopped = stop_gateway(&home, Duration::ZERO).unwrap().unwrap();
    assert_eq!(
        (stopped.pid, stopped.how),
        (gateway.pid(), Stopped::Gracefully)
    );
    let marker: serde_json::Value =
        serde_json::from_str(&read(&home.join(".gateway-planned-stop.json"))).unwrap();
    assert_eq!(marker["target_pid"], gateway.pid());
    assert_eq!(marker["target_start_time"], gateway.start_time());
    assert_eq!(marker["stopper_pid"], std::process::id());
    let written = marker["written_at"].as_str().unwrap();
    assert!(
        written.ends_with("+00:00") && written.len() == 32,
        "{written}"
    );
    assert!(gateway_pid(&home).is_none());
    assert_eq!(stop_gateway(&home, Duration::ZERO).unwrap(), None);
}

#[test]
fn deletion_stops_the_gateway_and_servers_of_this_profile_only() {
    let test = TestRoot::new();
    for profile in ["coder", "writer"] {
        test.create(profile).unwrap();
    }
    let home = test.profile("coder");
    let mut gateway = FakeHermes::start(&test, &["-p", "coder", "gateway", "run"], &test.root());
    let lock = gateway.take_lock(&home);
    let mut by_flag = FakeHermes::start(&test, &["serve", "--profile", "coder"], &test.root());
    let mut by_home = FakeHermes::start(&test, &["dashboard"], &home);
    // A chat is the user's own; the others belong to another profile or another root.
    let elsewhere = TestRoot::new();
    let mut spared = [
        FakeHermes::start(&test, &["chat", "-p", "coder"], &test.root()),
        FakeHermes::start(&test, &["-p", "writer", "gateway", "run"], &test.root()),
        FakeHermes::start(
            &elsewhere,
            &["-p", "coder", "gateway", "run"],
            &elsewhere.root(),
        ),
    ];
    let plan = plan_delete(&test.location(), &name("coder")).unwrap();
    assert_eq!(plan.profile.gateway_pid, Some(gateway.pid()));
    let mut planned = plan.processes.clone();
    planned.sort_unstable();
    let mut others = vec![by_flag.pid(), by_home.pid()];
    others.sort_unstable();
    assert_eq!(planned, others);

    let report = apply_delete(&test.location(), &plan).unwrap();
    drop(lock);
    assert_eq!(report.gateway.unwrap().pid, gateway.pid());
    assert_eq!(report.processes.len(), 2);
    assert!(gateway.has_ended() && by_flag.has_ended() && by_home.has_ended());
    assert!(spared.iter_mut().all(|process| !process.has_ended()));
    assert_eq!(test.on_disk(), ["writer"]);
}

#[test]
fn a_rename_takes_aliases_and_pointer_along() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    alias(&test, "coder", "coder");
    use_profile(&test.location(), &name("coder")).unwrap();
    let home = test.profile("coder");
    let mut gateway = FakeHermes::start(&test, &["gateway", "run"], &home);
    let lock = gateway.take_lock(&home);

    let hermes = Path::new("/usr/bin/hermes");
    let report = rename(
        &test.location(),
        &name("coder"),
        &name("dev"),
        hermes,
        RULES,
    )
    .unwrap();
    drop(lock);
    assert!(gateway.has_ended());
    assert_eq!(report.gateway.unwrap().pid, gateway.pid());
    assert!(report.sticky_moved);
    assert_eq!(report.location.home, test.profile("dev"));
    assert_eq!(test.on_disk(), ["dev"]);
    assert_eq!(read(&test.root().join("active_profile")), "dev\n");
    assert_eq!(names_in(&test.path(".local/bin")), ["dev"]);
}

#[test]
fn renames_that_cannot_be_are_refused_before_anything_happens() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    test.create("writer").unwrap();
    let before = tree(&test.root());
    let hermes = Path::new("/usr/bin/hermes");
    let attempt = |old: &str, new: &str| {
        rename(&test.location(), &name(old), &name(new), hermes, RULES).unwrap_err()
    };
    assert!(matches!(attempt("coder", "writer"), Error::Exists { .. }));
    assert!(matches!(attempt("coder", "coder"), Error::Exists { .. }));
    assert!(matches!(attempt("gone", "new"), Error::Missing { .. }));
    assert!(matches!(
        attempt("default", "new"),
        Error::DefaultProfile { .. }
    ));
    assert!(matches!(
        attempt("coder", "default"),
        Error::DefaultProfile { .. }
    ));
    assert_eq!(tree(&test.root()), before);
}

#[test]
fn left_overs_are_cleared_away_and_work_in_progress_is_not() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    let profiles = test.root().join("profiles");
    write(&profiles.join(".old.tmp-4194305/f"), "x");
    write(&profiles.join(".old.deleted-1700000000000-7/f"), "x");
    write(&profiles.join(".hidden/f"), "the user's");
    let staging = hermes_fs::Staging::begin(&profiles, "next").unwrap();
    sweep(&test.location());
    let kept = staging.path().file_name().and_then(OsStr::to_str).unwrap();
    assert_eq!(test.on_disk(), [".hidden", kept, "coder"]);
    // None of these is a profile.
    assert_eq!(test.list().profiles.len(), 2);
    assert!(profiles::existing(&test.location(), &name("coder")).is_ok());
}
