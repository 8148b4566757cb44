//! The verbs, and what they refuse.

use hermes_testkit::kill_at_every_write;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::CronDesk;

// check 31
#[test]
fn what_is_no_job_is_refused_and_nothing_is_written() {
    let desk = CronDesk::new();
    desk.create(&["0 9 * * MON", "x"]);
    let before = desk.home.read("cron/jobs.json");
    for (args, message) in [
        (&["every 0m", "x"][..], "would run all the time"),
        (&["2020-01-01T00:00", "x"], "is in the past"),
        (&["61 * * * *", "x"], "'61' is no minute"),
        (&["0 9 31 2 *", "x"], "matches no date"),
        (&["whenever", "x"], "is not a schedule"),
        (&["every 1h"], "has nothing to do"),
        (&["every 1h", "--no-agent"], "needs a script"),
        (&["every 1h", "x", "--deliver", "telegram"], "'telegram'"),
        (&["every 1h", "x", "--deliver", "origin"], "'origin'"),
        (&["every 1h", "x", "--workdir", "there"], "absolute path"),
        (&["every 1h", "x", "--workdir", "/no/such"], "no directory"),
        (&["every 1h", "--script", "../a.sh"], "is not below"),
        (&["every 1h", "--script", "/etc/passwd"], "is not below"),
        (
            &["every 1h", "x", "--context-from", "nosuch"],
            "no such job",
        ),
        (&["every 1h", "hermes gateway restart"], "stop or restart"),
    ] {
        let args: Vec<&str> = ["create"].iter().chain(args).copied().collect();
        desk.cron(&args).exits(1).says_part(message);
    }
    desk.cron(&["create"]).exits(2);
    desk.cron(&["create", "every 1h", "x", "--repeat", "often"])
        .exits(2);
    assert_eq!(desk.home.read("cron/jobs.json"), before);
    assert_eq!(desk.jobs().len(), 1);
}

#[test]
fn a_job_is_made_listed_changed_paused_and_removed() {
    let desk = CronDesk::new();
    desk.cron(&[
        "create",
        "every 1d at 09:00",
        "Say hello",
        "--name",
        "Hello",
    ])
    .succeeds()
    .prints_part("Hello  (every 1d at 09:00; next run ")
    .says_part("no scheduler is running");
    let id = desk.jobs()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 12);
    desk.cron(&["list"]).succeeds().prints_part("Hello");
    desk.cron(&[
        "edit",
        "hello",
        "--schedule",
        "every 2h",
        "--add-skill",
        "a",
        "--repeat",
        "5",
    ])
    .succeeds();
    let job = desk.job(&id).unwrap();
    assert_eq!(
        (
            &job["schedule"]["minutes"],
            &job["skills"],
            &job["repeat"]["times"]
        ),
        (&json!(120), &json!(["a"]), &json!(5))
    );
    desk.cron(&["edit", &id])
        .exits(2)
        .says_part("nothing to change");
    desk.cron(&["edit", &id, "--prompt", "", "--clear-skills"])
        .exits(1)
        .says_part("nothing to do");
    desk.cron(&["pause", "HELLO", "--reason", "holiday"])
        .succeeds();
    let job = desk.job(&id).unwrap();
    assert_eq!(
        (&job["state"], &job["enabled"], &job["paused_reason"]),
        (&json!("paused"), &json!(false), &json!("holiday"))
    );
    desk.cron(&["list"])
        .succeeds()
        .prints("No active jobs; 1 with --all.\n");
    desk.cron(&["resume", &id]).succeeds();
    assert_eq!(desk.job(&id).unwrap()["state"], "scheduled");
    let status = desk.json(&["status"]);
    assert_eq!(
        (&status["scheduler"], &status["active"], &status["next_job"]),
        (&Value::Null, &json!(1), &json!(id))
    );
    desk.cron(&["rm", &id]).succeeds();
    assert_eq!(desk.jobs(), Vec::<Value>::new());
    for verb in ["pause", "resume", "run", "remove", "edit"] {
        let mut args = vec![verb, "nosuch"];
        args.extend((verb == "edit").then_some("--agent"));
        desk.cron(&args).exits(1).says_part("no such job: 'nosuch'");
    }
}

#[test]
fn a_name_that_two_jobs_have_names_neither() {
    let desk = CronDesk::new();
    let one = desk.create(&["every 1h", "x", "--name", "twin"]);
    let two = desk.create(&["every 1h", "x", "--name", "Twin"]);
    desk.cron(&["remove", "twin"])
        .exits(1)
        .says_part(&format!("{one}, {two}"));
    assert_eq!(desk.jobs().len(), 2);
}

// check 32
#[test]
fn fifty_jobs_made_at_once_are_fifty_jobs() {
    let desk = CronDesk::new();
    std::thread::scope(|scope| {
        for number in 0..50 {
            let desk = &desk;
            scope.spawn(move || {
                let name = format!("n{number}");
                desk.cron(&["create", "every 1h", "x", "--name", &name])
                    .succeeds();
            });
        }
    });
    let mut names: Vec<String> = desk
        .jobs()
        .iter()
        .map(|job| job["name"].to_string())
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 50);
}

// check 32
#[test]
fn a_kill_at_any_write_leaves_the_old_list_or_the_new_one() {
    let desk = CronDesk::new();
    desk.create(&["every 1h", "x"]);
    let killed = kill_at_every_write(
        &desk.home,
        &["cron", "create", "every 2h", "y"],
        |_, home, _| {
            let text = home.read("cron/jobs.json");
            let file: Value = serde_json::from_str(&text).unwrap();
            let count = file["jobs"].as_array().unwrap().len();
            assert!((1..=2).contains(&count), "{count}");
        },
    );
    assert!(killed.0 > 1);
}

#[test]
fn unknown_fields_of_other_programs_stay() {
    let desk = CronDesk::new();
    let id = desk.create(&["every 1h", "x"]);
    desk.edit(&id, |job| job["attach_to_session"] = json!({"x": [1]}));
    desk.cron(&["edit", &id, "--name", "other"]).succeeds();
    let job = desk.job(&id).unwrap();
    assert_eq!(
        (&job["name"], &job["attach_to_session"]),
        (&json!("other"), &json!({"x": [1]}))
    );
}

#[test]
fn an_agents_shell_changes_no_jobs() {
    let desk = CronDesk::new();
    let call = |args: &[&str]| desk.call(args).env("HERMES_AGENT_SHELL", "1").run();
    call(&["create", "every 1h", "x"])
        .exits(1)
        .says_part("refused in an agent's shell");
    call(&["list"]).succeeds();
    let tool = desk
        .home
        .hermes([
            "tools",
            "call",
            "cronjob",
            "{\"action\":\"create\",\"schedule\":\"1h\",\"prompt\":\"x\"}",
        ])
        .env("HERMES_AGENT_SHELL", "1")
        .run();
    assert_eq!(tool.json()["success"], false);
    assert_eq!(desk.jobs(), Vec::<Value>::new());
}

#[test]
fn the_tool_manages_jobs_by_the_references_names() {
    let desk = CronDesk::new();
    let call = |args: Value| {
        let output = desk
            .home
            .run(["tools", "call", "cronjob", &args.to_string()]);
        output.json()
    };
    let made = call(json!({
        "action": "create", "schedule": "every 2h", "prompt": "Look", "name": "look",
        "skills": ["a"], "model": {"model": "m", "provider": "p"}, "enabled_toolsets": ["web"],
    }));
    assert_eq!(made["success"], true, "{made}");
    let id = made["job_id"].as_str().unwrap();
    let job = desk.job(id).unwrap();
    assert_eq!(
        (&job["model"], &job["provider"], &job["enabled_toolsets"]),
        (&json!("m"), &json!("p"), &json!(["web"]))
    );
    let listed = call(json!({"action": "list"}));
    assert_eq!(
        (&listed["count"], &listed["jobs"][0]["schedule"]),
        (&json!(1), &json!("every 120m"))
    );
    let paused = call(json!({"action": "pause", "job_id": "look", "reason": "why"}));
    assert_eq!(paused["job"]["state"], "paused");
    let changed = call(json!({"action": "update", "job_id": id, "skills": []}));
    assert_eq!(changed["job"]["skills"], json!([]));
    for bad in [
        json!({"action": "create", "prompt": "x"}),
        json!({"action": "create", "schedule": "every 1h"}),
        json!({"action": "update", "job_id": id}),
        json!({"action": "remove"}),
        json!({"action": "remove", "job_id": "nosuch"}),
        json!({"action": "create", "schedule": "1h", "prompt": "x", "deliver": "slack"}),
    ] {
        assert_eq!(call(bad.clone())["success"], false, "{bad}");
    }
    assert_eq!(
        call(json!({"action": "remove", "job_id": id}))["success"],
        true
    );
    assert_eq!(desk.jobs(), Vec::<Value>::new());
}
