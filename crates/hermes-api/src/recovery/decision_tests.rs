use pretty_assertions::assert_eq;
use serde_json::Value;

use super::*;

const LIMITS: Limits = Limits {
    freshness: Some(3_600),
    max_restarts: 3,
    window_seconds: 60,
};

fn turn(after: Option<i64>, restarts: i64) -> Interrupted {
    Interrupted::for_test("run_1", after, restarts, 1_000.0, Value::Null)
}

/// The decision about a run of which nothing was done, or whose message is stored.
fn decided(
    after: Option<i64>,
    restarts: i64,
    limits: &Limits,
    is_looping: bool,
    now: f64,
) -> Decision {
    let progress = match after {
        Some(_) => Progress::Begun,
        None => Progress::NotBegun,
    };
    decide(&turn(after, restarts), &progress, limits, is_looping, now)
}

fn reason(decision: Decision) -> String {
    match decision {
        Decision::Report(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_that_had_not_begun_begins_and_a_begun_one_goes_on() {
    let now = 1_010.0;
    assert_eq!(decided(None, 0, &LIMITS, false, now), Decision::Begin);
    assert_eq!(decided(None, 0, &LIMITS, true, now), Decision::Begin);
    assert_eq!(decided(Some(7), 0, &LIMITS, false, now), Decision::Resume);
    assert_eq!(decided(Some(7), 1, &LIMITS, false, now), Decision::Resume);
}

#[test]
fn a_run_that_was_cut_off_three_times_does_not_go_on() {
    let told = reason(decided(Some(7), 2, &LIMITS, false, 1_010.0));
    assert!(told.contains("3 times"), "{told}");
}

#[test]
fn an_old_run_does_not_go_on_unless_age_does_not_count() {
    let later = 1_000.0 + 3_601.0;
    for after in [None, Some(7)] {
        let told = reason(decided(after, 0, &LIMITS, false, later));
        assert!(
            told.contains("agent.gateway_auto_continue_freshness"),
            "{told}"
        );
    }
    let always = Limits {
        freshness: None,
        ..LIMITS
    };
    assert_eq!(decided(Some(7), 0, &always, false, later), Decision::Resume);
}

#[test]
fn a_gateway_that_restarts_in_a_loop_leaves_begun_runs_alone() {
    let told = reason(decided(Some(7), 0, &LIMITS, true, 1_010.0));
    assert!(told.contains("gateway.restart_loop_guard"), "{told}");
}

#[test]
fn what_needs_no_second_question_to_the_model_comes_to_its_end_in_a_loop_as_well() {
    let now = 1_010.0;
    let begun = turn(Some(7), 2);
    let answered = Progress::Answered("yes".to_owned());
    assert_eq!(
        decide(&begun, &answered, &LIMITS, true, now),
        Decision::Tell
    );
    let later = 1_000.0 + 3_601.0;
    assert_eq!(
        decide(&begun, &answered, &LIMITS, true, later),
        Decision::Tell
    );
    // Its place was recorded, and its message never came into the session.
    let decision = decide(&begun, &Progress::NotBegun, &LIMITS, true, now);
    assert_eq!(decision, Decision::Begin);
}
