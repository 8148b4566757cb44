//! A worker whose card has a goal goes on, turn after turn, until a judge finds the goal reached.
//!
//! The judge decides whether to go on, the worker what to do. A card that is neither finished nor
//! given up within its turns is blocked, so that a person looks at it.

use hermes_agent::{Event, Observer, Outcome, TurnInput, TurnResult};
use hermes_board::model::Task;
use hermes_config::vars;
use hermes_tools::{GoalClaim, GoalVerdict};

use super::conversation::Conversation;
use crate::context::Context;

/// Turns where nothing else is said.
const MOST_TURNS: u64 = 20;

const FINISH: &str = "A judge has read your answer and finds the goal of your card reached, but the \
    card is still open. If that is right, call kanban_complete now with a summary of what was done \
    and where it is. If it is not, say what is missing and call kanban_block with the reason.";

const UNJUDGED: &str = "Your card is still open, and nobody could judge whether its goal is reached. \
    If it is, call kanban_complete now with a summary of what was done and where it is. If you \
    cannot reach it, call kanban_block with the reason. If there is work left, do it first.";

/// What the next turn begins with, or why there is none.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Another turn that begins with these words.
    Turn(String),
    /// The card is blocked for this reason.
    Block(String),
    /// The worker ends as it is.
    End,
}

/// How far a worker has come.
#[derive(Debug)]
struct Progress {
    turns: u64,
    most: u64,
    /// It has been asked to finish.
    asked_to_finish: bool,
}

impl Progress {
    /// What follows from a verdict. Pure.
    fn next(&mut self, verdict: GoalVerdict) -> Next {
        match verdict {
            GoalVerdict::Reached if self.asked_to_finish => Next::Block(
                "the goal looks reached, but the worker never completed the card, also after it \
                 was asked to"
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

/// Goes on after the first turn as long as the card asks for it. Gives how the last turn ended.
pub(super) fn pursue(
    conversation: &mut Conversation,
    first: TurnResult,
    observer: &mut dyn Observer,
    context: &Context,
) -> TurnResult {
    let mut result = first;
    if !context.env.flag(&vars::HERMES_KANBAN_GOAL_MODE) {
        return result;
    }
    let mut progress = Progress {
        turns: 1,
        most: most_turns(context),
        asked_to_finish: false,
    };
    loop {
        if result.outcome != Outcome::Completed || conversation.interrupt().is_raised() {
            return result;
        }
        let Some(card) = conversation.open_card() else {
            return result;
        };
        let verdict = judged(conversation, &card, &result);
        observer.on(Event::Notice(match &verdict {
            GoalVerdict::Reached => "The judge finds the goal reached.".to_owned(),
            GoalVerdict::NotYet(reason) => {
                format!("The judge finds the goal not reached: {reason}")
            }
            GoalVerdict::Unjudged(why) => format!("The goal could not be judged: {why}"),
        }));
        match progress.next(verdict) {
            Next::Turn(words) => {
                progress.turns += 1;
                result = conversation.turn(TurnInput::text(words), observer);
            }
            Next::Block(reason) => {
                observer.on(Event::Notice(format!("The card is blocked: {reason}")));
                conversation.block_card(reason);
                return result;
            }
            Next::End => return result,
        }
    }
}

fn judged(conversation: &Conversation, card: &Task, result: &TurnResult) -> GoalVerdict {
    let claim = GoalClaim {
        title: &card.title,
        body: card.body.as_deref().unwrap_or_default(),
        summary: result.final_response.as_deref().unwrap_or_default(),
    };
    conversation.judge(&claim)
}

fn most_turns(context: &Context) -> u64 {
    let given = context.env.text(&vars::HERMES_KANBAN_GOAL_MAX_TURNS);
    let given = given.and_then(|text| text.trim().parse().ok());
    given.filter(|turns| *turns > 0).unwrap_or(MOST_TURNS)
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
    fn a_goal_that_is_not_reached_takes_another_turn_until_they_are_used_up() {
        let mut progress = progress();
        let not_yet = || GoalVerdict::NotYet("no tests".to_owned());
        for turn in 2..=3 {
            let Next::Turn(words) = progress.next(not_yet()) else {
                panic!("no turn {turn}")
            };
            assert!(words.contains("no tests") && words.contains(&format!("turn {turn} of 3")));
            progress.turns += 1;
        }
        let Next::Block(reason) = progress.next(not_yet()) else {
            panic!("not blocked")
        };
        assert!(reason.contains("after 3 turns: no tests"), "{reason}");
    }

    #[test]
    fn a_reached_goal_is_asked_for_once_and_then_left_to_a_person() {
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
    fn without_a_judge_the_worker_is_reminded_once_and_ends_as_it_is() {
        let mut progress = progress();
        let unjudged = || GoalVerdict::Unjudged("no key".to_owned());
        assert_eq!(progress.next(unjudged()), Next::Turn(UNJUDGED.to_owned()));
        assert_eq!(progress.next(unjudged()), Next::End);
    }
}
