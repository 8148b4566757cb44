//! Profiles under fire: killed at every write, raced by other processes.
//!
//! The tests run this binary again as a child that does the work and dies on the way.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use hermes_home::profiles::{
    self, CloneDepth, ConfigChoice, InstallTools, ProfileContent, apply_delete, apply_install,
    plan_delete, plan_install,
};
use hermes_home::{Error, HomePolicy};
use pretty_assertions::assert_eq;

use crate::database;
use crate::test_root::{TestRoot, create_in, fresh, location_of, name, read, system, tree, write};

const USER_HOME: &str = "HERMES_HOME_TEST_USER_HOME";
const KILL_AT: &str = "HERMES_HOME_TEST_KILL_AT";

/// In the child: the user's home, with the hook armed.
fn as_child() -> Option<PathBuf> {
    let home = std::env::var(USER_HOME).ok()?;
    if let Ok(point) = std::env::var(KILL_AT) {
        hermes_fs::fault::arm(point.parse().unwrap());
    }
    Some(home.into())
}

fn child(test: &str, user_home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(USER_HOME, user_home)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run_until(test: &str, user_home: &Path, point: u32) -> ExitStatus {
    let output = child(test, user_home)
        .env(KILL_AT, point.to_string())
        .output()
        .unwrap();
    let killed = output.status.signal() == Some(9);
    assert!(
        killed || output.status.success(),
        "point {point}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.status
}

/// Kills the child at each write point in turn until it gets through; checks after each.
fn kill_everywhere(test: &str, user_home: &Path, least: u32, mut check: impl FnMut(u32)) {
    for point in 1.. {
        let status = run_until(test, user_home, point);
        check(point);
        if status.success() {
            assert!(point > least, "{test} passed only {point} write points");
            return;
        }
    }
}

fn names(test: &TestRoot) -> Vec<String> {
    let all = test.list().profiles.into_iter();
    all.map(|profile| profile.name.to_string()).collect()
}

/// Paths relative to a home, with modes.
fn shape(home: &Path) -> Vec<(PathBuf, u32)> {
    tree(home)
        .into_iter()
        .map(|(path, mode)| (path.strip_prefix(home).unwrap().to_owned(), mode))
        .collect()
}

fn furnish(home: &Path) {
    for (path, text) in [
        ("config.yaml", "model: m\n"),
        (".env", "A=1\n"),
        ("skills/a/SKILL.md", "s"),
        ("profile.yaml", "gateway_port: 1\n"),
    ] {
        write(&home.join(path), text);
    }
    database::with_rows(&home.join("memory_store.db"), 1);
}

#[test]
fn a_killed_clone_leaves_the_whole_profile_or_none() {
    let everything = |user_home: &Path| ProfileContent::Clone {
        source: location_of(user_home).root.join("profiles/src"),
        depth: CloneDepth::Everything,
    };
    if let Some(user_home) = as_child() {
        let content = everything(&user_home);
        create_in(&location_of(&user_home), &name("copy"), content).unwrap();
        return;
    }
    let test = TestRoot::new();
    furnish(&test.profile("src"));
    test.create_with("model", everything(test.user_home()))
        .unwrap();
    let whole = shape(&test.profile("model"));

    let test_name = "crash::a_killed_clone_leaves_the_whole_profile_or_none";
    let mut seen = [0; 2];
    kill_everywhere(test_name, test.user_home(), 30, |point| {
        let made = names(&test).contains(&"copy".to_owned());
        if let Some(count) = seen.get_mut(usize::from(made)) {
            *count += 1;
        }
        if !made {
            // The next one is not disturbed by what the killed one left, and clears it away.
            test.create_with("copy", everything(test.user_home()))
                .unwrap();
        }
        assert_eq!(shape(&test.profile("copy")), whole, "point {point}");
        std::fs::remove_dir_all(test.profile("copy")).unwrap();
        assert_eq!(names(&test), ["default", "model", "src"]);
    });
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    test.create("last").unwrap();
    assert_eq!(test.on_disk(), ["last", "model", "src"]);
}

#[test]
fn a_killed_deletion_leaves_the_whole_profile_or_none() {
    if let Some(user_home) = as_child() {
        let location = location_of(&user_home);
        let plan = plan_delete(&location, &name("coder")).unwrap();
        apply_delete(&location, &plan).unwrap();
        return;
    }
    let test = TestRoot::new();
    let location = test.location();
    test.create("coder").unwrap();
    let whole = shape(&test.profile("coder"));
    let test_name = "crash::a_killed_deletion_leaves_the_whole_profile_or_none";
    profiles::use_profile(&location, &name("coder")).unwrap();
    kill_everywhere(test_name, test.user_home(), 15, |point| {
        if names(&test).contains(&"coder".to_owned()) {
            assert_eq!(shape(&test.profile("coder")), whole, "point {point}");
            let plan = plan_delete(&location, &name("coder")).unwrap();
            apply_delete(&location, &plan).unwrap();
            assert_eq!(test.on_disk(), Vec::<String>::new(), "point {point}");
        }
        test.create("coder").unwrap();
        assert_eq!(test.on_disk(), ["coder"], "point {point}");
        profiles::use_profile(&location, &name("coder")).unwrap();
    });
}

fn update_in(user_home: &Path) -> Result<(), Error> {
    let location = location_of(user_home);
    let env = crate::helper_env(None);
    let tools = InstallTools {
        env: &env,
        version: "0.19.0",
    };
    let facts = system();
    let config = hermes_config::Environment::from_pairs([("HOME", user_home)]);
    let policy = HomePolicy::resolve(&config, &facts, &location.root);
    if location.profile_home(&name("dist")).exists() {
        profiles::update(&location, &name("dist"), ConfigChoice::Keep, tools, &policy)?;
    } else {
        let source = user_home.join("source");
        let plan = plan_install(&location, source.to_str().unwrap(), None, tools)?;
        apply_install(&location, &plan, false, &policy)?;
    }
    Ok(())
}

#[test]
fn a_killed_update_can_be_repeated_and_loses_nothing() {
    if let Some(user_home) = as_child() {
        update_in(&user_home).unwrap();
        return;
    }
    let test = TestRoot::new();
    let publish = |version: &str| {
        let source = test.path("source");
        write(
            &source.join("distribution.yaml"),
            &format!("name: dist\nversion: {version}\n"),
        );
        write(&source.join("SOUL.md"), version);
        write(&source.join("skills/a/SKILL.md"), version);
    };
    publish("1");
    update_in(test.user_home()).unwrap();
    let dist = test.profile("dist");
    write(&dist.join("memories/MEMORY.md"), "mine");
    let version = |file: &str| read(&dist.join(file));
    publish("2");
    let test_name = "crash::a_killed_update_can_be_repeated_and_loses_nothing";
    kill_everywhere(test_name, test.user_home(), 20, |point| {
        // Each file is there, old or new; the manifest says new only when all are.
        for file in ["SOUL.md", "skills/a/SKILL.md"] {
            assert!(
                ["1", "2"].contains(&version(file).as_str()),
                "point {point}"
            );
        }
        if version("distribution.yaml").contains("version: 2") {
            assert_eq!(version("SOUL.md"), "2", "point {point}");
            assert_eq!(version("skills/a/SKILL.md"), "2", "point {point}");
        }
        assert_eq!(version("memories/MEMORY.md"), "mine");
        publish("1");
        update_in(test.user_home()).unwrap();
        assert_eq!(version("skills/a/SKILL.md"), "1");
        let left: Vec<_> = crate::test_root::names_in(&dist)
            .into_iter()
            .filter(|name| name.contains(".tmp-"))
            .collect();
        assert_eq!(left, Vec::<String>::new(), "point {point}");
        publish("2");
    });
}

#[test]
fn of_ten_processes_that_create_one_profile_one_wins() {
    if let Some(user_home) = as_child() {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        match create_in(&location_of(&user_home), &name("coder"), fresh()) {
            Ok(_) => println!("won the race"),
            Err(Error::Exists { .. }) => {}
            Err(other) => panic!("{other}"),
        }
        return;
    }
    let test = TestRoot::new();
    let mut racers: Vec<_> = (0..10)
        .map(|_| {
            child(
                "crash::of_ten_processes_that_create_one_profile_one_wins",
                test.user_home(),
            )
            .stdin(Stdio::piped())
            .spawn()
            .unwrap()
        })
        .collect();
    for racer in &mut racers {
        racer.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    let won = racers
        .into_iter()
        .map(|racer| racer.wait_with_output().unwrap())
        .filter(|output| {
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8_lossy(&output.stdout).contains("won the race")
        })
        .count();
    assert_eq!(won, 1);
    assert_eq!(test.on_disk(), ["coder"]);
}
