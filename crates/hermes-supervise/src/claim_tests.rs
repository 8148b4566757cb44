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

/// What a gateway elsewhere has in the lock file.
fn record_elsewhere(field: &str, value: &str, beat: &str) -> Value {
    let mut record: Value = serde_json::from_str(&self::record().to_lock_json()).unwrap();
    record["hostname"] = "elsewhere".into();
    record[field] = value.into();
    record["heartbeat"] = beat.into();
    record
}

#[test]
fn the_lock_file_says_where_its_owner_lives_and_the_heartbeat_is_renewed() {
    let home = tempfile::tempdir().unwrap();
    let lock = home.path().join("gateway.lock");
    let mut claim = GatewayClaim::take(home.path(), record()).unwrap();
    let first = json_of(&lock);
    for field in ["hostname", "boot_id", "pid_namespace", "heartbeat"] {
        assert!(first[field].is_string(), "{field}: {first}");
    }
    claim.verify().unwrap();
    assert_ne!(json_of(&lock)["heartbeat"], first["heartbeat"]);
    // Garbage in the file is replaced.
    fs::write(&lock, vec![b'x'; 4096]).unwrap();
    claim.verify().unwrap();
    assert_eq!(json_of(&lock)["pid"], std::process::id());
}

#[test]
fn a_live_gateway_on_another_machine_keeps_its_home() {
    let home = tempfile::tempdir().unwrap();
    let lock = home.path().join("gateway.lock");
    let now = hermes_home::utc_now();
    let live = record_elsewhere("boot_id", "another", &now);
    fs::write(&lock, live.to_string()).unwrap();
    let refused = GatewayClaim::take(home.path(), record());
    assert!(
        matches!(&refused, Err(ClaimError::Elsewhere { host }) if host == "elsewhere"),
        "{refused:?}"
    );
    assert_eq!(json_of(&lock), live);
    // Silent for too long, it is replaced, and so is one that this machine would have seen.
    for stale in [
        record_elsewhere("boot_id", "another", "2020-01-01T00:00:00+00:00"),
        record_elsewhere("pid_namespace", "pid:[1]", &now),
    ] {
        fs::write(&lock, stale.to_string()).unwrap();
        let claim = GatewayClaim::take(home.path(), record()).unwrap();
        assert_eq!(json_of(&lock)["pid"], std::process::id());
        drop(claim);
    }
}

#[test]
fn a_gateway_that_another_machine_took_for_dead_gives_way() {
    let home = tempfile::tempdir().unwrap();
    let lock = home.path().join("gateway.lock");
    let mut claim = GatewayClaim::take(home.path(), record()).unwrap();
    let other = record_elsewhere("boot_id", "another", &hermes_home::utc_now());
    fs::write(&lock, other.to_string()).unwrap();
    let lost = claim.verify();
    assert!(
        matches!(lost, Err(ClaimError::Elsewhere { .. })),
        "{lost:?}"
    );
    drop(claim);
    assert_eq!(json_of(&lock), other, "the other one keeps its record");
}

#[test]
fn a_container_that_holds_the_lock_is_named() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("gateway.lock");
    let held = FileLock::acquire(&path, &LockOptions::new("x")).unwrap();
    let other = record_elsewhere("pid_namespace", "pid:[1]", &hermes_home::utc_now());
    held.write(other.to_string().as_bytes()).unwrap();
    fs::write(home.path().join("gateway.pid"), other.to_string()).unwrap();
    let refused = GatewayClaim::take(home.path(), record());
    assert!(
        matches!(&refused, Err(ClaimError::Elsewhere { host }) if host == "elsewhere"),
        "{refused:?}"
    );
}
