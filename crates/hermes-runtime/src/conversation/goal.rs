//! Goal mode: a worker takes turn after turn until a judge finds the goal of its card reached.
//!
//! The judge decides whether to go on, the worker what to do. A card that is neither completed nor
//! blocked within its turns is blocked, so that a person looks at it.

use hermes_agent::{TurnEvent, TurnInput, TurnObserver, TurnOutcome, TurnResult};
use hermes_board::completion::{GoalClaim, GoalVerdict};

use super::Conversation;
use crate::worker::Worker;

const FINISH: &str = "A judge has read your answer and finds the goal of your card reached, but the \
    card is still open. If that is right, call kanban_complete now with a summary of what was done \
    and where it is. If it is not, say what is missing and call kanban_block with the reason.";

const UNJUDGED: &str = "Your card is still open, and nobody could judge whether its goal is reached. \
    If it is, call kanban_complete now with a summary of what was done and where it is. If you \
    cannot reach it, call kanban_block with the reason. If there is work left, do it first.";

/// What the next turn begins with, or why there is none.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Turn(String),
    Block(String),
    /// The worker ends as it is.
    End,
}

/// How far a worker has come.
#[derive(Debug)]
struct Progress {
    turns: u64,
    most: u64,
    /// Whether the worker has been asked to complete the card.
    asked_to_finish: bool,
}

impl Progress {
    /// What follows from a verdict. Pure.
    fn next(&mut self, verdict: GoalVerdict) -> Next {
        match verdict {
            GoalVerdict::Reached if self.asked_to_finish => Next::Block(
                "the goal looks reached, but the worker never completed the card, even after being \
                 asked to"
                    .to_owned(),
            ),
            GoalVerdict::Unjudged(_) if self.asked_to_finish => Next::End,
            GoalVerdict::Reached => {
                self.asked_to_finish = true;
                Next::Turn(FINISH.to_owned())
            }
            GoalVerdict::Unjudged(_) => {
                self.asked_to_finish = true;
                Next::Turn(UNJUDGED.to_owned())
            }
            GoalVerdict::NotYet(reason) if self.turns >= self.most => Next::Block(format!(
                "the goal is not reached after {} turns: {reason}",
                self.turns
            )),
            GoalVerdict::NotYet(reason) => {
                self.asked_to_finish = false;
                Next::Turn(format!(
                    "The goal of your card is not reached yet. A judge who has read your answer \
                     says: {reason}\nGo on with the next step now. When everything the card asks \
                     for is done and checked, call kanban_complete. If you cannot go on without a \
                     person or another card, call kanban_block with kind needs_input or \
                     dependency. This is turn {} of {}.",
                    self.turns + 1,
                    self.most
                ))
            }
        }
    }
}

/// Takes more turns after the first one while the goal of the card is not reached. Gives the result
/// of the last turn.
pub(super) fn pursue(
    conversation: &mut Conversation,
    first: TurnResult,
    observer: &mut dyn TurnObserver,
) -> TurnResult {
    let mut result = first;
    let goal_turns = conversation.worker.as_ref().and_then(Worker::goal_turns);
    let Some(most) = goal_turns else {
        return result;
    };
    let mut progress = Progress {
        turns: 1,
        most,
        asked_to_finish: false,
    };
    loop {
        if result.outcome != TurnOutcome::Completed || conversation.tools.interrupt().is_raised() {
            return result;
        }
        let worker = conversation.worker.as_ref();
        let Some((worker, card)) = worker.and_then(|worker| Some((worker, worker.open_card()?)))
        else {
            return result;
        };
        let claim = GoalClaim {
            title: &card.title,
            body: card.body.as_deref().unwrap_or_default(),
            summary: result.final_response.as_deref().unwrap_or_default(),
        };
        let verdict = conversation
            .judge
            .judge(&claim, conversation.tools.interrupt());
        observer.on(TurnEvent::Notice(match &verdict {
            GoalVerdict::Reached => "The judge considers the goal reached.".to_owned(),
            GoalVerdict::NotYet(reason) => {
                format!("The judge considers the goal not reached: {reason}")
            }
            GoalVerdict::Unjudged(why) => format!("The goal could not be judged: {why}"),
        }));
        match progress.next(verdict) {
            Next::Turn(message) => {
                progress.turns += 1;
                result = conversation.turn(TurnInput::text(message), observer);
            }
            Next::Block(reason) => {
                observer.on(TurnEvent::Notice(format!("The card is blocked: {reason}")));
                worker.block(reason);
                return result;
            }
            Next::End => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        Progress {
            turns: 1,
            most: 3,
            asked_to_finish: false,
        }
    }

    #[test]
    fn unreached_goal_takes_turns_up_to_the_limit_and_blocks() {
        let mut progress = progress();
        let not_yet = || GoalVerdict::NotYet("no tests".to_owned());
        for turn in 2..=3 {
            let Next::Turn(message) = progress.next(not_yet()) else {
                panic!("no turn {turn}")
            };
            assert!(message.contains("no tests") && message.contains(&format!("turn {turn} of 3")));
            progress.turns += 1;
        }
        let Next::Block(reason) = progress.next(not_yet()) else {
            panic!("not blocked")
        };
        assert!(reason.contains("after 3 turns: no tests"), "{reason}");
    }

    #[test]
    fn reached_goal_with_open_card_is_reminded_once_and_blocks() {
        let mut progress = progress();
        assert_eq!(
            progress.next(GoalVerdict::Reached),
            Next::Turn(FINISH.to_owned())
        );
        assert!(matches!(
            progress.next(GoalVerdict::Reached),
            Next::Block(_)
        ));
    }

    #[test]
    fn unjudged_goal_is_reminded_once_and_ends() {
        let mut progress = progress();
        let unjudged = || GoalVerdict::Unjudged("no key".to_owned());
        assert_eq!(progress.next(unjudged()), Next::Turn(UNJUDGED.to_owned()));
        assert_eq!(progress.next(unjudged()), Next::End);
    }
}
