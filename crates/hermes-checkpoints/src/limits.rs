//! How much is kept, and for how long: the settings `checkpoints.*`.

use std::time::Duration;

use hermes_config::{Config, Environment, vars};

const MEGABYTE: u64 = 1024 * 1024;
/// Seconds one call of git may take, unless a variable says otherwise, and between which values.
const TIMEOUT: u64 = 30;
const TIMEOUTS: std::ops::RangeInclusive<u64> = 10..=60;

/// Limits of snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Snapshots kept of one directory, at least one.
    pub max_snapshots: usize,
    /// Bytes of the whole store; 0 for any number.
    pub max_total_bytes: u64,
    /// Larger files are left out; 0 for any size.
    pub max_file_bytes: u64,
}

/// What is removed from the store now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// How long the snapshots of a directory are kept after the last one; `None` for ever.
    pub kept: Option<Duration>,
    /// Whether snapshots of directories that are gone are removed.
    pub delete_orphans: bool,
    /// Bytes of the whole store; 0 for any number.
    pub max_total_bytes: u64,
}

impl Limits {
    /// Reads the settings.
    pub fn resolve(config: &Config) -> Self {
        let number = |key| number(config, key);
        Self {
            max_snapshots: usize::try_from(number("checkpoints.max_snapshots"))
                .unwrap_or(usize::MAX)
                .max(1),
            max_total_bytes: number("checkpoints.max_total_size_mb").saturating_mul(MEGABYTE),
            max_file_bytes: number("checkpoints.max_file_size_mb").saturating_mul(MEGABYTE),
        }
    }
}

impl Retention {
    /// Reads the settings.
    pub fn resolve(config: &Config) -> Self {
        Self {
            kept: days(number(config, "checkpoints.retention_days")),
            delete_orphans: config.flag("checkpoints.delete_orphans"),
            max_total_bytes: number(config, "checkpoints.max_total_size_mb")
                .saturating_mul(MEGABYTE),
        }
    }

    /// With another number of days; 0 keeps everything.
    #[must_use]
    pub fn with_days(self, count: u64) -> Self {
        Self {
            kept: days(count),
            ..self
        }
    }

    /// With another size of the store; 0 for any size.
    #[must_use]
    pub fn with_megabytes(self, count: u64) -> Self {
        Self {
            max_total_bytes: count.saturating_mul(MEGABYTE),
            ..self
        }
    }
}

/// How long one call of git may take.
pub(crate) fn git_timeout(env: &Environment) -> Duration {
    let text = env.text(&vars::HERMES_CHECKPOINT_TIMEOUT);
    let seconds = text.and_then(|text| text.parse().ok()).unwrap_or(TIMEOUT);
    Duration::from_secs(seconds.clamp(*TIMEOUTS.start(), *TIMEOUTS.end()))
}

fn days(count: u64) -> Option<Duration> {
    (count > 0).then(|| Duration::from_hours(count.saturating_mul(24)))
}

/// A number of the settings; negative ones count as 0.
fn number(config: &Config, key: &str) -> u64 {
    u64::try_from(config.int(key).unwrap_or(0)).unwrap_or(0)
}
