//! One container per task and home, from its making over its stops to its loss.

use std::sync::Barrier;

use hermes_docker::labels;
use hermes_testkit::{EngineImage, RealEngine, RemoveContainers};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::place::{Place, clients_of, eventually, text};
use crate::recorder::Recorder;

/// check 3
pub(crate) fn the_walls_stand_as_designed(engine: RealEngine) {
    let place = Place::on(engine);
    let mut talk = place.talk();
    let status = talk.output("grep -E 'CapEff|NoNewPrivs' /proc/self/status");
    assert!(status.contains("00000000000000cb"), "{status}");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let mut copied = |place: &str| {
        let command = format!("cp /bin/busybox {place}/ && {place}/busybox true");
        talk.run(&command)["exit_code"].clone()
    };
    assert_eq!(copied("/tmp"), 0);
    assert_eq!(copied("/var/tmp"), 126);
    assert_eq!(talk.output("pwd; echo $HOME"), "/root\n/root");
}

/// check 5
pub(crate) fn a_second_process_finds_the_container_of_the_first(engine: RealEngine) {
    let place = Place::with(engine, json!({"foreground_guard": false}));
    place.output(
        "sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > /root/pid; export LOST=1; cd /tmp",
    );
    let id = place.only_id();
    // What the container has is there; what a session had is not.
    let command = "kill -0 $(cat /root/pid) && echo runs; echo $LOST; pwd";
    assert_eq!(place.output(command), "runs\n\n/root");
    assert_eq!(place.only_id(), id);

    let recorder = Recorder::of(engine);
    let outcome = place.recorded(&recorder, &["exec", "--", command]).run();
    outcome.succeeds().prints("runs\n\n/root\n");
    assert_eq!(recorder.calls_of("run"), []);
    assert_eq!(recorder.calls_of("start"), []);
    assert_eq!(place.only_id(), id);
}

/// check 6
pub(crate) fn a_stopped_container_is_started_again(engine: RealEngine) {
    let place = Place::on(engine);
    place
        .output("echo kept > /root/file; echo lost > /tmp/file; mkdir /opt; echo kept > /opt/file");
    let id = place.only_id();
    engine.demand(&["stop", "-t", "0", &id]);
    let found = place.output("cat /root/file /opt/file; ls /tmp");
    assert_eq!(found, "kept\nkept");
    assert_eq!(place.only_id(), id);
}

/// check 7
pub(crate) fn a_paused_container_goes_on(engine: RealEngine) {
    let place = Place::on(engine);
    let mut talk = place.talk();
    talk.output("export KEPT=1");
    let id = place.only_id();
    engine.demand(&["pause", &id]);
    assert_eq!(place.output("echo new process"), "new process");
    assert_eq!(place.look(&id, "{{.State.Status}}"), "running");
    assert_eq!(talk.output("echo $KEPT"), "1");
    assert_eq!(place.only_id(), id);
}

/// check 9
pub(crate) fn eight_processes_at_once_share_one_container(engine: RealEngine) {
    let place = Place::on(engine);
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (place, start) = (&place, &start);
            scope.spawn(move || {
                start.wait();
                let command = format!("echo {number} >> /root/who; echo from {number}");
                assert_eq!(place.output(&command), format!("from {number}"));
            });
        }
    });
    let id = place.only_id();
    assert_eq!(place.look(&id, "{{.State.Status}}"), "running");
    let mut who: Vec<String> = place
        .output("cat /root/who")
        .lines()
        .map(str::to_owned)
        .collect();
    who.sort();
    assert_eq!(who, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(place.only_id(), id);
}

/// check 18
pub(crate) fn a_container_that_was_removed_between_two_commands_is_made_anew(engine: RealEngine) {
    for persists in [true, false] {
        let place = Place::with(engine, json!({"docker_persist_across_processes": persists}));
        let mut talk = place.talk();
        talk.output("cd /root; mkdir -p deep; cd deep; export KEPT=1");
        let id = place.only_id();
        engine.remove(&id);
        eventually("all connections into it are lost", || {
            clients_of(&talk.hermes).is_empty()
        });
        let result = talk.run("echo ran >> /root/count; echo $KEPT; pwd");
        assert_eq!(result["exit_code"], 0, "{result}");
        assert_eq!(text(&result, "output"), "1\n/root/deep", "{result}");
        assert_ne!(place.only_id(), id);
        assert_eq!(talk.output("cat /root/count"), "ran");
        assert_eq!(talk.end(), Some(0));
        assert_eq!(place.ids().len(), usize::from(persists));
    }
}

/// check 26
pub(crate) fn homes_do_not_share_containers(engine: RealEngine) {
    let place = Place::on(engine);
    let image = EngineImage::Shell.name_in(engine);
    let elsewhere = |name: &str| {
        let root = place.home.outside(name);
        std::fs::create_dir(&root).unwrap();
        let config = json!({"terminal": {"backend": "docker", "docker_image": image}});
        std::fs::write(root.join("config.yaml"), config.to_string()).unwrap();
        let key = labels::home_key(&root);
        (
            root,
            RemoveContainers::of(engine, format!("{}={key}", labels::HOME)),
        )
    };
    let (one, other) = (elsewhere("one"), elsewhere("other"));
    for (name, (root, _)) in [("one", &one), ("other", &other), ("one", &one)] {
        let command = format!("echo {name} >> /root/who; sort -u /root/who");
        let run = place
            .hermes(&["exec", "--", &command])
            .env("HERMES_HOME", root);
        run.run().succeeds().prints(&format!("{name}\n"));
    }
    let (ones, others) = (one.1.ids(), other.1.ids());
    assert_eq!((ones.len(), others.len()), (1, 1));
    assert_ne!(ones, others);
    for id in ones.iter().chain(&others) {
        // As far as profiles go they are alike.
        let label = place.look(id, "{{index .Config.Labels \"hermes-profile\"}}");
        assert_eq!(label, "default");
    }
    // Each sees its own, and all of them with their homes when asked.
    let list = |args: &[&str]| {
        let args = [&["sandbox", "list"], args].concat();
        place.hermes(&args).env("HERMES_HOME", &one.0).run()
    };
    let name = |id: &str| place.look(id, "{{.Name}}").trim_matches('/').to_owned();
    let (ours, theirs) = (name(&ones[0]), name(&others[0]));
    let listed = list(&[]);
    listed.succeeds().prints_part(&ours);
    assert!(!listed.stdout.contains(&theirs), "{}", listed.stdout);
    assert!(listed.stderr.contains("--all lists"), "{}", listed.stderr);
    let all = list(&["--all"]);
    let home_of = |name: &str| {
        let line = all.stdout.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().last())
            .map(str::to_owned)
    };
    assert_eq!(home_of(&ours).as_deref(), Some("this"), "{}", all.stdout);
    assert_eq!(home_of(&theirs).as_deref(), Some("other"), "{}", all.stdout);
    assert_eq!(all.succeeds().stderr, "");
    // Each manages its own.
    let reset = place
        .hermes(&["sandbox", "reset", "--yes"])
        .env("HERMES_HOME", &one.0);
    reset.run().succeeds();
    assert_eq!((one.1.ids(), other.1.ids()), (vec![], others));
}
