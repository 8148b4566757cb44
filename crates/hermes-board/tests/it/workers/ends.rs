//! How workers end, and what becomes of their cards.

use hermes_board::dispatch::{Reclaimed, WorkerHost, WorkerSpawnRequest, write_exit_record};
use hermes_board::model::{Status, TaskId, WorkerExit};
use hermes_board::store::{BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, NewTask};
use hermes_board::{StoredBoard, own_lock};
use pretty_assertions::assert_eq;

use super::{Yard, eventually, ids, lives, run_of, started};
use crate::{complete, kinds, process, status, task};

#[test]
fn crashes_block_a_card_at_the_configured_limit() {
    let mut yard = Yard::new();
    yard.dispatcher.limits.failure_limit = 3;
    let mut store = yard.open();
    let id = yard.file(&mut store, "exit 3");
    let stubborn = yard.file_with(
        &mut store,
        "exit 3",
        NewTask {
            max_retries: Some(1),
            ..NewTask::titled("once")
        },
    );
    for attempt in 1..=3 {
        let report = yard.tick_until_ended(&mut store, &id);
        assert!(started(&report).contains(&id.as_str()), "{attempt}");
        assert_eq!(status(&store, &id), Status::Running);
    }
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.crashed), [id.as_str()]);
    assert_eq!(ids(&report.auto_blocked), [id.as_str()]);
    assert_eq!(started(&report), [] as [&str; 0]);
    for blocked in [&id, &stubborn] {
        assert_eq!(status(&store, blocked), Status::Blocked);
    }
    let crashes = |id| {
        let told = kinds(&store, id);
        told.iter().filter(|kind| *kind == "crashed").count()
    };
    assert_eq!((crashes(&id), crashes(&stubborn)), (3, 1));
    let report = yard.tick(&mut store);
    assert_eq!((report.promoted.len(), report.spawned.len()), (0, 0));
}

#[test]
fn three_protocol_violations_block_a_card() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exit 0");
    for _ in 0..3 {
        assert_eq!(
            started(&yard.tick_until_ended(&mut store, &id)),
            [id.as_str()]
        );
    }
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.auto_blocked), [id.as_str()]);
    assert_eq!(kinds(&store, &id).last().unwrap(), "gave_up");

    // One that completes in between clears the count.
    store.unblock(&id).unwrap();
    yard.tick_until_ended(&mut store, &id);
    complete(&mut store, &id);
    assert_eq!(task(&store, &id).consecutive_failures, 0);
}

#[test]
fn worker_exit_75_is_no_failure_and_starts_a_cooldown() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exit 75");
    yard.tick_until_ended(&mut store, &id);
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.rate_limited), [id.as_str()]);
    assert_eq!(report.crashed, []);
    for _ in 0..3 {
        let report = yard.tick(&mut store);
        assert_eq!(
            report.respawn_guarded[0].reason.as_str(),
            "rate_limit_cooldown"
        );
    }
    let card = task(&store, &id);
    assert_eq!(
        (card.status(), card.consecutive_failures),
        (Status::Ready, 0)
    );
    let told = kinds(&store, &id);
    assert_eq!(
        told.iter()
            .filter(|kind| *kind == "respawn_guarded")
            .count(),
        1
    );
    yard.fixture.pass(300);
    assert_eq!(started(&yard.tick(&mut store)), [id.as_str()]);
}

#[test]
fn a_worker_killed_by_sigterm_has_crashed() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(
        &mut store,
        "trap 'exit 143' TERM; echo > \"$here/listens\"; while :; do sleep 0.01; done",
    );
    yard.tick(&mut store);
    let worker = yard.worker_of(&id);
    eventually("it listens", || !yard.said(&id, "listens").is_empty());
    signal(worker, "TERM");
    eventually("it ends", || !lives(worker));
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.crashed), [id.as_str()]);
    let error = task(&store, &id).last_failure_error.unwrap();
    assert_eq!(error, format!("pid {worker} exited with code 143"));
}

#[test]
fn a_worker_over_its_limit_is_terminated_with_its_children() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let script = "trap '' TERM
        sh -c 'trap \"\" TERM; echo $$ > \"$here/child\"; while :; do sleep 0.01; done' &
        setsid sh -c 'echo $$ > \"$here/away\"; exec sleep 300' &
        while :; do sleep 0.01; done";
    let id = yard.file_with(
        &mut store,
        script,
        NewTask {
            max_runtime_seconds: Some(1),
            ..NewTask::titled("long")
        },
    );
    yard.tick(&mut store);
    let worker = yard.worker_of(&id);
    let pid = |name: &str| yard.said(&id, name).trim().parse::<u32>().ok();
    eventually("all are there", || {
        pid("child").is_some() && pid("away").is_some()
    });
    let everyone = [worker, pid("child").unwrap(), pid("away").unwrap()];
    assert!(everyone.iter().all(|pid| lives(*pid)));
    // By the machine's own clock: the one of the board stands still.
    eventually("its time is up", || {
        let planned = yard.preview(&store).report;
        planned.timed_out == [id.clone()]
    });
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.timed_out), [id.as_str()]);
    assert!(everyone.iter().all(|pid| !lives(*pid)), "{everyone:?}");
    // The next attempt begins at once, and only now.
    assert_eq!(started(&report), [id.as_str()]);
    let runs = store.runs(&id, None).unwrap();
    assert_eq!(runs[0].outcome.as_deref(), Some("timed_out"));
}

#[test]
fn leftover_processes_are_terminated_before_the_next_worker() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let leaving = "sh -c 'echo $$ > \"$here/left.tmp\"; mv \"$here/left.tmp\" \"$here/left\"; exec sleep 300' &
        while ! test -e \"$here/left\"; do sleep 0.01; done; exit 3";
    let id = yard.file(&mut store, leaving);
    yard.tick_until_ended(&mut store, &id);
    let left: u32 = yard.said(&id, "left").trim().parse().unwrap();
    assert!(lives(left));
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.crashed), [id.as_str()]);
    assert_eq!(started(&report), [id.as_str()]);
    assert!(!lives(left));
}

#[test]
fn an_expired_claim_is_extended_while_its_worker_is_alive() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exec sleep 300");
    yard.tick(&mut store);
    let worker = yard.worker_of(&id);
    yard.fixture.pass(901);
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.extended), [id.as_str()]);
    assert_eq!(kinds(&store, &id).last().unwrap(), "claim_extended");
    assert!(lives(worker));

    store.heartbeat(&id, None, None).unwrap();
    yard.fixture.pass(7200);
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.reclaimed), [id.as_str()]);
    assert!(!lives(worker));
    assert_eq!(started(&report), [id.as_str()]);
}

#[test]
fn the_next_dispatcher_reads_the_exit_record() {
    for (exit, bucket) in [
        (0, "protocol_violation"),
        (75, "rate_limited"),
        (9, "crashed"),
    ] {
        let mut yard = Yard::new();
        let mut store = yard.open();
        let id = yard.file(&mut store, &format!("exit {exit}"));
        yard.tick_until_ended(&mut store, &id);
        // What a worker of ours does as its last act.
        let board = yard.fixture.board();
        let run = run_of(&store, &id);
        assert!(write_exit_record(&board, &id, run, WorkerExit::Code(exit), 1).unwrap());
        yard.forget_children();
        yard.tick(&mut store);
        let told = kinds(&store, &id);
        assert!(told.iter().any(|kind| kind == bucket), "{exit}: {told:?}");
        let error = task(&store, &id).last_failure_error.unwrap();
        assert!(!error.contains("not alive"), "{error}");
    }
}

#[test]
fn a_dispatcher_writes_the_exit_record_of_its_worker() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "kill -9 $$");
    yard.tick_until_ended(&mut store, &id);
    let run = run_of(&store, &id);
    yard.dispatcher.limits.crash_grace_seconds = 30;
    yard.tick(&mut store);
    let text = std::fs::read_to_string(yard.fixture.path(&format!("kanban/logs/{id}.exit")));
    let text = text.unwrap();
    let expected = format!("{{\"run_id\":{run},\"code\":null,\"signal\":9,");
    assert!(text.starts_with(&expected), "{text}");
    // Too young to be given up; the next dispatcher tells how it ended.
    yard.forget_children();
    yard.fixture.pass(30);
    yard.tick(&mut store);
    let error = task(&store, &id).last_failure_error.unwrap();
    assert!(error.ends_with("was killed by signal 9"), "{error}");
}

#[test]
fn an_unrecorded_worker_is_adopted() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exec sleep 300");
    let worker = start_without_recording(&mut yard, &mut store, &id);
    yard.forget_children();
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.adopted), [id.as_str()]);
    assert_eq!(started(&report), [] as [&str; 0]);
    assert_eq!(task(&store, &id).worker_pid, Some(i64::from(worker)));
    // From now on it is like any other.
    yard.fixture.pass(901);
    assert_eq!(ids(&yard.tick(&mut store).extended), [id.as_str()]);
    assert!(lives(worker));
}

#[test]
fn a_worker_that_hides_its_environment_is_adopted() {
    // As every Hermes does. Root would see it all the same.
    let name = "workers::ends::a_worker_that_hides_its_environment_is_adopted";
    if hermes_testkit::ran_as_nobody(name) {
        return;
    }
    let mut yard = Yard::new();
    let mut store = yard.open();
    let hide = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); time.sleep(300)";
    let id = yard.file(&mut store, &format!("exec python3 -c '{hide}'"));
    let worker = start_without_recording(&mut yard, &mut store, &id);
    hermes_testkit::eventually("the worker hides", || {
        std::fs::read(format!("/proc/{worker}/environ")).is_err()
    });
    yard.forget_children();
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.adopted), [id.as_str()]);
    assert_eq!(started(&report), [] as [&str; 0]);
    assert_eq!(task(&store, &id).worker_pid, Some(i64::from(worker)));
    assert!(lives(worker));
}

/// What is left when a dispatcher dies between starting a worker and saying so.
fn start_without_recording(yard: &mut Yard, store: &mut StoredBoard, id: &TaskId) -> u32 {
    let lock = own_lock();
    let request = ClaimRequest {
        task: id.clone(),
        lock: lock.clone(),
        ttl_seconds: 900,
        from: ClaimFrom::Ready,
        dispatcher: None,
        host: None,
        caps: ClaimCaps::default(),
    };
    let ClaimOutcome::Claimed(claimed) = store.claim(&request).unwrap() else {
        panic!("{id} was not claimed");
    };
    let mut host = yard.dispatcher.host(store.board());
    let workspace = host.prepare_workspace(&claimed.task).unwrap();
    let spawn = WorkerSpawnRequest {
        task: &claimed.task,
        run: claimed.run,
        lock: &lock,
        workspace: &workspace,
        review: false,
        is_first_attempt: true,
    };
    host.spawn(&spawn).unwrap();
    yard.worker_of(id)
}

#[test]
fn an_unrecorded_worker_is_judged_by_its_exit_record() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let logs = yard.fixture.path("kanban/logs");
    let script = format!(
        "printf '{{\"run_id\":%s,\"code\":75,\"ended_at\":1}}' \
             \"$HERMES_KANBAN_RUN_ID\" > {}/$HERMES_KANBAN_TASK.exit
         exit 75",
        logs.display()
    );
    let id = yard.file(&mut store, &script);
    let worker = start_without_recording(&mut yard, &mut store, &id);
    eventually("it ends", || !lives(worker));
    yard.forget_children();
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.rate_limited), [id.as_str()]);
    assert_eq!(status(&store, &id), Status::Ready);
}

#[test]
fn a_dispatcher_killed_at_any_step_is_replaced_at_once() {
    for steps in 1.. {
        let mut yard = Yard::new();
        yard.dispatcher.limits.failure_limit = 99;
        let mut store = yard.open();
        // Ends at once and leaves no word.
        let id = yard.file(&mut store, "exit 3");
        let first = process("dispatch-and-die", yard.fixture.dir.path())
            .arg(steps.to_string())
            .status()
            .unwrap();
        if task(&store, &id).current_run_id.is_some() {
            // It may have been started, recorded or not.
            yard.end_everyone();
        }
        let mut reports = Vec::new();
        let mut in_vain = 0;
        while in_vain < 3 {
            let report = yard.tick(&mut store);
            if started(&report) == [id.as_str()] {
                break;
            }
            // One that was not marked yet when the others were ended ends by itself.
            let is_alive = !report.adopted.is_empty() || !report.extended.is_empty();
            in_vain += usize::from(!is_alive);
            reports.push(report);
        }
        assert!(in_vain < 3, "after {steps} steps: {reports:?}");
        if first.success() {
            assert!(steps > 5, "a look has more steps than {steps}");
            return;
        }
    }
}

#[test]
fn a_released_card_waits_for_its_old_worker() {
    let mut yard = Yard::new();
    yard.dispatcher.limits.crash_grace_seconds = 30;
    let mut store = yard.open();
    let id = yard.file(&mut store, "exec sleep 300");
    yard.tick(&mut store);
    let worker = yard.worker_of(&id);
    let block = hermes_board::store::BlockRequest {
        task: id.clone(),
        reason: None,
        kind: None,
        expected_run: None,
    };
    store.block(&block).unwrap();
    store.unblock(&id).unwrap();
    let report = yard.tick(&mut store);
    assert_eq!(
        report.respawn_guarded[0].reason.as_str(),
        "previous_worker_alive"
    );
    assert!(lives(worker));
    yard.forget_worker(&id);
    yard.fixture.pass(30);
    let report = yard.tick(&mut store);
    assert_eq!(started(&report), [id.as_str()]);
    assert!(!lives(worker));
    assert!(lives(yard.worker_of(&id)));
}

#[test]
fn reclaiming_terminates_the_worker_first() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exec sleep 300");
    yard.tick(&mut store);
    let worker = yard.worker_of(&id);
    let taken = yard.dispatcher.reclaim(&mut store, &id, Some("why not"));
    assert_eq!(taken.unwrap(), Reclaimed::Yes);
    assert!(!lives(worker));
    let card = task(&store, &id);
    assert_eq!((card.status(), card.worker_pid), (Status::Ready, None));
    let again = yard.dispatcher.reclaim(&mut store, &id, None);
    assert!(again.is_err());
}

#[test]
fn a_reused_process_id_is_not_signalled() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exit 3");
    yard.tick_until_ended(&mut store, &id);
    // As if the number had been given out again.
    let innocent = std::process::Command::new("sleep")
        .arg("300")
        .spawn()
        .unwrap();
    let pid = innocent.id();
    yard.fixture.run_sql(&format!(
        "UPDATE tasks SET worker_pid = {pid} WHERE id = '{id}';
         UPDATE task_runs SET worker_pid = {pid} WHERE task_id = '{id}'"
    ));
    yard.forget_children();
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.crashed), [id.as_str()]);
    assert!(lives(innocent.id()));
    let mut innocent = innocent;
    innocent.kill().unwrap();
    innocent.wait().unwrap();
}

fn signal(pid: u32, name: &str) {
    let status = std::process::Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_worker_outlives_a_killed_dispatcher() {
    for (exit, kind) in [(0, "protocol_violation"), (75, "rate_limited")] {
        let mut yard = Yard::new();
        let mut store = yard.open();
        // As a worker does: it says as its last act how it ends.
        let record = yard.fixture.path("kanban/logs");
        let script = format!(
            "while ! test -e \"$here/go\"; do sleep 0.01; done
             printf '{{\"run_id\":%s,\"code\":{exit},\"ended_at\":1}}' \
                 \"$HERMES_KANBAN_RUN_ID\" > {}/$HERMES_KANBAN_TASK.exit
             exit {exit}",
            record.display()
        );
        let id = yard.file(&mut store, &script);
        let mut first = process("dispatch-and-stay", yard.fixture.dir.path())
            .spawn()
            .unwrap();
        let worker = yard.worker_of(&id);
        eventually("it is recorded", || task(&store, &id).worker_pid.is_some());
        first.kill().unwrap();
        first.wait().unwrap();
        // The next dispatcher leaves it alone as long as it works.
        assert_eq!(yard.tick(&mut store).crashed, []);
        assert!(lives(worker));
        std::fs::write(yard.fixture.path("stubs").join(id.as_str()).join("go"), "").unwrap();
        eventually("it ends", || !lives(worker));
        yard.tick(&mut store);
        let told = kinds(&store, &id);
        assert!(told.iter().any(|one| one == kind), "{exit}: {told:?}");
        assert!(!told.iter().any(|one| one == "crashed"), "{exit}: {told:?}");
    }
}

#[test]
fn a_claim_without_expiry_and_worker_is_reclaimed_at_once() {
    let mut yard = Yard::new();
    let mut store = yard.open();
    let id = yard.file(&mut store, "exec sleep 300");
    crate::claim(&mut store, &id);
    assert_eq!(yard.tick(&mut store).reclaimed, []);
    yard.fixture
        .run_sql("UPDATE tasks SET claim_expires = NULL");
    let report = yard.tick(&mut store);
    assert_eq!(ids(&report.reclaimed), [id.as_str()]);
    assert_eq!(started(&report), [id.as_str()]);
}
