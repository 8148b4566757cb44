//! Bad input and bad luck with a real engine: the engine's own words, the key to change, and no
//! half-made container.

use hermes_testkit::{EngineImage, RealEngine};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::place::{Place, clients_of, eventually, text};
use crate::recorder::Recorder;
use crate::talk::Talk;

/// An image no registry has; the name is that of a host that cannot be.
const NO_IMAGE: &str = "registry.invalid/no/such:image";

/// check 33
pub(crate) fn an_image_that_cannot_be_had_leaves_nothing(engine: RealEngine) {
    let place = Place::with(engine, json!({"docker_image": NO_IMAGE}));
    let recorder = Recorder::of(engine);
    let outcome = place
        .recorded(&recorder, &["exec", "--", "touch /tmp/x"])
        .run();
    outcome.exits(1).prints("");
    outcome.says_part(NO_IMAGE).says_part("registry.invalid");
    outcome.says_part("terminal.docker_image");
    assert_eq!(place.ids(), [] as [&str; 0]);
    assert_eq!(recorder.calls_of("run"), []);
    // There was nothing to clean up.
    assert_eq!(recorder.calls_of("rm"), []);
    assert_eq!(recorder.calls_of("stop"), []);

    place.configure(json!({}));
    recorder.forget();
    place
        .recorded(&recorder, &["exec", "--", "true"])
        .run()
        .succeeds();
    let line = recorder.calls_of("run")[0].line();
    for limit in ["--cpus 1", "--memory 5120m", "--pids-limit 256"] {
        assert!(line.contains(limit), "{line}");
    }
}

/// Two images that make no sandbox: one does not run the command it is given, the other ends by
/// itself.
pub(crate) fn an_image_whose_containers_end_at_once_is_told_with_its_last_words(
    engine: RealEngine,
) {
    for (image, code, words) in [
        (EngineImage::Swallows, 0, "not run: sleep infinity"),
        (EngineImage::Dies, 7, "no licence found"),
    ] {
        for persists in [true, false] {
            let name = image.name_in(engine);
            let bad = json!({
                "docker_image": name, "docker_persist_across_processes": persists,
            });
            let place = Place::with(engine, bad.clone());
            for _ in 0..2 {
                let outcome = place.exec("echo never");
                outcome.exits(1).prints("");
                outcome.says_part(name).says_part(words);
                outcome.says_part(&format!("exit code {code}"));
                outcome.says_part("terminal.docker_image");
                assert!(!outcome.stderr.contains("any more"), "{}", outcome.stderr);
                assert_eq!(place.ids(), [] as [&str; 0], "{image:?}");
            }
            // The same words as often as one tries in one process.
            let mut talk = place.talk();
            for _ in 0..2 {
                let result = talk.run("echo never");
                assert!(text(&result, "error").contains(words), "{result}");
            }
            assert_eq!(talk.end(), Some(0));
            // With the right image everything is as ever.
            place.configure(json!({"docker_persist_across_processes": persists}));
            assert_eq!(place.output("echo runs"), "runs");
        }
    }
}

/// Settings that make no container: (settings, the key to change, a part of the engine's words).
pub(crate) fn settings_the_engine_refuses_are_named(engine: RealEngine) {
    let place = Place::on(engine);
    let cases = [
        (
            json!({"docker_extra_args": ["--no-such-flag"]}),
            "docker_extra_args",
            "unknown flag",
        ),
        (
            json!({"docker_extra_args": ["--memory", "lots"]}),
            "docker_extra_args",
            "lots",
        ),
        (
            json!({"docker_extra_args": ["-v", "/etc:/root"]}),
            "docker_extra_args",
            "uplicate mount",
        ),
        (
            json!({"docker_volumes": ["/etc:/e:nonsense"]}),
            "docker_volumes",
            "nonsense",
        ),
        (
            json!({"docker_image": "Not An Image"}),
            "docker_image",
            "Not An Image",
        ),
        (
            json!({"docker_image": "UPPER/case"}),
            "docker_image",
            "UPPER/case",
        ),
        (
            json!({"docker_volumes": ["/etc:/a", "/usr:/a"]}),
            "docker_volumes",
            "/usr:/a",
        ),
    ];
    for (settings, key, words) in cases {
        place.configure(settings.clone());
        let outcome = place.exec("touch /tmp/x");
        assert_eq!(outcome.code, Some(1), "{settings}: {outcome}");
        outcome.prints("").says_part(words);
        assert!(outcome.stderr.contains(key), "{settings}: {outcome}");
        assert_eq!(place.ids(), [] as [&str; 0], "{settings}");
    }
    place.configure(json!({}));
    assert_eq!(place.output("echo well"), "well");
}

/// A command that runs in a container, and its answer after something was done to that.
fn struck(place: &Place, timeout: u32, strike: &dyn Fn(&str)) -> (Talk, Value) {
    let mut talk = place.talk();
    talk.output("cd /root; export KEPT=1");
    let id = place.only_id();
    let command = "echo begun; echo ran >> /root/count; touch /root/begun; sleep 600";
    talk.send(
        "main",
        "terminal",
        &json!({"command": command, "timeout": timeout}),
    );
    eventually("it runs", || place.sandbox("home/begun").exists());
    strike(&id);
    let result = talk.answer();
    (talk, result)
}

/// An engine that ends a container in the middle of a command: told, not run again, and the next
/// command finds or makes a container.
pub(crate) fn a_container_that_ends_in_mid_command_is_told(engine: RealEngine) {
    let strikes: [&dyn Fn(&str); 3] = [
        &|id| drop(engine.demand(&["kill", id])),
        &|id| drop(engine.demand(&["stop", "-t", "0", id])),
        &|id| engine.remove(id),
    ];
    for (number, strike) in strikes.into_iter().enumerate() {
        let place = Place::on(engine);
        let (mut talk, result) = struck(&place, 60, strike);
        let error = text(&result, "error");
        assert!(
            error.contains("while the command was running"),
            "{number}: {result}"
        );
        assert_eq!(text(&result, "output"), "begun", "{number}: {result}");
        assert_eq!(result["exit_code"], -1, "{number}: {result}");
        eventually("all connections are lost", || {
            clients_of(&talk.hermes).is_empty()
        });
        assert_eq!(talk.output("pwd; echo $KEPT; cat count"), "/root\n1\nran");
        place.only_id();
    }
}

/// A frozen container answers nothing: the time limit still counts, and nobody claims that what ran
/// is gone.
pub(crate) fn a_container_that_is_paused_in_mid_command_runs_into_the_limit(engine: RealEngine) {
    let place = Place::on(engine);
    let pause = |id: &str| drop(engine.demand(&["pause", id]));
    let (mut talk, result) = struck(&place, 3, &pause);
    assert_eq!(result["exit_code"], 124, "{result}");
    let output = text(&result, "output");
    assert!(output.contains("[Command timed out after 3s"), "{result}");
    assert!(output.contains("may still be running"), "{result}");
    let id = place.only_id();
    assert_eq!(talk.output("pwd; echo $KEPT; cat count"), "/root\n1\nran");
    assert_eq!(place.only_id(), id);
    assert_eq!(place.look(&id, "{{.State.Status}}"), "running");
}

/// A disk that is full inside is the command's trouble, and nobody else's.
pub(crate) fn a_full_disk_inside_is_told_and_survived(engine: RealEngine) {
    let settings = json!({
        "docker_extra_args": ["--tmpfs", "/small:rw,size=1m"],
        "container_persistent": false,
    });
    let place = Place::with(engine, settings);
    let mut talk = place.talk();
    talk.output("cd /small; export KEPT=1");
    let result = talk.run("dd if=/dev/zero of=full bs=1k count=2000");
    assert_ne!(result["exit_code"], 0, "{result}");
    assert!(
        text(&result, "output").contains("No space left on device"),
        "{result}"
    );
    let content = "x".repeat(10_000);
    let written = talk.call(
        "write_file",
        json!({"path": "/small/more", "content": content}),
    );
    assert!(
        text(&written, "error").contains("o space left"),
        "{written}"
    );
    assert_eq!(talk.output("ls; echo $KEPT; pwd"), "full\n1\n/small");
    // Our own notes in the container have no room either.
    talk.output("rm full; dd if=/dev/zero of=/tmp/full bs=1M count=600 2>/dev/null; true");
    assert_eq!(talk.output("pwd; export MORE=2"), "/small");
    assert_eq!(talk.output("echo $KEPT $MORE; rm /tmp/full"), "1 2");
}

/// A directory of the sandbox that cannot be made is named, and nothing is run.
pub(crate) fn a_sandbox_directory_that_cannot_be_is_named(engine: RealEngine) {
    let place = Place::on(engine);
    let file = place.home.put_outside("file", "", 0o644);
    place.configure(json!({"sandbox_dir": file}));
    let outcome = place.exec("touch /tmp/x");
    outcome
        .exits(1)
        .prints("")
        .says_part(&file.display().to_string());
    assert_eq!(place.ids(), [] as [&str; 0]);
}
