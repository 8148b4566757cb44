//! Opening, continuing and refusing conversations, and several at once.

use std::sync::{Arc, Barrier};

use hermes_agent::{TurnEvent, TurnInput, TurnOutcome};
use hermes_runtime::{Conversation, ConversationRequest, ErrorKind, Nobody, SessionChoice};
use pretty_assertions::assert_eq;

use super::world::{Listener, World, request};

const GREETING: &str = "turns:\n  - text: Good day.\n  - text: Good day again.\n";

fn ask(conversation: &mut Conversation, text: &str) -> String {
    let result = conversation.turn(TurnInput::text(text), &mut |_: TurnEvent<'_>| {});
    assert_eq!(result.outcome, TurnOutcome::Completed);
    result.final_response.unwrap()
}

#[test]
fn new_conversation_answers_and_is_continued_by_its_id() {
    let world = World::playing(GREETING);
    let mut first = world
        .runtime()
        .open_conversation(&request(), Arc::new(Nobody))
        .unwrap();
    assert!(first.resumed().is_none() && !first.is_worker());
    assert_eq!(ask(&mut first, "Hello"), "Good day.");
    let id = first.agent().session_id().clone();
    assert_eq!(first.close(None, || 0).unwrap(), 0);

    for session in [SessionChoice::Named(id.to_string()), SessionChoice::Latest] {
        let again = ConversationRequest {
            session,
            ..request()
        };
        let mut again = world
            .runtime()
            .open_conversation(&again, Arc::new(Nobody))
            .unwrap();
        assert_eq!(again.resumed().unwrap().id, id);
        assert_eq!(again.agent().message_counts(), (2, 1));
        again.close(None, || 0).unwrap();
    }
}

#[test]
fn unknown_session_model_and_toolset_are_errors_of_the_user() {
    let world = World::playing(GREETING);
    let open = |request: &ConversationRequest| {
        let opened = world.runtime().open_conversation(request, Arc::new(Nobody));
        opened.err().unwrap()
    };
    let latest = open(&ConversationRequest {
        session: SessionChoice::Latest,
        ..request()
    });
    assert_eq!(latest.kind(), ErrorKind::User);
    assert!(latest.hint().unwrap().contains("sessions list"));
    let toolset = open(&ConversationRequest {
        toolsets: Some("nosuch".to_owned()),
        ..request()
    });
    assert_eq!(toolset.kind(), ErrorKind::User);
    let provider = open(&ConversationRequest {
        provider: Some("nosuch".to_owned()),
        ..request()
    });
    assert_eq!(provider.kind(), ErrorKind::Config);
}

#[test]
fn broken_settings_are_refused_unless_they_are_ignored() {
    let world = World::playing(GREETING);
    std::fs::write(world.home().join("config.yaml"), "model: [").unwrap();
    let refused = world
        .runtime()
        .open_conversation(&request(), Arc::new(Nobody));
    let error = refused.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("config.yaml"), "{error}");
}

#[test]
fn unknown_toolset_beside_a_known_one_is_shown_to_the_person() {
    let world = World::playing(GREETING);
    let person = Arc::new(Listener::default());
    let request = ConversationRequest {
        toolsets: Some("todo,nosuch".to_owned()),
        ..request()
    };
    let mut conversation = world
        .runtime()
        .open_conversation(&request, person.clone())
        .unwrap();
    assert_eq!(conversation.agent().tool_names(), ["todo"]);
    let shown = person.shown.lock().unwrap().join("\n");
    assert!(shown.contains("There is no toolset 'nosuch'"), "{shown}");
}

#[test]
fn requested_directory_is_where_the_conversation_works() {
    let world = World::playing(GREETING);
    let directory = world.work().join("deeper");
    std::fs::create_dir(&directory).unwrap();
    let request = ConversationRequest {
        directory: Some(directory.clone()),
        ..request()
    };
    let mut conversation = world
        .runtime()
        .open_conversation(&request, Arc::new(Nobody))
        .unwrap();
    assert_eq!(conversation.agent().context().session.cwd(), directory);
}

#[test]
fn references_of_a_message_are_attached_and_refused_ones_named() {
    let world = World::playing(GREETING);
    std::fs::write(world.work().join("notes.txt"), "remember the milk\n").unwrap();
    let person = Arc::new(Listener::default());
    let conversation = world
        .runtime()
        .open_conversation(&request(), person.clone())
        .unwrap();
    let text = conversation.expand_references("See @file:notes.txt and @file:../.hermes/.env");
    assert!(text.contains("remember the milk"), "{text}");
    assert!(text.contains("[Not attached]"), "{text}");
    assert_eq!(person.shown.lock().unwrap().len(), 1);
}

#[test]
fn conversations_of_two_homes_run_in_one_process_at_once() {
    let barrier = Arc::new(Barrier::new(2));
    let threads: Vec<_> = ["one", "two"]
        .into_iter()
        .map(|name| {
            let barrier = Arc::clone(&barrier);
            std::thread::spawn(move || {
                let world = World::playing(&format!(
                    "turns:\n  - calls: [{{tool: terminal, arguments: {{command: \"pwd; echo $$ > \
                     {name}\"}}}}]\n  - text: I am {name}.\n"
                ));
                let mut conversation = world
                    .runtime()
                    .open_conversation(&request(), Arc::new(Nobody))
                    .unwrap();
                barrier.wait();
                assert_eq!(
                    ask(&mut conversation, "Who are you?"),
                    format!("I am {name}.")
                );
                let written = std::fs::read_dir(world.work()).unwrap();
                let written: Vec<_> = written.map(|entry| entry.unwrap().file_name()).collect();
                assert_eq!(written, [name]);
                barrier.wait();
                conversation.close(None, || 0).unwrap();
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
