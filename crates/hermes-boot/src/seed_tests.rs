use pretty_assertions::assert_eq;

use super::*;

fn seeded(home: &Path, pairs: &[(&str, &str)]) -> Vec<String> {
    let env = Environment::from_pairs(pairs.iter().copied());
    let mut lines = Vec::new();
    seed(home, &env, &mut |line: &str| lines.push(line.to_owned()));
    lines
}

fn mode(path: &Path) -> u32 {
    hermes_fs::metadata(path).unwrap().mode() & 0o7777
}

fn text(path: &Path) -> String {
    hermes_fs::read_text_capped(path, 1 << 20).unwrap()
}

#[test]
fn an_empty_volume_becomes_a_home_and_stays_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(seeded(home.path(), &[]), [""; 0]);
    for directory in directories() {
        assert!(home.path().join(directory).is_dir(), "{directory}");
    }
    assert_eq!(mode(&home.path().join("config.yaml")), 0o640);
    assert_eq!(mode(&home.path().join(".env")), 0o600);
    assert!(text(&home.path().join("SOUL.md")).contains("Who you are"));
    assert!(text(&home.path().join("config.yaml")).contains("_config_version: 33"));

    hermes_fs::write_atomic(&home.path().join("SOUL.md"), b"mine", 0o600).unwrap();
    hermes_fs::set_mode(&home.path().join(".env"), 0o644).unwrap();
    assert_eq!(seeded(home.path(), &[]), [""; 0]);
    assert_eq!(text(&home.path().join("SOUL.md")), "mine");
    assert_eq!(mode(&home.path().join(".env")), 0o600);
}

#[test]
fn a_login_is_written_once_and_exactly() {
    let home = tempfile::tempdir().unwrap();
    let login = home.path().join("auth.json");
    let given = [("HERMES_AUTH_JSON_BOOTSTRAP", "{\"a\": 1}")];
    let lines = seeded(home.path(), &given);
    assert_eq!(lines, ["wrote auth.json from HERMES_AUTH_JSON_BOOTSTRAP"]);
    assert_eq!(text(&login), "{\"a\": 1}");
    assert_eq!(mode(&login), 0o600);
    hermes_fs::write_atomic(&login, b"{\"a\": 2}", 0o600).unwrap();
    assert_eq!(seeded(home.path(), &given), [""; 0]);
    assert_eq!(text(&login), "{\"a\": 2}");
}

#[test]
fn a_broken_login_or_a_link_in_its_place_is_not_written() {
    let home = tempfile::tempdir().unwrap();
    let lines = seeded(home.path(), &[("HERMES_AUTH_JSON_BOOTSTRAP", "{oops")]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("is not valid JSON"), "{lines:?}");
    assert!(!home.path().join("auth.json").exists());

    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("stolen");
    for name in ["auth.json", "gateway_state.json", "SOUL2.md"] {
        hermes_fs::symlink(&target, &home.path().join(name)).unwrap();
    }
    let given = [
        ("HERMES_AUTH_JSON_BOOTSTRAP", "{}"),
        ("HERMES_GATEWAY_BOOTSTRAP_STATE", "running"),
    ];
    assert_eq!(seeded(home.path(), &given), [""; 0]);
    assert!(!target.exists());
}

#[test]
fn state_is_seeded_for_a_container_that_is_to_start_its_gateway() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("gateway_state.json");
    seeded(home.path(), &[("HERMES_GATEWAY_BOOTSTRAP_STATE", "yes")]);
    assert!(!state.exists());
    seeded(
        home.path(),
        &[("HERMES_GATEWAY_BOOTSTRAP_STATE", "running")],
    );
    assert_eq!(text(&state), "{\"gateway_state\":\"running\"}");
}

#[test]
fn stamp_of_a_container_is_taken_out_of_the_home() {
    let home = tempfile::tempdir().unwrap();
    let stamp = home.path().join(".install_method");
    hermes_fs::write_atomic(&stamp, b"docker\n", 0o644).unwrap();
    seeded(home.path(), &[]);
    assert!(!stamp.exists());
    hermes_fs::write_atomic(&stamp, b"git\n", 0o644).unwrap();
    seeded(home.path(), &[]);
    assert!(stamp.exists());
}

#[test]
fn settings_are_migrated_unless_told_otherwise() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.yaml");
    let old = b"_config_version: 24\ndelegation:\n  max_async_children: 8\n";
    hermes_fs::write_atomic(&config, old, 0o640).unwrap();
    seeded(home.path(), &[("HERMES_SKIP_CONFIG_MIGRATION", "1")]);
    assert!(text(&config).contains("max_async_children"));
    let lines = seeded(home.path(), &[]);
    assert_eq!(lines, ["migrated config.yaml from version 24 to 33"]);
    assert!(text(&config).contains("max_concurrent_children: 8"));

    hermes_fs::write_atomic(&config, b"a: [", 0o640).unwrap();
    let lines = seeded(home.path(), &[]);
    assert!(lines[0].contains("was not migrated"), "{lines:?}");
    assert_eq!(text(&config), "a: [");
}

#[test]
fn a_home_that_cannot_be_written_is_told_once() {
    let home = tempfile::tempdir().unwrap();
    hermes_fs::write_atomic(&home.path().join("file"), b"", 0o600).unwrap();
    let lines = seeded(&home.path().join("file"), &[]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("warning: "), "{lines:?}");
}
