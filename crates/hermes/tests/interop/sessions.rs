//! One `state.db`, two programs: what either stores, the other lists, finds and goes on with.
//!
//! `// check N` names the acceptance check of the chapter on the agent.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use hermes_session::{
    Compaction, ConversationStep, Health, ListRequest, LockAttempt, MessageContent, MessageId,
    MessageRole, NewSession, SUMMARY_MARK, SearchRequest, SessionEndReason, SessionId,
    SessionMessage, SessionStore, UsageRecord, check,
};
use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::reference::{V0_19_0, Version};
use crate::world::World;

with_each_reference!(
    a_file_of_theirs_is_listed_searched_and_resumed_here,
    a_file_of_ours_is_listed_searched_and_resumed_there,
    both_programs_write_at_once,
    a_conversation_of_theirs_goes_on_in_our_chat,
);

fn home(world: &World) -> PathBuf {
    world.root("")
}

fn database(world: &World) -> String {
    world.root("state.db").to_str().unwrap().to_owned()
}

/// Runs a script with their store open as `db`; what it leaves in `out` comes back.
fn their_store(world: &World, script: &str) -> Value {
    std::fs::create_dir_all(home(world)).unwrap();
    let script = format!(
        "import json, sys\n\
         from pathlib import Path\n\
         from hermes_state import SessionDB\n\
         db = SessionDB(Path(sys.argv[1]))\n\
         out = None\n\
         {script}\n\
         print(json.dumps(out))\n"
    );
    let printed = world.python(&script, &[&database(world)]);
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

/// Whether their SQLite finds nothing wrong, and the version of the file.
fn their_verdict(world: &World) -> (String, i64) {
    let script = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\n\
                  print(c.execute('pragma integrity_check').fetchone()[0])\n\
                  print(c.execute('select version from schema_version').fetchone()[0])";
    let printed = world.python(script, &[&database(world)]);
    let mut lines = printed.lines();
    let verdict = lines.next().unwrap().to_owned();
    (verdict, lines.next().unwrap().parse().unwrap())
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

fn hits(store: &SessionStore, query: &str) -> usize {
    let request = SearchRequest {
        query: query.to_owned(),
        ..SearchRequest::default()
    };
    store.search(&request).unwrap().len()
}

fn calls(id: &str) -> Value {
    json!([{"id": id, "type": "function",
        "function": {"name": "terminal", "arguments": "{\"command\": \"make ourtarget\"}"}}])
}

/// A conversation with a tool, parts and a title, and another one from a chat.
const THEIR_TALK: &str = r"
s = '20260102_030405_abcdef'
db.create_session(s, 'cli', model='their/model', model_config={'max_iterations': 7}, system_prompt='exact  prompt\n')
db.append_message(s, 'user', 'build the lighthouse')
db.append_message(s, 'assistant', '', tool_calls=[{'id': 'c1', 'type': 'function', 'function': {'name': 'terminal', 'arguments': '{}'}}], reasoning='thinking', reasoning_details=[{'signature': 'sig'}])
db.append_message(s, 'tool', [{'type': 'text', 'text': 'with parts'}], tool_call_id='c1', tool_name='terminal')
db.append_message(s, 'assistant', '灯塔已经建成了', finish_reason='stop')
db.set_session_title(s, 'Lighthouse')
db.update_token_counts(s, input_tokens=11, output_tokens=3, model='their/model')
db.create_session('20260102_030406_000001', 'telegram', user_id='u')
db.append_message('20260102_030406_000001', 'user', 'from a phone')
db.end_session('20260102_030406_000001', 'new_session')
";

// check 30
fn a_file_of_theirs_is_listed_searched_and_resumed_here(version: Version) {
    let world = World::empty(version);
    their_store(&world, THEIR_TALK);
    let before = their_verdict(&world).1;
    let listed = world.ours(&["sessions", "list"]);
    assert!(
        listed.contains("Lighthouse") && listed.contains("from a phone"),
        "{listed}"
    );
    let found = world.ours(&["sessions", "search", "lighthouse", "--json"]);
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found[0]["session_id"], "20260102_030405_abcdef");
    // Looking has changed nothing.
    assert_eq!(their_verdict(&world), ("ok".to_owned(), before));

    let mut store = SessionStore::open(&home(&world)).unwrap();
    assert_eq!(hits(&store, "灯塔已经"), 1);
    let session = store.resolve("Lighthouse").unwrap();
    let resumed = store.resume(&session).unwrap().session;
    assert_eq!(resumed.system_prompt.as_deref(), Some("exact  prompt\n"));
    assert_eq!(resumed.counters.input_tokens, 11);
    let history = store.load_history(&session).unwrap();
    let roles: Vec<&str> = history
        .messages
        .iter()
        .map(|m| m.message.role.as_str())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert_eq!(
        history.messages[1].message.reasoning_details,
        Some(json!([{"signature": "sig"}]))
    );
    assert_eq!(
        history.messages[2].message.content,
        Some(MessageContent::Parts(
            json!([{"type": "text", "text": "with parts"}])
        ))
    );
    store
        .append_user(&session, &SessionMessage::user("paint it"))
        .unwrap();
    let step = ConversationStep {
        assistant: SessionMessage {
            tool_calls: Some(calls("c2")),
            ..SessionMessage::new(MessageRole::Assistant)
        },
        results: vec![SessionMessage::tool_result(
            "c2",
            "terminal",
            "painted vermilion",
        )],
        usage: Some(UsageRecord {
            api_calls: 1,
            input_tokens: 5,
            ..UsageRecord::default()
        }),
    };
    store.append_step(&session, &step).unwrap();
    store
        .end_session(&session, SessionEndReason::AgentClose)
        .unwrap();
    drop(store);

    let mode = std::fs::metadata(world.root("state.db"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(their_verdict(&world), ("ok".to_owned(), before));
    assert_eq!(check(&home(&world)).unwrap(), Health::Sound);
    let seen = their_store(
        &world,
        r"
s = '20260102_030405_abcdef'
talk = db.get_messages_as_conversation(s)
out = {
  'roles': [m['role'] for m in talk],
  'calls': talk[5]['tool_calls'][0]['function']['arguments'],
  'parts': talk[2]['content'],
  'hits': len(db.search_messages('vermilion')),
  'session': {k: db.get_session(s)[k] for k in ('input_tokens', 'message_count', 'tool_call_count', 'end_reason')},
  'title': db.resolve_session_by_title('Lighthouse'),
}
db.append_message(s, 'user', 'and they go on')
",
    );
    assert_eq!(
        seen,
        json!({
            "roles": ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"],
            "calls": "{\"command\": \"make ourtarget\"}",
            "parts": [{"type": "text", "text": "with parts"}],
            "hits": 1,
            "session": {"input_tokens": 16, "message_count": 7, "tool_call_count": 2, "end_reason": "agent_close"},
            "title": "20260102_030405_abcdef",
        })
    );
    let store = SessionStore::open(&home(&world)).unwrap();
    let history = store.load_history(&session).unwrap();
    assert_eq!(
        history.messages.last().unwrap().message.text(),
        "and they go on"
    );
    assert_eq!(hits(&store, "they go"), 1);
}

// check 30
fn a_file_of_ours_is_listed_searched_and_resumed_there(version: Version) {
    let world = World::empty(version);
    let mut store = SessionStore::open(&home(&world)).unwrap();
    let new = NewSession {
        source: "cli".to_owned(),
        model: Some("our/model".to_owned()),
        system_prompt: Some("our prompt".to_owned()),
        cwd: Some("/srv/work".to_owned()),
        ..NewSession::default()
    };
    let session = store.create_session(&new).unwrap();
    store
        .append_user(&session, &SessionMessage::user("count the whales 鲸鱼数量"))
        .unwrap();
    let parts = MessageContent::Parts(json!([{"type": "text", "text": "parts"}]));
    let step = ConversationStep {
        assistant: SessionMessage {
            reasoning_details: Some(json!([{"x": 1}])),
            content: Some(MessageContent::from("looking")),
            tool_calls: Some(calls("c1")),
            ..SessionMessage::new(MessageRole::Assistant)
        },
        results: vec![SessionMessage::tool_result("c1", "terminal", parts)],
        usage: Some(UsageRecord {
            api_calls: 1,
            output_tokens: 9,
            model: Some("our/model".to_owned()),
            provider: Some("custom".to_owned()),
            ..UsageRecord::default()
        }),
    };
    store.append_step(&session, &step).unwrap();
    store.set_title(&session, "Whales").unwrap();
    drop(store);

    let listed = world.theirs(&["sessions", "list"]);
    assert!(
        listed.contains("Whales") && listed.contains(session.as_str()),
        "{listed}"
    );
    let exported = world.theirs(&["sessions", "export", "-", "--session-id", session.as_str()]);
    let exported: Value = serde_json::from_str(exported.lines().last().unwrap()).unwrap();
    assert_eq!(exported["messages"].as_array().unwrap().len(), 3);
    let seen = their_store(
        &world,
        &format!(
            r"
s = '{session}'
talk = db.get_messages_as_conversation(s)
out = {{
  'talk': [(m['role'], m['content']) for m in talk],
  'details': talk[1].get('reasoning_details'),
  'words': len(db.search_messages('whales')),
  'cjk': len(db.search_messages('鲸鱼数量')),
  'tool': len(db.search_messages('ourtarget')),
  'prompt': db.get_session(s)['system_prompt'],
  'tokens': db.get_session(s)['output_tokens'],
}}
db.append_message(s, 'assistant', 'seven whales')
db.create_session('20260101_000000_000002', 'cli')
"
        ),
    );
    assert_eq!(
        seen,
        json!({
            "talk": [["user", "count the whales 鲸鱼数量"], ["assistant", "looking"],
                ["tool", [{"type": "text", "text": "parts"}]]],
            "details": [{"x": 1}],
            "words": 1,
            "cjk": 1,
            "tool": 1,
            "prompt": "our prompt",
            "tokens": 9,
        })
    );
    assert_eq!(their_verdict(&world), ("ok".to_owned(), 22));
    let store = SessionStore::open(&home(&world)).unwrap();
    assert_eq!(hits(&store, "whales"), 2);
    assert_eq!(store.load_history(&session).unwrap().messages.len(), 4);
    assert_eq!(store.list(&ListRequest::default()).unwrap().len(), 2);
    assert_eq!(check(&home(&world)).unwrap(), Health::Sound);
}

// check 30, by the program
fn a_conversation_of_theirs_goes_on_in_our_chat(version: Version) {
    let world = World::empty(version);
    their_store(&world, THEIR_TALK);
    let server = ModelServer::start([
        ScriptedAnswer::call("terminal", &json!({"command": "echo vermilion"})),
        ScriptedAnswer::text("It is painted."),
    ]);
    std::fs::write(
        world.root("config.yaml"),
        format!(
            "model: {{provider: custom, default: m, base_url: '{}', context_length: 200000}}\n",
            server.base_url()
        ),
    )
    .unwrap();
    let said = world.ours(&["chat", "-Q", "-q", "paint it", "-r", "Lighthouse"]);
    assert_eq!(said, "It is painted.\n");
    let sent = &server.questions()[1].body["messages"];
    let roles: Vec<&str> = sent
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        [
            "system",
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant",
            "tool"
        ]
    );
    // The prompt it began with, to the byte.
    assert_eq!(sent[0]["content"], "exact  prompt\n");
    let seen = their_store(
        &world,
        r"
talk = db.get_messages_as_conversation('20260102_030405_abcdef')
out = {'roles': [m['role'] for m in talk], 'last': talk[-1]['content'],
       'hits': len(db.search_messages('vermilion')) > 0}
",
    );
    assert_eq!(
        seen,
        json!({
            "roles": ["user", "assistant", "tool", "assistant", "user", "assistant", "tool",
                "assistant"],
            "last": "It is painted.",
            "hits": true,
        })
    );
    assert_eq!(their_verdict(&world).0, "ok");
}

// check 31, with the other program among the writers
fn both_programs_write_at_once(version: Version) {
    let world = World::empty(version);
    let mut store = SessionStore::open(&home(&world)).unwrap();
    let new = NewSession {
        source: "cli".to_owned(),
        ..NewSession::default()
    };
    let session = store.create_session(&new).unwrap();
    let theirs = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            their_store(
                &world,
                "db.create_session('theirs', 'cli')\n\
                 for n in range(60): db.append_message('theirs', 'user', f'their message {n}')\n\
                 out = db.message_count('theirs')",
            )
        });
        let mut written = 0;
        while !writer.is_finished() || written < 60 {
            let text = format!("our message {written}");
            store
                .append_user(&session, &SessionMessage::user(text))
                .unwrap();
            written += 1;
            // As fast as a conversation at its fastest; a writer that never rests starves others.
            thread::sleep(Duration::from_millis(5));
        }
        let ours = store.load_history(&session).unwrap().messages.len();
        assert_eq!(ours, written);
        writer.join().unwrap()
    });
    assert_eq!(theirs, json!(60));
    let exported = store.export(&id("theirs")).unwrap();
    assert_eq!(exported["messages"].as_array().unwrap().len(), 60);
    assert_eq!(their_verdict(&world), ("ok".to_owned(), 22));
    assert_eq!(check(&home(&world)).unwrap(), Health::Sound);
}

#[test]
fn what_we_took_back_and_summarised_stays_out_of_their_conversation() {
    let world = World::empty(V0_19_0);
    let mut store = SessionStore::open(&home(&world)).unwrap();
    let new = NewSession {
        source: "cli".to_owned(),
        ..NewSession::default()
    };
    let session = store.create_session(&new).unwrap();
    for text in ["one", "two albatross", "three"] {
        store
            .append_user(&session, &SessionMessage::user(text))
            .unwrap();
        store
            .append(
                &session,
                &[SessionMessage {
                    content: Some("yes".into()),
                    ..SessionMessage::new(MessageRole::Assistant)
                }],
            )
            .unwrap();
    }
    store.undo_turns(&session, 1).unwrap();
    let talk: Vec<MessageId> = store
        .load_history(&session)
        .unwrap()
        .messages
        .iter()
        .map(|stored| stored.id)
        .collect();
    let LockAttempt::Taken(lock) = store
        .try_lock_compaction(&session, "ours", None, Duration::from_mins(1))
        .unwrap()
    else {
        panic!("nobody else has the right");
    };
    let summary = SessionMessage {
        content: Some(format!("{SUMMARY_MARK} birds").into()),
        ..SessionMessage::new(MessageRole::Assistant)
    };
    let compaction = Compaction {
        replaced: vec![(talk[1], summary)],
        summarised: talk[2..].to_vec(),
        ..Compaction::default()
    };
    let script = format!(
        "s = '{session}'\n\
         out = {{'held': db.try_acquire_compression_lock(s, 'theirs'),\n\
             'talk': [m['role'] for m in db.get_messages_as_conversation(s)],\n\
             'kept': len(db.search_messages('albatross')), 'gone': len(db.search_messages('three'))}}"
    );
    let seen = their_store(&world, &script);
    assert_eq!(seen["held"], false);
    store.compact(&lock, &compaction).unwrap();
    let seen = their_store(&world, &script);
    assert_eq!(
        seen,
        json!({"held": false, "talk": ["user", "assistant"], "kept": 1, "gone": 0})
    );
    // And the other way round: what they took back and summarised.
    store.unlock_compaction(lock).unwrap();
    their_store(
        &world,
        &format!(
            "s = '{session}'\n\
             db.append_message(s, 'user', 'pelican')\n\
             db.archive_and_compact(s, [{{'role': 'user', 'content': 'their summary'}}])\n\
             target = db.append_message(s, 'user', 'never mind')\n\
             db.rewind_to_message(s, target)"
        ),
    );
    let history = store.load_history(&session).unwrap();
    let told: Vec<(&MessageRole, String)> = history
        .messages
        .iter()
        .map(|m| (&m.message.role, m.message.text()))
        .collect();
    assert_eq!(told, [(&MessageRole::User, "their summary".to_owned())]);
    assert_eq!((hits(&store, "pelican"), hits(&store, "never")), (1, 0));
}
