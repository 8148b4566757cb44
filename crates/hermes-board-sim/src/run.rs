//! Running stories until one ends badly or there have been enough.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::board::SimulatedBoard;
use crate::generate::{next, setting};
use crate::op::Op;
use crate::random::Random;
use crate::shrink::shrink;
use crate::world::{Setting, World};
use crate::{Flaw, Rule, Subject, Violation};

/// Things that happen in one story before the world is made to behave.
const STORY: u64 = 400;

/// What to simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The same number gives the same stories.
    pub seed: u64,
    /// Roughly how many things are to happen.
    pub steps: u64,
    /// A rule to leave out.
    pub flaw: Option<Flaw>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Things that happened.
    pub steps: u64,
    /// Stories that were told.
    pub stories: u64,
    /// Cards that were completed.
    pub completed: u64,
    /// What dispatchers did, and how often.
    pub deeds: BTreeMap<&'static str, u64>,
    /// The first story that ended badly.
    pub failure: Option<Failure>,
}

/// A story that ended badly, cut down to what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The seed of this very story: given as the seed it is the first one.
    pub seed: u64,
    /// What did not hold.
    pub rule: Rule,
    /// In what way.
    pub particulars: String,
    /// The world in which it happened.
    pub setting: String,
    /// What has to happen for it.
    pub trace: Vec<Op>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "seed {}: {:?} does not hold", self.seed, self.rule)?;
        writeln!(f, "{}", self.particulars)?;
        writeln!(f, "in {}", self.setting)?;
        for same in self.trace.chunk_by(|one, next| one == next) {
            match same {
                [op] => writeln!(f, "  {op}")?,
                [op, ..] => writeln!(f, "  {op} ({} times)", same.len())?,
                [] => {}
            }
        }
        f.write_str("and then everything behaves")
    }
}

/// Tells stories until one ends badly or `steps` things have happened.
pub fn simulate(request: &Request) -> Outcome {
    simulate_on(request, &mut |flaw| SimulatedBoard {
        flaw,
        ..SimulatedBoard::default()
    })
}

/// As [`simulate`], on boards made by `new`.
pub(crate) fn simulate_on<B: Subject>(
    request: &Request,
    new: &mut dyn FnMut(Option<Flaw>) -> B,
) -> Outcome {
    let mut outcome = Outcome {
        steps: 0,
        stories: 0,
        completed: 0,
        deeds: BTreeMap::new(),
        failure: None,
    };
    let mut seed = request.seed;
    while outcome.steps < request.steps {
        let story = tell(seed, request.flaw, new(request.flaw));
        outcome.steps += story.steps;
        outcome.stories += 1;
        outcome.completed += story.completed;
        for (deed, count) in story.deeds {
            *outcome.deeds.entry(deed).or_default() += count;
        }
        if let Err(violation) = story.end {
            outcome.failure = Some(cut_down(seed, &story.setting, story.ops, violation, new));
            break;
        }
        seed = seed.wrapping_add(1);
    }
    outcome
}

struct Story {
    setting: Setting,
    ops: Vec<Op>,
    steps: u64,
    completed: u64,
    deeds: BTreeMap<&'static str, u64>,
    end: Result<(), Violation>,
}

fn tell<B: Subject>(seed: u64, flaw: Option<Flaw>, board: B) -> Story {
    let mut random = Random::new(seed);
    let setting = setting(&mut random, flaw, B::CAN_BE_SHARED);
    let mut world = World::new(board, setting.clone());
    let mut ops = Vec::new();
    let mut end = Ok(());
    while end.is_ok() && world.steps < STORY {
        let op = next(&mut random, &world);
        ops.push(op);
        end = world.apply(op);
    }
    let end = end.and_then(|()| world.settle());
    Story {
        setting,
        ops,
        steps: world.steps,
        deeds: world.deeds,
        completed: world
            .completions
            .iter()
            .map(|count| u64::from(*count))
            .sum(),
        end,
    }
}

/// Whether these things, in this order, end badly.
fn replay<B: Subject>(setting: &Setting, ops: &[Op], board: B) -> Option<Violation> {
    let mut world = World::new(board, setting.clone());
    for op in ops {
        if let Err(violation) = world.apply(*op) {
            return Some(violation);
        }
    }
    world.settle().err()
}

fn cut_down<B: Subject>(
    seed: u64,
    setting: &Setting,
    ops: Vec<Op>,
    violation: Violation,
    new: &mut dyn FnMut(Option<Flaw>) -> B,
) -> Failure {
    let mut last = violation;
    let trace = shrink(ops, |ops| match replay(setting, ops, new(setting.flaw)) {
        Some(violation) if violation.rule == last.rule => {
            last = violation;
            true
        }
        _ => false,
    });
    let mut described = String::new();
    // Writing to a string cannot fail.
    let _: std::fmt::Result = write!(described, "{setting:?}");
    Failure {
        seed,
        rule: last.rule,
        particulars: last.text,
        setting: described,
        trace,
    }
}
