//! What follows a turn: a pure decision.

use super::judge::Judgement;
use super::state::{GoalStatus, StandingGoal};

/// Unreadable verdicts in a row before the goal rests.
const UNREADABLE: u64 = 3;
/// Failed requests to the judge in a row before the goal rests.
const UNREACHABLE: u64 = 5;

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalStep {
    /// Another turn, after what the goal waits for; and what the person is told.
    GoOn(String),
    /// No further turn; and what the person is told.
    Stop(String),
}

/// Takes note of a judged turn.
pub fn after_turn(goal: &mut StandingGoal, judgement: &Judgement, now: f64) -> GoalStep {
    goal.turns_used += 1;
    goal.last_turn_at = now;
    let (verdict, reason) = match judgement {
        Judgement::Done(reason) => ("done", reason.clone()),
        Judgement::Continue(reason) => ("continue", reason.clone()),
        Judgement::Wait(_, reason) => ("wait", reason.clone()),
        Judgement::Unreadable => ("continue", "the judge gave no verdict".to_owned()),
        Judgement::Unreachable(why) => ("continue", format!("the judge cannot be asked: {why}")),
        Judgement::Interrupted => ("skipped", "the judge was interrupted".to_owned()),
    };
    goal.last_verdict = Some(verdict.to_owned());
    goal.last_reason = Some(reason.clone());
    let is_unreadable = *judgement == Judgement::Unreadable;
    let is_unreachable = matches!(judgement, Judgement::Unreachable(_));
    goal.consecutive_parse_failures = counted(goal.consecutive_parse_failures, is_unreadable);
    goal.consecutive_transport_failures =
        counted(goal.consecutive_transport_failures, is_unreachable);
    match judgement {
        Judgement::Done(_) => {
            goal.status = GoalStatus::Done;
            return GoalStep::Stop(format!("The goal is reached: {reason}"));
        }
        Judgement::Wait(wait, _) => goal.wait_for(wait, &reason),
        Judgement::Continue(_)
        | Judgement::Unreadable
        | Judgement::Unreachable(_)
        | Judgement::Interrupted => {}
    }
    let pause = if goal.consecutive_transport_failures >= UNREACHABLE {
        Some("its judge cannot be asked; look at `auxiliary.goal_judge`".to_owned())
    } else if goal.consecutive_parse_failures >= UNREADABLE {
        Some("its judge gives no verdict; set another model in `auxiliary.goal_judge`".to_owned())
    } else if goal.turns_used >= goal.max_turns {
        Some(format!(
            "its turns are used up ({} of {})",
            goal.turns_used, goal.max_turns
        ))
    } else {
        None
    };
    if let Some(why) = pause {
        goal.pause(&why);
        return GoalStep::Stop(format!(
            "The goal is paused: {why}. Last verdict: {reason}. /goal resume goes on, /goal clear \
             gives it up"
        ));
    }
    let turns = format!("{} of {}", goal.turns_used, goal.max_turns);
    GoalStep::GoOn(match judgement {
        Judgement::Wait(..) => format!("The goal waits ({turns}): {reason}"),
        _ => format!("The goal is not reached yet ({turns}): {reason}"),
    })
}

fn counted(count: u64, again: bool) -> u64 {
    if again { count + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::super::contract::GoalContract;
    use super::super::state::GoalWait;
    use super::*;

    fn goal(turns: u64) -> StandingGoal {
        StandingGoal::new("g", GoalContract::default(), turns)
    }

    #[test]
    fn turns_follow_until_done_or_used_up() {
        let mut one = goal(3);
        let go_on = Judgement::Continue("more".to_owned());
        assert!(matches!(
            after_turn(&mut one, &go_on, 1.0),
            GoalStep::GoOn(_)
        ));
        let done = Judgement::Done("all".to_owned());
        assert!(matches!(
            after_turn(&mut one, &done, 2.0),
            GoalStep::Stop(_)
        ));
        assert_eq!((one.status, one.turns_used), (GoalStatus::Done, 2));
        let mut other = goal(2);
        after_turn(&mut other, &go_on, 1.0);
        let GoalStep::Stop(text) = after_turn(&mut other, &go_on, 2.0) else {
            panic!("the budget has no end");
        };
        assert!(text.contains("its turns are used up (2 of 2)"), "{text}");
        assert_eq!(other.status, GoalStatus::Paused);
        other.resume();
        assert_eq!((other.is_active(), other.turns_used), (true, 0));
    }

    #[test]
    fn judge_that_fails_again_and_again_pauses_the_goal() {
        for (judgement, times) in [
            (Judgement::Unreadable, UNREADABLE),
            (Judgement::Unreachable("401".to_owned()), UNREACHABLE),
        ] {
            let mut goal = goal(20);
            for _ in 1..times {
                assert!(matches!(
                    after_turn(&mut goal, &judgement, 1.0),
                    GoalStep::GoOn(_)
                ));
            }
            assert!(matches!(
                after_turn(&mut goal, &judgement, 1.0),
                GoalStep::Stop(_)
            ));
            assert_eq!(goal.status, GoalStatus::Paused);
        }
        // One verdict in between, and the count begins again.
        let mut goal = goal(20);
        for _ in 0..5 {
            after_turn(&mut goal, &Judgement::Unreadable, 1.0);
            after_turn(&mut goal, &Judgement::Continue(String::new()), 1.0);
        }
        assert!(goal.is_active());
    }

    #[test]
    fn wait_is_remembered_and_ends_with_a_pause() {
        let mut goal = goal(20);
        let wait = GoalWait::Process("p1".to_owned());
        after_turn(
            &mut goal,
            &Judgement::Wait(wait.clone(), "tests run".to_owned()),
            1.0,
        );
        assert_eq!(goal.wait(), Some(wait));
        assert!(goal.summary().contains("waiting"));
        goal.pause("you");
        assert_eq!(goal.wait(), None);
    }
}
