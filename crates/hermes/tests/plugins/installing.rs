//! Plugins come from repositories and directories, all at once or not at all.

use std::path::Path;

use hermes_testkit::{eventually, git, kill_at_every_write};
use pretty_assertions::assert_eq;

use crate::Desk;

#[test]
fn a_plugin_is_installed_updated_rolled_back_and_removed() {
    let desk = Desk::new("");
    let repository = desk.commit("1");
    let address = repository.display().to_string();
    desk.run(&["plugins", "install", &address, "--enable"])
        .succeeds()
        .prints_part("✓ Installed notes 1 in ")
        .prints_part("✓ notes is enabled");
    let listed = desk.list();
    assert_eq!(listed[0]["source"], "git");
    assert_eq!(listed[0]["version"], "1");
    desk.run(&["plugins", "update", "notes"])
        .succeeds()
        .prints_part("is up to date");
    desk.commit("2");
    desk.run(&["plugins", "update", "notes"])
        .succeeds()
        .prints_part("✓ notes 2: ")
        .says_part("--rollback notes");
    assert_eq!(desk.list()[0]["version"], "2");
    desk.run(&["plugins", "update", "--rollback", "notes"])
        .succeeds();
    assert_eq!(desk.list()[0]["version"], "1");
    desk.run(&["plugins", "remove", "notes"])
        .succeeds()
        .prints_part("✓ Removed ");
    assert!(desk.list().is_empty());
    assert!(!desk.home.read("config.yaml").contains("notes"));
    assert!(!desk.home.path(".plugins/previous/notes").exists());
    desk.run(&["plugins", "remove", "notes"]).exits(1);
}

#[test]
fn what_a_plugin_needs_is_told() {
    let desk = Desk::new("");
    let source = desk.home.outside("source");
    std::fs::create_dir_all(&source).unwrap();
    let manifest = "name: needy\npip_dependencies: ['x==1']\nrequires_env:\n\
                    - {name: NEEDY_KEY, description: A key, url: 'https://x.org/keys'}\n- HAVE_IT\n";
    std::fs::write(source.join("plugin.yaml"), manifest).unwrap();
    desk.home.put(".env", "HAVE_IT=1\n");
    let run = desk.run(&["plugins", "install", &source.display().to_string()]);
    run.succeeds()
        .says_part("It needs NEEDY_KEY: A key (https://x.org/keys)")
        .says_part("hermes config set NEEDY_KEY")
        .says_part("hermes plugins enable needy");
    assert!(!run.stderr.contains("HAVE_IT"), "{run:?}");
    assert_eq!(desk.list()[0]["status"], "not enabled");
}

// check 33
#[test]
fn what_must_not_be_installed_is_refused_and_changes_nothing() {
    let desk = Desk::new("");
    let repository = desk.commit("1");
    let address = format!("file://{}", repository.display());
    desk.run(&["plugins", "install", &address, "--no-enable"])
        .succeeds();
    std::os::unix::fs::symlink("/etc", repository.join("out")).unwrap();
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "link"]);
    let put = |name: &str, manifest: &str| {
        let directory = desk.home.outside(name);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("plugin.yaml"), manifest).unwrap();
        directory.display().to_string()
    };
    let hostile = put("hostile", "name: ../x\n");
    let newer = put("newer", "name: newer\nmanifest_version: 2\n");
    let same = put("same", "name: notes\nversion: '9'\n");
    let before = desk.home.tree().without_times();
    for (identifier, code, problem) in [
        ("../x", 1, "is not a directory"),
        (hostile.as_str(), 1, "cannot have '/'"),
        (newer.as_str(), 1, "manifest_version is 2"),
        (same.as_str(), 1, "A plugin 'notes' is installed"),
        (address.as_str(), 1, "leads out of it"),
        (&format!("{address}#out"), 1, "leads out of the repository"),
        (
            &format!("{address}#../.."),
            1,
            "leads out of the repository",
        ),
        ("owner/repo/../../x", 1, "leads out of the repository"),
        ("--upload-pack=x", 2, ""),
        ("ext::sh", 1, "does not name a plugin"),
        ("file:///nowhere/x.git", 3, "cannot be fetched"),
    ] {
        let run = desk.run(&["plugins", "install", identifier]);
        run.exits(code).says_part(problem);
    }
    // Logs tell of attempts.
    let mut after = desk.home.tree().without_times();
    after.0.retain(|path, _| !path.starts_with("logs"));
    let mut expected = before;
    expected.0.retain(|path, _| !path.starts_with("logs"));
    assert_eq!(after, expected);
}

// check 33
#[test]
fn a_clone_that_is_killed_halfway_leaves_nothing() {
    let desk = Desk::new("");
    let programs = desk.home.outside("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let fake = "#!/bin/sh\nfor target; do :; done\nmkdir -p \"$target\"; echo name: half > \"$target/plugin.yaml\"\n\
                echo $$ > \"$PLUGIN_TEST_PID\"; exec sleep 60\n";
    let pid = desk.home.outside("pid");
    let script = fake.replace("$PLUGIN_TEST_PID", &pid.display().to_string());
    desk.home.put_outside("programs/git", script, 0o755);
    let path = format!("{}:/usr/bin:/bin", programs.display());
    // The clone is killed.
    let call = desk
        .home
        .hermes(["plugins", "install", "https://x.invalid/a.git"]);
    let mut running = call.env("PATH", &path).start();
    eventually("git runs", || {
        std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))
    });
    kill(&pid, "-9");
    assert_eq!(running.wait().code(), Some(3));
    assert!(stages(&desk).is_empty());
    assert!(desk.list().is_empty());
    // The program is killed; the next one cleans up.
    std::fs::remove_file(&pid).unwrap();
    let call = desk
        .home
        .hermes(["plugins", "install", "https://x.invalid/a.git"]);
    let mut running = call.env("PATH", &path).start();
    eventually("git runs", || {
        std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))
    });
    running.kill();
    running.wait();
    assert!(desk.list().is_empty());
    kill(&pid, "-9");
    let repository = desk.commit("1");
    desk.run(&["plugins", "install", &repository.display().to_string()])
        .succeeds();
    assert!(stages(&desk).is_empty());
}

fn kill(pid: &Path, signal: &str) {
    let pid = std::fs::read_to_string(pid).unwrap();
    let mut command = std::process::Command::new("kill");
    command.args([signal, pid.trim()]).status().unwrap();
}

fn stages(desk: &Desk) -> Vec<String> {
    let entries = std::fs::read_dir(desk.home.path(".plugins"))
        .unwrap()
        .flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("tmp")).collect()
}

#[test]
fn a_kill_at_any_write_leaves_the_old_or_the_new_plugin() {
    let desk = Desk::new("");
    let repository = desk.commit("1");
    let address = repository.display().to_string();
    desk.run(&["plugins", "install", &address, "--no-enable"])
        .succeeds();
    desk.commit("2");
    let points = kill_at_every_write(
        &desk.home,
        &["plugins", "install", &address, "--force", "--no-enable"],
        |point, home, run| {
            let listed = home.run(["plugins", "list", "--json"]).succeeds().json();
            let version = listed[0]["version"].as_str().unwrap_or_default();
            assert!(["1", "2"].contains(&version), "{point}: {listed}");
            assert_eq!(listed.as_array().unwrap().len(), 1, "{point}");
            if !run.was_killed() {
                assert_eq!(version, "2");
            }
        },
    );
    assert!(points.0 > 3, "{points:?}");
}
