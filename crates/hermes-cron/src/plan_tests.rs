use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;

const BERLIN: &str = "Europe/Berlin";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn rules(zone: &str) -> Rules {
    Rules {
        zone: hermes_time::named(zone).unwrap(),
        catches_up: true,
        once_max_late: SignedDuration::from_hours(24),
        claim_ttl: SignedDuration::from_secs(1800),
    }
}

fn job(fields: Value) -> Job {
    let mut record = json!({"id": "a", "enabled": true, "state": "scheduled"});
    for (key, value) in fields.as_object().unwrap() {
        record[key] = value.clone();
    }
    Job(record.as_object().unwrap().clone())
}

fn cron(expr: &str, next: &str) -> Job {
    job(json!({"schedule": {"kind": "cron", "expr": expr}, "next_run_at": next}))
}

fn once(at: &str) -> Job {
    job(json!({
        "schedule": {"kind": "once", "run_at": at}, "next_run_at": at,
        "repeat": {"times": 1, "completed": 0}
    }))
}

fn planned(job: &Job, now: &str, rules: &Rules) -> Option<Step> {
    let running = BTreeSet::new();
    planned_while(job, now, rules, &running)
}

fn planned_while(job: &Job, now: &str, rules: &Rules, running: &BTreeSet<String>) -> Option<Step> {
    let facts = Facts {
        now: at(now),
        running,
        free: 8,
        absence: Absence::Asleep,
    };
    let mut actions = plan(std::slice::from_ref(job), &facts, rules);
    assert!(actions.len() < 2);
    actions.pop().map(|action| action.step)
}

fn missed(first: &str, last: &str, count: u64, reason: MissReason) -> Missed {
    Missed {
        first: at(first),
        last: at(last),
        count,
        reason,
    }
}

#[test]
fn a_due_job_runs_and_waits_for_its_next_time() {
    let daily = cron("0 9 * * *", "2026-11-17T09:00:00+01:00");
    assert_eq!(
        planned(&daily, "2026-11-17T07:59:59Z", &rules(BERLIN)),
        None
    );
    assert_eq!(
        planned(&daily, "2026-11-17T08:00:00Z", &rules(BERLIN)),
        Some(Step::Run {
            slot: at("2026-11-17T08:00:00Z"),
            next: Some(at("2026-11-18T08:00:00Z")),
            missed: None
        })
    );
}

// check 34
#[test]
fn of_several_missed_runs_one_is_made_up_for_and_the_others_are_recorded() {
    let daily = cron("0 9 * * *", "2026-11-17T09:00:00+01:00");
    let now = "2026-11-20T10:30:00Z";
    assert_eq!(
        planned(&daily, now, &rules(BERLIN)),
        Some(Step::Run {
            slot: at("2026-11-20T08:00:00Z"),
            next: Some(at("2026-11-21T08:00:00Z")),
            missed: Some(missed(
                "2026-11-17T08:00:00Z",
                "2026-11-19T08:00:00Z",
                3,
                MissReason::Absent(Absence::Asleep)
            ))
        })
    );
    let skipping = Rules {
        catches_up: false,
        ..rules(BERLIN)
    };
    assert_eq!(
        planned(&daily, now, &skipping),
        Some(Step::Skip {
            missed: missed(
                "2026-11-17T08:00:00Z",
                "2026-11-20T08:00:00Z",
                4,
                MissReason::Absent(Absence::Asleep)
            ),
            next: Some(at("2026-11-21T08:00:00Z"))
        })
    );
    // Half a period, at most two hours, is not late.
    let soon = planned(&daily, "2026-11-20T09:59:00Z", &skipping);
    assert!(matches!(soon, Some(Step::Run { .. })), "{soon:?}");
}

// check 34
#[test]
fn a_single_run_may_be_late_by_hours_and_not_by_days() {
    let single = once("2026-11-17T09:00:00+00:00");
    let run = planned(&single, "2026-11-17T12:00:00Z", &rules(BERLIN));
    assert_eq!(
        run,
        Some(Step::Run {
            slot: at("2026-11-17T09:00:00Z"),
            next: None,
            missed: None
        })
    );
    assert_eq!(
        planned(&single, "2026-11-20T09:00:00Z", &rules(BERLIN)),
        Some(Step::GiveUp {
            missed: missed(
                "2026-11-17T09:00:00Z",
                "2026-11-17T09:00:00Z",
                1,
                MissReason::TooLate
            )
        })
    );
}

#[test]
fn a_claimed_single_run_is_nobody_elses() {
    let mut single = once("2026-11-17T09:00:00+00:00");
    single.set(
        "run_claim",
        json!({"at": "2026-11-17T09:00:01+00:00", "by": "host:1"}),
    );
    single.count_run(1);
    assert_eq!(
        planned(&single, "2026-11-17T09:20:00Z", &rules(BERLIN)),
        None
    );
    let given_up = planned(&single, "2026-11-17T09:40:00Z", &rules(BERLIN));
    assert!(
        matches!(&given_up, Some(Step::GiveUp { missed }) if missed.reason == MissReason::Interrupted),
        "{given_up:?}"
    );
}

#[test]
fn what_is_due_while_the_job_runs_is_missed() {
    let often = cron("*/5 * * * *", "2026-11-17T09:00:00+00:00");
    let running = BTreeSet::from(["a".to_owned()]);
    assert_eq!(
        planned_while(&often, "2026-11-17T09:12:00Z", &rules("UTC"), &running),
        Some(Step::Skip {
            missed: missed(
                "2026-11-17T09:00:00Z",
                "2026-11-17T09:10:00Z",
                3,
                MissReason::StillRunning
            ),
            next: Some(at("2026-11-17T09:15:00Z"))
        })
    );
}

#[test]
fn a_clock_that_goes_back_repeats_nothing_unless_it_was_wrong() {
    let mut daily = cron("0 9 * * *", "2026-11-18T09:00:00+00:00");
    daily.set("last_slot_at", "2026-11-17T09:00:00+00:00");
    daily.set("last_run_at", "2026-11-17T09:01:00+00:00");
    assert_eq!(planned(&daily, "2026-11-17T08:30:00Z", &rules("UTC")), None);
    // A year off.
    let mut wrong = cron("0 9 * * *", "2027-11-18T09:00:00+00:00");
    wrong.set("last_run_at", "2027-11-17T09:01:00+00:00");
    assert_eq!(
        planned(&wrong, "2026-11-17T08:30:00Z", &rules("UTC")),
        Some(Step::Reschedule {
            next: at("2026-11-17T09:00:00Z")
        })
    );
    let interval = job(json!({
        "schedule": {"kind": "interval", "minutes": 30},
        "next_run_at": "2026-11-17T10:00:00+00:00"
    }));
    assert_eq!(
        planned(&interval, "2026-11-17T09:00:00Z", &rules("UTC")),
        Some(Step::Reschedule {
            next: at("2026-11-17T09:30:00Z")
        })
    );
}

#[test]
fn an_interval_keeps_its_pace_and_begins_anew_after_an_absence() {
    let interval = job(json!({
        "schedule": {"kind": "interval", "minutes": 30},
        "next_run_at": "2026-11-17T09:00:00+00:00"
    }));
    assert_eq!(
        planned(&interval, "2026-11-17T09:01:00Z", &rules("UTC")),
        Some(Step::Run {
            slot: at("2026-11-17T09:00:00Z"),
            next: Some(at("2026-11-17T09:30:00Z")),
            missed: None
        })
    );
    assert_eq!(
        planned(&interval, "2026-11-17T10:50:00Z", &rules("UTC")),
        Some(Step::Run {
            slot: at("2026-11-17T10:30:00Z"),
            next: Some(at("2026-11-17T11:20:00Z")),
            missed: Some(missed(
                "2026-11-17T09:00:00Z",
                "2026-11-17T10:00:00Z",
                3,
                MissReason::Absent(Absence::Asleep)
            ))
        })
    );
}

#[test]
fn local_times_move_with_the_zone() {
    // Written in Sydney, read in Berlin, where nine in the evening is yet to come.
    let daily = cron("0 21 * * *", "2026-11-17T21:00:00+11:00");
    assert_eq!(
        planned(&daily, "2026-11-17T10:00:30Z", &rules(BERLIN)),
        Some(Step::Reschedule {
            next: at("2026-11-17T20:00:00Z")
        })
    );
    // A change to winter time is no other zone.
    let daily = cron("30 2 * * *", "2026-10-25T02:30:00+02:00");
    let run = planned(&daily, "2026-10-25T01:00:00Z", &rules(BERLIN));
    assert!(matches!(run, Some(Step::Run { .. })), "{run:?}");
}

#[test]
fn what_cannot_be_told_is_said_once() {
    let broken = job(json!({"schedule": {"kind": "cron", "expr": "whenever"}}));
    let step = planned(&broken, "2026-11-17T09:00:00Z", &rules("UTC"));
    assert!(matches!(step, Some(Step::Fail { .. })), "{step:?}");
    let broken = job(json!({"schedule": null, "state": "error"}));
    assert_eq!(
        planned(&broken, "2026-11-17T09:00:00Z", &rules("UTC")),
        None
    );
    let unscheduled = job(json!({"schedule": {"kind": "interval", "minutes": 5}}));
    assert_eq!(
        planned(&unscheduled, "2026-11-17T09:00:00Z", &rules("UTC")),
        Some(Step::Reschedule {
            next: at("2026-11-17T09:05:00Z")
        })
    );
}

#[test]
fn those_that_are_paused_or_done_are_left_alone() {
    for (key, value) in [
        ("enabled", json!(false)),
        ("state", json!("paused")),
        ("state", json!("completed")),
    ] {
        let mut daily = cron("0 9 * * *", "2026-11-17T09:00:00+00:00");
        daily.set(key, value);
        assert_eq!(planned(&daily, "2026-11-17T10:00:00Z", &rules("UTC")), None);
    }
}

#[test]
fn the_earliest_run_first_and_no_more_than_there_is_room_for() {
    let running = BTreeSet::new();
    let mut jobs = Vec::new();
    for (id, minute) in [("b", 5), ("c", 1), ("d", 3)] {
        let mut job = cron("0 9 * * *", &format!("2026-11-17T09:0{minute}:00+00:00"));
        job.set("id", id);
        jobs.push(job);
    }
    let facts = Facts {
        now: at("2026-11-17T09:30:00Z"),
        running: &running,
        free: 2,
        absence: Absence::NoScheduler,
    };
    let actions = plan(&jobs, &facts, &rules("UTC"));
    let ids: Vec<&str> = actions.iter().map(|action| action.id.as_str()).collect();
    assert_eq!(ids, ["c", "d"]);
}
