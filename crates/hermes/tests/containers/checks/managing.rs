//! `hermes sandbox`: what people see of their containers, and what they can do with them.

use hermes_testkit::RealEngine;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::place::Place;

pub(crate) fn a_list_says_everything_about_a_sandbox(engine: RealEngine) {
    let place = Place::with(engine, json!({"docker_network": false}));
    assert_eq!(place.listed(), [] as [Value; 0]);
    place.output("true");
    let id = place.only_id();
    let outcome = place.hermes(&["sandbox", "list", "--json"]).run();
    let listing = outcome.succeeds().json();
    assert_eq!(listing["engine"]["kind"], engine.program());
    assert!(
        listing["engine"]["binary"]
            .as_str()
            .unwrap()
            .ends_with(engine.program())
    );
    assert!(!listing["engine"]["version"].as_str().unwrap().is_empty());
    let [row] = &place.listed()[..] else {
        panic!("one: {listing}");
    };
    let home = place.sandbox("home").display().to_string();
    let workspace = place.sandbox("workspace").display().to_string();
    let mut mounts = row["mounts"].as_array().unwrap().clone();
    mounts.sort_by_key(|mount| mount["target"].to_string());
    let expected = [
        json!({"source": home, "target": "/root", "ro": false}),
        json!({"source": workspace, "target": "/workspace", "ro": false}),
    ];
    assert_eq!(mounts, expected);
    for (field, value) in [
        ("id", json!(id)),
        ("state", json!("running")),
        ("task_id", json!("default")),
        ("profile", json!("default")),
        ("network", json!("none")),
        ("drift", json!([])),
        ("home", json!("this")),
        ("finished_at", Value::Null),
    ] {
        assert_eq!(row[field], value, "{field}");
    }
    let name = row["name"].as_str().unwrap();
    assert!(name.starts_with("hermes-") && name.len() == 15, "{name}");
    for field in ["created_at", "last_used_at"] {
        assert!(row[field].is_string(), "{field}: {row}");
    }
    let table = place.hermes(&["sandbox", "list"]).run();
    let header = table.succeeds().stdout.lines().next().unwrap().to_owned();
    let columns: Vec<&str> = header.split_whitespace().collect();
    let expected = [
        "NAME",
        "STATE",
        "TASK",
        "PROFILE",
        "IMAGE",
        "CREATED",
        "LAST-USED",
        "DRIFT",
    ];
    assert_eq!(columns, expected);
    table.prints_part(name);
}

pub(crate) fn a_command_can_be_run_in_the_sandbox_of_a_task(engine: RealEngine) {
    let place = Place::on(engine);
    let run = |args: &[&str]| place.hermes(&[&["sandbox", "exec"], args].concat()).run();
    run(&["--", "echo out; echo err >&2; exit 3"])
        .exits(3)
        .prints("out\nerr\n");
    run(&["--task", "a/b", "--", "echo", "$HOME", "a b"])
        .succeeds()
        .prints("$HOME a b\n");
    run(&["--task", "a/b", "--workdir", "/etc", "--", "pwd"])
        .succeeds()
        .prints("/etc\n");
    run(&["--timeout", "1", "--", "sleep 60"]).exits(124);
    let result = run(&["--task", "a/b", "--json", "--", "cd /tmp; echo hi; exit 4"]);
    let result = result.exits(4).json();
    let names: Vec<String> = place
        .listed()
        .iter()
        .map(|row| row["task_id"].to_string())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let container = place
        .listed()
        .into_iter()
        .find(|row| row["task_id"] == "a_b")
        .unwrap();
    let expected = json!({
        "output": "hi", "exit_code": 4, "cwd": "/tmp", "container": container["name"],
    });
    assert_eq!(result, expected);
    // Ids that only look alike have a sandbox each; what looks like a path makes none.
    run(&["--task", "a_b", "--", "true"]).succeeds();
    assert_eq!(place.ids().len(), 3);
    run(&["--task", "../../x", "--", "true"]).succeeds();
    let directories = std::fs::read_dir(place.home.path("sandboxes/docker")).unwrap();
    let mut names: Vec<String> = directories
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".._.._x", "a_b", "default"]);
}

pub(crate) fn stop_reset_and_rm_do_what_they_say(engine: RealEngine) {
    let place = Place::on(engine);
    let run = |args: &[&str]| place.hermes(&[&["sandbox"], args].concat()).run();
    run(&["stop"]).succeeds().prints_part("Nothing to do");
    place.output("echo kept > /root/file; mkdir /opt; echo kept > /opt/file");
    let id = place.only_id();
    run(&["stop"]).succeeds().prints_part("Stopped hermes-");
    assert_eq!(place.listed()[0]["state"], "exited");
    assert!(place.listed()[0]["finished_at"].is_string());
    run(&["stop"]).succeeds().prints_part("Nothing to do");
    assert_eq!(place.output("cat /root/file /opt/file"), "kept\nkept");
    assert_eq!(place.only_id(), id);

    run(&["reset", "--yes"])
        .succeeds()
        .prints_part("Removed hermes-");
    assert_eq!(place.ids(), [] as [&str; 0]);
    assert_eq!(
        place.output("cat /root/file; ls /opt 2>/dev/null; true"),
        "kept"
    );

    run(&["rm", "--yes"]).exits(2);
    assert_eq!(place.ids().len(), 1);
    run(&["rm", "--purge", "--yes"])
        .succeeds()
        .prints_part("Deleted");
    assert_eq!(place.ids(), [] as [&str; 0]);
    assert!(!place.sandbox("").exists());
}

pub(crate) fn prune_takes_what_nobody_uses(engine: RealEngine) {
    let place = Place::on(engine);
    let prune = |more: &[&str]| {
        let args = [&["sandbox", "prune", "--json"], more].concat();
        place.hermes(&args).run().succeeds().json()
    };
    let reasons = |pruned: &Value| -> Vec<String> {
        let ids = place.ids();
        let kept = pruned["kept"].as_array().unwrap().iter();
        kept.filter(|kept| ids.iter().any(|id| kept["id"] == id.as_str()))
            .map(|kept| kept["reason"].as_str().unwrap().to_owned())
            .collect()
    };
    for task in ["one", "two"] {
        let args = ["sandbox", "exec", "--task", task, "--", "true"];
        place.hermes(&args).run().succeeds();
    }
    place
        .hermes(&["sandbox", "stop", "--task", "one"])
        .run()
        .succeeds();
    let pruned = prune(&[]);
    let mut why = reasons(&pruned);
    why.sort();
    assert!(why[0].starts_with("it ended "), "{why:?}");
    assert_eq!(why[1], "it is running");

    // A dry run says what a real one does.
    let dry = prune(&["--older-than", "0", "--dry-run"]);
    assert_eq!(place.ids().len(), 2);
    let wet = prune(&["--older-than", "0"]);
    assert_eq!(dry["removed"], wet["removed"]);
    assert_eq!(wet["removed"].as_array().unwrap().len(), 1);
    assert_eq!(place.ids().len(), 1);
    prune(&["--older-than", "0", "--running"]);
    assert_eq!(place.ids(), [] as [&str; 0]);
}

/// check 29
pub(crate) fn forwarded_values_are_for_sessions_only(engine: RealEngine) {
    let place = Place::with(
        engine,
        json!({"docker_forward_env": ["FORWARDED"], "docker_env": {"SHOWN": "s", "FORWARDED": "no"}}),
    )
    .env("FORWARDED", "secret-value");
    let mut talk = place.talk();
    let command = "[ $FORWARDED = secret-value ] && echo $SHOWN";
    assert_eq!(talk.output(command), "s");
    let id = place.only_id();
    let by_hand = engine.demand(&["exec", &id, "sh", "-c", "echo $FORWARDED $SHOWN"]);
    assert_eq!(by_hand, "no s");
    assert!(!place.look(&id, "{{json .}}").contains("secret-value"));
    // Not in the command line of any process of this machine, while it is used.
    talk.send(
        "main",
        "terminal",
        &json!({"command": "sleep 5; echo done"}),
    );
    let mut looks = 0;
    for entry in std::fs::read_dir("/proc").unwrap() {
        let line = std::fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains("secret-value"));
        looks += 1;
    }
    assert!(looks > 5);
    assert_eq!(talk.answer()["output"], "done");
}
