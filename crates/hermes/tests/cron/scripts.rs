//! Jobs that are scripts, due, late and missed.

use hermes_testkit::kill_at_every_write;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::CronDesk;

// check 35
#[test]
fn a_script_reports_what_it_prints_and_its_failure() {
    let desk = CronDesk::new();
    let cases = [
        ("echo disk full", "ok", Some("disk full")),
        ("true", "ok", None),
        ("echo found; echo '{\"wakeAgent\": false}'", "ok", None),
        (
            "echo half; echo why >&2; exit 3",
            "error",
            Some("exit code 3"),
        ),
    ];
    for (text, status, told) in cases {
        let id = desk.script_job("every 1h", text);
        desk.cron(&["edit", &id, "--deliver", "board"]).succeeds();
        desk.make_due(&id, 1);
        let output = desk.cron(&["tick"]);
        output.exits(i32::from(status == "error"));
        let job = desk.job(&id).unwrap();
        assert_eq!(job["last_status"], status, "{text}");
        assert_eq!(job["last_delivery_error"], Value::Null);
        let cards = desk.home.run(["kanban", "list", "--json"]).json();
        let name = &job["name"];
        let card = cards
            .as_array()
            .unwrap()
            .iter()
            .find(|card| card["title"] == *name);
        match told {
            None => assert!(card.is_none(), "{text}: {cards}"),
            Some(part) => {
                let card = card.unwrap_or_else(|| panic!("{text}: {cards}"));
                assert!(card["body"].as_str().unwrap().contains(part), "{card}");
                let wanted = if status == "ok" { "done" } else { "blocked" };
                assert_eq!(card["status"], wanted);
            }
        }
        assert_eq!(desk.outputs(&id).len(), 1);
    }
}

// check 35
#[test]
fn a_script_knows_no_keys_and_no_environment_of_ours() {
    let desk = CronDesk::new();
    let id = desk.script_job("every 1h", "env; pwd");
    let output = desk
        .call(&["run", &id])
        .env("VIRTUAL_ENV", "/opt/venv")
        .env("OPENAI_API_KEY", "sk-canary-0123456789abcdef")
        .env("HERMES_YOLO_MODE", "1")
        .run();
    output.succeeds().never_shows("sk-canary-0123456789abcdef");
    for absent in ["VIRTUAL_ENV", "OPENAI_API_KEY", "HERMES_YOLO_MODE"] {
        assert!(!output.stdout.contains(absent), "{absent}");
    }
    assert!(output.stdout.trim_end().ends_with("/scripts"));
}

// check 35
#[test]
fn a_script_that_leads_outside_is_blocked_when_it_runs() {
    let desk = CronDesk::new();
    let id = desk.script_job("every 1h", "echo fine");
    let outside = desk.home.put_outside("evil.sh", "echo evil", 0o755);
    let link = desk.home.path("scripts/link.sh");
    std::os::unix::fs::symlink(outside, link).unwrap();
    desk.edit(&id, |job| job["script"] = json!("link.sh"));
    let ran = desk.cron(&["run", &id]);
    ran.exits(1).says_part("is not below");
    ran.never_shows("evil\n");
}

#[test]
fn a_script_that_takes_too_long_is_ended_with_all_it_started() {
    let desk = CronDesk::new();
    desk.home
        .put("config.yaml", "cron: {script_timeout_seconds: 1}\n");
    let mark = desk.home.outside("late");
    let text = format!("(sleep 6; touch {0}) & sleep 60", mark.display());
    let id = desk.script_job("every 1h", &text);
    let begin = std::time::Instant::now();
    desk.cron(&["run", &id])
        .exits(1)
        .says_part("was ended after 1 s");
    assert!(begin.elapsed() < std::time::Duration::from_secs(30));
    let left = std::process::Command::new("pgrep")
        .args(["-f", &mark.display().to_string()])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}

// check 34
#[test]
fn late_runs_happen_once_and_those_too_late_are_missed_with_a_notice() {
    let desk = CronDesk::new();
    let daily = desk.script_job("every 1d at 09:00", "echo daily");
    desk.make_due(&daily, 3 * 1440);
    let late = desk.script_job("30m", "echo late");
    desk.make_due(&late, 180);
    let lost = desk.script_job("30m", "echo lost");
    desk.cron(&["edit", &lost, "--deliver", "board"]).succeeds();
    desk.make_due(&lost, 3 * 1440);
    desk.cron(&["tick"]).succeeds();
    desk.cron(&["tick"]).succeeds().prints("Nothing is due.\n");
    let runs = desk.runs(&daily);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1);
    let missed = &runs["missed"][0];
    assert!(
        (2..=3).contains(&missed["count"].as_u64().unwrap()),
        "{missed}"
    );
    assert_eq!(missed["reason"], "no scheduler was running");
    // The single run that was late has run and is gone.
    assert_eq!(desk.job(&late), None);
    assert_eq!(desk.outputs(&late).len(), 1);
    let lost = desk.job(&lost).unwrap();
    assert_eq!(
        (&lost["state"], &lost["enabled"]),
        (&json!("missed"), &json!(false))
    );
    let cards = desk.home.run(["kanban", "list", "--json"]).json();
    assert_eq!(cards.as_array().unwrap().len(), 1, "{cards}");
}

#[test]
fn missed_runs_are_skipped_where_that_is_configured() {
    let desk = CronDesk::new();
    desk.home
        .put("config.yaml", "timezone: UTC\ncron: {catch_up: skip}\n");
    let time = (jiff::Timestamp::now() - jiff::SignedDuration::from_hours(5)).strftime("%H:%M");
    let id = desk.script_job(&format!("every 1d at {time}"), "echo x");
    desk.make_due(&id, 2 * 1440 + 300);
    desk.cron(&["tick"]).succeeds().prints("Nothing is due.\n");
    let runs = desk.runs(&id);
    assert_eq!(runs["runs"], json!([]));
    assert_eq!(runs["missed"].as_array().unwrap().len(), 1);
}

#[test]
fn a_job_ends_after_its_last_run() {
    let desk = CronDesk::new();
    let id = desk.script_job("every 1h", "echo x");
    desk.cron(&["edit", &id, "--repeat", "2"]).succeeds();
    for left in [true, false] {
        desk.make_due(&id, 1);
        desk.cron(&["tick"]).succeeds();
        assert_eq!(desk.job(&id).is_some(), left);
    }
    assert_eq!(desk.outputs(&id).len(), 2);
}

#[test]
fn only_the_latest_outputs_are_kept() {
    let desk = CronDesk::new();
    desk.home
        .put("config.yaml", "cron: {output_retention: 2}\n");
    let id = desk.script_job("every 1h", "echo x");
    for _ in 0..4 {
        desk.cron(&["run", &id]).succeeds();
    }
    assert_eq!(desk.outputs(&id).len(), 2);
    assert_eq!(desk.home.mode(&format!("cron/output/{id}")), 0o700);
}

/// Killed at any write of a tick, the run has happened once, or is known to have been interrupted, or
/// happens at the next tick.
#[test]
fn a_kill_at_any_write_of_a_tick_runs_nothing_twice() {
    for schedule in ["every 1h", "30m"] {
        let desk = CronDesk::new();
        let count = desk.home.path("count");
        // In the home, so that each copy counts for itself.
        let id = desk.script_job(schedule, "echo ran; echo ran >> ../count");
        desk.make_due(&id, 5);
        assert!(!count.exists());
        let killed = kill_at_every_write(&desk.home, &["cron", "tick"], |point, home, _| {
            home.run(["cron", "tick"]);
            let ran = std::fs::read_to_string(home.path("count")).unwrap_or_default();
            let runs = home.run(["cron", "runs", &id, "--json"]).json();
            let unknown = runs["runs"].as_array().unwrap().iter();
            let unknown = unknown.filter(|run| run["status"] == "unknown").count();
            match ran.lines().count() {
                1 => {}
                0 => assert!(unknown > 0, "{schedule} at {point}: {runs}"),
                more => panic!("{schedule} at {point}: ran {more} times"),
            }
        });
        assert!(killed.0 > 5, "{}", killed.0);
    }
}
