use hermes_store::Commit;
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

use super::*;

const MARK: [u8; 32] = [7; 32];

fn answer(body: &'static str) -> KeptAnswer {
    let mut headers = hyper::HeaderMap::new();
    headers.insert("x-hermes-session-id", "s".parse().unwrap());
    KeptAnswer {
        status: hyper::StatusCode::OK,
        headers,
        body: body.into(),
    }
}

#[test]
fn a_turn_is_known_after_a_restart_until_it_is_struck_out() {
    let home = tempfile::tempdir().unwrap();
    let ledger = TurnLedger::new();
    let entry = TurnEntry {
        request: json!({"response_id": "resp_1"}),
        ..TurnEntry::new("responses")
    };
    ledger
        .begin(home.path(), &entry, "s", 4, Commit::Forced)
        .unwrap();
    ledger.set_calls(
        home.path(),
        &entry.id,
        &["terminal: make".to_owned()],
        Commit::Logged,
    );
    let live = LiveTurn::new(&entry.id);
    assert_eq!(ledger.interrupted(home.path()).unwrap(), []);
    drop(live);
    let later = TurnLedger::new();
    let found = later.interrupted(home.path()).unwrap();
    assert_eq!(found.len(), 1);
    let turn = &found[0];
    assert_eq!(turn.calls, ["terminal: make"]);
    assert_eq!(turn.request["response_id"], "resp_1");
    assert_eq!(turn.messages().unwrap().after, 4);
    later.end(home.path(), &entry.id);
    assert_eq!(later.interrupted(home.path()).unwrap(), []);
}

#[test]
fn a_second_begin_keeps_where_the_turn_first_began() {
    let home = tempfile::tempdir().unwrap();
    let ledger = TurnLedger::new();
    let entry = TurnEntry::new("chat_completions");
    ledger
        .begin(home.path(), &entry, "s", 4, Commit::Forced)
        .unwrap();
    ledger
        .begin(home.path(), &entry, "s", 9, Commit::Forced)
        .unwrap();
    let found = ledger.interrupted(home.path()).unwrap();
    assert_eq!(found[0].messages().unwrap().after, 4);
}

#[test]
fn a_run_is_told_again_with_its_events_and_is_forgotten_in_time() {
    let home = tempfile::tempdir().unwrap();
    let ledger = TurnLedger::new();
    assert!(ledger.run(home.path(), "run_1").unwrap().is_none());
    let status = json!({"status": "queued"});
    ledger
        .accept_run(home.path(), "run_1", "s", &json!({"prompt": "x"}), &status)
        .unwrap();
    let mut done = Map::new();
    done.insert("status".to_owned(), json!("completed"));
    for number in 1..=1_150 {
        let is_over = number == 1_150;
        ledger
            .add_event(home.path(), "run_1", (number, "{}"), &done, is_over)
            .unwrap();
    }
    let run = TurnLedger::new()
        .run(home.path(), "run_1")
        .unwrap()
        .unwrap();
    assert_eq!(run.status["status"], "completed");
    assert_eq!(run.events.last().unwrap().0, 1_150);
    assert!(
        (1_000..1_101).contains(&run.events.len()),
        "{}",
        run.events.len()
    );
    assert_eq!(ledger.interrupted(home.path()).unwrap(), []);
    ledger.sweep(home.path());
    assert!(ledger.run(home.path(), "run_1").unwrap().is_some());
}

#[test]
fn the_oldest_runs_and_answers_make_room_when_all_take_too_many_bytes() {
    let home = tempfile::tempdir().unwrap();
    let ledger = TurnLedger::new();
    let mut done = Map::new();
    done.insert("status".to_owned(), json!("completed"));
    let large = "x".repeat(10_000);
    for number in 0..300 {
        let id = format!("run_{number:03}");
        ledger
            .accept_run(home.path(), &id, "s", &Value::Null, &json!({}))
            .unwrap();
        ledger
            .add_event(home.path(), &id, (1, &large), &done, true)
            .unwrap();
    }
    ledger
        .accept_run(home.path(), "open", "s", &Value::Null, &json!({}))
        .unwrap();
    ledger.recall(home.path(), "k", &MARK, "t").unwrap();
    ledger
        .keep_answer(home.path(), "k", "t", &answer("hi"))
        .unwrap();
    let is_known = |id: &str| ledger.run(home.path(), id).unwrap().is_some();
    ledger.forget_excess(home.path(), 3_000_000).unwrap();
    assert_eq!(
        [is_known("run_000"), is_known("run_299"), is_known("open")],
        [false, true, true]
    );
    ledger.forget_excess(home.path(), 0).unwrap();
    assert_eq!([is_known("run_299"), is_known("open")], [false, true]);
    let recalled = ledger.recall(home.path(), "k", &MARK, "t").unwrap();
    assert!(matches!(recalled, Recalled::New), "{recalled:?}");
}

#[test]
fn an_answer_is_not_kept_for_a_request_that_took_the_key_over() {
    let home = tempfile::tempdir().unwrap();
    let ledger = TurnLedger::new();
    let other = [8; 32];
    ledger.recall(home.path(), "k", &MARK, "turn_1").unwrap();
    ledger.recall(home.path(), "k", &other, "turn_2").unwrap();
    ledger
        .keep_answer(home.path(), "k", "turn_1", &answer("to the first"))
        .unwrap();
    ledger.release_key(home.path(), "k", "turn_1");
    ledger
        .keep_answer(home.path(), "k", "turn_2", &answer("to the second"))
        .unwrap();
    match ledger.recall(home.path(), "k", &other, "turn_3").unwrap() {
        Recalled::Answered(kept) => assert_eq!(kept.body, "to the second"),
        unexpected => panic!("{unexpected:?}"),
    }
}

#[test]
fn an_answer_is_recalled_by_its_key_and_fingerprint_also_after_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let ledger = TurnLedger::new();
    let recall = |ledger: &TurnLedger, mark: &[u8; 32]| {
        ledger
            .recall(home.path(), "chat k", mark, "turn_1")
            .unwrap()
    };
    assert!(matches!(recall(&ledger, &MARK), Recalled::New));
    ledger
        .keep_answer(home.path(), "chat k", "turn_1", &answer("hi"))
        .unwrap();
    match recall(&TurnLedger::new(), &MARK) {
        Recalled::Answered(kept) => {
            assert_eq!(kept.body, "hi");
            assert_eq!(kept.headers["x-hermes-session-id"], "s");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(recall(&ledger, &[8; 32]), Recalled::New));
}

#[test]
fn an_interrupted_turn_waits_for_the_request_that_asks_again() {
    let home = tempfile::tempdir().unwrap();
    let ledger = TurnLedger::new();
    let entry = TurnEntry::new("chat_completions");
    let recall = || {
        ledger
            .recall(home.path(), "chat k", &MARK, &entry.id)
            .unwrap()
    };
    assert!(matches!(recall(), Recalled::New));
    ledger
        .begin(home.path(), &entry, "s", 4, Commit::Forced)
        .unwrap();
    assert!(ledger.is_awaited(home.path(), &entry.id).unwrap());
    ledger.set_interrupted(home.path(), &entry.id).unwrap();
    match recall() {
        Recalled::Interrupted(turn) => assert_eq!(turn.session, "s"),
        other => panic!("{other:?}"),
    }
    ledger.sweep(home.path());
    assert!(matches!(recall(), Recalled::Interrupted(_)));
}

#[test]
fn a_file_that_was_removed_is_made_again() {
    let home = tempfile::tempdir().unwrap();
    let ledger = TurnLedger::new();
    let entry = TurnEntry::new("chat_completions");
    ledger
        .begin(home.path(), &entry, "s", 4, Commit::Forced)
        .unwrap();
    for name in ["api_turns.db", "api_turns.db-wal", "api_turns.db-shm"] {
        hermes_fs::remove_file_if_present(&home.path().join(name)).unwrap();
    }
    ledger
        .begin(home.path(), &entry, "s", 4, Commit::Forced)
        .unwrap();
    assert_eq!(TurnLedger::new().interrupted(home.path()).unwrap().len(), 1);
    // In a home that cannot be used, the reason is told.
    let nowhere = home.path().join("gone");
    let error = ledger
        .begin(&nowhere, &entry, "s", 4, Commit::Forced)
        .unwrap_err();
    assert_eq!(error.to_json()["error"]["code"], "turn_store_unavailable");
}
