//! Hermes killed during each call of the engine: after one new start there is one container, and
//! everything that was in it.

use std::path::PathBuf;

use hermes_testkit::RealEngine;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::place::{Place, eventually};
use crate::recorder::Recorder;

/// What becomes of the call under way when its caller is killed. `reached` is there when the caller
/// can be killed, `go` when the next start is over or, where that is meant, under way.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// It never gets to the engine.
    NeverDone,
    /// The engine does it, and nobody hears of that.
    Done,
    /// The engine does it only while or after the next process does the same.
    DoneLater,
    /// The engine makes a container, and dies before it starts it.
    HalfDone,
}

/// Without its directory the test is over: nobody will ever let it go on.
const HOLD: &str = "echo $$ > \"$FAKE/state/reached\"; \
    while [ ! -e \"$FAKE/state/go\" ]; do [ -d \"$FAKE/state\" ] || exit 1; sleep 0.05; done; ";

impl Fate {
    fn snippet(self) -> String {
        match self {
            Self::NeverDone => format!("{HOLD} exit 1"),
            Self::Done => format!("ENGINE \"$@\" > \"$FAKE/state/said\" 2>&1 < /dev/null; {HOLD}"),
            Self::DoneLater => {
                format!(
                    "{HOLD} ENGINE \"$@\" > \"$FAKE/state/said\" 2>&1 < /dev/null; touch \"$FAKE/state/late\""
                )
            }
            Self::HalfDone => format!("ENGINE create \"${{@:3}}\" > /dev/null; {HOLD}"),
        }
    }
}

/// A process that was killed during a call.
struct Killed {
    recorder: Recorder,
}

impl Killed {
    fn during(place: &Place, verb: &str, fate: Fate) -> Self {
        let recorder = Recorder::of(RealEngine::Docker);
        recorder.answer(verb, &fate.snippet());
        let args = ["exec", "--", "echo never >> /root/ran"];
        let mut hermes = place.recorded(&recorder, &args).start();
        eventually("the call is under way", || recorder.has("reached"));
        hermes.kill();
        Self { recorder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.recorder.state(name)
    }

    /// Lets the call go on.
    fn release(&self) {
        std::fs::write(self.file("go"), "").unwrap();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.release();
    }
}

fn settings() -> Value {
    json!({"container_persistent": true})
}

/// The calls on the way to a first command, as far as they are made for every container.
const ON_THE_WAY: [(&str, &[Fate]); 5] = [
    ("ps", &[Fate::NeverDone]),
    ("version", &[Fate::NeverDone]),
    ("image-inspect", &[Fate::NeverDone]),
    (
        "run",
        &[Fate::NeverDone, Fate::Done, Fate::DoneLater, Fate::HalfDone],
    ),
    ("exec", &[Fate::NeverDone]),
];

#[test]
fn killed_while_a_container_is_made_the_next_start_has_one() {
    for (verb, fates) in ON_THE_WAY {
        for fate in fates {
            let place = Place::with(RealEngine::Docker, settings());
            // Files of an earlier container are there, the container is not.
            place.output("echo kept > /root/file");
            let args = ["sandbox", "reset", "--yes"];
            place.hermes(&args).run().succeeds();
            let killed = Killed::during(&place, verb, *fate);
            if matches!(fate, Fate::DoneLater) {
                killed.release();
            }
            let seen = place.output("cat /root/file; cat /root/ran 2>/dev/null; true");
            assert_eq!(seen, "kept", "{verb} {fate:?}");
            killed.release();
            if matches!(fate, Fate::DoneLater) {
                eventually("the late call is over", || killed.recorder.has("late"));
            }
            let id = place.only_id();
            assert_eq!(
                place.look(&id, "{{.State.Status}}"),
                "running",
                "{verb} {fate:?}"
            );
            // And from then on it stays the same.
            assert_eq!(place.output("cat /root/file"), "kept");
            assert_eq!(place.only_id(), id, "{verb} {fate:?}");
        }
    }
}

#[test]
fn killed_while_a_container_is_found_the_next_start_finds_it() {
    let states: [(&str, &[&str]); 3] = [
        ("running", &["ps", "inspect", "exec"]),
        ("stopped", &["ps", "inspect", "start", "exec"]),
        ("paused", &["ps", "inspect", "unpause", "exec"]),
    ];
    for (state, verbs) in states {
        for verb in verbs {
            for fate in [Fate::NeverDone, Fate::Done] {
                let place = Place::with(RealEngine::Docker, settings());
                place.output("echo kept > /root/file; mkdir /opt; echo kept > /opt/file");
                let id = place.only_id();
                match state {
                    "stopped" => drop(place.engine.demand(&["kill", &id])),
                    "paused" => drop(place.engine.demand(&["pause", &id])),
                    _ => {}
                }
                let killed = Killed::during(&place, verb, fate);
                let command = "cat /root/file /opt/file; cat /root/ran 2>/dev/null; true";
                assert_eq!(
                    place.output(command),
                    "kept\nkept",
                    "{state} {verb} {fate:?}"
                );
                assert_eq!(place.only_id(), id, "{state} {verb} {fate:?}");
                drop(killed);
            }
        }
    }
}

#[test]
fn killed_while_limits_change_or_a_container_is_replaced_the_next_start_mends_it() {
    for (change, verb) in [
        (json!({"container_memory": 640}), "update"),
        (json!({"docker_network": false}), "rm"),
    ] {
        for fate in [Fate::NeverDone, Fate::Done] {
            let place = Place::with(RealEngine::Docker, settings());
            place.output("echo kept > /root/file");
            place.configure(change.clone());
            let killed = Killed::during(&place, verb, fate);
            assert_eq!(place.output("cat /root/file"), "kept", "{verb} {fate:?}");
            let id = place.only_id();
            if verb == "update" {
                let memory = place.look(&id, "{{.HostConfig.Memory}}");
                assert_eq!(memory, (640 * 1024 * 1024).to_string(), "{fate:?}");
            } else {
                let network = place.look(&id, "{{.HostConfig.NetworkMode}}");
                assert_eq!(network, "none", "{fate:?}");
            }
            drop(killed);
        }
    }
}

#[test]
fn killed_with_a_container_of_its_own_the_next_start_takes_it() {
    let settings = json!({"docker_persist_across_processes": false});
    for (verb, fate) in [
        ("run", Fate::NeverDone),
        ("run", Fate::Done),
        ("exec", Fate::NeverDone),
    ] {
        let place = Place::with(RealEngine::Docker, settings.clone());
        place.output("echo kept > /root/file");
        let killed = Killed::during(&place, verb, fate);
        let mut next = place.talk();
        assert_eq!(next.output("cat /root/file"), "kept");
        eventually("only that of the living process is there", || {
            place.ids().len() == 1
        });
        assert_eq!(next.output("echo still here"), "still here");
        assert_eq!(next.end(), Some(0));
        assert_eq!(place.ids(), [] as [&str; 0], "{verb} {fate:?}");
        drop(killed);
    }
}

#[test]
fn killed_while_its_own_container_goes_the_next_start_finishes_that() {
    let settings = json!({"docker_persist_across_processes": false});
    for (verb, fate) in [
        ("stop", Fate::NeverDone),
        ("stop", Fate::Done),
        ("rm", Fate::NeverDone),
    ] {
        let place = Place::with(RealEngine::Docker, settings.clone());
        let recorder = Recorder::of(RealEngine::Docker);
        recorder.answer(verb, &fate.snippet());
        let mut hermes = place.recorded(&recorder, &["exec", "--", "true"]).start();
        eventually("it is going", || recorder.has("reached"));
        hermes.kill();
        assert_eq!(place.ids().len(), 1);
        let state = place.look(&place.only_id(), "{{.State.Status}}");
        let mut next = place.talk();
        next.output("true");
        if state == "running" {
            eventually("the orphan is gone", || place.ids().len() == 1);
        }
        assert_eq!(next.end(), Some(0));
        // One that has ended is left until it has been so for a while, like any other.
        let left = usize::from(state != "running");
        assert_eq!(place.ids().len(), left, "{verb} {fate:?}");
        std::fs::write(recorder.state("go"), "").unwrap();
    }
}
