//! The section `cron` of the configuration, with variables over it.

use std::time::Duration;

use hermes_config::{Config, Environment, vars};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::plan::Rules;

/// Seconds without a sign of life after which an agent is ended.
const AGENT_SILENCE: u64 = 600;
/// The shortest time after which a claim that nobody renews is void.
const LEAST_TTL: u64 = 1800;
/// Jobs at once, unless configured.
const PARALLEL: usize = 8;
const HOUR: f64 = 3600.0;

/// What is configured about scheduled jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct CronSettings {
    /// The zone of local times.
    pub zone: TimeZone,
    /// Jobs that may run at once.
    pub max_parallel: usize,
    /// Whether delivered results have a header and a footer.
    pub wrap_response: bool,
    /// Outputs kept per job; `None` keeps all.
    pub output_retention: Option<usize>,
    /// How long a script may take.
    pub script_timeout: Duration,
    /// How long an agent may be silent; `None` for ever.
    pub agent_silence: Option<Duration>,
    catches_up: bool,
    once_max_late: SignedDuration,
}

impl CronSettings {
    /// Reads what is configured.
    pub fn resolve(config: &Config, env: &Environment, zone: TimeZone) -> Self {
        let number = |key: &str| {
            config
                .int(key)
                .and_then(|number| u64::try_from(number).ok())
        };
        let positive = |key: &str| number(key).filter(|number| *number > 0);
        // A value that is no number counts as unset.
        let silence = env.text(&vars::HERMES_CRON_TIMEOUT);
        let silence = silence.and_then(|text| text.trim().parse::<f64>().ok());
        let agent_silence = match silence {
            Some(seconds) if seconds <= 0.0 => None,
            Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            None => Some(Duration::from_secs(AGENT_SILENCE)),
        };
        let late = config.number("cron.oneshot_max_late_hours").unwrap_or(24.0);
        let late = SignedDuration::try_from_secs_f64(late.clamp(0.0, 87_600.0) * HOUR);
        Self {
            zone,
            max_parallel: match config.int("cron.max_parallel_jobs") {
                None => PARALLEL,
                Some(count) => usize::try_from(count)
                    .ok()
                    .filter(|count| *count > 0)
                    .unwrap_or(usize::MAX),
            },
            wrap_response: config.flag("cron.wrap_response"),
            output_retention: positive("cron.output_retention")
                .and_then(|count| usize::try_from(count).ok()),
            script_timeout: Duration::from_secs(
                positive("cron.script_timeout_seconds").unwrap_or(3600),
            ),
            agent_silence,
            catches_up: config.text("cron.catch_up") != "skip",
            once_max_late: late.unwrap_or(SignedDuration::from_hours(24)),
        }
    }

    pub(crate) fn rules(&self) -> Rules {
        let silence = self.agent_silence.map_or(0, |silence| silence.as_secs());
        let ttl = silence.saturating_mul(3).max(LEAST_TTL);
        Rules {
            zone: self.zone.clone(),
            catches_up: self.catches_up,
            once_max_late: self.once_max_late,
            claim_ttl: SignedDuration::from_secs(i64::try_from(ttl).unwrap_or(i64::MAX)),
        }
    }
}
