//! Settings of dispatching: flags over variables over the configuration, resolved once for every
//! command and process.

use std::time::Duration;

use hermes_config::{Environment, vars};

use crate::dispatch::local::LogRotation;
use crate::model::Assignee;
use crate::plan::Limits;
use crate::{BoardOptions, KanbanSettings};

/// Values given on the command line, which outrank the configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DispatchFlags {
    /// `--max`.
    pub max_spawn: Option<i64>,
    /// `--failure-limit`.
    pub failure_limit: Option<i64>,
}

/// Everything that is configured about dispatching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchSettings {
    pub limits: Limits,
    pub log: LogRotation,
    pub interval: Duration,
    pub check_timeout: Duration,
    pub complaints: Vec<String>,
}

impl DispatchSettings {
    /// Combines what is configured with variables and flags.
    pub fn resolve(kanban: &KanbanSettings, env: &Environment, flags: &DispatchFlags) -> Self {
        let usual = Limits::default();
        let mut complaints = kanban.complaints.clone();
        let mut complain = |name: &str, value: &str, instead: &str| {
            let shown = crate::shown(value, 40);
            complaints.push(format!("{name}: '{shown}' is invalid, {instead}"));
        };
        let max_spawn = match flags.max_spawn {
            Some(number) => {
                let cap = usize::try_from(number).ok().filter(|cap| *cap >= 1);
                if cap.is_none() {
                    complain("--max", &number.to_string(), "so there is no limit");
                }
                cap
            }
            None => kanban.max_spawn,
        };
        let failure_limit = match flags.failure_limit {
            Some(number) if number >= 1 => number,
            Some(number) => {
                let instead = format!("so {} is used", kanban.failure_limit);
                complain("--failure-limit", &number.to_string(), &instead);
                kanban.failure_limit
            }
            None => kanban.failure_limit,
        };
        let default_assignee = kanban.default_assignee.as_deref().and_then(|raw| {
            let assignee = Assignee::parse(raw).ok();
            if assignee.is_none() {
                let instead = "so cards without assignee get none";
                complain("kanban.default_assignee", raw, instead);
            }
            assignee
        });
        // Malformed variables count as unset.
        let seconds = |var: &vars::Var, least: i64, usual: i64| {
            let given: Option<i64> = env.text(var).and_then(|text| text.trim().parse().ok());
            given.filter(|seconds| *seconds >= least).unwrap_or(usual)
        };
        Self {
            limits: Limits {
                claim_ttl_seconds: seconds(
                    &vars::HERMES_KANBAN_CLAIM_TTL_SECONDS,
                    1,
                    usual.claim_ttl_seconds,
                ),
                crash_grace_seconds: seconds(
                    &vars::HERMES_KANBAN_CRASH_GRACE_SECONDS,
                    0,
                    usual.crash_grace_seconds,
                ),
                rate_limit_cooldown_seconds: seconds(
                    &vars::HERMES_KANBAN_RATE_LIMIT_COOLDOWN_SECONDS,
                    0,
                    usual.rate_limit_cooldown_seconds,
                ),
                stale_timeout_seconds: kanban.stale_timeout_seconds,
                failure_limit,
                max_spawn,
                max_in_progress: kanban.max_in_progress,
                max_in_progress_per_profile: kanban.max_in_progress_per_profile,
                default_assignee,
            },
            log: LogRotation {
                bytes: kanban.worker_log_rotate_bytes,
                backups: kanban.worker_log_backup_count,
            },
            interval: kanban.dispatch_interval,
            check_timeout: kanban.check_timeout,
            complaints,
        }
    }

    /// How boards are opened with these settings, so that every promotion keeps to them.
    pub fn board_options(&self, env: &Environment) -> BoardOptions {
        BoardOptions {
            failure_limit: self.limits.failure_limit,
            ..BoardOptions::from_environment(env)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_config::{Config, Sources};
    use pretty_assertions::assert_eq;

    fn settings(yaml: &str, variables: &[(&str, &str)], flags: DispatchFlags) -> DispatchSettings {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.yaml");
        hermes_fs::write_atomic(&path, yaml.as_bytes(), 0o600).unwrap();
        let env = Environment::from_pairs(variables.iter().copied());
        let config = Config::load_read_only(&Sources::new(&env, home.path()));
        let kanban = KanbanSettings::resolve(&config, &env, Some(10 << 30));
        DispatchSettings::resolve(&kanban, &env, &flags)
    }

    fn plain(yaml: &str) -> DispatchSettings {
        settings(yaml, &[], DispatchFlags::default())
    }

    #[test]
    fn nothing_configured_gives_the_usual() {
        let usual = plain("");
        assert_eq!(usual.limits, Limits::default());
        assert_eq!(usual.log, LogRotation::default());
        assert_eq!(usual.interval, Duration::from_mins(1));
        assert_eq!(usual.complaints, [] as [String; 0]);
    }

    #[test]
    fn flags_outrank_the_configuration() {
        let yaml = "kanban: {max_spawn: 5, failure_limit: 4, max_in_progress_per_profile: 2}";
        let flags = DispatchFlags {
            max_spawn: Some(1),
            failure_limit: Some(7),
        };
        let limits = settings(yaml, &[], flags).limits;
        assert_eq!((limits.max_spawn, limits.failure_limit), (Some(1), 7));
        assert_eq!(limits.max_in_progress_per_profile, Some(2));
        let settings = plain(yaml);
        let limits = &settings.limits;
        assert_eq!((limits.max_spawn, limits.failure_limit), (Some(5), 4));
        let env = Environment::from_pairs([("", "")]);
        assert_eq!(settings.board_options(&env).failure_limit, 4);
    }

    #[test]
    fn flags_that_make_no_sense_are_complained_about() {
        let flags = DispatchFlags {
            max_spawn: Some(0),
            failure_limit: Some(-3),
        };
        let odd = settings("kanban: {max_spawn: 5, failure_limit: 4}", &[], flags);
        assert_eq!((odd.limits.max_spawn, odd.limits.failure_limit), (None, 4));
        assert_eq!(
            odd.complaints,
            [
                "--max: '0' is invalid, so there is no limit",
                "--failure-limit: '-3' is invalid, so 4 is used",
            ]
        );
    }

    #[test]
    fn caps_that_make_no_sense_are_no_caps() {
        for bad in ["0", "-1", "abc", "null"] {
            let yaml = format!(
                "kanban: {{max_spawn: {bad}, max_in_progress: {bad}, \
                 max_in_progress_per_profile: {bad}}}"
            );
            assert_eq!(plain(&yaml).limits, Limits::default(), "{bad}");
        }
    }

    #[test]
    fn variables_count_if_they_are_numbers() {
        let of = |ttl, grace, cooldown| {
            let variables = [
                ("HERMES_KANBAN_CLAIM_TTL_SECONDS", ttl),
                ("HERMES_KANBAN_CRASH_GRACE_SECONDS", grace),
                ("HERMES_KANBAN_RATE_LIMIT_COOLDOWN_SECONDS", cooldown),
            ];
            let limits = settings("", &variables, DispatchFlags::default()).limits;
            (
                limits.claim_ttl_seconds,
                limits.crash_grace_seconds,
                limits.rate_limit_cooldown_seconds,
            )
        };
        assert_eq!(of("60", "0", "0"), (60, 0, 0));
        assert_eq!(of("0", "-1", "soon"), (900, 30, 300));
    }

    #[test]
    fn a_default_assignee_is_a_name_or_nobody() {
        let assignee = |yaml: &str| {
            let settings = plain(yaml);
            let name = settings.limits.default_assignee;
            (
                name.map(|name| name.as_str().to_owned()),
                settings.complaints.len(),
            )
        };
        let of = |text: &str| assignee(&format!("kanban: {{default_assignee: '{text}'}}"));
        assert_eq!(of("   "), (None, 0));
        assert_eq!(of(" Alpha "), (Some("alpha".to_owned()), 0));
        assert_eq!(of("../alpha"), (None, 1));
    }
}
