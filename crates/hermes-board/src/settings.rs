//! The section `kanban` of the configuration, validated, with variables and flags over it.
//!
//! One reader for every command and process: an invalid value is replaced by a default, with a
//! sentence about it in [`KanbanSettings::complaints`]. Values of the wrong type never get here; the
//! configuration has complained about those already and used the default.

use std::time::Duration;

use hermes_config::settings::Problem;
use hermes_config::{Config, Environment, vars};
use serde_json::Value;

use crate::diagnostics::{Thresholds, TriageModels};
use crate::dispatch::LogRotation;
use crate::model::{Assignee, parse_host_name, parse_label};
use crate::plan::{CapScope, Limits, automatic_in_progress};
use crate::{BoardOptions, HostSettings};

/// Seconds between two ticks.
const INTERVAL: f64 = 60.0;
/// Ticks more often than this only burn power.
const LEAST_INTERVAL: f64 = 1.0;
/// Longest pause that still makes sense, and that a [`Duration`] can hold.
const MOST_INTERVAL: f64 = 86_400.0;
/// Seconds a check may take.
const CHECK_TIMEOUT: u64 = 600;
/// Cards in triage that are split per interval.
const DECOMPOSED_PER_TICK: u64 = 3;

/// Values given on the command line, which outrank the configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DispatchFlags {
    /// `--max`.
    pub max_spawn: Option<i64>,
    /// `--failure-limit`.
    pub failure_limit: Option<i64>,
}

/// What is configured about boards and their workers.
#[derive(Debug, Clone, PartialEq)]
pub struct KanbanSettings {
    pub dispatch_in_gateway: bool,
    pub dispatch_interval: Duration,
    pub limits: Limits,
    /// How long each acceptance check may take.
    pub check_timeout: Duration,
    pub worker_log: LogRotation,
    pub thresholds: Thresholds,
    /// Directories in which agents may let cards be worked on, as they were given.
    pub workspace_roots: Vec<String>,
    /// How many cards in triage a dispatcher splits by itself per interval; `None` for none.
    pub auto_decompose: Option<usize>,
    /// What is configured about this host.
    pub host: HostSettings,
    /// A sentence for each invalid value.
    pub complaints: Vec<String>,
}

impl KanbanSettings {
    /// Reads what is configured, with variables and flags over it. `memory_bytes` is the memory of
    /// the machine, for `max_in_progress: auto`.
    pub fn resolve(
        config: &Config,
        env: &Environment,
        memory_bytes: Option<u64>,
        flags: &DispatchFlags,
    ) -> Self {
        let mut reader = Reader {
            config,
            complaints: Vec::new(),
        };
        let usual = Limits::default();
        let failure_limit = reader.at_least(
            "kanban.failure_limit",
            1,
            usual.failure_limit,
            "so 2 is used",
        );
        // Malformed variables count as unset.
        let seconds = |var: &vars::Var, least: i64, usual: i64| {
            let given: Option<i64> = env.text(var).and_then(|text| text.trim().parse().ok());
            given.filter(|seconds| *seconds >= least).unwrap_or(usual)
        };
        let ttl = &vars::HERMES_KANBAN_CLAIM_TTL_SECONDS;
        let grace = &vars::HERMES_KANBAN_CRASH_GRACE_SECONDS;
        let cooldown = &vars::HERMES_KANBAN_RATE_LIMIT_COOLDOWN_SECONDS;
        Self {
            dispatch_in_gateway: dispatches(config, env),
            dispatch_interval: reader.interval(),
            limits: Limits {
                claim_ttl_seconds: seconds(ttl, 1, usual.claim_ttl_seconds),
                crash_grace_seconds: seconds(grace, 0, usual.crash_grace_seconds),
                rate_limit_cooldown_seconds: seconds(
                    cooldown,
                    0,
                    usual.rate_limit_cooldown_seconds,
                ),
                stale_timeout_seconds: reader.at_least(
                    "kanban.dispatch_stale_timeout_seconds",
                    0,
                    0,
                    "so silent workers are not detected",
                ),
                max_spawn: reader.max_spawn(flags.max_spawn),
                max_in_progress: match config.text("kanban.max_in_progress") {
                    "auto" => Some(automatic_in_progress(memory_bytes)),
                    _ => reader.cap("kanban.max_in_progress"),
                },
                max_in_progress_per_profile: reader.cap("kanban.max_in_progress_per_profile"),
                max_in_progress_per_host: match config.text("kanban.max_in_progress_per_host") {
                    "auto" => Some(automatic_in_progress(memory_bytes)),
                    _ => reader.cap("kanban.max_in_progress_per_host"),
                },
                cap_scope: match config.text("kanban.cap_scope") {
                    "home" => CapScope::Home,
                    _ => CapScope::Board,
                },
                failure_limit: reader.failure_limit(failure_limit, flags.failure_limit),
                default_assignee: reader.default_assignee(),
            },
            check_timeout: Duration::from_secs(
                reader.positive("kanban.check_timeout_seconds", CHECK_TIMEOUT),
            ),
            worker_log: LogRotation {
                bytes: reader.positive("kanban.worker_log_rotate_bytes", 2_097_152),
                backups: u32::try_from(reader.at_least(
                    "kanban.worker_log_backup_count",
                    0,
                    1,
                    "so 1 is used",
                ))
                .unwrap_or(1),
            },
            thresholds: reader.thresholds(failure_limit),
            auto_decompose: reader.auto_decompose(),
            workspace_roots: reader.workspace_roots(),
            host: reader.host(),
            complaints: reader.complaints,
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

/// Everything that is not a clear yes switches dispatching off; a variable can do so as well, and
/// cannot switch it on.
fn dispatches(config: &Config, env: &Environment) -> bool {
    let variable = env.text(&vars::HERMES_KANBAN_DISPATCH_IN_GATEWAY);
    let no = ["0", "false", "no", "off"];
    if variable.is_some_and(|text| no.iter().any(|no| text.eq_ignore_ascii_case(no))) {
        return false;
    }
    // `dispatch_in_gateway: 0` is no boolean, and still means no.
    let written = config
        .user_file()
        .document()
        .and_then(|file| file.value().get("kanban")?.get("dispatch_in_gateway"));
    config.flag("kanban.dispatch_in_gateway") && !written.is_some_and(is_empty_or_zero)
}

fn is_empty_or_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    }
}

struct Reader<'a> {
    config: &'a Config,
    complaints: Vec<String>,
}

impl Reader<'_> {
    fn complain(&mut self, key: &str, value: impl std::fmt::Display, instead: &str) {
        self.complaints
            .push(format!("{key}: {value} is invalid, {instead}"));
    }

    /// A number that is at least `least`; another one gives `instead`.
    fn at_least(&mut self, key: &str, least: i64, instead: i64, words: &str) -> i64 {
        match self.config.int(key) {
            Some(value) if value >= least => value,
            Some(value) => {
                self.complain(key, value, words);
                instead
            }
            None => instead,
        }
    }

    fn positive(&mut self, key: &str, instead: u64) -> u64 {
        let words = format!("so {instead} is used");
        let stand_in = i64::try_from(instead).unwrap_or(i64::MAX);
        u64::try_from(self.at_least(key, 1, stand_in, &words)).unwrap_or(instead)
    }

    /// A cap: at least one; anything else is none.
    fn cap(&mut self, key: &str) -> Option<usize> {
        let value = self.config.int(key)?;
        match usize::try_from(value) {
            Ok(cap) if cap >= 1 => Some(cap),
            Ok(_) | Err(_) => {
                self.complain(key, value, "so there is no limit");
                None
            }
        }
    }

    fn max_spawn(&mut self, flag: Option<i64>) -> Option<usize> {
        let configured = self.cap("kanban.max_spawn");
        let Some(number) = flag else {
            return configured;
        };
        let cap = usize::try_from(number).ok().filter(|cap| *cap >= 1);
        if cap.is_none() {
            self.complain("--max", format!("'{number}'"), "so there is no limit");
        }
        cap
    }

    fn failure_limit(&mut self, configured: i64, flag: Option<i64>) -> i64 {
        match flag {
            Some(number) if number < 1 => {
                let instead = format!("so {configured} is used");
                self.complain("--failure-limit", format!("'{number}'"), &instead);
                configured
            }
            flag => flag.unwrap_or(configured),
        }
    }

    fn default_assignee(&mut self) -> Option<Assignee> {
        let key = "kanban.default_assignee";
        let name = self.config.text(key).trim();
        let assignee = Assignee::parse(name).ok();
        if assignee.is_none() && !name.is_empty() {
            let shown = format!("'{}'", crate::shown(name, 40));
            self.complain(key, shown, "so cards without assignee get none");
        }
        assignee
    }

    /// Which of them count depends on the disk; see [`crate::WorkspaceRules`].
    fn workspace_roots(&self) -> Vec<String> {
        let listed = self.config.get("kanban.workspace_roots");
        let listed = listed.and_then(Value::as_array).into_iter().flatten();
        let text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        listed.map(text).collect()
    }

    fn host(&mut self) -> HostSettings {
        let key = "kanban.host_name";
        let given = self.config.text(key).trim();
        let name = parse_host_name(given).ok();
        if name.is_none() && !given.is_empty() {
            let shown = format!("'{}'", crate::shown(given, 40));
            self.complain(key, shown, "so the name of the machine is used");
        }
        let mut labels: Vec<String> = Vec::new();
        for text in self.label_texts() {
            match parse_label(&text) {
                Ok(label) if labels.contains(&label) => {}
                Ok(label) => labels.push(label),
                Err(_) => {
                    let shown = format!("'{}'", crate::shown(&text, 40));
                    self.complain("kanban.host_labels", shown, "so it is left out");
                }
            }
        }
        HostSettings { name, labels }
    }

    /// The labels as they were given: a list, or one text with commas.
    fn label_texts(&self) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let split = |text: String| {
            let parts = text.split(',').map(|part| part.trim().to_owned());
            parts.filter(|part| !part.is_empty()).collect::<Vec<_>>()
        };
        match self.config.get("kanban.host_labels") {
            Some(Value::Array(items)) => items.iter().flat_map(|item| split(text(item))).collect(),
            Some(Value::String(words)) => split(words.clone()),
            _ => Vec::new(),
        }
    }

    fn interval(&mut self) -> Duration {
        let key = "kanban.dispatch_interval_seconds";
        let seconds = match self.config.number(key) {
            Some(seconds) if seconds.is_finite() && seconds > 0.0 => {
                seconds.clamp(LEAST_INTERVAL, MOST_INTERVAL)
            }
            Some(seconds) => {
                self.complain(key, seconds, "so 60 is used");
                INTERVAL
            }
            None => INTERVAL,
        };
        Duration::from_secs_f64(seconds)
    }

    /// Nothing is split while the file cannot be read: it may be the one that switches this off.
    fn auto_decompose(&mut self) -> Option<usize> {
        let per_tick = self.positive("kanban.auto_decompose_per_tick", DECOMPOSED_PER_TICK);
        let mut problems = self.config.problems().iter();
        let is_readable = !problems.any(|problem| matches!(problem, Problem::Broken { .. }));
        let is_on = self.config.flag("kanban.auto_decompose") && is_readable;
        is_on.then(|| usize::try_from(per_tick).unwrap_or(usize::MAX))
    }

    fn thresholds(&mut self, failure_limit: i64) -> Thresholds {
        let usual = Thresholds::default();
        let mut positive = |name: &str, instead: i64| {
            let key = format!("kanban.diagnostics.{name}");
            let number = self.config.number(&key);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "thresholds are far below the limits of either type"
            )]
            match number {
                Some(value) if value.is_finite() && value >= 1.0 => value as i64,
                Some(value) => {
                    self.complain(&key, value, &format!("so {instead} is used"));
                    instead
                }
                None => instead,
            }
        };
        Thresholds {
            failure_threshold: positive("failure_threshold", failure_limit),
            failure_limit,
            crash_threshold: positive("crash_threshold", usual.crash_threshold),
            blocked_stale_hours: positive("blocked_stale_hours", usual.blocked_stale_hours),
            stranded_threshold_seconds: positive(
                "stranded_threshold_seconds",
                usual.stranded_threshold_seconds,
            ),
            block_cycle_threshold: positive("block_cycle_threshold", usual.block_cycle_threshold),
            block_cycle_window_seconds: positive(
                "block_cycle_window_seconds",
                usual.block_cycle_window_seconds,
            ),
            triage: Some(TriageModels {
                auto_decompose: self.config.flag("kanban.auto_decompose"),
                decomposer: self.has_slot("kanban_decomposer"),
                specifier: self.has_slot("triage_specifier"),
                main_model: self.config.model().0.is_some(),
            }),
        }
    }

    /// Whether somebody filled in a slot for side tasks; `auto` alone means the main model.
    fn has_slot(&self, name: &str) -> bool {
        let field = |field: &str| {
            self.config
                .text(&format!("auxiliary.{name}.{field}"))
                .trim()
        };
        let provider = field("provider");
        let named = !provider.is_empty() && !provider.eq_ignore_ascii_case("auto");
        named
            || ["model", "base_url", "api_key"]
                .iter()
                .any(|key| !field(key).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_config::Sources;
    use pretty_assertions::assert_eq;

    fn settings(yaml: &str, variables: &[(&str, &str)]) -> KanbanSettings {
        with_flags(yaml, variables, DispatchFlags::default())
    }

    fn with_flags(yaml: &str, variables: &[(&str, &str)], flags: DispatchFlags) -> KanbanSettings {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.yaml");
        hermes_fs::write_atomic(&path, yaml.as_bytes(), 0o600).unwrap();
        let env = Environment::from_pairs(variables.iter().copied());
        let config = Config::load_read_only(&Sources::new(&env, home.path()));
        KanbanSettings::resolve(&config, &env, Some(10 << 30), &flags)
    }

    #[test]
    fn nothing_configured_gives_the_usual() {
        let usual = settings("", &[]);
        assert!(usual.dispatch_in_gateway && usual.complaints.is_empty());
        assert_eq!(usual.dispatch_interval, Duration::from_mins(1));
        assert_eq!(usual.limits, Limits::default());
        assert_eq!(usual.worker_log, LogRotation::default());
        assert_eq!(usual.check_timeout, Duration::from_mins(10));
        assert_eq!(usual.thresholds.failure_threshold, 2);
    }

    #[test]
    fn hosts_are_named_and_labelled_and_nonsense_is_left_out() {
        let listed = settings(
            "kanban: {host_name: gpu1, host_labels: [gpu, ssd, gpu]}",
            &[],
        );
        assert_eq!(listed.host.name.as_deref(), Some("gpu1"));
        assert_eq!(listed.host.labels, ["gpu", "ssd"]);
        assert!(listed.complaints.is_empty(), "{:?}", listed.complaints);
        let text = settings("kanban: {host_labels: 'gpu, zone:eu'}", &[]);
        assert_eq!(text.host.labels, ["gpu", "zone:eu"]);
        let bad = settings("kanban: {host_name: 'a b', host_labels: ['x y', ok]}", &[]);
        assert_eq!(
            (bad.host.name, bad.host.labels),
            (None, vec!["ok".to_owned()])
        );
        assert_eq!(
            bad.complaints,
            [
                "kanban.host_name: 'a b' is invalid, so the name of the machine is used",
                "kanban.host_labels: 'x y' is invalid, so it is left out",
            ]
        );
    }

    #[test]
    fn caps_that_make_no_sense_are_none() {
        for bad in ["0", "-1", "abc", "null", "1.5", "[]", "''"] {
            let yaml = format!(
                "kanban:\n  max_spawn: {bad}\n  max_in_progress: {bad}\n  \
                 max_in_progress_per_profile: {bad}\n"
            );
            let settings = settings(&yaml, &[]);
            assert_eq!(settings.limits, Limits::default(), "{bad}");
            // Those of the wrong type have been complained about by the configuration.
            let expected = if ["0", "-1"].contains(&bad) { 3 } else { 0 };
            assert_eq!(
                settings.complaints.len(),
                expected,
                "{:?}",
                settings.complaints
            );
        }
        let good = settings("kanban: {max_spawn: '3', max_in_progress: 2}", &[]).limits;
        assert_eq!((good.max_spawn, good.max_in_progress), (Some(3), Some(2)));
        let auto = settings("kanban: {max_in_progress: AUTO}", &[]).limits;
        assert_eq!(auto.max_in_progress, Some(5));
    }

    #[test]
    fn numbers_that_make_no_sense_have_stand_ins() {
        let odd = settings(
            "kanban:\n  failure_limit: 0\n  dispatch_stale_timeout_seconds: -5\n  \
             dispatch_interval_seconds: 0\n  check_timeout_seconds: -1\n  \
             worker_log_rotate_bytes: 0\n  worker_log_backup_count: -1\n  \
             default_assignee: '   '\n  diagnostics:\n    crash_threshold: 0\n",
            &[],
        );
        let limits = &odd.limits;
        assert_eq!((limits.failure_limit, limits.stale_timeout_seconds), (2, 0));
        assert_eq!(odd.dispatch_interval, Duration::from_mins(1));
        assert_eq!(odd.check_timeout, Duration::from_mins(10));
        assert_eq!(odd.worker_log, LogRotation::default());
        assert_eq!(odd.limits.default_assignee, None);
        assert_eq!(odd.thresholds.crash_threshold, 2);
        assert_eq!(odd.complaints.len(), 6, "{:?}", odd.complaints);
        let hasty = settings("kanban: {dispatch_interval_seconds: 0.2}", &[]);
        assert_eq!(hasty.dispatch_interval, Duration::from_secs(1));
        assert!(hasty.complaints.is_empty());
    }

    #[test]
    fn the_threshold_of_failures_follows_the_limit() {
        let follows = settings("kanban: {failure_limit: 5}", &[]);
        assert_eq!(follows.thresholds.failure_threshold, 5);
        let own = settings(
            "kanban: {failure_limit: 5, diagnostics: {failure_threshold: 3}}",
            &[],
        );
        assert_eq!(own.thresholds.failure_threshold, 3);
    }

    #[test]
    fn dispatching_is_switched_off_by_anything_falsy() {
        for off in ["false", "no", "0", "''", "null", "[]"] {
            let yaml = format!("kanban: {{dispatch_in_gateway: {off}}}");
            assert!(!settings(&yaml, &[]).dispatch_in_gateway, "{off}");
        }
        assert!(settings("kanban: {dispatch_in_gateway: true}", &[]).dispatch_in_gateway);
        let by_variable =
            |text| settings("", &[("HERMES_KANBAN_DISPATCH_IN_GATEWAY", text)]).dispatch_in_gateway;
        assert!(!by_variable("OFF") && !by_variable("0"));
        assert!(by_variable("maybe") && by_variable("1"));
    }

    #[test]
    fn triage_needs_a_slot_or_a_main_model() {
        let models = |yaml| settings(yaml, &[]).thresholds.triage.unwrap();
        let slots = |yaml| (models(yaml).decomposer, models(yaml).specifier);
        assert_eq!(
            slots("auxiliary: {kanban_decomposer: {provider: auto}}"),
            (false, false)
        );
        assert_eq!(
            slots("auxiliary: {kanban_decomposer: {model: x}}"),
            (true, false)
        );
        assert_eq!(
            slots("auxiliary: {triage_specifier: {provider: openai}}"),
            (false, true)
        );
        assert!(models("model: {default: some/model}").main_model);
    }

    #[test]
    fn flags_outrank_the_configuration() {
        let yaml = "kanban: {max_spawn: 5, failure_limit: 4, max_in_progress_per_profile: 2}";
        let flags = DispatchFlags {
            max_spawn: Some(1),
            failure_limit: Some(7),
        };
        let limits = with_flags(yaml, &[], flags).limits;
        assert_eq!((limits.max_spawn, limits.failure_limit), (Some(1), 7));
        assert_eq!(limits.max_in_progress_per_profile, Some(2));
        let settings = settings(yaml, &[]);
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
        let odd = with_flags("kanban: {max_spawn: 5, failure_limit: 4}", &[], flags);
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
    fn variables_count_if_they_are_numbers() {
        let of = |ttl, grace, cooldown| {
            let variables = [
                ("HERMES_KANBAN_CLAIM_TTL_SECONDS", ttl),
                ("HERMES_KANBAN_CRASH_GRACE_SECONDS", grace),
                ("HERMES_KANBAN_RATE_LIMIT_COOLDOWN_SECONDS", cooldown),
            ];
            let limits = settings("", &variables).limits;
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
            let settings = settings(yaml, &[]);
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
