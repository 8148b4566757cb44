//! Cards in progress: claims, silence, crashes, time limits, the breaker.

use pretty_assertions::assert_eq;

use super::testing::{ALIVE, NOW, Scene, gone, names};
use super::{Action, EndWorker, Verdict, WorkerFact};
use crate::model::{TaskId, WorkerExit};
use crate::store::{AttemptEnd, FailurePolicy, RunningTask};

fn expired(running: &mut RunningTask) {
    running.claim.expires = Some(NOW - 1);
}

fn old(running: &mut RunningTask) {
    running.started_at = Some(NOW - 20_000);
}

#[test]
fn a_claim_in_force_with_a_live_worker_is_left_alone() {
    for fact in [ALIVE, WorkerFact::OtherHost, WorkerFact::NotStarted] {
        let plan = Scene::new().running("t", fact).plan();
        assert_eq!(plan.actions, []);
    }
}

#[test]
fn a_claim_without_expiry_and_worker_is_reclaimed() {
    for fact in [WorkerFact::NotStarted, WorkerFact::OtherHost] {
        let claimed = |pid| {
            Scene::new().running_with("t", fact.clone(), |running| {
                running.claim.expires = None;
                running.claim.pid = pid;
                running.started_at = Some(NOW - 1);
            })
        };
        let report = claimed(None).report();
        assert_eq!(names(&report.reclaimed), ["t"], "{fact:?}");
        assert_eq!(report.started(), ["t"], "{fact:?}");
        // Whoever recorded a worker gets the usual time.
        assert_eq!(claimed(Some(7)).report().reclaimed, [], "{fact:?}");
    }
}

#[test]
fn a_live_worker_keeps_an_expired_claim() {
    for beat in [None, Some(NOW - 3600)] {
        let scene = Scene::new().running_with("t", ALIVE, |running| {
            expired(running);
            running.last_heartbeat_at = beat;
        });
        let plan = scene.plan();
        assert_eq!(names(&plan.report.extended), ["t"]);
        assert_eq!(plan.report.reclaimed, []);
        let [Action::Extend { until, .. }] = &plan.actions[..] else {
            panic!("{:?}", plan.actions)
        };
        assert_eq!(*until, NOW + 900);
    }
}

#[test]
fn a_live_worker_with_stale_heartbeat_is_replaced() {
    let scene = Scene::new().running_with("t", ALIVE, |running| {
        expired(running);
        running.last_heartbeat_at = Some(NOW - 7200);
    });
    let plan = scene.plan();
    assert_eq!(names(&plan.report.reclaimed), ["t"]);
    assert_eq!(plan.report.started(), ["t"]);
    let Action::EndAttempt {
        end: AttemptEnd::Expired {
            heartbeat_stale: true,
        },
        worker: EndWorker::Needed(worker),
        ..
    } = &plan.actions[0]
    else {
        panic!("{:?}", plan.actions)
    };
    assert_eq!(worker.pid, Some(4001));
}

#[test]
fn no_process_is_signalled_for_a_claim_of_another_host() {
    for fact in [WorkerFact::OtherHost, WorkerFact::NotStarted] {
        let plan = Scene::new().running_with("t", fact, expired).plan();
        assert_eq!(names(&plan.report.reclaimed), ["t"]);
        assert!(matches!(
            &plan.actions[0],
            Action::EndAttempt {
                worker: EndWorker::OutOfReach,
                ..
            }
        ));
    }
}

#[test]
fn a_claim_without_expiry_lasts_the_usual_time() {
    let of = |started| {
        let scene = Scene::new().running_with("t", WorkerFact::NotStarted, |running| {
            running.claim.expires = None;
            running.started_at = started;
        });
        scene.report().reclaimed.len()
    };
    assert_eq!(of(Some(NOW - 899)), 0);
    assert_eq!(of(Some(NOW - 900)), 1);
    assert_eq!(of(None), 1);
}

#[test]
fn a_claim_from_the_future_is_reclaimed() {
    let year = 365 * 24 * 3600;
    let ahead = |running: &mut RunningTask| {
        running.started_at = Some(NOW + year);
        running.claim.expires = Some(NOW + year + 900);
        running.last_heartbeat_at = Some(NOW + year);
    };
    let elsewhere = Scene::new().running_with("t", WorkerFact::OtherHost, ahead);
    assert_eq!(names(&elsewhere.report().reclaimed), ["t"]);
    let crashed = Scene::new().running_with("t", gone(WorkerExit::Code(3)), ahead);
    assert_eq!(names(&crashed.report().crashed), ["t"]);
    // One that lives goes on, and nobody counts a year against it.
    let alive = Scene::new().running_with("t", ALIVE, |running| {
        ahead(running);
        running.max_runtime_seconds = Some(1);
    });
    let report = alive.report();
    assert_eq!(names(&report.extended), ["t"]);
    assert_eq!((report.timed_out.len(), report.stale.len()), (0, 0));
}

#[test]
fn a_silent_worker_is_terminated_after_the_timeout() {
    let stale = |beat: Option<i64>, timeout| {
        let scene = Scene::new()
            .running_with("t", ALIVE, |running| {
                old(running);
                running.last_heartbeat_at = beat;
            })
            .limits(|limits| limits.stale_timeout_seconds = timeout);
        scene.report().stale.len()
    };
    assert_eq!(stale(None, 14_400), 1);
    assert_eq!(stale(Some(NOW - 3601), 14_400), 1);
    assert_eq!(stale(Some(NOW - 3600), 14_400), 0);
    assert_eq!(stale(None, 30_000), 0);
    assert_eq!(stale(None, 0), 0);
}

#[test]
fn exits_are_reported_by_kind() {
    let report = |exit| Scene::new().running("t", gone(exit)).report();
    for exit in [
        WorkerExit::Code(3),
        WorkerExit::Signal(9),
        WorkerExit::Unknown,
        WorkerExit::Code(0),
        WorkerExit::Code(143),
    ] {
        let report = report(exit);
        assert_eq!(names(&report.crashed), ["t"], "{exit:?}");
        assert_eq!(report.started(), ["t"], "{exit:?}");
        assert_eq!(report.rate_limited, [], "{exit:?}");
    }
    let walled = report(WorkerExit::Code(75));
    assert_eq!(names(&walled.rate_limited), ["t"]);
    assert_eq!(walled.crashed, []);
    assert_eq!(walled.started(), [] as [&str; 0]);
    assert_eq!(
        walled.respawn_guarded[0].reason.as_str(),
        "rate_limit_cooldown"
    );
}

#[test]
fn a_young_attempt_may_have_no_process_yet() {
    let crashed = |age, grace| {
        let scene = Scene::new()
            .running_with("t", gone(WorkerExit::Unknown), |running| {
                running.started_at = Some(NOW - age);
            })
            .limits(|limits| limits.crash_grace_seconds = grace);
        scene.report().crashed.len()
    };
    assert_eq!(crashed(29, 30), 0);
    assert_eq!(crashed(30, 30), 1);
    assert_eq!(crashed(0, 0), 1);
}

#[test]
fn the_configured_number_of_crashes_blocks() {
    let report = |failures, own: Option<i64>, limit| {
        Scene::new()
            .running_with("t", gone(WorkerExit::Code(3)), |running| {
                running.card.consecutive_failures = failures;
                running.card.max_retries = own;
            })
            .limits(|limits| limits.failure_limit = limit)
            .report()
    };
    assert_eq!(report(1, None, 3).auto_blocked, []);
    let third = report(2, None, 3);
    assert_eq!(names(&third.auto_blocked), ["t"]);
    assert_eq!(names(&third.crashed), ["t"]);
    assert_eq!(third.started(), [] as [&str; 0]);
    assert_eq!(third.promoted, []);
    assert_eq!(names(&report(0, Some(1), 3).auto_blocked), ["t"]);
    assert_eq!(report(2, Some(9), 3).auto_blocked, []);
}

#[test]
fn planned_protocol_violations_have_their_own_limit() {
    let blocked = |streak, own, failures| {
        let scene = Scene::new().running_with("t", gone(WorkerExit::Code(0)), |running| {
            running.violation_streak = streak;
            running.card.max_retries = own;
            running.card.consecutive_failures = failures;
        });
        scene.report().auto_blocked.len()
    };
    assert_eq!(blocked(0, None, 9), 0);
    assert_eq!(blocked(1, None, 0), 0);
    assert_eq!(blocked(2, None, 0), 1);
    assert_eq!(blocked(0, Some(1), 0), 1);
}

#[test]
fn three_equal_crashes_are_systemic() {
    let mut scene = Scene::new();
    for name in ["a", "b", "c"] {
        scene = scene.running(name, gone(WorkerExit::Code(3)));
    }
    scene = scene.running("d", gone(WorkerExit::Code(4)));
    let plan = scene.plan();
    assert_eq!(names(&plan.report.auto_blocked), ["a", "b", "c"]);
    assert_eq!(plan.report.started(), ["d"]);
    let systemic: Vec<bool> = plan
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::EndAttempt {
                end: AttemptEnd::Exited { policy, .. },
                ..
            } => Some(policy.systemic),
            _ => None,
        })
        .collect();
    assert_eq!(systemic, [true, true, true, false]);
}

#[test]
fn a_machine_restart_blocks_no_card() {
    let mut scene = Scene::new();
    for name in ["a", "b", "c", "d"] {
        scene = scene.running_with(name, WorkerFact::LostInRestart, expired);
    }
    let report = scene.report();
    assert_eq!(names(&report.crashed), ["a", "b", "c", "d"]);
    assert_eq!(report.auto_blocked, []);
    assert_eq!(report.reclaimed, []);
}

#[test]
fn a_known_exit_is_recorded_although_the_claim_expired() {
    let scene = Scene::new().running_with("t", gone(WorkerExit::Code(75)), |running| {
        expired(running);
        old(running);
    });
    let report = scene.report();
    assert_eq!(names(&report.rate_limited), ["t"]);
    assert_eq!((report.reclaimed.len(), report.stale.len()), (0, 0));
    let unseen = Scene::new().running_with("t", gone(WorkerExit::Unknown), expired);
    assert_eq!(names(&unseen.report().reclaimed), ["t"]);
}

#[test]
fn survivors_are_terminated_before_the_crash_is_recorded() {
    let exit = WorkerExit::Signal(9);
    let scene = Scene::new().running_with("t", WorkerFact::Survivors { exit }, expired);
    let plan = scene.plan();
    let Action::EndAttempt {
        worker: EndWorker::Needed(worker),
        end: AttemptEnd::Exited { policy, .. },
        ..
    } = &plan.actions[0]
    else {
        panic!("{:?}", plan.actions)
    };
    assert_eq!(worker.task, TaskId::new("t"));
    assert_eq!(*policy, FailurePolicy::with_limit(2));
    assert_eq!(names(&plan.report.crashed), ["t"]);
}

#[test]
fn a_worker_over_its_time_limit_is_terminated_and_counted() {
    let report = |age, limit, failures| {
        let alive = WorkerFact::Alive {
            age_seconds: Some(age),
        };
        Scene::new()
            .running_with("t", alive, |running| {
                running.max_runtime_seconds = Some(limit);
                running.card.consecutive_failures = failures;
                // What the wall clock says does not matter.
                old(running);
            })
            .report()
    };
    assert_eq!(report(59, 60, 0).timed_out, []);
    let first = report(60, 60, 0);
    assert_eq!(names(&first.timed_out), ["t"]);
    assert_eq!(first.started(), ["t"]);
    let second = report(60, 60, 1);
    assert_eq!(names(&second.timed_out), ["t"]);
    assert_eq!(names(&second.auto_blocked), ["t"]);
    assert_eq!(report(60, 0, 0).timed_out, []);
    assert_eq!(report(60, -5, 0).timed_out, []);
}

#[test]
fn a_released_card_competes_in_the_same_tick() {
    let scene = Scene::new()
        .running_with("z", gone(WorkerExit::Code(3)), |running| {
            running.card.priority = 1;
        })
        .ready_for("alpha", 2)
        .limits(|limits| limits.max_in_progress = Some(1));
    let report = scene.report();
    assert_eq!(report.started(), ["z"]);
    assert_eq!(report.skipped_capped.len(), 2);
}

#[test]
fn why_has_a_verdict_for_each_action() {
    let scene = Scene::new().running("t", gone(WorkerExit::Signal(9)));
    let verdicts = scene.plan().why(&TaskId::new("t"));
    assert_eq!(
        verdicts,
        [
            Verdict::WorkerEnded {
                exit_code: None,
                signal: Some(9)
            },
            Verdict::Starts {
                assignee: "alpha".to_owned(),
                review: false,
                ends_leftovers: false
            },
        ]
    );
    let words: Vec<String> = verdicts
        .iter()
        .map(|verdict| verdict.sentence(|at| at.to_string()))
        .collect();
    assert_eq!(
        words,
        [
            "Its worker was killed by signal 9.",
            "A worker starts for alpha."
        ]
    );
}
