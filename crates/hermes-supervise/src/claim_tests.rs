#![allow(clippy::disallowed_methods, reason = "tests access files directly")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use pretty_assertions::assert_eq;

use super::*;

fn record() -> PidRecord {
    PidRecord::own(Path::new("/usr/bin/hermes"))
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_claim_names_its_process_in_both_files_and_clears_them() {
    let home = tempfile::tempdir().unwrap();
    let lock = home.path().join("gateway.lock");
    let claim = GatewayClaim::take(home.path(), record()).unwrap();
    let inode = fs::metadata(&lock).unwrap().ino();
    for name in ["gateway.pid", "gateway.lock"] {
        let path = home.path().join(name);
        let found = json_of(&path);
        assert_eq!(found["pid"], std::process::id());
        assert_eq!(found["kind"], "hermes-gateway");
        assert_eq!(
            found["argv"],
            serde_json::json!(["/usr/bin/hermes", "gateway", "run"])
        );
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    drop(claim);
    assert!(!home.path().join("gateway.pid").exists());
    assert_eq!(fs::read(&lock).unwrap(), b"");
    let _again = GatewayClaim::take(home.path(), record()).unwrap();
    assert_eq!(fs::metadata(&lock).unwrap().ino(), inode);
}

#[test]
fn a_second_claim_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let _first = GatewayClaim::take(home.path(), record()).unwrap();
    let second = GatewayClaim::take(home.path(), record());
    assert!(matches!(second, Err(ClaimError::Held { .. })), "{second:?}");
}

#[test]
fn files_of_the_dead_and_garbage_are_replaced() {
    let home = tempfile::tempdir().unwrap();
    for garbage in [
        "",
        "\u{0}\u{1}",
        "[]",
        "{\"pid\": -3}",
        "4194999",
        "{\"pid\": 1, \"start_time\": 2}",
    ] {
        for name in ["gateway.pid", "gateway.lock", "gateway_state.json"] {
            fs::write(home.path().join(name), garbage).unwrap();
        }
        let claim = GatewayClaim::take(home.path(), record()).unwrap();
        assert_eq!(
            json_of(&home.path().join("gateway.pid"))["pid"],
            std::process::id()
        );
        drop(claim);
    }
}

#[test]
fn deleted_files_are_made_again_and_a_second_owner_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    let mut claim = GatewayClaim::take(home.path(), record()).unwrap();
    claim.verify().unwrap();
    for name in ["gateway.pid", "gateway.lock"] {
        fs::remove_file(home.path().join(name)).unwrap();
    }
    claim.verify().unwrap();
    for name in ["gateway.pid", "gateway.lock"] {
        assert_eq!(json_of(&home.path().join(name))["pid"], std::process::id());
    }
    fs::remove_file(home.path().join("gateway.lock")).unwrap();
    let options = LockOptions::new("x");
    let _other = FileLock::acquire(&home.path().join("gateway.lock"), &options).unwrap();
    assert!(matches!(claim.verify(), Err(ClaimError::Held { .. })));
}

#[test]
fn a_pid_file_of_somebody_else_stays() {
    let home = tempfile::tempdir().unwrap();
    let claim = GatewayClaim::take(home.path(), record()).unwrap();
    let path = home.path().join("gateway.pid");
    fs::write(&path, "{\"pid\": 1}").unwrap();
    drop(claim);
    assert!(path.exists());
}
