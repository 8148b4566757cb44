//! `config set`, `unset` and `migrate` touch what they should and nothing else.

use std::os::unix::fs::PermissionsExt;

use crate::{configured, fresh};

const COMMENTED: &str = "\
# Settings of this machine, kept by hand.

model: &main          # which one
  default: 'small'    # quoted for a reason

terminal:
  # seconds
  timeout: 180   # long builds
  backend: local

fallback_model: *main
# the end
";

// check 10
#[test]
fn one_line_changes_and_every_comment_survives() {
    let home = configured(COMMENTED);
    std::fs::set_permissions(home.path("config.yaml"), PermissionsExt::from_mode(0o640)).unwrap();
    home.run(["config", "set", "terminal.timeout", "99"])
        .succeeds()
        .says("")
        .prints("✓ Set terminal.timeout = 99 in ~/.hermes/config.yaml\n");
    assert_eq!(
        home.read("config.yaml"),
        COMMENTED.replace("timeout: 180 ", "timeout: 99 ")
    );
    assert_eq!(home.mode("config.yaml"), 0o640);
}

// check 10
#[test]
fn a_linked_file_stays_a_link() {
    let home = configured("");
    let real = home.put_outside("dotfiles/hermes.yaml", COMMENTED, 0o644);
    std::fs::remove_file(home.path("config.yaml")).unwrap();
    std::os::unix::fs::symlink(&real, home.path("config.yaml")).unwrap();
    home.run(["config", "set", "terminal.timeout", "99"])
        .succeeds();
    assert_eq!(std::fs::read_link(home.path("config.yaml")).unwrap(), real);
    assert_eq!(
        std::fs::read_to_string(&real).unwrap(),
        COMMENTED.replace("timeout: 180 ", "timeout: 99 ")
    );
}

/// Copies of a broken file kept beside it.
fn corrupt_copies(home: &hermes_testkit::TestHome) -> Vec<String> {
    let tree = home.tree();
    let copies = tree
        .paths()
        .into_iter()
        .filter(|path| path.starts_with(".hermes/config.yaml.corrupt."));
    copies.map(str::to_owned).collect()
}

// check 11
#[test]
fn a_broken_file_is_never_rewritten_and_kept_once() {
    for (content, message) in [
        (
            "a: 1\nb: [1, 2\nc: 3\n",
            "cannot be parsed: line 3, column 2: ",
        ),
        (
            "- a\n",
            "cannot be parsed: line 1: the file must be a mapping of settings, not a list; it is \
             not changed",
        ),
        (
            "just text\n",
            "cannot be parsed: line 1: the file must be a mapping of settings, not a single \
             value; it is not changed",
        ),
    ] {
        let home = configured(content);
        let before = home.tree().only(|path| path.ends_with("config.yaml"));
        for args in [
            ["config", "set", "terminal.timeout", "99"].as_slice(),
            &["config", "unset", "terminal.timeout"],
            &["config", "migrate"],
            &["config", "set", "terminal.cwd", "/x", "--force"],
        ] {
            let outcome = home.run(args);
            outcome.exits(1).prints("").says_part(message);
            assert!(outcome.stderr.starts_with("Error: /"), "{outcome}");
        }
        before.is_still(&home.tree().only(|path| path.ends_with("config.yaml")));
        let copies = corrupt_copies(&home);
        assert_eq!(copies.len(), 1, "{copies:?}");
        assert_eq!(
            std::fs::read_to_string(home.user_home().join(&copies[0])).unwrap(),
            content
        );
        // Reading goes on with defaults, says so, and copies nothing again.
        home.run(["config", "get", "terminal.timeout"])
            .succeeds()
            .prints("180\n")
            .says_part("⚠️  hermes config: Failed to parse ");
        home.run(["config", "check"]).exits(1);
        assert_eq!(corrupt_copies(&home).len(), 1);
    }
}

// check 14
#[test]
fn references_to_variables_survive_an_unrelated_change() {
    let home = configured("terminal:\n  cwd: ${HOME}/x\n  docker_image: ${NOPE}\n");
    home.run(["config", "get", "terminal.cwd"])
        .succeeds()
        .prints(&format!("{}/x\n", home.user_home().display()));
    home.run(["config", "get", "terminal.docker_image"])
        .succeeds()
        .prints("${NOPE}\n");
    home.run(["config", "set", "terminal.timeout", "9"])
        .succeeds();
    assert_eq!(
        home.read("config.yaml"),
        "terminal:\n  cwd: ${HOME}/x\n  docker_image: ${NOPE}\n  timeout: 9\n"
    );
}

// check 15
#[test]
fn an_old_file_is_migrated_once_with_backups() {
    let old = "_config_version: 24\ndelegation: # sub-agents\n  max_async_children: 8\n";
    let home = configured(old);
    let dry = home.run(["config", "migrate", "--dry-run"]);
    dry.succeeds()
        .prints_part("Config version: 24 → 33 (would change)\n");
    assert_eq!(home.read("config.yaml"), old);

    home.run(["config", "migrate"])
        .succeeds()
        .prints_part("Config version: 24 → 33 (changed)\n");
    let migrated = home.read("config.yaml");
    assert!(migrated.contains("# sub-agents"), "{migrated}");
    for (key, value) in [
        ("_config_version", "33\n"),
        ("delegation.max_concurrent_children", "8\n"),
    ] {
        home.run(["config", "get", key]).succeeds().prints(value);
    }
    assert!(!migrated.contains("max_async_children"), "{migrated}");
    let tree = home.tree();
    let backups: Vec<&str> = tree
        .paths()
        .into_iter()
        .filter(|path| path.starts_with(".hermes/config.yaml.bak."))
        .collect();
    assert_eq!(backups.len(), 1, "{:?}", tree.paths());
    let backup = home.user_home().join(backups[0]);
    assert_eq!(std::fs::read_to_string(backup).unwrap(), old);

    home.run(["config", "migrate"])
        .succeeds()
        .prints("Config version: 33 ✓\n");
    tree.is_still(&home.tree());
}

// check 15
#[test]
fn a_file_of_a_newer_version_is_left_alone() {
    let home = configured("_config_version: 99\nterminal: {timeout: 5}\n");
    let before = home.tree();
    home.run(["config", "migrate"])
        .succeeds()
        .says("warning: config.yaml has schema version 99, newer than 33; it is used as is\n");
    before.is_still(&home.tree());
    home.run(["config", "get", "terminal.timeout"])
        .prints("5\n");
}

#[test]
fn unset_brings_the_default_back_and_knows_what_is_not_set() {
    let home = configured(COMMENTED);
    home.run(["config", "unset", "terminal.timeout"])
        .succeeds()
        .prints("✓ Removed terminal.timeout from ~/.hermes/config.yaml\n");
    home.run(["config", "get", "terminal.timeout"])
        .prints("180\n");
    let before = home.tree();
    let file = home.path("config.yaml");
    home.run(["config", "unset", "terminal.timeout"]).refuses(
        1,
        &format!("terminal.timeout in {} is not set", file.display()),
    );
    before.is_still(&home.tree());
}

#[test]
fn the_first_setting_makes_a_private_file() {
    let home = fresh();
    home.run(["config", "set", "terminal.timeout", "9"])
        .succeeds();
    assert_eq!(
        home.read("config.yaml"),
        "terminal:\n  timeout: 9\n_config_version: 33\n"
    );
    assert_eq!(home.mode("config.yaml"), 0o600);
    assert_eq!(home.mode(""), 0o700);
}
