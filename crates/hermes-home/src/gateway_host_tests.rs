use hermes_fs::LockOptions;
use pretty_assertions::assert_eq;

use super::*;

/// The record of a gateway there, with a heartbeat this many seconds ago.
fn record(space: &ProcessSpace, ago: i64) -> Value {
    let mut fields = host_fields(space);
    let at = Timestamp::from_second(Timestamp::now().as_second() - ago).unwrap();
    fields.insert(HEARTBEAT.to_owned(), json!(at.to_string()));
    fields.insert("pid".to_owned(), json!(std::process::id()));
    Value::Object(fields)
}

fn own() -> ProcessSpace {
    ProcessSpace::own().unwrap()
}

fn container() -> ProcessSpace {
    ProcessSpace {
        host_name: "container".to_owned(),
        pid_namespace: "pid:[1]".to_owned(),
        ..own()
    }
}

fn machine() -> ProcessSpace {
    ProcessSpace {
        host_name: "machine".to_owned(),
        boot_id: "another".to_owned(),
        ..own()
    }
}

#[test]
fn who_lives_elsewhere() {
    let rebooted = ProcessSpace {
        host_name: own().host_name,
        ..machine()
    };
    for (what, space, ago, is_held, expected) in [
        ("this host", own(), 1, true, None),
        (
            "a container that holds the lock",
            container(),
            1,
            true,
            Some("container"),
        ),
        ("a container that was killed", container(), 1, false, None),
        (
            "a container that is taken over from",
            container(),
            60,
            true,
            None,
        ),
        (
            "a machine whose locks are not seen",
            machine(),
            1,
            false,
            Some("machine"),
        ),
        (
            "a machine whose locks are seen",
            machine(),
            1,
            true,
            Some("machine"),
        ),
        ("a machine that is silent", machine(), 31, false, None),
        (
            "a machine with another idea of the time",
            machine(),
            -3600,
            false,
            None,
        ),
        (
            "this host before it was restarted",
            rebooted,
            1,
            false,
            None,
        ),
    ] {
        let found = owner_elsewhere(&record(&space, ago), is_held, &own());
        assert_eq!(found.as_deref(), expected, "{what}");
    }
}

#[test]
fn records_that_do_not_say_enough_are_nobody_elsewhere() {
    let mut without_beat = record(&machine(), 1);
    without_beat.as_object_mut().unwrap().remove(HEARTBEAT);
    let mut odd_beat = record(&machine(), 1);
    odd_beat["heartbeat"] = json!("yesterday");
    let mut odd_host = record(&machine(), 1);
    odd_host["hostname"] = json!(7);
    for odd in [
        json!(null),
        json!([]),
        json!(4711),
        without_beat,
        odd_beat,
        odd_host,
    ] {
        assert_eq!(owner_elsewhere(&odd, true, &own()), None, "{odd}");
    }
}

#[test]
fn a_pid_of_another_namespace_is_nobody_here() {
    assert!(!is_foreign(&record(&own(), 1)));
    assert!(!is_foreign(&json!({"pid": 1})));
    assert!(is_foreign(&record(&container(), 1)));
    // However the record got there, and however alive the pid is here.
    let home = tempfile::tempdir().unwrap();
    let lock = home.path().join("gateway.lock");
    let held = FileLock::acquire(&lock, &LockOptions::new("the gateway")).unwrap();
    let mut mine = record(&container(), 1);
    mine["kind"] = json!("hermes-gateway");
    mine["start_time"] = json!(hermes_proc::start_time_of(std::process::id()));
    for name in ["gateway.pid", "gateway_state.json"] {
        let mut copy = mine.clone();
        copy["gateway_state"] = json!("running");
        hermes_fs::write_atomic(&home.path().join(name), copy.to_string().as_bytes(), 0o600)
            .unwrap();
    }
    held.write(mine.to_string().as_bytes()).unwrap();
    assert_eq!(crate::gateway_pid(home.path()), None);
    assert_eq!(crate::recorded_gateway(home.path()), None);
    assert_eq!(gateway_elsewhere(home.path()).as_deref(), Some("container"));
    drop(held);
    assert_eq!(gateway_elsewhere(home.path()), None);
}
