//! A conversation that works on a card of the board.

use std::sync::Arc;
use std::time::Duration;

use hermes_agent::{TurnEvent, TurnInput, TurnOutcome};
use hermes_board::boards::BoardHome;
use hermes_board::model::{RunId, Status, TaskId};
use hermes_board::store::{BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, NewTask};
use hermes_board::{BoardOptions, StoredBoard};
use hermes_runtime::Nobody;
use pretty_assertions::assert_eq;

use super::world::{World, request};

/// A worker that forgets its card once and completes it when reminded.
const FORGETFUL: &str = "turns:
  - text: I am done.
  - calls: [{tool: kanban_complete, arguments: {summary: all of it}}]
  - text: Now it is completed.
";

struct Card {
    store: StoredBoard,
    task: TaskId,
    run: RunId,
}

/// A claimed card whose worker is the next conversation of this world.
fn claimed_card(world: &mut World) -> Card {
    let context = world.context();
    context.ensure_home().unwrap();
    let board = BoardHome::resolve(&context.env, &context.location);
    let board = board.select(None).unwrap();
    let mut store = StoredBoard::open(&board, &BoardOptions::default()).unwrap();
    let task = store.create(&NewTask::titled("work")).unwrap().task.id;
    let claim = ClaimRequest {
        task: task.clone(),
        lock: "host:1".to_owned(),
        ttl_seconds: 60,
        from: ClaimFrom::Ready,
        dispatcher: None,
        host: None,
        caps: ClaimCaps::default(),
    };
    let ClaimOutcome::Claimed(claimed) = store.claim(&claim).unwrap() else {
        panic!("the card is not claimed");
    };
    world.set("HERMES_KANBAN_TASK", &task);
    world.set("HERMES_KANBAN_RUN_ID", claimed.run);
    world.set("HERMES_KANBAN_CLAIM_LOCK", "host:1");
    Card {
        store,
        task,
        run: claimed.run,
    }
}

#[test]
fn worker_is_reminded_of_its_card_and_records_its_exit_code() {
    let mut world = World::playing(FORGETFUL);
    let card = claimed_card(&mut world);
    let mut worker = world
        .runtime()
        .open_conversation(&request(), Arc::new(Nobody))
        .unwrap();
    assert!(worker.is_worker() && worker.end_limit().is_some());
    let result = worker.turn(TurnInput::text("work kanban task"), &mut |_: TurnEvent<
        '_,
    >| {});
    assert_eq!(result.outcome, TurnOutcome::Completed);
    let task = card.store.task(&card.task).unwrap().unwrap();
    assert_eq!(task.status(), Status::Done);
    assert_eq!(worker.close(Some(&result), || 0).unwrap(), 0);
}

#[test]
fn worker_that_has_lost_its_card_is_interrupted_and_fails() {
    let mut world = World::playing("turns:\n  - delay: 30\n    text: too late\n");
    let mut card = claimed_card(&mut world);
    let request = request();
    let mut worker = world
        .runtime()
        .open_conversation(&request, Arc::new(Nobody))
        .unwrap();
    let archived = card.store.archive(&card.task);
    assert!(archived.is_ok(), "{archived:?}");
    let result = worker.turn(TurnInput::text("work kanban task"), &mut |_: TurnEvent<
        '_,
    >| {});
    assert_eq!(result.outcome, TurnOutcome::Interrupted);
    assert!(request.interrupt.wait(Duration::ZERO));
    assert_eq!(worker.close(Some(&result), || 0).unwrap(), 1);
    assert!(
        card.store
            .run(card.run)
            .unwrap()
            .unwrap()
            .ended_how()
            .is_some()
    );
}
