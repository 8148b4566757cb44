//! What becomes of a container when the process that made it ends.

use std::time::{Duration, Instant};

use hermes_testkit::RealEngine;
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, eventually, signal};
use crate::recorder::Recorder;

/// The bound of the chapter.
const EXIT_LIMIT: Duration = Duration::from_secs(15);

fn opted_out() -> Value {
    json!({"docker_persist_across_processes": false, "docker_orphan_reaper": false})
}

/// check 10
pub(crate) fn an_own_container_goes_with_a_normal_exit(engine: RealEngine) {
    let place = Place::with(engine, opted_out());
    let recorder = Recorder::of(engine);
    let call = r#"{"command": "echo hi > /root/file"}"#;
    for args in [
        &["exec", "--", "echo hi"] as &[&str],
        &["exec", "--", "exit 3"],
        &["tools", "call", "terminal", call],
        &["sandbox", "exec", "--", "echo hi"],
    ] {
        recorder.forget();
        place.recorded(&recorder, args).run();
        assert_eq!(recorder.calls_of("run").len(), 1, "{args:?}");
        assert_eq!(place.ids(), [] as [&str; 0], "{args:?}");
        // Nobody looks for a container to use again.
        assert_eq!(recorder.calls_of("ps"), [], "{args:?}");
    }
    let mut talk = place.talk();
    assert_eq!(talk.output("cat /root/file"), "hi", "directories stay");
    assert_eq!(place.ids().len(), 1);
    assert_eq!(talk.end(), Some(0));
    assert_eq!(place.ids(), [] as [&str; 0]);
}

/// check 10
pub(crate) fn an_own_container_goes_with_a_signal(engine: RealEngine) {
    let place = Place::with(engine, opted_out());
    for (sent, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut between = place.talk();
        between.output("true");
        let mut in_one = place.talk();
        in_one.output("true");
        in_one.send(
            "main",
            "terminal",
            &json!({"command": "touch /root/begun; sleep 60"}),
        );
        eventually("it runs", || place.sandbox("home/begun").exists());
        assert_eq!(place.ids().len(), 2);
        for talk in [&mut between, &mut in_one] {
            let sent_at = Instant::now();
            signal(&talk.hermes, sent);
            assert_eq!(talk.hermes.wait().code(), Some(code));
            assert!(sent_at.elapsed() < EXIT_LIMIT, "{:?}", sent_at.elapsed());
        }
        assert_eq!(place.ids(), [] as [&str; 0]);
        std::fs::remove_file(place.sandbox("home/begun")).unwrap();
    }
}

/// check 11
pub(crate) fn an_own_container_of_a_dead_process_goes_with_the_next_start(engine: RealEngine) {
    let place = Place::with(engine, json!({"docker_persist_across_processes": false}));
    let mut dead = place.talk();
    dead.output("true");
    let orphan = place.only_id();
    let mut alive = place.talk();
    alive.output("true");
    let others = place.ids();
    assert_eq!(others.len(), 2);
    let living = others.iter().find(|id| **id != orphan).unwrap().clone();
    dead.hermes.kill();
    assert_eq!(place.look(&orphan, "{{.State.Status}}"), "running");

    let mut next = place.talk();
    next.output("true");
    eventually("the orphan is gone", || !place.ids().contains(&orphan));
    assert!(
        place.ids().contains(&living),
        "a living process has lost its container"
    );
    assert_eq!(alive.output("echo still here"), "still here");
    assert_eq!(next.end(), Some(0));
    assert_eq!(alive.end(), Some(0));
    assert_eq!(place.ids(), [] as [&str; 0]);
}

/// The default: the container stays and its processes go on, however Hermes ends.
pub(crate) fn a_shared_container_stays_whatever_becomes_of_the_process(engine: RealEngine) {
    let place = Place::with(engine, json!({"foreground_guard": false}));
    place.output("sleep 1111 </dev/null >/dev/null 2>&1 & true");
    let id = place.only_id();
    for sent in [Signal::TERM, Signal::INT, Signal::KILL] {
        let mut talk = place.talk();
        talk.output("true");
        signal(&talk.hermes, sent);
        talk.hermes.wait();
        assert_eq!(place.only_id(), id);
        assert!(place.runs(&id, "sleep 1111"), "{sent:?}");
    }
}
