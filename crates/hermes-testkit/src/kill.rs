//! Killing a command at each of its write points in turn.

use crate::{ProgramOutput, TestHome};

/// More points than any command has; beyond them the command does not come to an end.
const MAX_POINTS: u64 = 20_000;

/// How many runs were killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KillPoints(pub u64);

/// Runs a command in fresh copies of `prepared`, killed at its first write point, its second, and
/// so on until it comes to its end, and calls `check` with every home and how the run went.
///
/// The last call of `check` is about the run that came to its end.
pub fn kill_at_every_write(
    prepared: &TestHome,
    args: &[&str],
    mut check: impl FnMut(u64, &TestHome, &ProgramOutput),
) -> KillPoints {
    for point in 1..MAX_POINTS {
        let home = prepared.copied();
        let outcome = home.hermes(args).kill_at_write(point).run();
        if !outcome.was_killed() {
            outcome.succeeds();
        }
        check(point, &home, &outcome);
        if !outcome.was_killed() {
            return KillPoints(point - 1);
        }
    }
    panic!("`hermes {}` does not come to an end", args.join(" "))
}
