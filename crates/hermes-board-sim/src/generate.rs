//! Choosing what happens next, so that the interesting things happen often.

use crate::op::{Act, Form, Hold, Op, Which};
use crate::random::Random;
use crate::world::{Setting, World};
use crate::{Flaw, Subject};
use hermes_board::model::{Assignee, BlockKind};
use hermes_board::plan::Limits;

/// A world to begin with.
pub(crate) fn setting(random: &mut Random, flaw: Option<Flaw>, can_be_shared: bool) -> Setting {
    let is_shared = can_be_shared && random.once_in(2);
    let cap = |random: &mut Random| {
        let set = random.once_in(3);
        set.then(|| 1 + random.index(3))
    };
    let default_assignee = random.once_in(3).then(|| Assignee::parse("beta").ok());
    let limits = Limits {
        max_spawn: cap(random),
        max_in_progress: cap(random),
        max_in_progress_per_profile: cap(random),
        max_in_progress_per_host: if is_shared { cap(random) } else { None },
        crash_grace_seconds: if random.once_in(2) { 0 } else { 30 },
        stale_timeout_seconds: if random.once_in(4) { 0 } else { 14_400 },
        failure_limit: 1 + i64::from(random.small(3)),
        default_assignee: default_assignee.flatten(),
        ..Limits::default()
    };
    Setting {
        machines: if is_shared {
            2 + random.index(3)
        } else {
            1 + random.index(2)
        },
        is_shared,
        same_names: is_shared && random.once_in(3),
        dispatchers: 1 + random.index(4) + usize::from(is_shared),
        limits,
        locks_work: !random.once_in(3),
        flaw,
    }
}

/// What happens next.
pub(crate) fn next<B: Subject>(random: &mut Random, world: &World<B>) -> Op {
    let dispatchers = u8::try_from(world.dispatchers.len()).unwrap_or(1);
    let machines = u8::try_from(world.machines.len()).unwrap_or(1);
    let cards = u8::try_from(world.cards.len()).unwrap_or(1);
    if cards < 3 {
        return Op::Create(form(random, cards));
    }
    if world.setting.is_shared && random.once_in(12) {
        return trouble(random, machines);
    }
    match random.below(1000) {
        0..450 => Op::Step(random.small(dispatchers)),
        450..760 => worker_act(random, world),
        760..830 => Op::Wait(wait(random)),
        830..855 => Op::WholeTick(random.small(dispatchers)),
        855..865 => Op::Preview(random.small(dispatchers)),
        865..885 => Op::Kill(random.small(dispatchers)),
        885..890 => Op::Restart(random.small(machines)),
        890..893 => Op::Rename(random.small(machines)),
        893..898 => Op::Refuse(random.small(machines)),
        898..908 => Op::SetClock(random.small(machines), clock(random)),
        908..930 => Op::Create(form(random, cards)),
        930..935 => Op::Link(random.small(cards), random.small(cards)),
        935..941 => Op::Reclaim(random.small(machines), random.small(cards)),
        941..945 => Op::Claim(random.small(machines), random.small(cards)),
        945..949 => Op::Complete(random.small(cards)),
        949..957 => Op::Block(random.small(cards), kind(random)),
        957..975 => Op::Unblock(random.small(cards)),
        975..980 => Op::Park(random.small(cards), parked(random)),
        980..984 => Op::Promote(random.small(cards)),
        984..987 => Op::Archive(random.small(cards)),
        987..991 => Op::Assign(random.small(cards), random.small(4)),
        991..994 => Op::Spoil(random.small(cards)),
        _ => Op::FailWrite,
    }
}

/// What happens between machines and the server.
fn trouble(random: &mut Random, machines: u8) -> Op {
    let host = random.small(machines);
    match random.below(100) {
        0..25 => Op::Cut(host),
        25..50 => Op::LoseAnswer(host),
        50..70 => Op::Delay(host),
        70..90 => Op::Deliver,
        90..93 => Op::RestartServer,
        _ => Op::FailOver,
    }
}

fn worker_act<B: Subject>(random: &mut Random, world: &World<B>) -> Op {
    let count: usize = world
        .machines
        .iter()
        .map(|machine| machine.workers.len())
        .sum();
    let chosen = random.index(count);
    let mut workers = world.machines.iter().flat_map(|machine| &machine.workers);
    let Some(worker) = workers.nth(chosen) else {
        return Op::Step(random.small(u8::try_from(world.dispatchers.len()).unwrap_or(1)));
    };
    let act = match random.below(100) {
        0..30 => Act::Beat,
        30..48 => Act::Complete,
        48..60 => Act::Check(!random.once_in(4)),
        60..64 => Act::Block(kind(random)),
        64..66 => Act::UseUpTurns,
        66..80 => {
            let code = random.pick(&[0, 0, 1, 3, 75, 143]).unwrap_or(0);
            Act::Exit(code, random.once_in(2))
        }
        80..88 => Act::Die,
        88..93 => Act::Fork,
        93..98 => Act::ChildrenEnd,
        _ => Act::Stick,
    };
    let card = world.cards.iter().position(|card| *card == worker.task);
    let which = if random.once_in(6) {
        Which::Oldest
    } else {
        Which::Newest
    };
    Op::Work(u8::try_from(card.unwrap_or(0)).unwrap_or(0), which, act)
}

fn wait(random: &mut Random) -> u32 {
    random
        .pick(&[1, 5, 31, 60, 60, 301, 901, 1000, 3700, 15_000])
        .unwrap_or(1)
}

fn clock(random: &mut Random) -> i32 {
    random
        .pick(&[0, 0, -100, 200, -1000, 2000, -20_000, 20_000, 200_000])
        .unwrap_or(0)
}

fn kind(random: &mut Random) -> Option<BlockKind> {
    random
        .pick(&[
            None,
            Some(BlockKind::Dependency),
            Some(BlockKind::NeedsInput),
            Some(BlockKind::Transient),
        ])
        .flatten()
}

fn parked(random: &mut Random) -> Option<u16> {
    random.pick(&[None, Some(10), Some(1000)]).flatten()
}

fn form(random: &mut Random, cards: u8) -> Form {
    Form {
        parent: (cards > 0 && random.once_in(3)).then(|| random.small(cards)),
        assignee: random.pick(&[0, 0, 0, 1, 1, 2, 3]).unwrap_or(0),
        retries: random.once_in(5).then(|| 1 + random.small(3)),
        minutes: random.once_in(3).then(|| 1 + random.small(30)),
        checks: if random.once_in(4) {
            1 + random.small(2)
        } else {
            0
        },
        priority: random.small(3),
        held: match random.below(12) {
            0 => Hold::Blocked,
            1 => Hold::Parked(600),
            _ => Hold::No,
        },
    }
}
