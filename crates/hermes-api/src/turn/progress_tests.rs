use hermes_session::NewSession;
use pretty_assertions::assert_eq;

use super::*;

struct Scene {
    _home: tempfile::TempDir,
    store: SessionStore,
    session: SessionId,
}

impl Scene {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut store = SessionStore::open(home.path()).unwrap();
        let session = SessionId::parse("s").unwrap();
        store
            .create_session(&NewSession {
                id: Some(session.clone()),
                source: "api_server".to_owned(),
                ..NewSession::default()
            })
            .unwrap();
        Self {
            _home: home,
            store,
            session,
        }
    }

    fn add(&mut self, message: SessionMessage) -> i64 {
        self.store.append(&self.session, &[message]).unwrap()[0].0
    }

    fn progress(&self, after: i64) -> Progress {
        self.progress_until(after, None)
    }

    fn progress_until(&self, after: i64, until: Option<i64>) -> Progress {
        let messages = TurnMessages { after, until };
        Progress::of(&self.store, &self.session, messages).unwrap()
    }
}

fn answer(text: &str, finish: &str) -> SessionMessage {
    SessionMessage {
        content: Some(text.into()),
        finish_reason: Some(finish.to_owned()),
        ..SessionMessage::new(MessageRole::Assistant)
    }
}

#[test]
fn a_session_tells_how_far_its_turn_came() {
    let mut scene = Scene::new();
    assert_eq!(scene.progress(0), Progress::NotBegun);
    let first = scene.add(SessionMessage::user("one"));
    assert_eq!(scene.progress(0), Progress::Begun);
    assert_eq!(scene.progress(first), Progress::NotBegun);
    scene.add(answer("half an ans", INTERRUPTED));
    assert_eq!(scene.progress(0), Progress::Begun);
    let last = scene.add(answer("the answer", "stop"));
    assert_eq!(
        scene.progress(0),
        Progress::Answered("the answer".to_owned())
    );
    // Another turn of the session has begun since.
    scene.add(SessionMessage::user("two"));
    assert_eq!(
        scene.progress_until(0, Some(last)),
        Progress::Answered("the answer".to_owned())
    );
    assert_eq!(scene.progress(last), Progress::Begun);
}

#[test]
fn a_turn_is_marked_once_and_only_if_it_has_no_answer() {
    let mut scene = Scene::new();
    let messages = TurnMessages {
        after: 0,
        until: None,
    };
    let session = scene.session.clone();
    let mark = |scene: &mut Scene| {
        mark_interrupted(&mut scene.store, &session, messages, "cut off").unwrap()
    };
    assert!(!mark(&mut scene), "nothing was asked");
    scene.add(SessionMessage::user("one"));
    assert!(mark(&mut scene));
    assert!(mark(&mut scene));
    let history = scene.store.load_history(&session).unwrap().messages;
    let texts: Vec<String> = history.iter().map(|stored| stored.message.text()).collect();
    assert_eq!(texts, ["one", "[cut off]"]);
    scene.add(answer("yes", "stop"));
    assert!(!mark(&mut scene));
}

#[test]
fn the_note_names_calls_that_may_have_had_their_effect() {
    assert!(!note(&[]).contains("calls"));
    let told = note(&["terminal: make deploy".to_owned()]);
    assert!(told.contains("- terminal: make deploy"), "{told}");
}
