//! `doctor`: looks, and mends only when asked.

use std::time::{Duration, Instant};

use crate::{configured, fresh, with_coder};

// check 37
#[test]
fn on_a_read_only_home_without_network_it_ends_soon_and_changes_nothing() {
    let home = configured("_config_version: 24\nterminal: {timeout: soon}\nfoo: 1\n");
    home.put(".env", "OPENROUTER_API_KEY=v\n");
    home.run(["profile", "create", "coder"]).succeeds();
    let before = home.tree();
    let started = Instant::now();
    let outcome = home
        .hermes(["doctor"])
        .in_mount_namespace(
            "mount --bind \"$HOME\" \"$HOME\"
             mount -o remount,bind,ro \"$HOME\"
             cd \"$HOME\"
             if touch probe 2>/dev/null; then echo 'the home is still writable' >&2; exit 99; fi
             exec unshare --net \"$0\" \"$@\"",
        )
        .run();
    assert!(started.elapsed() < Duration::from_secs(15), "{outcome}");
    outcome
        .exits(1)
        .says("")
        .prints_part("✗ ~/.hermes is not writable\n")
        .prints_part("\n2 to fix:\n  1. ");
    before.is_still(&home.tree());
}

#[test]
fn a_fresh_home_has_no_problem_and_nothing_is_made() {
    let home = fresh();
    home.run(["doctor"])
        .succeeds()
        .says("")
        .prints_part("~/.hermes does not exist yet")
        .prints_part("\nNo problems found.\n");
    assert_eq!(home.tree().paths(), Vec::<&str>::new());
}

#[test]
fn a_zone_nobody_knows_is_told() {
    let home = configured("timezone: Atlantis/Capital\n");
    home.run(["doctor"])
        .prints_part("timezone 'Atlantis/Capital' is not known on this machine\n");
    let home = configured("timezone: UTC\n");
    let told = home.run(["doctor"]).stdout;
    assert!(!told.contains("timezone"), "{told}");
}

#[test]
fn settings_of_the_python_runtime_are_named_by_doctor_and_config_check() {
    let home = configured("terminal: {modal_mode: auto, timeout: 9}\ntts: {provider: x}\n");
    home.run(["doctor"])
        .prints_part("used by the Python runtime only: terminal.modal_mode, tts\n");
    home.run(["config", "check"])
        .prints_part("terminal.modal_mode: used by the Python runtime only\n")
        .prints_part("tts: used by the Python runtime only\n");
}

#[test]
fn it_mends_what_it_may() {
    let home = with_coder();
    home.put(
        "config.yaml",
        "# mine\n_config_version: 24\nOPENROUTER_API_KEY: sk-or-canary-0123456789\n",
    );
    // A command whose profile is gone.
    home.run(["profile", "create", "gone"]).succeeds();
    std::fs::remove_dir_all(home.path("profiles/gone")).unwrap();

    let before = home.tree();
    home.run(["doctor"]).never_shows("or-canary");
    before.is_still(&home.tree());

    let fixed = home.run(["doctor", "--fix"]);
    fixed.succeeds().never_shows("or-canary");
    fixed
        .prints_part("  ✓ fixed: create what is missing in ~/.hermes\n")
        .prints_part("  ✓ fixed: migrate config.yaml\n")
        .prints_part("  ✓ fixed: move OPENROUTER_API_KEY to .env\n")
        .prints_part("  ✓ fixed: remove the alias gone\n");
    assert_eq!(home.read("config.yaml"), "# mine\n_config_version: 33\n");
    assert_eq!(
        home.read(".env"),
        "OPENROUTER_API_KEY=sk-or-canary-0123456789\n"
    );
    assert!(!home.alias_dir().join("gone").exists());
    assert!(home.path("memories").is_dir());
}

#[test]
fn one_token_in_two_profiles_is_found_and_not_shown() {
    let home = with_coder();
    let line = "TELEGRAM_BOT_TOKEN=123456789:canary-canary-canary-canary-canary\n";
    home.put(".env", line);
    home.put("profiles/coder/.env", line);
    home.run(["doctor"])
        .prints_part("TELEGRAM_BOT_TOKEN")
        .never_shows("canary");
}

#[test]
fn a_name_set_twice_is_told_by_name_only() {
    let home = configured("");
    home.put(".env", "OPENROUTER_API_KEY=inner-canary\n");
    home.hermes(["doctor"])
        .env("OPENROUTER_API_KEY", "outer-canary")
        .run()
        .prints_part("OPENROUTER_API_KEY")
        .prints_part("the environment wins")
        .never_shows("canary");
}

#[test]
fn a_damaged_database_is_a_problem() {
    let home = configured("");
    home.put("state.db", vec![7_u8; 9000]);
    home.run(["doctor"]).exits(1).prints_part("state.db");
}
