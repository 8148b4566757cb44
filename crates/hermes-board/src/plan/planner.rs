//! One tick of a board as a plan, from running cards to cards that get a worker.

use std::borrow::Cow;

use crate::plan::action::PlanInput;
use crate::plan::queue::{Queue, Waiting, order};
use crate::plan::sweep::sweep;
use crate::plan::{Action, Facts, Limits, Plan};
use crate::store::{Candidate, GuardFacts, Snapshot};

/// Decides what to do with a board. Pure, and the same for a dry run, a real tick and `kanban why`.
/// The time is that of the snapshot.
pub fn plan(board: &Snapshot, facts: &Facts, limits: &Limits) -> Plan {
    let input = PlanInput {
        board,
        facts,
        limits,
        now: board.taken_at,
    };
    let mut plan = Plan {
        counts_other_boards: limits.counts_other_boards(),
        made_at: board.taken_at,
        host: facts.host.name.clone(),
        ..Plan::default()
    };
    let result = sweep(input, &mut plan);
    let mut ready = result.freed;
    wake(input, &mut plan, &mut ready);
    promote(input, &mut plan, &mut ready);
    let ready = if ready.is_empty() {
        // The snapshot has them in order.
        board.ready.iter().map(Waiting::unchanged).collect()
    } else {
        ready.extend(board.ready.iter().map(Waiting::unchanged));
        order(&mut ready);
        ready
    };
    let mut queue = Queue::new(input, &mut plan, result.running.into_iter());
    for waiting in &ready {
        queue.ready(waiting);
    }
    for card in &board.review {
        queue.review(&Waiting::unchanged(card));
    }
    queue.finish();
    plan
}

/// Scheduled cards whose time has come start afresh, unless they wait for a parent.
fn wake<'a>(input: PlanInput<'a>, plan: &mut Plan, ready: &mut Vec<Waiting<'a>>) {
    let due = &input.board.due;
    if due.is_empty() {
        return;
    }
    let expected: Vec<_> = due.iter().map(|card| card.id.clone()).collect();
    plan.report.woken.clone_from(&expected);
    plan.actions.push(Action::WakeDue { expected });
    let fresh = |card: &'a Candidate| Waiting {
        card,
        guard: Cow::Owned(GuardFacts {
            last_failure_error: None,
            requeued_at: Some(input.now),
            ..card.guard.clone()
        }),
        failures: 0,
    };
    let free = due.iter().filter(|card| !card.has_open_parent);
    ready.extend(free.map(fresh));
}

fn promote<'a>(input: PlanInput<'a>, plan: &mut Plan, ready: &mut Vec<Waiting<'a>>) {
    let promotable = &input.board.promotable;
    if promotable.is_empty() {
        return;
    }
    let expected: Vec<_> = promotable.iter().map(|card| card.id.clone()).collect();
    plan.report.promoted.clone_from(&expected);
    plan.actions.push(Action::Promote {
        expected,
        failure_limit: input.limits.failure_limit,
    });
    ready.extend(
        promotable
            .iter()
            .map(|card| Waiting::asked_for_again(card, input.now)),
    );
}
