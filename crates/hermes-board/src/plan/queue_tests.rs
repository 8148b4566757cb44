//! Who gets a worker: default assignee, lanes, limits, the guard, the order.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::testing::{ALIVE, NOW, Scene, card, names};
use super::{Action, Capped, ProfileCapped, Started, Verdict, WorkerRef};
use crate::model::{Outcome, TaskId};
use crate::store::{ClaimFrom, EndedRun, GuardFacts};

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

#[test]
fn an_unassigned_card_without_default_is_skipped() {
    let plan = Scene::new().ready("t", None).plan();
    assert_eq!(names(&plan.report.skipped_unassigned), ["t"]);
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
}

#[test]
fn a_default_assignee_is_assigned_and_used_in_the_same_tick() {
    let scene = Scene::new().ready("t", None).default_assignee("alpha");
    let plan = scene.plan();
    assert_eq!(names(&plan.report.auto_assigned_default), ["t"]);
    assert_eq!(plan.report.skipped_unassigned, []);
    assert_eq!(
        plan.report.spawned,
        [Started {
            task_id: id("t"),
            assignee: "alpha".to_owned(),
            workspace: String::new()
        }]
    );
    assert_eq!(
        plan.actions,
        [
            Action::AssignDefault {
                task: id("t"),
                assignee: scene.limits.default_assignee.unwrap(),
            },
            Action::Start {
                task: id("t"),
                from: ClaimFrom::Ready,
                leftover: None,
            },
        ]
    );
}

#[test]
fn a_default_assignee_without_profile_is_none() {
    let scene = Scene::new().ready("t", None).default_assignee("nobody");
    let report = scene.report();
    assert_eq!(names(&report.skipped_unassigned), ["t"]);
    assert_eq!(report.auto_assigned_default, []);
}

#[test]
fn an_assigned_card_ignores_the_default() {
    let scene = Scene::new()
        .ready("t", Some("beta"))
        .default_assignee("alpha");
    let plan = scene.plan();
    assert_eq!(plan.report.auto_assigned_default, []);
    assert_eq!(plan.report.spawned[0].assignee, "beta");
    assert_eq!(plan.actions.len(), 1);
}

#[test]
fn a_default_counts_against_the_limit_of_its_profile() {
    let scene = Scene::new()
        .ready("t1", None)
        .ready("t2", None)
        .default_assignee("alpha")
        .limits(|limits| limits.max_in_progress_per_profile = Some(1));
    let report = scene.report();
    assert_eq!(report.started(), ["t1"]);
    assert_eq!(names(&report.auto_assigned_default), ["t1", "t2"]);
    assert_eq!(report.skipped_per_profile_capped.len(), 1);
}

#[test]
fn a_full_board_assigns_no_default() {
    let scene = Scene::new()
        .ready("t1", None)
        .ready("t2", None)
        .default_assignee("alpha")
        .limits(|limits| limits.max_spawn = Some(1));
    let report = scene.report();
    assert_eq!(names(&report.auto_assigned_default), ["t1"]);
    assert_eq!(report.skipped_capped[0].task_id, id("t2"));
}

#[test]
fn a_card_of_a_lane_is_skipped() {
    let plan = Scene::new().ready("t", Some("orion-cc")).plan();
    assert_eq!(names(&plan.report.skipped_nonspawnable), ["t"]);
    assert_eq!(plan.actions, []);
}

#[test]
fn a_profile_gets_no_more_than_its_limit() {
    let scene = Scene::new()
        .ready_for("alpha", 5)
        .ready_for("beta", 3)
        .limits(|limits| limits.max_in_progress_per_profile = Some(2));
    let report = scene.report();
    assert_eq!(report.started(), ["alpha0", "alpha1", "beta0", "beta1"]);
    let deferred: Vec<_> = report
        .skipped_per_profile_capped
        .iter()
        .map(|row| (row.task_id.as_str(), row.assignee.as_str(), row.current))
        .collect();
    assert_eq!(
        deferred,
        [
            ("alpha2", "alpha", 2),
            ("alpha3", "alpha", 2),
            ("alpha4", "alpha", 2),
            ("beta2", "beta", 2),
        ]
    );
}

#[test]
fn running_cards_count_for_their_profile() {
    let scene = Scene::new()
        .running("r", ALIVE)
        .ready_for("alpha", 5)
        .ready_for("beta", 5)
        .limits(|limits| limits.max_in_progress_per_profile = Some(2));
    let report = scene.report();
    assert_eq!(report.started(), ["alpha0", "beta0", "beta1"]);
    assert_eq!(report.skipped_per_profile_capped.len(), 7);
}

#[test]
fn without_a_limit_everything_starts() {
    let scene = Scene::new().ready_for("alpha", 5).ready_for("beta", 5);
    assert_eq!(scene.report().spawned.len(), 10);
}

#[test]
fn a_deferred_card_starts_when_there_is_capacity() {
    let mut scene = Scene::new()
        .ready_for("alpha", 3)
        .limits(|limits| limits.max_in_progress_per_profile = Some(2));
    assert_eq!(scene.report().started(), ["alpha0", "alpha1"]);
    scene.board.ready.drain(..2);
    assert_eq!(scene.report().started(), ["alpha2"]);
}

#[test]
fn limits_count_once_and_each_skip_has_its_reason() {
    let scene = Scene::new()
        .running("r", ALIVE)
        .ready_for("beta", 2)
        .ready("nobody", None)
        .ready("lane", Some("orion-cc"))
        .limits(|limits| {
            limits.max_spawn = Some(2);
            limits.max_in_progress = Some(2);
        });
    let report = scene.report();
    assert_eq!(report.started(), ["beta0"]);
    assert_eq!(
        report.skipped_capped,
        [Capped {
            task_id: id("beta1"),
            cap: "max_in_progress",
            limit: 2,
            current: 2
        }]
    );
    assert_eq!(names(&report.skipped_unassigned), ["nobody"]);
    assert_eq!(names(&report.skipped_nonspawnable), ["lane"]);
    assert!(report.is_held_up());
}

#[test]
fn a_dry_run_counts_what_it_would_start() {
    let scene = Scene::new()
        .ready_for("alpha", 5)
        .limits(|limits| limits.max_spawn = Some(1));
    let report = scene.report();
    assert_eq!(report.started(), ["alpha0"]);
    assert_eq!(report.skipped_capped.len(), 4);
}

#[test]
fn reviews_come_last_and_share_the_limit() {
    let mut scene = Scene::new()
        .ready_for("alpha", 1)
        .limits(|limits| limits.max_in_progress = Some(2));
    for (name, assignee) in [("r1", Some("beta")), ("r2", Some("beta")), ("r3", None)] {
        scene.board.review.push(card(name, assignee));
    }
    let plan = scene.plan();
    assert_eq!(plan.report.started(), ["alpha0", "r1"]);
    assert_eq!(plan.report.skipped_capped[0].task_id, id("r2"));
    assert_eq!(names(&plan.report.skipped_unassigned), ["r3"]);
    assert_eq!(
        plan.actions[1],
        Action::Start {
            task: id("r1"),
            from: ClaimFrom::Review,
            leftover: None
        }
    );
}

#[test]
fn reviews_ignore_guard_and_default() {
    let mut scene = Scene::new().default_assignee("alpha");
    let mut review = card("r", Some("beta"));
    review.guard.completed_at = Some(NOW - 1);
    scene.board.review = vec![review, card("nobody", None)];
    let report = scene.report();
    assert_eq!(report.started(), ["r"]);
    assert_eq!(names(&report.skipped_unassigned), ["nobody"]);
}

#[test]
fn a_guarded_card_is_held_back_and_noted_once() {
    let mut scene = Scene::new().ready_for("alpha", 2);
    scene.board.ready[0].guard.completed_at = Some(NOW - 10);
    let plan = scene.plan();
    assert_eq!(plan.report.started(), ["alpha1"]);
    assert_eq!(plan.report.respawn_guarded[0].until, NOW - 10 + 3600);
    let noted: Vec<_> = plan
        .actions
        .iter()
        .filter(|action| matches!(action, Action::NoteWaiting { .. }))
        .collect();
    assert_eq!(noted.len(), 1);
}

#[test]
fn permission_failures_are_retried_after_a_delay() {
    let mut scene = Scene::new().ready("t", Some("alpha"));
    let failed = |ago| GuardFacts {
        last_failure_error: Some("could not start: Permission denied".to_owned()),
        last_run: Some(EndedRun {
            outcome: Some(Outcome::SpawnFailed),
            ended_at: NOW - ago,
        }),
        ..GuardFacts::default()
    };
    scene.board.ready[0].consecutive_failures = 1;
    scene.board.ready[0].guard = failed(299);
    assert_eq!(scene.report().started(), [] as [&str; 0]);
    scene.board.ready[0].guard = failed(300);
    assert_eq!(scene.report().started(), ["t"]);
}

#[test]
fn promoted_cards_compete_in_the_same_tick() {
    let mut scene = Scene::new()
        .ready("c", Some("alpha"))
        .limits(|limits| limits.max_spawn = Some(3));
    let mut urgent = card("b", Some("alpha"));
    urgent.priority = 5;
    urgent.guard.completed_at = Some(NOW - 10);
    scene.board.promotable.push(urgent);
    let mut waiting = card("a", Some("alpha"));
    waiting.has_open_parent = true;
    scene.board.due.push(waiting);
    scene.board.due.push(card("d", Some("alpha")));
    let plan = scene.plan();
    assert_eq!(names(&plan.report.woken), ["a", "d"]);
    assert_eq!(names(&plan.report.promoted), ["b"]);
    // The one that waits for its parent is awake and does not start.
    assert_eq!(plan.report.started(), ["b", "c", "d"]);
    assert!(matches!(plan.actions[0], Action::WakeDue { .. }));
    assert!(matches!(plan.actions[1], Action::Promote { .. }));
}

#[test]
fn a_card_with_an_open_parent_is_sent_back() {
    let mut scene = Scene::new().ready("t", Some("alpha")).ready("u", None);
    scene.board.ready[0].has_open_parent = true;
    scene.board.ready[1].has_open_parent = true;
    let plan = scene.plan();
    assert_eq!(plan.actions, [Action::SendBack { task: id("t") }]);
    assert_eq!(names(&plan.report.sent_back), ["t"]);
    assert_eq!(names(&plan.report.skipped_unassigned), ["u"]);
}

#[test]
fn a_card_scheduled_for_later_waits() {
    let mut scene = Scene::new().ready_for("alpha", 2);
    scene.board.ready[0].not_before = Some(NOW + 1);
    scene.board.ready[1].not_before = Some(NOW);
    let report = scene.report();
    assert_eq!(report.started(), ["alpha1"]);
    assert_eq!(report.skipped_scheduled[0].at, NOW + 1);
}

#[test]
fn leftovers_get_a_grace_period_and_are_then_terminated() {
    let mut scene = Scene::new().ready("t", Some("alpha"));
    let leftover = WorkerRef {
        task: id("t"),
        run: None,
        pid: Some(77),
        identity: None,
    };
    scene.facts.leftovers.insert(id("t"), leftover.clone());
    let ended = |ago| {
        Some(EndedRun {
            outcome: Some(Outcome::CheckFailed),
            ended_at: NOW - ago,
        })
    };
    scene.board.ready[0].guard.last_run = ended(29);
    let report = scene.report();
    assert_eq!(
        report.respawn_guarded[0].reason.as_str(),
        "previous_worker_alive"
    );
    assert_eq!(report.respawn_guarded[0].until, NOW + 1);
    scene.board.ready[0].guard.last_run = ended(30);
    assert_eq!(
        scene.plan().actions,
        [Action::Start {
            task: id("t"),
            from: ClaimFrom::Ready,
            leftover: Some(leftover)
        }]
    );
}

#[test]
fn the_report_serialises_as_programs_expect_it() {
    let scene = Scene::new()
        .ready_for("alpha", 3)
        .ready("u", None)
        .limits(|limits| limits.max_in_progress_per_profile = Some(2));
    let report = serde_json::to_value(scene.report()).unwrap();
    assert_eq!(report["reclaimed"], json!(0));
    assert_eq!(report["promoted"], json!(0));
    assert_eq!(
        report["spawned"][0],
        json!({"task_id": "alpha0", "assignee": "alpha", "workspace": ""})
    );
    assert_eq!(
        report["skipped_per_profile_capped"],
        json!([{"task_id": "alpha2", "assignee": "alpha", "current": 2}])
    );
    assert_eq!(report["skipped_unassigned"], json!(["u"]));
    assert_eq!(report["skipped_locked"], json!(false));
}

#[test]
fn why_and_the_report_agree() {
    let scene = Scene::new()
        .ready_for("alpha", 2)
        .ready("lane", Some("orion-cc"))
        .limits(|limits| limits.max_in_progress_per_profile = Some(1));
    let plan = scene.plan();
    assert_eq!(
        plan.why(&id("alpha0")),
        [Verdict::Starts {
            assignee: "alpha".to_owned(),
            review: false,
            ends_leftovers: false
        }]
    );
    assert_eq!(
        plan.why(&id("alpha1")),
        [Verdict::ProfileBusy {
            assignee: "alpha".to_owned(),
            current: 1,
            all_boards: false,
        }]
    );
    assert_eq!(plan.why(&id("lane")), [Verdict::NotSpawnable]);
    assert_eq!(plan.why(&id("elsewhere")), []);
    assert_eq!(
        plan.report.skipped_per_profile_capped[0],
        ProfileCapped {
            task_id: id("alpha1"),
            assignee: "alpha".to_owned(),
            current: 1
        }
    );
    let shown = serde_json::to_value(plan.why(&id("alpha1"))).unwrap();
    assert_eq!(
        shown,
        json!([{
            "verdict": "profile_busy",
            "assignee": "alpha",
            "current": 1,
            "all_boards": false,
        }])
    );
}
