//! Ending the processes of a command: who is asked does the looking and signalling, here is decided
//! what comes next and how long that may take.

use std::time::{Duration, Instant};

use hermes_proc::KillTiming;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Killed {
    pub(super) survivors: Vec<u32>,
    pub(super) is_certain: bool,
    pub(super) forced: bool,
}

/// The other side did not answer.
#[derive(Debug)]
pub(super) struct Unreachable;

/// The kill of the processes that belong to `seeds`: pids with their start time, or `-` for it, and
/// the limit that marks them, behind `=`.
pub(super) struct Hunt<'a> {
    pub(super) id: u64,
    pub(super) seeds: &'a str,
    /// For everything.
    pub(super) deadline: Instant,
    /// Sends a line and gives the pids in the answer.
    pub(super) ask: &'a mut dyn FnMut(&str) -> Result<Vec<u32>, Unreachable>,
}

impl Hunt<'_> {
    pub(super) fn run(
        &mut self,
        timing: KillTiming,
        killed: &mut Killed,
    ) -> Result<(), Unreachable> {
        killed.survivors = self.signal("TERM")?;
        let grace_ends = (Instant::now() + timing.grace).min(self.deadline);
        self.watch(killed, grace_ends)?;
        if killed.survivors.is_empty() || !timing.force {
            return Ok(());
        }
        killed.forced = true;
        while !killed.survivors.is_empty() && Instant::now() < self.deadline {
            // Someone who forks faster than we look is found in the next round.
            killed.survivors = self.signal("KILL")?;
            let next = Instant::now() + Duration::from_millis(100);
            self.watch(killed, next.min(self.deadline))?;
        }
        Ok(())
    }

    /// Looks until nobody is left or the time is over.
    fn watch(&mut self, killed: &mut Killed, until: Instant) -> Result<(), Unreachable> {
        let mut pause = Duration::from_millis(5);
        while !killed.survivors.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(50));
            killed.survivors = self.signal("0")?;
        }
        Ok(())
    }

    fn signal(&mut self, signal: &str) -> Result<Vec<u32>, Unreachable> {
        let line = format!("signal {} {signal} {}\n", self.id, self.seeds);
        (self.ask)(&line)
    }
}

/// The pids in an answer. A group is told by its leader behind a minus.
pub(super) fn pids_of(answer: &str) -> Vec<u32> {
    let words = answer.split_whitespace();
    words
        .filter_map(|pid| pid.trim_start_matches('-').parse().ok())
        .collect()
}

/// Tells the other side what the next command of a loop is known by.
pub(super) fn mark_line(pid: u32, mark: u64) -> String {
    format!("mark {pid} {mark}\n")
}
