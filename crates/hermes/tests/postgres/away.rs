//! Workers whose server goes away while they work: they go on, and report once it is back.

use std::path::PathBuf;
use std::process::Command;

use hermes_testkit::{Postgres, eventually};
use pretty_assertions::assert_eq;

use crate::Machine;

/// A worker that says when it has begun and waits to be told to go on, then reports.
struct Paced {
    begun: PathBuf,
    go_on: PathBuf,
    about_to_report: PathBuf,
}

impl Paced {
    fn on(machine: &Machine) -> Self {
        let paced = Self {
            begun: machine.home.outside("begun"),
            go_on: machine.home.outside("go-on"),
            about_to_report: machine.home.outside("about-to-report"),
        };
        let script = format!(
            r#"turns:
  - match: {{user: "/task (?<id>t_[0-9a-f]+)/", step: 1}}
    calls:
      - tool: terminal
        arguments: {{command: "touch {}; until [ -e {} ]; do sleep 0.05; done; touch {}"}}
  - match: {{step: 2}}
    calls: [{{tool: kanban_heartbeat, arguments: {{note: "still here"}}}}]
  - match: {{step: 3}}
    calls: [{{tool: kanban_complete, arguments: {{summary: "reported late"}}}}]
  - text: ok
"#,
            paced.begun.display(),
            paced.go_on.display(),
            paced.about_to_report.display()
        );
        machine.home.put_outside("script.yaml", script, 0o600);
        paced
    }

    fn wait_for_begin(&self) {
        eventually("the worker has begun", || self.begun.exists());
    }

    /// Lets the worker go on to its report.
    fn let_report(&self) {
        std::fs::write(&self.go_on, "").unwrap();
        eventually("the worker is about to report", || {
            self.about_to_report.exists()
        });
    }
}

fn signal(name: &str, pid: i64) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_worker_goes_on_without_the_server_and_reports_later() {
    let server = Postgres::own();
    let database = server.database();
    let machine = Machine::new(&database);
    let paced = Paced::on(&machine);
    machine.kanban(&["init"]).succeeds();
    let gateway = machine.gateway();
    let id = machine.create("work", &["--assignee", "coder"]);
    paced.wait_for_begin();
    server.kill();
    paced.let_report();
    for command in [
        ["list"].as_slice(),
        &["comment", &id, "x"],
        &["complete", &id],
    ] {
        machine.kanban(command).exits(3);
    }
    server.run();
    machine.wait_for(&id, "done");
    let runs = machine.json(&["runs", &id]);
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs}");
    assert_eq!(runs[0]["summary"], "reported late", "{runs}");
    let shown = machine.json(&["show", &id]);
    let events = shown["events"].as_array().unwrap();
    let completed = events.iter().filter(|event| event["kind"] == "completed");
    assert_eq!(completed.count(), 1, "{shown}");
    // The same gateway works on.
    std::fs::remove_file(&paced.begun).unwrap();
    let next = machine.create("next", &["--assignee", "coder"]);
    machine.wait_for(&next, "done");
    drop(gateway);
}

#[test]
fn a_late_report_of_a_card_that_was_given_to_another_is_refused() {
    let server = Postgres::own();
    let database = server.database();
    let machine = Machine::new(&database);
    let paced = Paced::on(&machine);
    let id = machine.create("work", &["--assignee", "coder"]);
    machine.kanban(&["dispatch"]).succeeds();
    paced.wait_for_begin();
    let pid = machine.json(&["runs", &id])[0]["worker_pid"]
        .as_i64()
        .unwrap();
    server.stop();
    paced.let_report();
    signal("-STOP", pid);
    server.run();
    // The claim has ended and another worker has the card, as on another machine.
    database.sql(
        "SET search_path TO hermes_default;
         UPDATE task_runs SET status = 'reclaimed', outcome = 'reclaimed', ended_at = 1;
         UPDATE tasks SET status = 'ready', claim_lock = NULL, claim_expires = NULL,
             worker_pid = NULL, current_run_id = NULL",
    );
    machine.kanban(&["claim", &id]).succeeds();
    signal("-CONT", pid);
    eventually("the worker has ended", || {
        !PathBuf::from("/proc").join(pid.to_string()).exists()
    });
    assert_eq!(machine.status(&id), "running");
    let runs = machine.json(&["runs", &id]);
    assert_eq!(runs.as_array().unwrap().len(), 2, "{runs}");
    assert!(runs[0]["summary"].is_null(), "{runs}");
    let log = machine.kanban(&["log", &id]);
    log.succeeds().prints_part("is over");
    machine
        .kanban(&["complete", &id, "--summary", "by the other"])
        .succeeds();
    assert_eq!(machine.status(&id), "done");
}

/// The server has done it, and its answer never arrives: commits wait for a replica that does not exist,
/// and the connections are ended while they wait.
#[test]
fn a_report_whose_answer_got_lost_counts_once_and_its_worker_knows() {
    let server = Postgres::own();
    let database = server.database();
    let machine = Machine::new(&database);
    let go_on = machine.home.outside("go-on");
    let begun = machine.home.outside("begun");
    let script = format!(
        r#"turns:
  - match: {{user: "/task (?<id>t_[0-9a-f]+)/", step: 1}}
    calls:
      - tool: terminal
        arguments: {{command: "touch {}; until [ -e {} ]; do sleep 0.05; done"}}
  - match: {{step: 2}}
    calls: [{{tool: kanban_complete, arguments: {{summary: "told once"}}}}]
  - match: {{seen: "/\"ok\":\\s*true/", step: 3}}
    text: the report counted
  - text: the report was refused
"#,
        begun.display(),
        go_on.display()
    );
    machine.home.put_outside("script.yaml", script, 0o600);
    let id = machine.create("work", &["--assignee", "coder"]);
    machine.kanban(&["dispatch"]).succeeds();
    eventually("the worker has begun", || begun.exists());
    let pid = machine.json(&["runs", &id])[0]["worker_pid"]
        .as_i64()
        .unwrap();
    database.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    database.sql("SELECT pg_reload_conf()");
    std::fs::write(&go_on, "").unwrap();
    eventually("the card is done", || {
        database.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE wait_event = 'SyncRep' AND pid <> pg_backend_pid()",
        );
        database.sql("SELECT status FROM hermes_default.tasks") == "done"
    });
    database.sql("ALTER SYSTEM RESET synchronous_standby_names");
    database.sql("SELECT pg_reload_conf()");
    eventually("the worker has ended", || {
        !PathBuf::from("/proc").join(pid.to_string()).exists()
    });
    let log = machine.kanban(&["log", &id]);
    log.succeeds().prints_part("the report counted");
    let completed = "SELECT count(*) FROM hermes_default.task_events WHERE kind = 'completed'";
    assert_eq!(database.sql(completed), "1");
}
