//! Which home a command is about.

use crate::{fresh, with_coder};

// check 1
#[test]
fn a_blank_home_variable_counts_as_unset() {
    let home = fresh();
    let path = home.root().join("config.yaml");
    home.hermes(["config", "path"])
        .env("HERMES_HOME", "  ")
        .run()
        .succeeds()
        .prints(&format!("{}\n", path.display()));
}

// check 1
#[test]
fn a_home_below_profiles_has_its_grandparent_as_root() {
    let home = fresh();
    let elsewhere = home.outside("x");
    std::fs::create_dir_all(elsewhere.join("profiles/p")).unwrap();
    let listed = home
        .hermes(["profile", "list", "--json"])
        .env("HERMES_HOME", elsewhere.join("profiles/p"))
        .run();
    let listed = listed.succeeds().json();
    assert_eq!(listed["root"], elsewhere.display().to_string());
    assert_eq!(listed["active"], "p");
}

#[test]
fn a_relative_home_counts_from_the_start_directory() {
    let home = fresh();
    let path = home.user_home().join("here/config.yaml");
    home.hermes(["config", "path"])
        .env("HERMES_HOME", "here")
        .run()
        .succeeds()
        .prints(&format!("{}\n", path.display()));
    home.hermes(["config", "set", "terminal.timeout", "7"])
        .env("HERMES_HOME", "./here")
        .run()
        .succeeds();
    assert!(path.is_file());
    assert!(!home.root().exists());
}

// check 4
#[test]
fn a_sticky_profile_that_is_gone_can_be_put_right() {
    let home = fresh();
    home.put("active_profile", "gone\n");
    home.run(["status"]).refuses(
        1,
        "Profile 'gone' does not exist. Create it with: hermes profile create gone",
    );
    home.run(["profile", "use", "default"])
        .succeeds()
        .prints("Switched to: default (~/.hermes)\n");
    assert!(!home.has("active_profile"));
    home.run(["status"]).succeeds();
}

// check 4
#[test]
fn a_sticky_file_that_is_no_text_is_ignored() {
    let home = fresh();
    home.put("active_profile", b"\xff\xfe");
    let status = home.run(["status", "--json"]);
    assert_eq!(status.succeeds().json()["profile"], "default");
}

#[test]
fn the_sticky_profile_is_used_until_a_flag_says_otherwise() {
    let home = with_coder();
    home.run(["profile", "use", "CODER"])
        .succeeds()
        .prints("Switched to: coder\n");
    assert_eq!(home.read("active_profile"), "coder\n");
    let of = |args: &[&str]| home.run(args).succeeds().json()["profile"].clone();
    assert_eq!(of(&["status", "--json"]), "coder");
    assert_eq!(of(&["status", "--json", "-p", "default"]), "default");
    home.run(["profile"])
        .succeeds()
        .prints_part("Active profile: coder\n");
}

// check 5
#[test]
fn every_way_of_naming_a_profile_leads_to_the_same_home() {
    let home = with_coder();
    let wanted = format!("{}\n", home.path("profiles/coder/config.yaml").display());
    for args in [
        ["-p", "coder", "config", "path"].as_slice(),
        &["config", "path", "-p", "coder"],
        &["config", "-p", "coder", "path"],
        &["--profile=coder", "config", "path"],
        &["--profile", "Coder", "config", "path"],
        &["config", "path", "--profile=coder"],
    ] {
        home.run(args).succeeds().prints(&wanted);
    }
    let alias = home.alias_dir().join("coder");
    home.hermes(["config", "path"])
        .program(alias)
        .run()
        .succeeds()
        .prints(&wanted);
}

// check 5
#[test]
fn what_is_no_profile_name_is_left_to_the_argument_parser() {
    let home = fresh();
    let outcome = home.run(["-p", "no:xdist", "status"]);
    outcome.exits(2).prints("").says_part("no:xdist");
    let outcome = home.run(["--profile=no:xdist", "status"]);
    outcome.refuses(
        1,
        "'no:xdist' is not a valid profile name: use lowercase letters, digits, '-' and '_', with \
         a letter or digit first",
    );
}

// check 5
#[test]
fn flags_behind_the_arguments_of_a_server_are_not_ours() {
    let home = fresh();
    let outcome = home.run(["mcp", "add", "x", "--args", "cmd", "--profile", "y"]);
    // The command comes later; what matters is that nobody looked for a profile `y`.
    outcome.exits(2).says_part("--command, --url or --preset");
    assert!(!outcome.stderr.contains("Profile 'y'"), "{outcome}");
}

#[test]
fn a_missing_profile_is_named_with_the_way_to_create_it() {
    let home = fresh();
    home.run(["-p", "coder", "config", "path"]).refuses(
        1,
        "Profile 'coder' does not exist. Create it with: hermes profile create coder",
    );
    // Nobody brings a profile back by writing to it.
    home.hermes(["config", "set", "terminal.timeout", "1"])
        .env("HERMES_HOME", home.path("profiles/coder"))
        .run()
        .exits(1);
    assert!(!home.root().exists());
}
