//! Files that are not what they should be.

use pretty_assertions::assert_eq;

use crate::CronDesk;

// check 38
#[test]
fn a_list_that_cannot_be_read_is_named_and_left_alone() {
    let desk = CronDesk::new();
    for garbage in ["", "{\"jobs\": [", "\u{1}\u{2}", "{\"jobs\": 3}", "[1, 2]"] {
        desk.home.put("cron/jobs.json", garbage);
        for args in [
            &["list"][..],
            &["create", "every 1h", "x"],
            &["tick"],
            &["status"],
            &["remove", "x"],
        ] {
            desk.cron(args)
                .exits(1)
                .says_part("cron/jobs.json cannot be read as a list of jobs");
        }
        assert_eq!(desk.home.read("cron/jobs.json"), garbage);
    }
}

#[test]
fn a_job_that_makes_no_sense_does_not_stop_the_others() {
    let desk = CronDesk::new();
    let good = desk.script_job("every 1h", "echo fine");
    let bad = desk.script_job("every 1h", "echo never");
    let odd = desk.script_job("every 1h", "echo never");
    desk.edit(&bad, |job| {
        job["schedule"] = serde_json::json!({"kind": "cron", "expr": "x"});
    });
    desk.edit(&odd, |job| job["schedule"] = serde_json::json!(null));
    for id in [&good, &bad, &odd] {
        desk.make_due(id, 1);
    }
    desk.edit(&odd, |job| job["next_run_at"] = serde_json::json!(17));
    desk.cron(&["tick"]).succeeds();
    assert_eq!(desk.outputs(&good).len(), 1);
    for id in [&bad, &odd] {
        let job = desk.job(id).unwrap();
        assert_eq!(
            (&job["state"], &job["enabled"]),
            (&"error".into(), &true.into())
        );
    }
}

#[test]
fn a_history_that_is_no_database_is_refused() {
    let desk = CronDesk::new();
    let id = desk.script_job("every 1h", "echo x");
    desk.home.put(
        "cron/executions.db",
        "not a database at all, but long enough to be looked at",
    );
    desk.make_due(&id, 1);
    desk.cron(&["tick"]).exits(1).says_part("executions.db");
    assert_eq!(desk.outputs(&id).len(), 0);
}
