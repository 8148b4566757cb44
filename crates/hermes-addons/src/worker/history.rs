//! What became of the workers of a feature, kept in a file: processes come and go, and one that
//! crashed in each of them is not started for ever.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_fs::{FileLock, LockOptions};
use hermes_proc::{ProcessHandle, ProcessIdentity, is_same_live_process};
use serde::{Deserialize, Serialize};

/// Crashes that are older do not count.
const WINDOW: Duration = Duration::from_mins(10);
/// Between a crash and the next start: a second, then twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
const MAX_FILE: u64 = 256 * 1024;
/// Crashes that are remembered.
const MAX_CRASHES: usize = 100;
/// For a worker that is asked to end.
const GRACE: Duration = Duration::from_secs(3);

/// What a worker is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerState {
    Stopped,
    Ready,
    /// It crashed, and is not started again at once.
    Backoff,
    /// It crashed too often.
    Failed,
}

impl WorkerState {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Ready => "ready",
            Self::Backoff => "backoff",
            Self::Failed => "failed",
        }
    }
}

/// The workers of a feature, for lists.
#[derive(Debug, Clone, Serialize)]
pub struct WorkerRow {
    pub state: WorkerState,
    pub pid: Option<u32>,
    /// Crashes within the last ten minutes.
    pub restarts: usize,
    /// Why the last one crashed.
    pub last_crash: Option<String>,
}

/// The file of one feature.
#[derive(Debug, Clone)]
pub(crate) struct History {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// Milliseconds since 1970.
    #[serde(default)]
    crashes: Vec<u64>,
    #[serde(default)]
    last_crash: Option<String>,
    #[serde(default)]
    running: Vec<Running>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Running {
    pid: u32,
    start_time: u64,
    boot_id: String,
}

impl Running {
    fn identity(&self) -> ProcessIdentity {
        ProcessIdentity {
            pid: self.pid,
            start_time: self.start_time,
            boot_id: self.boot_id.clone(),
        }
    }
}

/// Whether a worker may be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MayStart {
    Now,
    After(Duration),
    /// Not again by itself; why the last one crashed.
    Never(String),
}

impl Kept {
    /// Crashes that count now.
    fn recent(&self, now: u64) -> usize {
        let window = u64::try_from(WINDOW.as_millis()).unwrap_or(u64::MAX);
        let counts = |at: &&u64| now.saturating_sub(**at) <= window;
        self.crashes.iter().filter(counts).count()
    }

    fn may_start(&self, most: usize, now: u64) -> MayStart {
        let recent = self.recent(now);
        if recent >= most.max(1) {
            return MayStart::Never(self.last_crash.clone().unwrap_or_default());
        }
        let (Some(last), Some(doublings)) = (self.crashes.last(), recent.checked_sub(1)) else {
            return MayStart::Now;
        };
        let doublings = u32::try_from(doublings).unwrap_or(6).min(6);
        let pause = (FIRST_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE);
        let since = Duration::from_millis(now.saturating_sub(*last));
        match pause.checked_sub(since) {
            Some(left) if !left.is_zero() => MayStart::After(left),
            _ => MayStart::Now,
        }
    }
}

impl History {
    pub(crate) fn of(home: &Path, feature: &str) -> Self {
        let directory = home.join("cache/addons/.workers");
        Self {
            path: directory.join(format!("{feature}.json")),
        }
    }

    fn load(&self) -> Kept {
        // A file that cannot be read tells as much as none.
        let bytes = hermes_fs::read_optional(&self.path, MAX_FILE);
        let bytes = bytes.ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Changes the file. A history that cannot be written is none, and stops nothing.
    fn change(&self, change: impl FnOnce(&mut Kept)) {
        let changed = || -> hermes_fs::Result<()> {
            if let Some(directory) = self.path.parent() {
                hermes_fs::create_dir_all(directory, 0o700)?;
            }
            let options = LockOptions::new("the history of workers");
            let _lock = FileLock::acquire(&self.path.with_extension("lock"), &options)?;
            let mut kept = self.load();
            kept.running
                .retain(|running| is_same_live_process(&running.identity()));
            change(&mut kept);
            let surplus = kept.crashes.len().saturating_sub(MAX_CRASHES);
            kept.crashes.drain(..surplus);
            let json = serde_json::to_vec(&kept).unwrap_or_default();
            hermes_fs::write_atomic(&self.path, &json, 0o600)
        };
        if let Err(error) = changed() {
            tracing::warn!(%error, "the history of an add-on's workers was not written");
        }
    }

    pub(super) fn started(&self, identity: &ProcessIdentity) {
        self.change(|kept| {
            kept.running.push(Running {
                pid: identity.pid,
                start_time: identity.start_time,
                boot_id: identity.boot_id.clone(),
            });
        });
    }

    pub(super) fn ended(&self, identity: &ProcessIdentity) {
        self.change(|kept| kept.running.retain(|one| one.pid != identity.pid));
    }

    pub(super) fn crashed(&self, identity: Option<&ProcessIdentity>, why: &str) {
        self.change(|kept| {
            if let Some(identity) = identity {
                kept.running.retain(|one| one.pid != identity.pid);
            }
            kept.crashes.push(now());
            kept.last_crash = Some(hermes_text::one_line(why, 500));
        });
    }

    pub(super) fn may_start(&self, most: usize) -> MayStart {
        self.load().may_start(most, now())
    }

    /// What there is, for lists. Looks at one file.
    pub(crate) fn row(&self, most: usize) -> WorkerRow {
        let kept = self.load();
        let running = kept.running.iter();
        let mut alive = running.filter(|one| is_same_live_process(&one.identity()));
        let pid = alive.next().map(|one| one.pid);
        let state = match (pid, kept.may_start(most, now())) {
            (Some(_), _) => WorkerState::Ready,
            (None, MayStart::Now) => WorkerState::Stopped,
            (None, MayStart::After(_)) => WorkerState::Backoff,
            (None, MayStart::Never(_)) => WorkerState::Failed,
        };
        WorkerRow {
            state,
            pid,
            restarts: kept.recent(now()),
            last_crash: kept.last_crash,
        }
    }

    /// Forgets the crashes. What runs is left alone.
    pub(crate) fn forget(&self) {
        if hermes_fs::exists_no_follow(&self.path) {
            self.change(|kept| {
                kept.crashes.clear();
                kept.last_crash = None;
            });
        }
    }

    /// Ends all workers of the feature, in whatever process, and forgets its crashes; returns how
    /// many were ended.
    pub(crate) fn reset(&self) -> usize {
        let running = self.load().running;
        let mut ended = 0;
        for one in running {
            let stopped = ProcessHandle::open(&one.identity())
                .ok()
                .flatten()
                .map(|handle| handle.stop(GRACE));
            match stopped {
                Some(Ok(_)) => ended += 1,
                Some(Err(error)) => tracing::warn!(%error, "a worker was not ended"),
                None => {}
            }
        }
        if hermes_fs::exists_no_follow(&self.path) {
            self.change(|kept| *kept = Kept::default());
        }
        ended
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const NOW: u64 = 10_000_000;

    fn crashed_at(crashes: &[u64]) -> Kept {
        Kept {
            crashes: crashes.to_vec(),
            last_crash: Some("why".to_owned()),
            running: Vec::new(),
        }
    }

    #[test]
    fn pauses_double_and_end_with_the_limit() {
        let crashes = [NOW - 20_000, NOW - 10_000, NOW - 500];
        let left = |count: usize| crashed_at(&crashes[3 - count..]).may_start(5, NOW);
        assert_eq!(left(0), MayStart::Now);
        assert_eq!(left(1), MayStart::After(Duration::from_millis(500)));
        assert_eq!(left(2), MayStart::After(Duration::from_millis(1_500)));
        assert_eq!(left(3), MayStart::After(Duration::from_millis(3_500)));
        let kept = crashed_at(&[NOW; 5]);
        assert_eq!(kept.may_start(5, NOW), MayStart::Never("why".to_owned()));
        assert_eq!(kept.may_start(5, NOW + 700_000), MayStart::Now);
    }

    #[test]
    fn a_pause_that_is_over_is_none() {
        assert_eq!(crashed_at(&[NOW - 1_000]).may_start(5, NOW), MayStart::Now);
    }
}
