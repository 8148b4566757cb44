use pretty_assertions::assert_eq;

use super::*;

fn response(text: &str) -> StoredResponse {
    StoredResponse {
        response: json!({"text": text}),
        history: vec![json!({"role": "user", "content": text})],
        instructions: Some("be brief".to_owned()),
        session_id: Some("s1".to_owned()),
    }
}

#[test]
fn responses_are_found_by_id_and_by_the_name_of_their_conversation() {
    let home = tempfile::tempdir().unwrap();
    let store = ResponseStore::new();
    assert!(store.get(home.path(), "resp_a").unwrap().is_none());
    store
        .put(home.path(), "resp_a", &response("a"), Some("talk"))
        .unwrap();
    store
        .put(home.path(), "resp_b", &response("b"), Some("talk"))
        .unwrap();
    let found = store.get(home.path(), "resp_a").unwrap().unwrap();
    assert_eq!(found.response, json!({"text": "a"}));
    assert_eq!(found.session_id.as_deref(), Some("s1"));
    let latest = store.latest_of(home.path(), "talk").unwrap();
    assert_eq!(latest.as_deref(), Some("resp_b"));
    // Another process, after a restart.
    let again = ResponseStore::new();
    assert!(again.delete(home.path(), "resp_b").unwrap());
    assert!(!again.delete(home.path(), "resp_b").unwrap());
    assert_eq!(again.latest_of(home.path(), "talk").unwrap(), None);
}

#[test]
fn only_the_latest_hundred_are_kept() {
    let home = tempfile::tempdir().unwrap();
    let store = ResponseStore::new();
    for count in 0..105 {
        let id = format!("resp_{count}");
        store
            .put(home.path(), &id, &response("x"), Some(&id))
            .unwrap();
    }
    assert!(store.get(home.path(), "resp_4").unwrap().is_none());
    assert!(store.latest_of(home.path(), "resp_4").unwrap().is_none());
    assert!(store.get(home.path(), "resp_5").unwrap().is_some());
}

#[test]
fn bytes_are_limited_and_the_latest_response_is_always_kept() {
    let home = tempfile::tempdir().unwrap();
    let store = ResponseStore {
        most_bytes: 10_000,
        ..ResponseStore::new()
    };
    let put = |id: &str, length: usize| {
        let stored = response(&"x".repeat(length));
        store.put(home.path(), id, &stored, Some(id)).unwrap();
    };
    let kept = |id: &str| store.get(home.path(), id).unwrap().is_some();
    for id in ["resp_a", "resp_b", "resp_c"] {
        put(id, 1_500);
    }
    // Used last, so it goes last.
    assert!(kept("resp_a"));
    put("resp_d", 1_500);
    assert!(kept("resp_a") && !kept("resp_b"));
    assert_eq!(store.latest_of(home.path(), "resp_b").unwrap(), None);
    put("resp_huge", 100_000);
    assert!(kept("resp_huge") && !kept("resp_a") && !kept("resp_d"));
}
