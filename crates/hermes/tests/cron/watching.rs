//! A scheduler that goes on until a signal.

use std::time::{Duration, Instant};

use hermes_testkit::{Running, eventually};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::CronDesk;

fn signal(running: &Running, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn watch(desk: &CronDesk) -> Running {
    let running = desk.call(&["tick", "--watch"]).start();
    eventually("a scheduler", || {
        desk.json(&["status"])["scheduler"] == "cron tick --watch"
    });
    running
}

#[test]
fn a_missed_job_is_caught_up_as_soon_as_the_scheduler_is_ready() {
    let desk = CronDesk::new();
    let id = desk.script_job("every 1d at 09:00", "echo x");
    desk.make_due(&id, 2000);
    let begin = Instant::now();
    let mut running = watch(&desk);
    eventually("the run", || desk.outputs(&id).len() == 1);
    assert!(begin.elapsed() < Duration::from_secs(5));
    signal(&running, Signal::TERM);
    assert_eq!(running.wait().code(), Some(0));
}

#[test]
fn new_jobs_and_triggers_wake_the_scheduler() {
    let desk = CronDesk::new();
    let mut running = watch(&desk);
    let id = desk.script_job("in 0m", "echo x");
    eventually("the single run", || desk.outputs(&id).len() == 1);
    let id = desk.script_job("every 1d at 09:00", "echo y");
    desk.cron(&["run", &id])
        .succeeds()
        .prints_part("Triggered")
        .says_part("tick --watch");
    eventually("the triggered run", || desk.outputs(&id).len() == 1);
    desk.cron(&["create", "every 1h", "x"])
        .succeeds()
        .says("`hermes cron tick --watch` runs it.\n");
    signal(&running, Signal::INT);
    assert_eq!(running.wait().code(), Some(0));
}

// check 33
#[test]
fn a_long_job_delays_no_other_and_runs_once() {
    let desk = CronDesk::new();
    let go = desk.home.outside("go");
    let text = format!(
        "while ! test -e {}; do sleep 0.05; done; echo long",
        go.display()
    );
    let long = desk.script_job("every 1m", &text);
    let mut running = watch(&desk);
    desk.make_due(&long, 0);
    eventually("the long run", || {
        desk.runs(&long)["runs"][0]["status"] == "running"
    });
    let short = desk.script_job("in 0m", "echo short");
    eventually("the short run", || desk.outputs(&short).len() == 1);
    // Due again while it runs: missed, with the reason, and nobody else may begin it.
    desk.make_due(&long, 0);
    eventually("the missed run", || {
        desk.runs(&long)["missed"][0]["reason"] == "the run before was still going on"
    });
    desk.cron(&["run", &long, "--now"])
        .exits(1)
        .says_part("is running already");
    desk.cron(&["tick"]).succeeds();
    std::fs::write(&go, "").unwrap();
    eventually("its end", || desk.outputs(&long).len() == 1);
    signal(&running, Signal::TERM);
    assert_eq!(running.wait().code(), Some(0));
}

// check 33
#[test]
fn two_schedulers_never_run_a_job_twice() {
    let desk = CronDesk::new();
    let mut running = watch(&desk);
    desk.cron(&["tick", "--watch"])
        .exits(1)
        .says_part("another scheduler serves this home");
    let ids: Vec<String> = (0..5)
        .map(|_| desk.script_job("every 1h", "echo x >> ../count"))
        .collect();
    for id in &ids {
        desk.make_due(id, 0);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| desk.cron(&["tick"]).succeeds().stdout.len());
        }
    });
    eventually("all runs", || {
        ids.iter()
            .all(|id| desk.job(id).unwrap()["last_status"] == "ok")
    });
    assert_eq!(desk.home.read("count").lines().count(), 5);
    running.kill();
}

#[test]
fn a_killed_scheduler_leaves_no_process_and_no_second_run() {
    let desk = CronDesk::new();
    let pid = desk.home.outside("pid");
    let text = format!("echo $$ > {}; sleep 300", pid.display());
    let id = desk.script_job("30m", &text);
    let mut running = watch(&desk);
    desk.make_due(&id, 1);
    eventually("the run", || {
        std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))
    });
    running.kill();
    let script = std::fs::read_to_string(&pid).unwrap();
    eventually("its end", || {
        !std::path::Path::new(&format!("/proc/{}/exe", script.trim())).exists()
    });
    std::fs::remove_file(&pid).unwrap();
    desk.cron(&["tick"])
        .succeeds()
        .prints_part("is not run again");
    let job = desk.job(&id).unwrap();
    assert_eq!(
        (&job["state"], &job["enabled"]),
        (&json!("error"), &json!(false))
    );
    assert_eq!(desk.runs(&id)["runs"][0]["status"], "unknown");
    assert!(!pid.exists());
}

// check 38
#[test]
fn garbage_in_the_list_does_not_end_the_scheduler() {
    let desk = CronDesk::new();
    let id = desk.script_job("every 1h", "echo x");
    desk.make_due(&id, 0);
    let good = desk.home.read("cron/jobs.json");
    desk.home.put("cron/jobs.json", "garbage");
    let running = desk.call(&["tick", "--watch"]).start();
    let mut said = Vec::new();
    eventually("a complaint", || {
        said.extend(running.errors());
        said.iter()
            .any(|line: &String| line.contains("cannot be read as a list of jobs"))
    });
    desk.home.put("cron/jobs.json", good);
    eventually("the run", || desk.outputs(&id).len() == 1);
    said.extend(running.errors());
    assert_eq!(
        said.iter()
            .filter(|line| line.contains("cannot be read"))
            .count(),
        1,
        "{said:?}"
    );
}

#[test]
fn a_gateway_is_a_scheduler_and_waits_for_its_jobs() {
    let desk = CronDesk::new();
    let missed = desk.script_job("every 1d at 09:00", "echo x");
    desk.make_due(&missed, 2000);
    let mut gateway = desk.home.hermes(["gateway", "run"]).start();
    eventually("the missed run", || desk.outputs(&missed).len() == 1);
    assert_eq!(desk.json(&["status"])["scheduler"], "gateway");
    desk.cron(&["tick", "--watch"])
        .exits(1)
        .says_part("another scheduler serves this home");
    let go = desk.home.outside("go");
    let text = format!(
        "while ! test -e {}; do sleep 0.05; done; echo long",
        go.display()
    );
    let long = desk.script_job("in 0m", &text);
    eventually("the long run", || {
        desk.runs(&long)["runs"][0]["status"] == "running"
    });
    signal(&gateway, Signal::INT);
    eventually("the gateway to drain", || {
        desk.home
            .read("gateway_state.json")
            .contains("\"draining\"")
    });
    std::fs::write(&go, "").unwrap();
    assert_eq!(gateway.wait().code(), Some(0));
    assert_eq!(desk.outputs(&long).len(), 1);
}
