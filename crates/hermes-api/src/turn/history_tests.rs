use hermes_session::ConversationStep;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn said(text: &str) -> HistoryMessage {
    HistoryMessage {
        is_user: true,
        text: text.to_owned(),
        parts: None,
    }
}

fn answered(text: &str) -> HistoryMessage {
    HistoryMessage {
        is_user: false,
        ..said(text)
    }
}

struct Scene {
    _home: tempfile::TempDir,
    store: SessionStore,
    id: SessionId,
}

impl Scene {
    /// A stored session: `one`, a call with text before it and its result, `first`; `two`, `second`.
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut store = SessionStore::open(home.path()).unwrap();
        let id = SessionId::parse("api-1").unwrap();
        store
            .create_session(&NewSession {
                id: Some(id.clone()),
                source: "api_server".to_owned(),
                ..NewSession::default()
            })
            .unwrap();
        store
            .append_user(&id, &SessionMessage::user("one"))
            .unwrap();
        let calls =
            json!([{"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]);
        let step = ConversationStep {
            assistant: SessionMessage {
                content: Some("I look.".into()),
                tool_calls: Some(calls),
                ..SessionMessage::new(MessageRole::Assistant)
            },
            results: vec![SessionMessage::tool_result("c1", "t", "{}")],
            usage: None,
        };
        store.append_step(&id, &step).unwrap();
        let answer = |text: &str| SessionMessage {
            content: Some(text.into()),
            ..SessionMessage::new(MessageRole::Assistant)
        };
        let rest = [
            answer("first"),
            SessionMessage::user("two"),
            answer("second"),
        ];
        store.append(&id, &rest).unwrap();
        Self {
            _home: home,
            store,
            id,
        }
    }

    fn reconcile(&mut self, history: &[HistoryMessage], when: WhenDifferent) -> SessionId {
        let id = self.id.clone();
        reconcile(&mut self.store, &id, history, when, NewSession::default()).unwrap()
    }

    fn texts(&self, id: &SessionId) -> Vec<String> {
        let history = self.store.load_history(id).unwrap();
        history
            .messages
            .iter()
            .map(|one| one.message.text())
            .collect()
    }
}

#[test]
fn a_client_that_tells_what_is_stored_changes_nothing() {
    let mut scene = Scene::new();
    let whole = scene.texts(&scene.id.clone());
    // Whoever was sent events has the text before the call as well.
    for first in ["first", "I look.first", "I look.\n\nfirst"] {
        let told = [
            said("one"),
            answered(first),
            said("two"),
            answered("second"),
        ];
        assert_eq!(scene.reconcile(&told, WhenDifferent::Undo), scene.id);
        assert_eq!(scene.texts(&scene.id.clone()), whole);
    }
}

#[test]
fn turns_that_the_client_took_back_are_undone() {
    let mut scene = Scene::new();
    scene.reconcile(&[said("one"), answered("first")], WhenDifferent::Undo);
    assert_eq!(
        scene.texts(&scene.id.clone()),
        ["one", "I look.", "{}", "first"]
    );
    let edited = [
        said("one"),
        answered("first"),
        said("other"),
        answered("thing"),
    ];
    scene.reconcile(&edited, WhenDifferent::Undo);
    let texts = scene.texts(&scene.id.clone());
    assert_eq!(texts, ["one", "I look.", "{}", "first", "other", "thing"]);
    scene.reconcile(&[], WhenDifferent::Undo);
    assert_eq!(scene.texts(&scene.id.clone()), [""; 0]);
}

#[test]
fn another_account_can_have_a_session_of_its_own() {
    let mut scene = Scene::new();
    let whole = scene.texts(&scene.id.clone());
    let other = scene.reconcile(&[said("one"), answered("first")], WhenDifferent::NewSession);
    assert_ne!(other, scene.id);
    assert_eq!(scene.texts(&other), ["one", "first"]);
    assert_eq!(scene.texts(&scene.id.clone()), whole);
}

#[test]
fn a_session_that_is_not_there_begins_with_what_is_told() {
    let mut scene = Scene::new();
    let new = SessionId::parse("api-2").unwrap();
    let new_session = NewSession {
        source: "api_server".to_owned(),
        ..NewSession::default()
    };
    let told = [said("a"), answered("b")];
    let when = WhenDifferent::Undo;
    let got = reconcile(&mut scene.store, &new, &told, when, new_session.clone()).unwrap();
    assert_eq!(scene.texts(&got), ["a", "b"]);
    let empty = SessionId::parse("api-3").unwrap();
    reconcile(&mut scene.store, &empty, &[], when, new_session).unwrap();
    assert!(scene.store.session(&empty).unwrap().is_none());
}
