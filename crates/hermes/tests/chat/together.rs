//! Calls of one message: which run at the same time, and in which order their results come back.

use std::os::unix::fs::PermissionsExt;

use hermes_testkit::{FakeEngine, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, assert_paired};

#[test]
fn results_come_in_the_order_of_the_calls() {
    let world = World::answering([
        ScriptedAnswer::calls(&[
            ("read_file", json!({"path": "a"})),
            ("read_file", json!({"path": "b"})),
            ("search_files", json!({"pattern": "needle"})),
            ("write_file", json!({"path": "d", "content": "one"})),
            ("write_file", json!({"path": "./d", "content": "two"})),
            ("clarify", json!({"question": "which?"})),
            ("read_file", json!({"path": "c"})),
        ]),
        ScriptedAnswer::text("done"),
    ]);
    for (name, text) in [("a", "first"), ("b", "needle"), ("c", "third")] {
        std::fs::write(world.home.user_home().join(name), text).unwrap();
    }
    world.ask("go").succeeds().prints("done\n");
    let body = &world.bodies()[1];
    assert_paired(body);
    let results = results(body);
    assert_eq!(results.len(), 7);
    assert!(results[0].contains("first") && results[1].contains("needle"));
    assert!(results[6].contains("third"));
    // Two writers of one file run one after the other, in their order.
    let written = std::fs::read_to_string(world.home.user_home().join("d")).unwrap();
    assert_eq!(written, "two");
}

fn results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

/// Runs what a "container" is given on this machine, with our own programs in front.
const RUN_HERE: &str = "export PATH=\"$FAKE/state:$PATH\"\n\
    shift\nwhile [[ $1 == -* ]]; do shift; done\nshift\nexec \"$@\"";

/// Stands for the programs by which files are read and moved into their place: notes when a call
/// begins and ends, and in between waits until as many have begun as `together` says, or for a
/// while if that never happens.
const WATCHED: &str = r#"#!/bin/bash
name=${0##*/}
here=${0%/*}
real=$(PATH=${PATH#"$here":} command -v "$name")
last=${!#}
case $last in */watched/*) ;; *) exec "$real" "$@" ;; esac
echo "begin ${last##*/}" >> "$here/log"
for _ in {1..300}; do
  [ "$(grep -c begin "$here/log")" -ge "$(cat "$here/together")" ] && break
  sleep 0.01
done
"$real" "$@"
code=$?
echo "end ${last##*/}" >> "$here/log"
exit "$code"
"#;

/// A world whose files are elsewhere, where every access is seen.
struct Elsewhere {
    world: World,
    engine: FakeEngine,
}

impl Elsewhere {
    /// `together` calls wait for each other. Paths of the calls are below the watched directory.
    fn calling(calls: &[(&str, Value)], together: usize) -> Self {
        let engine = FakeEngine::new();
        engine.answer("exec", RUN_HERE);
        let files = engine.state().join("watched");
        std::fs::create_dir(&files).unwrap();
        for name in ["head", "mv"] {
            let path = engine.state().join(name);
            std::fs::write(&path, WATCHED).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        std::fs::write(engine.state().join("together"), together.to_string()).unwrap();
        let calls: Vec<(&str, Value)> = calls
            .iter()
            .map(|(tool, arguments)| {
                let mut arguments = arguments.clone();
                if let Some(name) = arguments["path"].as_str() {
                    arguments["path"] = json!(files.join(name));
                }
                (*tool, arguments)
            })
            .collect();
        let world = World::answering([ScriptedAnswer::calls(&calls), ScriptedAnswer::text("done")]);
        world.configure(
            "context_length: 200000",
            "terminal: {backend: docker, docker_image: 'some:image', cwd: /tmp, \
             docker_orphan_reaper: false}\n",
        );
        Self { world, engine }
    }

    fn put(&self, name: &str, content: &str) {
        std::fs::write(self.engine.state().join("watched").join(name), content).unwrap();
    }

    /// Runs the turn; gives its results, and when accesses began and ended, in this order.
    fn run(&self) -> (Vec<String>, Vec<String>) {
        let outcome = self
            .world
            .hermes(&["chat", "-Q", "-q", "go"])
            .env("HERMES_DOCKER_BINARY", self.engine.program())
            .on_host()
            .run();
        outcome.succeeds().prints("done\n");
        let body = &self.world.bodies()[1];
        assert_paired(body);
        let log = std::fs::read_to_string(self.engine.state().join("log")).unwrap();
        (results(body), log.lines().map(str::to_owned).collect())
    }
}

#[test]
fn calls_that_only_read_begin_before_the_first_of_them_ends() {
    let elsewhere = Elsewhere::calling(
        &[
            ("read_file", json!({"path": "a"})),
            ("read_file", json!({"path": "b"})),
            ("read_file", json!({"path": "c"})),
        ],
        3,
    );
    for (name, text) in [("a", "first"), ("b", "second"), ("c", "third")] {
        elsewhere.put(name, text);
    }
    let (results, log) = elsewhere.run();
    let begun = log.iter().take(3).filter(|line| line.starts_with("begin"));
    assert_eq!(begun.count(), 3, "{log:?}");
    for (result, text) in results.iter().zip(["first", "second", "third"]) {
        assert!(result.contains(text), "{results:?}");
    }
}

#[test]
fn writers_of_one_file_never_overlap_and_a_question_stands_between() {
    let write =
        |name: &str, content: &str| ("write_file", json!({"path": name, "content": content}));
    let elsewhere = Elsewhere::calling(
        &[
            write("one", "a"),
            write("./one", "b"),
            write("two", "c"),
            ("clarify", json!({"question": "which?"})),
            write("three", "d"),
        ],
        1,
    );
    let (results, log) = elsewhere.run();
    assert_eq!(results.len(), 5);
    let at = |line: &str, nth: usize| -> usize {
        let mut found = log.iter().enumerate().filter(|(_, one)| *one == line);
        found
            .nth(nth)
            .unwrap_or_else(|| panic!("{line} in {log:?}"))
            .0
    };
    assert!(at("end one", 0) < at("begin one", 1), "{log:?}");
    // Which file a link of another place means is not known here: writers go one by one.
    assert!(at("end one", 1) < at("begin two", 0), "{log:?}");
    // Nothing passes the question.
    assert!(at("end two", 0) < at("begin three", 0), "{log:?}");
    assert!(at("end one", 1) < at("begin three", 0), "{log:?}");
    let written = std::fs::read_to_string(elsewhere.engine.state().join("watched/one")).unwrap();
    assert_eq!(written, "b");
}
