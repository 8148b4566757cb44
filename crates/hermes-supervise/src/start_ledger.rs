//! `gateway-starts.log`: when gateways of a home were started, to slow down one that is started over
//! and over. Some supervisors restart a failing service every second for ever.
//!
//! A ledger that cannot be read or written never keeps a gateway from starting.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The ledger holds some dozens of lines.
const LIMIT: u64 = 1024 * 1024;
const LONGEST_PAUSE: f64 = 300.0;

/// The starts of a home.
#[derive(Debug)]
pub struct StartLedger {
    path: PathBuf,
    /// Starts in the window that are not slowed down; none are if this is zero or less.
    max_starts: i64,
    window: Duration,
}

impl StartLedger {
    /// The ledger of a home, with these limits.
    pub fn of_home(home: &Path, max_starts: i64, window: Duration) -> Self {
        Self {
            path: home.join("gateway-starts.log"),
            max_starts,
            window,
        }
    }

    /// Writes down a start at `now`, in seconds since 1970; how long to wait before going on.
    pub fn record(&self, now: f64) -> Option<Duration> {
        if self.max_starts <= 0 {
            return None;
        }
        let mut starts = self.load();
        starts.push(now);
        let kept = usize::try_from(self.max_starts.saturating_mul(4)).unwrap_or(40);
        let kept = starts.len().saturating_sub(kept.clamp(40, 10_000));
        let lines: Vec<String> = starts
            .iter()
            .skip(kept)
            .map(|at| format!("{at:.6}"))
            .collect();
        let lines = format!("{}\n", lines.join("\n"));
        if let Err(error) = hermes_fs::write_atomic_exact(&self.path, lines.as_bytes(), 0o600) {
            tracing::debug!(%error, "could not write down the start of the gateway");
        }
        let is_recent = |at: &&f64| (0.0..=self.window.as_secs_f64()).contains(&(now - **at));
        let recent = starts.iter().filter(is_recent).count();
        let above = i64::try_from(recent).unwrap_or(i64::MAX) - self.max_starts;
        let exponent = i32::try_from(above.min(6))
            .ok()
            .filter(|above| *above > 0)?;
        let pause = (5.0 * 2_f64.powi(exponent)).min(LONGEST_PAUSE);
        Some(Duration::from_secs_f64(pause))
    }

    fn load(&self) -> Vec<f64> {
        let text = hermes_fs::read_text_capped(&self.path, LIMIT).unwrap_or_default();
        let numbers = text.lines().filter_map(|line| line.trim().parse().ok());
        numbers.filter(|number: &f64| number.is_finite()).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn too_many_starts_in_the_window_are_slowed_down() {
        let home = tempfile::tempdir().unwrap();
        let ledger = StartLedger::of_home(home.path(), 5, Duration::from_mins(2));
        let pauses: Vec<Option<u64>> = (0..13)
            .map(|at| {
                ledger
                    .record(1000.0 + f64::from(at))
                    .map(|pause| pause.as_secs())
            })
            .collect();
        let expected = [10, 20, 40, 80, 160, 300, 300, 300].map(Some);
        assert_eq!(pauses[..5], [None; 5]);
        assert_eq!(pauses[5..], expected);
        // Two minutes later the storm is over.
        assert_eq!(ledger.record(2000.0), None);
    }

    #[test]
    fn zero_switches_the_brake_off_and_garbage_counts_as_nothing() {
        let home = tempfile::tempdir().unwrap();
        let off = StartLedger::of_home(home.path(), 0, Duration::from_mins(2));
        assert!((0..20).all(|_| off.record(1.0).is_none()));
        let path = home.path().join("gateway-starts.log");
        std::fs::write(&path, "x\n\u{fffd}\nnan\ninf\n9e999\n-1\n").unwrap();
        let ledger = StartLedger::of_home(home.path(), 1, Duration::from_mins(2));
        assert_eq!(ledger.record(1000.0), None);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(ledger.record(1000.0), None);
    }

    #[test]
    fn the_ledger_stays_short() {
        let home = tempfile::tempdir().unwrap();
        let ledger = StartLedger::of_home(home.path(), 5, Duration::from_secs(1));
        for at in 0..100 {
            ledger.record(f64::from(at));
        }
        assert_eq!(ledger.load().len(), 40);
    }
}
