//! Secrets that nobody else has, one for every place where a key can stand: wherever one turns up
//! that it was not configured for, it leaked.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;

use hermes_providers::BUILTINS;
use hermes_testkit::{ModelServer, ProgramCall, ProgramOutput, ScriptedAnswer, TestHome};
use serde_json::{Value, json};

use crate::world::session_of;

/// The three formats, and the path behind a server's root at which each is spoken.
const WIRES: [(&str, &str); 3] = [
    ("chat_completions", "/v1"),
    ("codex_responses", "/v1"),
    ("anthropic_messages", ""),
];

/// A home full of secrets.
struct Cage {
    home: TestHome,
    /// In the environment of the program.
    exported: Vec<(String, String)>,
    /// What must never be seen, and what it is.
    secrets: Vec<(String, String)>,
}

impl Cage {
    fn new() -> Self {
        let mut cage = Self {
            home: TestHome::new(env!("CARGO_BIN_EXE_hermes")),
            exported: Vec::new(),
            secrets: Vec::new(),
        };
        let mut dotenv = String::new();
        let mut names: Vec<&str> = BUILTINS
            .iter()
            .flat_map(|provider| provider.key_variables.iter().copied())
            .collect();
        names.sort_unstable();
        names.dedup();
        assert!(names.len() > 15, "{names:?}");
        for (at, name) in names.into_iter().enumerate() {
            // In the file, in the environment, or different ones in both.
            if at % 3 != 0 {
                let kept = cage.secret(&format!("{name} of the file"));
                dotenv.push_str(&format!("{name}={kept}\n"));
            }
            if at % 3 != 1 {
                let exported = cage.secret(&format!("{name} of the environment"));
                cage.exported.push((name.to_owned(), exported));
            }
        }
        cage.home.put(".env", dotenv);
        cage
    }

    /// A new secret without a form that a pattern could know.
    fn secret(&mut self, what: &str) -> String {
        let secret = format!("cnry{:016x}", RandomState::new().hash_one(what));
        self.secrets.push((what.to_owned(), secret.clone()));
        secret
    }

    fn hermes(&self, args: &[&str]) -> ProgramCall {
        self.exported
            .iter()
            .fold(self.home.hermes(args), |run, (name, value)| {
                run.env(name, value)
            })
            .env("HERMES_DUMP_REQUESTS", "1")
    }

    fn chat(&self, query: &str) -> ProgramOutput {
        let outcome = self.hermes(&["chat", "-q", query, "-v", "--yolo"]).run();
        self.none_in("standard output", &outcome.stdout, &[]);
        self.none_in("standard error", &outcome.stderr, &[]);
        outcome
    }

    #[track_caller]
    fn none_in(&self, place: &str, text: &str, allowed: &[&str]) {
        for (what, secret) in &self.secrets {
            if allowed.contains(&secret.as_str()) {
                continue;
            }
            if let Some((before, _)) = text.split_once(secret.as_str()) {
                let around: Vec<char> = before.chars().rev().take(80).collect();
                let around: String = around.into_iter().rev().collect();
                panic!("{place} has {what}, behind {around:?}");
            }
        }
    }

    /// A server has seen nothing but the keys that are its own, and those in their header only.
    #[track_caller]
    fn only_sees(&self, name: &str, server: &ModelServer, own: &[&str]) {
        for request in server.received() {
            let body = String::from_utf8_lossy(&request.raw);
            self.none_in(&format!("a question to {name}"), &body, &[]);
            self.none_in(&format!("a path of {name}"), &request.path, &[]);
            for (header, value) in &request.headers {
                let allowed = match header.as_str() {
                    "authorization" | "x-api-key" => own,
                    _ => &[],
                };
                self.none_in(&format!("the header {header} to {name}"), value, allowed);
            }
        }
    }

    /// No file of the home has a secret, as bytes, except those where people put them.
    #[track_caller]
    fn none_in_files(&self) -> Vec<String> {
        let mut seen = Vec::new();
        each_file(&self.home.user_home(), &mut |path, bytes| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if [".env", "config.yaml", "auth.json"].contains(&name.as_str()) {
                return;
            }
            self.none_in(
                &path.display().to_string(),
                &String::from_utf8_lossy(bytes),
                &[],
            );
            seen.push(name);
        });
        seen
    }
}

fn each_file(directory: &Path, visit: &mut impl FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            each_file(&path, visit);
        } else if meta.is_file() {
            visit(&path, &std::fs::read(&path).unwrap());
        }
    }
}

/// Looks everywhere a secret could be, and prints what it finds.
fn curious() -> [ScriptedAnswer; 2] {
    let command = "cat /proc/self/environ > child.env; env; \
        cat ~/.hermes/.env ~/.hermes/config.yaml ~/.hermes/auth.json";
    let code = "import os\nopen('script.env', 'w').write(repr(dict(os.environ)))\n\
        print(open(os.path.expanduser('~/.hermes/.env')).read())";
    [
        ScriptedAnswer::calls(&[
            ("terminal", json!({"command": command})),
            ("read_file", json!({"path": ".hermes/.env"})),
            (
                "search_files",
                json!({"pattern": "cnry", "path": ".hermes"}),
            ),
            ("execute_code", json!({"code": code})),
        ]),
        ScriptedAnswer::call(
            "terminal",
            &json!({"command": "cat /proc/self/environ > back.env; env", "background": true}),
        ),
    ]
}

/// A curious conversation with a server, in each format: nothing is shown, sent, stored or given to
/// children; and then refusals and failures of all kinds.
fn a_conversation_on(mode: &str, path: &str) {
    let mut cage = Cage::new();
    let own = cage.secret("the key of the model");
    let other = cage.secret("the key of another endpoint");
    let pooled = cage.secret("a key in the pool of another endpoint");
    let mut number = 0;
    let [first, second] = curious();
    let server = ModelServer::start_with(move |_| {
        number += 1;
        match number {
            1 => first.clone(),
            2 => second.clone(),
            3 => ScriptedAnswer::text("done"),
            4 => ScriptedAnswer::status(401, &json!({"error": {"message": "no such key"}})),
            5 => ScriptedAnswer::status(400, &json!({"error": {"message": "the field is wrong"}})),
            6 => ScriptedAnswer::text("some text").cut_after(1),
            7 => ScriptedAnswer::text("the rest"),
            8 => ScriptedAnswer::html(404, "<html>nothing here</html>"),
            _ => ScriptedAnswer::text("never").after(Duration::from_mins(2)),
        }
    });
    let elsewhere = ModelServer::always(ScriptedAnswer::text("from elsewhere"));
    cage.home.put(
        "config.yaml",
        format!(
            "model: {{provider: custom, default: m, base_url: '{}{path}', api_mode: {mode}, \
             api_key: {own}, context_length: 200000}}\n\
             providers: {{lab: {{url: '{}', api_key: {other}}}}}\n\
             agent: {{api_max_retries: 1}}\nlogging: {{level: DEBUG}}\n",
            server.root(),
            elsewhere.base_url()
        ),
    );
    let added = cage
        .hermes(&["auth", "add", "lab", "--api-key", &pooled])
        .run();
    added.succeeds().never_shows(&pooled);

    cage.chat("look around").succeeds();
    for name in ["child.env", "script.env", "back.env"] {
        let text = std::fs::read(cage.home.user_home().join(name)).unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("HOME"), "{name}: {text}");
        for (variable, _) in &cage.exported {
            assert!(
                !text.contains(&format!("{variable}=")),
                "{name} has {variable}"
            );
        }
    }
    for query in ["refused", "wrong", "broken", "nowhere"] {
        let code = cage.chat(query).code;
        assert_eq!(code, Some(i32::from(query != "broken")), "{query}");
    }
    // While a conversation goes on, so that the database has its log beside it.
    let mut running = cage.hermes(&["chat", "-Q", "-q", "wait"]).start();
    server.wait_for_questions(9);
    let names = cage.none_in_files();
    for name in ["state.db", "state.db-wal", "agent.log"] {
        assert!(
            names.iter().any(|seen| seen == name),
            "no {name} in {names:?}"
        );
    }
    running.kill();
    cage.none_in_files();
    // What is kept of keys is what was given to be kept.
    cage.none_in("auth.json", &cage.home.read("auth.json"), &[&pooled]);
    for args in [
        ["sessions", "export", "-"].as_slice(),
        &["sessions", "list"],
        &["sessions", "search", "cnry"],
        &["auth", "list"],
        &["auth", "list", "--json"],
        &["auth", "status"],
        &["doctor"],
        &["logs"],
    ] {
        let outcome = cage.hermes(args).run();
        cage.none_in(
            &args.join(" "),
            &format!("{}{}", outcome.stdout, outcome.stderr),
            &[],
        );
    }
    cage.only_sees("the model", &server, &[&own]);
    assert!(elsewhere.received().is_empty());
    let key = server.questions()[0].clone();
    let key = key.header("authorization").or(key.header("x-api-key"));
    assert!(key.is_some_and(|key| key.contains(&own)), "{key:?}");
}

#[test]
fn nothing_leaks_by_chat_completions() {
    a_conversation_on(WIRES[0].0, WIRES[0].1);
}

#[test]
fn nothing_leaks_by_responses() {
    a_conversation_on(WIRES[1].0, WIRES[1].1);
}

#[test]
fn nothing_leaks_by_messages() {
    a_conversation_on(WIRES[2].0, WIRES[2].1);
}

#[test]
fn keys_stay_with_their_server_through_fallbacks_and_redirects() {
    for (mode, path) in WIRES {
        let mut cage = Cage::new();
        let first_key = cage.secret("the key of the first");
        let second_key = cage.secret("the key of the second");
        let stranger = ModelServer::always(ScriptedAnswer::text("caught"));
        let target = format!("{}{path}/x", stranger.root());
        let redirect = ScriptedAnswer::status(307, &json!({})).header("location", &target);
        let first = ModelServer::start([
            ScriptedAnswer::status(401, &json!({"error": {"message": "no such key"}})),
            redirect,
        ]);
        let second = ModelServer::always(ScriptedAnswer::text("from the second"));
        cage.home.put(
            "config.yaml",
            format!(
                "model: {{provider: custom, default: m, base_url: '{}{path}', api_mode: {mode}, \
                 api_key: {first_key}, context_length: 200000}}\n\
                 providers: {{spare: {{url: '{}{path}', api_mode: {mode}, api_key: {second_key}}}}}\n\
                 fallback_providers:\n  - {{provider: spare, model: other}}\n\
                 agent: {{api_max_retries: 1}}\nlogging: {{level: DEBUG}}\n",
                first.root(),
                second.root()
            ),
        );
        for query in ["refused", "redirected"] {
            let outcome = cage.chat(query);
            outcome.succeeds().prints_part("from the second");
        }
        assert_eq!(first.questions().len(), 2, "{mode}");
        cage.only_sees("the first", &first, &[&first_key]);
        cage.only_sees("the second", &second, &[&second_key]);
        assert!(
            stranger.received().is_empty(),
            "{mode}: {:?}",
            stranger.received()
        );
        cage.none_in_files();
    }
}

#[test]
fn summaries_are_made_without_keys_of_others_and_without_what_tools_printed() {
    let mut cage = Cage::new();
    let own = cage.secret("the key of the model");
    let helper_key = cage.secret("the key of the summaries");
    let mut number = 0;
    let server = ModelServer::start_with(move |_| {
        number += 1;
        if number > 12 {
            return ScriptedAnswer::text("done").usage(&json!({}));
        }
        let command = format!(
            "cat ~/.hermes/.env ~/.hermes/config.yaml; echo {number}; \
             head -c 45000 /dev/zero | tr '\\0' 'x'"
        );
        ScriptedAnswer::call("terminal", &json!({"command": command})).usage(&json!({}))
    });
    let helper = ModelServer::always(ScriptedAnswer::text("## Goal\nsummed up"));
    cage.home.put(
        "config.yaml",
        format!(
            "model: {{provider: custom, default: m, base_url: '{}', api_key: {own}, \
             context_length: 64000}}\n\
             providers: {{helper: {{url: '{}', api_key: {helper_key}}}}}\n\
             auxiliary:\n  compression: {{provider: helper, model: small}}\n\
             logging: {{level: DEBUG}}\n",
            server.base_url(),
            helper.base_url()
        ),
    );
    let outcome = cage.chat("do the long work");
    outcome.succeeds();
    assert!(
        !helper.questions().is_empty(),
        "nothing was summed up: {} questions, {}",
        server.questions().len(),
        outcome.stderr
    );
    cage.only_sees("the model", &server, &[&own]);
    cage.only_sees("the helper", &helper, &[&helper_key]);
    cage.none_in_files();
    let exported: Value = cage.hermes(&["sessions", "export", "-"]).run().json();
    cage.none_in("the export", &exported.to_string(), &[]);
}

#[test]
fn shapes_of_tokens_are_masked_in_what_tools_print_and_kept_in_what_the_model_says() {
    let mut cage = Cage::new();
    let own = cage.secret("the key of the model");
    let token = format!("ghp_{}", "Zz9".repeat(12));
    let command = format!("echo {token} | tee token.txt");
    let server = ModelServer::start([
        ScriptedAnswer::call("terminal", &json!({"command": command})),
        ScriptedAnswer::text("done"),
    ]);
    cage.home.put(
        "config.yaml",
        format!(
            "model: {{provider: custom, default: m, base_url: '{}', api_key: {own}, \
             context_length: 200000}}\nlogging: {{level: DEBUG}}\n",
            server.base_url()
        ),
    );
    let outcome = cage.hermes(&["chat", "-Q", "-q", "go"]).run();
    outcome.succeeds().never_shows(&token);
    let written = std::fs::read_to_string(cage.home.user_home().join("token.txt")).unwrap();
    assert_eq!(written, format!("{token}\n"));
    let messages = server.questions()[1].body["messages"].clone();
    // The model's own words come back to it as they were, the output masked.
    assert!(messages[2].to_string().contains(&token), "{messages}");
    assert!(!messages[3].to_string().contains(&token), "{messages}");
    let session = session_of(&outcome);
    let export = cage
        .hermes(&["sessions", "export", "-", "--session-id", &session])
        .run();
    export.succeeds().never_shows(&token);
    each_file(&cage.home.path("logs"), &mut |path, bytes| {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains(&token), "{}", path.display());
    });
}
