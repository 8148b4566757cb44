use super::*;

fn own() -> ProcessIdentity {
    hermes_proc::identity_of(std::process::id()).unwrap()
}

fn put(home: &Path, note: &Value) {
    let path = GatewayMarker::Takeover.path(home);
    hermes_fs::write_atomic(&path, note.to_string().as_bytes(), 0o600).unwrap();
}

fn exists(home: &Path) -> bool {
    GatewayMarker::Takeover.path(home).exists()
}

#[test]
fn a_note_for_this_process_is_read_once() {
    let home = tempfile::tempdir().unwrap();
    for marker in [GatewayMarker::PlannedStop, GatewayMarker::Takeover] {
        marker.write(home.path(), &own()).unwrap();
        assert!(marker.take(home.path(), &own()));
        assert!(!marker.take(home.path(), &own()));
        assert!(!marker.path(home.path()).exists());
    }
}

#[test]
fn a_note_for_another_process_or_home_stays() {
    let home = tempfile::tempdir().unwrap();
    let later = ProcessIdentity {
        start_time: own().start_time + 1,
        ..own()
    };
    GatewayMarker::Takeover.write(home.path(), &later).unwrap();
    assert!(!GatewayMarker::Takeover.take(home.path(), &own()));
    assert!(exists(home.path()));
    put(
        home.path(),
        &json!({
            "target_pid": own().pid,
            "replacer_hermes_home": "/elsewhere",
            "written_at": utc_now(),
        }),
    );
    assert!(!GatewayMarker::Takeover.take(home.path(), &own()));
    assert!(exists(home.path()));
}

#[test]
fn a_note_that_is_old_or_garbage_is_removed() {
    let home = tempfile::tempdir().unwrap();
    for note in [
        json!([]),
        json!({"target_pid": "x", "written_at": utc_now()}),
        json!({"target_pid": own().pid}),
        json!({"target_pid": own().pid, "written_at": "2020-01-01T00:00:00+00:00"}),
    ] {
        put(home.path(), &note);
        assert!(!GatewayMarker::Takeover.take(home.path(), &own()), "{note}");
        assert!(!exists(home.path()), "{note}");
    }
}

#[test]
fn a_note_without_start_time_is_about_the_pid() {
    let home = tempfile::tempdir().unwrap();
    put(
        home.path(),
        &json!({"target_pid": own().pid, "written_at": utc_now()}),
    );
    assert!(GatewayMarker::Takeover.take(home.path(), &own()));
}
