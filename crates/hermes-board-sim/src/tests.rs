//! The normal run, and the proof that it would notice.

use super::{Flaw, Request, Rule, simulate};

/// Large enough for a run of a few seconds in an unoptimised build of everything else.
const STEPS: u64 = 1_000_000;

fn run(seed: u64, steps: u64, flaw: Option<Flaw>) -> super::Outcome {
    simulate(&Request { seed, steps, flaw })
}

#[test]
fn a_million_steps_violate_no_invariant() {
    let outcome = run(1, STEPS, None);
    if let Some(failure) = &outcome.failure {
        panic!("{failure}");
    }
    assert!(outcome.steps >= STEPS);
    // A world in which nothing gets done would prove nothing.
    assert!(outcome.completed > outcome.stories, "{outcome:?}");
    assert_eq!(outcome.deeds.len(), 17, "{:?}", outcome.deeds);
    println!("{outcome:?}");
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    assert_eq!(run(77, 20_000, None), run(77, 20_000, None));
    assert_ne!(run(77, 20_000, None), run(78, 20_000, None));
}

#[test]
fn every_flaw_is_noticed() {
    let flaws = [
        (Flaw::ClaimsWithoutCheck, Rule::ClaimCounts),
        (Flaw::ReclaimsWithoutCheck, Rule::ClaimCounts),
        (Flaw::CompletesForAnyAttempt, Rule::OnlyTheCurrentAttempt),
        (Flaw::OverlooksSurvivors, Rule::OneWorker),
        (Flaw::TrustsNumbers, Rule::OnlyTheMeant),
        (Flaw::DryRunWrites, Rule::DryRunChangesNothing),
        (Flaw::ForgetsToPromote, Rule::NothingIsStuck),
        (Flaw::ClaimsBeyondLimits, Rule::LimitsHold),
        (Flaw::TrustsAttemptNumbers, Rule::OneWriter),
        (Flaw::TrustsNames, Rule::ClaimCounts),
    ];
    let mut found = Vec::new();
    for (flaw, _) in flaws {
        let outcome = run(1, 1_000_000, Some(flaw));
        let Some(failure) = outcome.failure else {
            panic!("nobody noticed {flaw:?} in {} steps", outcome.steps);
        };
        println!("{flaw:?} after {} steps: {failure}\n", outcome.steps);
        found.push((flaw, failure.rule));
        assert!(failure.trace.len() < 60, "{flaw:?}: {failure}");
    }
    assert_eq!(found, flaws);
}
