#![allow(clippy::disallowed_methods, reason = "tests access files directly")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;

use super::*;

fn record() -> PidRecord {
    PidRecord::own(Path::new("/usr/bin/hermes"))
}

#[test]
fn unknown_fields_and_what_the_operator_wants_are_kept() {
    let home = tempfile::tempdir().unwrap();
    let file = StateFile::of_home(home.path());
    assert_eq!(file.read(), None);
    fs::write(
        file.path(),
        r#"{"migrated_from":"x","updated_at":12,"platforms":{"telegram":{}},"exit_reason":"old"}"#,
    )
    .unwrap();
    file.want(DesiredState::Running).unwrap();
    file.begin(&record()).unwrap();
    file.update(
        &record(),
        [("gateway_state", json!(GatewayState::Running.name()))],
    )
    .unwrap();
    let state = file.read().unwrap();
    assert_eq!(state["migrated_from"], "x");
    assert_eq!(state["desired_state"], "running");
    assert_eq!(state["gateway_state"], "running");
    assert_eq!(state["pid"], std::process::id());
    assert_eq!(state["platforms"], json!({}));
    assert_eq!(state["exit_reason"], Value::Null);
    assert!(state["updated_at"].as_str().unwrap().ends_with("+00:00"));
    let mode = fs::metadata(file.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn garbage_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let file = StateFile::of_home(home.path());
    for garbage in [b"".as_slice(), b"\xff\xfe", b"[1]", b"{\"a\":", b"null"] {
        fs::write(file.path(), garbage).unwrap();
        assert_eq!(file.read(), None);
        file.want(DesiredState::Stopped).unwrap();
        assert_eq!(file.read().unwrap()["desired_state"], "stopped");
    }
}

#[test]
fn writers_do_not_lose_each_others_fields() {
    let home = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let file = StateFile::of_home(home.path());
            scope.spawn(move || {
                for number in 0..20 {
                    file.update(&record(), [(name, json!(number))]).unwrap();
                }
            });
        }
    });
    let state = StateFile::of_home(home.path()).read().unwrap();
    for name in ["a", "b", "c", "d"] {
        assert_eq!(state[name], 19);
    }
}

#[test]
fn a_link_is_replaced_and_what_it_leads_to_stays() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = elsewhere.path().join("other.json");
    fs::write(&other, "{}").unwrap();
    let file = StateFile::of_home(home.path());
    std::os::unix::fs::symlink(&other, file.path()).unwrap();
    file.want(DesiredState::Running).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "{}");
    assert!(fs::symlink_metadata(file.path()).unwrap().is_file());
    assert_eq!(file.read().unwrap()["desired_state"], "running");
}
