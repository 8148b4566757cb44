//! What the configuration says about dispatching, resolved once for every command and process.

use hermes_config::settings::plain_text;
use hermes_config::{Config, Environment, vars};
use serde_json::Value;

use crate::dispatch::local::LogRotation;
use crate::plan::{Limits, RawLimits};

/// Time a check may take unless the configuration says otherwise.
const CHECK_SECONDS: i64 = 600;
/// Shortest and usual time between two looks at a board.
const INTERVAL_SECONDS: (f64, f64) = (1.0, 60.0);

/// Values given on the command line, which outrank the configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct DispatchFlags<'a> {
    /// `--max`.
    pub max_spawn: Option<&'a str>,
    /// `--failure-limit`.
    pub failure_limit: Option<&'a str>,
}

/// Everything the configuration says about dispatching.
#[derive(Debug, Clone, PartialEq)]
pub struct DispatchSettings {
    /// What dispatchers keep to.
    pub limits: Limits,
    /// Logs of workers.
    pub log: LogRotation,
    /// Seconds between two looks.
    pub interval_seconds: f64,
    /// Seconds an acceptance check may take.
    pub check_seconds: u64,
    /// A sentence for each value that could not be used.
    pub complaints: Vec<String>,
}

impl DispatchSettings {
    /// Combines flags, variables and the configuration.
    pub fn resolve(config: &Config, env: &Environment, flags: &DispatchFlags<'_>) -> Self {
        let stale = text(config, "dispatch_stale_timeout_seconds");
        let failures = text(config, "failure_limit");
        let max_spawn = text(config, "max_spawn");
        let in_progress = text(config, "max_in_progress");
        let per_profile = text(config, "max_in_progress_per_profile");
        let assignee = text(config, "default_assignee");
        let raw = RawLimits {
            claim_ttl_seconds: env.text(&vars::HERMES_KANBAN_CLAIM_TTL_SECONDS),
            crash_grace_seconds: env.text(&vars::HERMES_KANBAN_CRASH_GRACE_SECONDS),
            rate_limit_cooldown_seconds: env.text(&vars::HERMES_KANBAN_RATE_LIMIT_COOLDOWN_SECONDS),
            stale_timeout_seconds: stale.as_deref(),
            failure_limit: flags.failure_limit.or(failures.as_deref()),
            max_spawn: flags.max_spawn.or(max_spawn.as_deref()),
            max_in_progress: in_progress.as_deref(),
            max_in_progress_per_profile: per_profile.as_deref(),
            default_assignee: assignee.as_deref(),
            memory_bytes: Some(memory_bytes()),
        };
        let (limits, complaints) = raw.resolve();
        let usual = LogRotation::default();
        let number = |key: &str| config.int(&format!("kanban.{key}"));
        let (least, common) = INTERVAL_SECONDS;
        let interval = config.number("kanban.dispatch_interval_seconds");
        Self {
            limits,
            log: LogRotation {
                bytes: number("worker_log_rotate_bytes")
                    .and_then(|bytes| u64::try_from(bytes).ok())
                    .filter(|bytes| *bytes > 0)
                    .unwrap_or(usual.bytes),
                backups: number("worker_log_backup_count")
                    .and_then(|count| u32::try_from(count).ok())
                    .unwrap_or(usual.backups),
            },
            interval_seconds: interval
                .filter(|seconds| seconds.is_finite())
                .unwrap_or(common)
                .max(least),
            check_seconds: number("check_timeout_seconds")
                .filter(|seconds| *seconds > 0)
                .unwrap_or(CHECK_SECONDS)
                .unsigned_abs(),
            complaints,
        }
    }
}

fn text(config: &Config, key: &str) -> Option<String> {
    match config.get(&format!("kanban.{key}"))? {
        Value::Null => None,
        value => Some(plain_text(value)),
    }
}

fn memory_bytes() -> u64 {
    let facts = rustix::system::sysinfo();
    #[allow(
        clippy::useless_conversion,
        reason = "the width of these fields differs between architectures"
    )]
    let (ram, unit) = (u64::from(facts.totalram), u64::from(facts.mem_unit));
    ram.saturating_mul(unit)
}
