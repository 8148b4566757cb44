//! Settings of turns, resolved once.

use hermes_config::{Config, vars};
use hermes_providers::{Effort, Message};
use serde_json::Value;

use crate::image_mode::ImageMode;
use crate::prompt::ContextFileRules;
use crate::tools::{LoopGuardSettings, RepeatLimits};

/// Settings of a conversation.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// Maximum requests of one turn with tools.
    pub max_iterations: u32,
    /// Maximum calls of `delegate_task` in one answer.
    pub max_delegations: usize,
    pub loop_guard: LoopGuardSettings,
    pub compaction: CompactionSettings,
    /// Text added to the system prompt of every request, never stored.
    pub ephemeral_prompt: Option<String>,
    /// Whether a turn reports files whose last change failed.
    pub verify_file_changes: bool,
    pub directory_hints: bool,
    /// What of a context file may reach the model.
    pub file_rules: ContextFileRules,
    /// The manner in which the model answers; sent with every request, never stored.
    pub personality: Option<String>,
    /// How much the model thinks in this session, instead of the setting.
    pub effort: Option<Effort>,
    /// Messages sent before every conversation, never stored.
    pub prefill: Vec<Message>,
    /// Whether models get images that tools return.
    pub images: ImageMode,
    /// Whether a model that only announces an action is told to go on.
    pub intent_continuation: IntentContinuation,
    /// How often a turn that changed code is sent back to check it.
    pub verify_reminders: u32,
    /// Whether it is also told when to check and what to tidy.
    pub verify_guidance: bool,
}

/// Whether a model that only announces an action is told to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentContinuation {
    Off,
    /// Models of the Responses API, about files.
    Auto,
    Always,
    /// Models with one of these in their name.
    Models(Vec<String>),
}

/// Settings of compaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompactionSettings {
    /// Whether compaction is automatic.
    pub enabled: bool,
    /// Share of the context window from which a conversation is compacted.
    pub threshold: f64,
    /// Share of the threshold kept at the end of the conversation.
    pub target_ratio: f64,
    /// Messages kept at the beginning.
    pub protect_first: usize,
    /// Messages kept at the end, as far as they leave room.
    pub protect_last: usize,
    /// Messages from which a conversation is compacted, whatever its size.
    pub max_messages: usize,
    /// Whether models of the Codex service use more of their window.
    pub raises_codex: bool,
    /// Whether a failed summary leaves the conversation unchanged even if it does not fit.
    pub abort_on_summary_failure: bool,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            threshold: 0.5,
            target_ratio: 0.2,
            protect_first: 3,
            protect_last: 20,
            max_messages: 5_000,
            raises_codex: true,
            abort_on_summary_failure: false,
        }
    }
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            max_iterations: 90,
            max_delegations: 3,
            loop_guard: LoopGuardSettings::default(),
            compaction: CompactionSettings::default(),
            ephemeral_prompt: None,
            verify_file_changes: true,
            directory_hints: true,
            file_rules: ContextFileRules::default(),
            personality: None,
            effort: None,
            prefill: Vec::new(),
            images: ImageMode::default(),
            intent_continuation: IntentContinuation::Off,
            verify_reminders: 0,
            verify_guidance: true,
        }
    }
}

impl AgentSettings {
    /// Reads the settings of a profile. `max_turns` is from the command line.
    pub fn resolve(config: &Config, max_turns: Option<u32>) -> Self {
        let fallback = Self::default();
        let env = &config.sources().env;
        let ephemeral = env
            .text(&vars::HERMES_EPHEMERAL_SYSTEM_PROMPT)
            .unwrap_or_else(|| config.text("agent.system_prompt"))
            .trim();
        Self {
            max_iterations: max_turns
                .or_else(|| positive(config, "agent.max_turns"))
                .unwrap_or(fallback.max_iterations),
            max_delegations: positive(config, "delegation.max_concurrent_children")
                .and_then(|count| usize::try_from(count).ok())
                .unwrap_or(fallback.max_delegations),
            loop_guard: loop_guard(config),
            compaction: compaction(config),
            ephemeral_prompt: (!ephemeral.is_empty()).then(|| ephemeral.to_owned()),
            verify_file_changes: config.flag("display.file_mutation_verifier"),
            directory_hints: true,
            file_rules: ContextFileRules::default(),
            personality: None,
            effort: None,
            prefill: Vec::new(),
            images: ImageMode::resolve(config),
            intent_continuation: intent_continuation(config),
            verify_reminders: verify_reminders(config),
            verify_guidance: config.flag("agent.verify_guidance"),
        }
    }
}

impl AgentSettings {
    /// The same settings with more text in the system prompt of every request.
    #[must_use]
    pub fn with_prompt(mut self, more: Option<String>) -> Self {
        let texts = self.ephemeral_prompt.take().into_iter().chain(more);
        self.ephemeral_prompt = texts.reduce(|one, other| format!("{one}\n\n{other}"));
        self
    }
}

fn loop_guard(config: &Config) -> LoopGuardSettings {
    let fallback = LoopGuardSettings::default();
    let limits = |group: &str, fallback: RepeatLimits| {
        let count = |key: &str, otherwise: u32| {
            positive(config, &format!("tool_loop_guardrails.{group}.{key}")).unwrap_or(otherwise)
        };
        RepeatLimits {
            same_failure: count("exact_failure", fallback.same_failure),
            tool_failures: count("same_tool_failure", fallback.tool_failures),
            same_result: count("idempotent_no_progress", fallback.same_result),
        }
    };
    LoopGuardSettings {
        warnings: config.flag("tool_loop_guardrails.warnings_enabled"),
        hard_stop: config.flag("tool_loop_guardrails.hard_stop_enabled"),
        warn: limits("warn_after", fallback.warn),
        stop: limits("hard_stop_after", fallback.stop),
    }
}

fn intent_continuation(config: &Config) -> IntentContinuation {
    let value = config.get("agent.intent_ack_continuation");
    let text = value.and_then(Value::as_str).map(str::to_ascii_lowercase);
    match (value, text.as_deref()) {
        (Some(Value::Bool(true)), _) | (_, Some("true" | "always" | "yes" | "on")) => {
            IntentContinuation::Always
        }
        (Some(Value::Bool(false)), _) | (_, Some("false" | "never" | "no" | "off")) => {
            IntentContinuation::Off
        }
        (Some(Value::Array(names)), _) => {
            let names = names.iter().filter_map(Value::as_str);
            IntentContinuation::Models(names.map(str::to_ascii_lowercase).collect())
        }
        _ => IntentContinuation::Auto,
    }
}

/// `auto` means none, as every home does that the reference has migrated.
fn verify_reminders(config: &Config) -> u32 {
    let value = config.get("agent.verify_on_stop");
    let text = value.and_then(Value::as_str).map(str::to_ascii_lowercase);
    let is_on = value.and_then(Value::as_bool).unwrap_or(false)
        || matches!(text.as_deref(), Some("true" | "yes" | "on" | "1"));
    if !is_on {
        return 0;
    }
    let most = config.int("agent.max_verify_nudges").unwrap_or(3);
    u32::try_from(most).unwrap_or(0)
}

fn positive(config: &Config, key: &str) -> Option<u32> {
    let number = config.int(key).filter(|number| *number > 0)?;
    u32::try_from(number).ok()
}

fn compaction(config: &Config) -> CompactionSettings {
    let fallback = CompactionSettings::default();
    let share = |key: &str, otherwise: f64| {
        let number = config.number(key).filter(|n| n.is_finite());
        number.filter(|n| *n > 0.0 && *n < 1.0).unwrap_or(otherwise)
    };
    let count = |key: &str| {
        let count = config.int(key);
        count.and_then(|count| usize::try_from(count).ok())
    };
    CompactionSettings {
        enabled: config.flag("compression.enabled"),
        threshold: share("compression.threshold", fallback.threshold),
        target_ratio: share("compression.target_ratio", fallback.target_ratio),
        protect_first: count("compression.protect_first_n").unwrap_or(fallback.protect_first),
        protect_last: count("compression.protect_last_n").unwrap_or(fallback.protect_last),
        max_messages: count("compression.hygiene_hard_message_limit")
            .filter(|count| *count > 0)
            .unwrap_or(fallback.max_messages),
        raises_codex: config.flag("compression.codex_gpt55_autoraise"),
        abort_on_summary_failure: config.flag("compression.abort_on_summary_failure"),
    }
}
