//! One look at a board, from cards in progress to cards that get a worker.

use std::borrow::Cow;

use crate::plan::action::Situation;
use crate::plan::queue::{Queue, Waiting, order};
use crate::plan::sweep::sweep;
use crate::plan::{Action, Facts, Limits, Plan};
use crate::store::{Candidate, GuardFacts, Snapshot};

/// Decides what to do with a board: pure, and the same for a dry run, for a real one and for
/// whoever asks about a single card. Time is the moment of the snapshot.
pub fn plan(board: &Snapshot, facts: &Facts, limits: &Limits) -> Plan {
    let situation = Situation {
        board,
        facts,
        limits,
        now: board.taken_at,
    };
    let mut plan = Plan::default();
    let swept = sweep(situation, &mut plan);
    let mut ready = swept.freed;
    wake(situation, &mut plan, &mut ready);
    promote(situation, &mut plan, &mut ready);
    let ready = if ready.is_empty() {
        // As they come: the snapshot has them in order.
        board.ready.iter().map(Waiting::unchanged).collect()
    } else {
        ready.extend(board.ready.iter().map(Waiting::unchanged));
        order(&mut ready);
        ready
    };
    let running = swept
        .running
        .iter()
        .map(|running| running.card.assignee.as_deref());
    let mut queue = Queue::new(situation, &mut plan, running);
    for waiting in &ready {
        queue.ready(waiting);
    }
    for card in &board.review {
        queue.review(&Waiting::unchanged(card));
    }
    queue.finish();
    plan
}

/// Parked cards whose moment has come are as good as new, unless they wait for a parent.
fn wake<'a>(situation: Situation<'a>, plan: &mut Plan, ready: &mut Vec<Waiting<'a>>) {
    let due = &situation.board.due;
    if due.is_empty() {
        return;
    }
    let expected: Vec<_> = due.iter().map(|due| due.card.id.clone()).collect();
    plan.report.woken.clone_from(&expected);
    plan.actions.push(Action::WakeDue { expected });
    let fresh = |card: &'a Candidate| Waiting {
        card,
        guard: Cow::Owned(GuardFacts {
            last_failure_error: None,
            requeued_at: Some(situation.now),
            ..card.guard.clone()
        }),
        failures: 0,
    };
    let free = due.iter().filter(|due| !due.card.has_open_parent);
    ready.extend(free.map(|due| fresh(&due.card)));
}

fn promote<'a>(situation: Situation<'a>, plan: &mut Plan, ready: &mut Vec<Waiting<'a>>) {
    let promotable = &situation.board.promotable;
    if promotable.is_empty() {
        return;
    }
    let expected: Vec<_> = promotable.iter().map(|card| card.card.id.clone()).collect();
    plan.report.promoted.clone_from(&expected);
    plan.actions.push(Action::Promote {
        expected,
        failure_limit: situation.limits.failure_limit,
    });
    ready.extend(
        promotable
            .iter()
            .map(|promotable| Waiting::asked_for_again(&promotable.card, situation.now)),
    );
}
