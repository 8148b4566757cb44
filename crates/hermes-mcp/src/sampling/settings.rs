//! `mcp_servers.<name>.sampling`.

use std::time::Duration;

use crate::fields::{ConfigError, Fields};

const MAX_TOKENS: u32 = 4_096;
const SECONDS: f64 = 30.0;
const REQUESTS_A_MINUTE: u32 = 10;
const TOOL_ROUNDS: u32 = 5;
const MAX_SECONDS: f64 = 3_600.0;

/// What a server may ask of the model. A server without these settings may ask nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingConfig {
    /// The model that answers, whatever the server would like.
    pub model: Option<String>,
    /// Models that the server may choose from; none: the server has no choice.
    pub allowed_models: Vec<String>,
    /// Most tokens of one answer.
    pub max_tokens: u32,
    /// Longest wait for an answer of the model.
    pub timeout: Duration,
    pub requests_a_minute: u32,
    /// Answers in a row in which the model calls tools of the server.
    pub tool_rounds: u32,
    pub log: SamplingLog,
}

/// At which level requests are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingLog {
    Debug,
    Info,
    Warning,
}

impl SamplingConfig {
    /// `None` unless the settings say `enabled: true`: requests cost the user money.
    pub(crate) fn parse(fields: &Fields<'_>) -> Result<Option<Self>, ConfigError> {
        let is_enabled = fields.flag("enabled")?.unwrap_or(false);
        let seconds = fields.seconds("timeout")?.unwrap_or(SECONDS);
        let log = match fields.text("log_level")?.map(str::to_ascii_lowercase) {
            None => SamplingLog::Info,
            Some(level) => match level.trim() {
                "debug" => SamplingLog::Debug,
                "info" => SamplingLog::Info,
                "warning" => SamplingLog::Warning,
                other => {
                    let problem = format!("expected `debug`, `info` or `warning`, got '{other}'");
                    return Err(fields.error("log_level", problem));
                }
            },
        };
        let model = fields.text("model")?.map(str::trim);
        let sampling = Self {
            model: model.filter(|model| !model.is_empty()).map(str::to_owned),
            allowed_models: fields.texts("allowed_models")?,
            max_tokens: fields.count("max_tokens_cap", 1)?.unwrap_or(MAX_TOKENS),
            timeout: Duration::from_secs_f64(seconds.clamp(0.001, MAX_SECONDS)),
            requests_a_minute: fields.count("max_rpm", 1)?.unwrap_or(REQUESTS_A_MINUTE),
            tool_rounds: fields.count("max_tool_rounds", 0)?.unwrap_or(TOOL_ROUNDS),
            log,
        };
        Ok(is_enabled.then_some(sampling))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::ServerConfig;

    fn parsed(sampling: Value) -> Result<Option<SamplingConfig>, String> {
        let entry = json!({"command": "x", "sampling": sampling});
        let parsed = ServerConfig::parse("srv", &entry);
        parsed
            .map(|server| server.sampling)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_but_enabled_switches_it_on() {
        for off in [
            json!({}),
            json!({"model": "m"}),
            json!({"enabled": false}),
            json!(null),
        ] {
            assert_eq!(parsed(off.clone()), Ok(None), "{off}");
        }
        let on = parsed(json!({"enabled": "yes", "max_rpm": "3"}))
            .unwrap()
            .unwrap();
        assert_eq!(
            (on.max_tokens, on.requests_a_minute, on.tool_rounds),
            (4_096, 3, 5)
        );
        assert_eq!(
            (on.timeout, on.log),
            (Duration::from_secs(30), SamplingLog::Info)
        );
    }

    #[test]
    fn values_that_make_no_sense_are_named() {
        for (sampling, expected) in [
            (json!(true), "mcp_servers.srv.sampling: expected a mapping"),
            (
                json!({"max_rpm": 0}),
                "sampling.max_rpm: expected a whole number, at least 1",
            ),
            (json!({"max_tokens_cap": 1.5}), "sampling.max_tokens_cap"),
            (json!({"max_tool_rounds": -1}), "sampling.max_tool_rounds"),
            (
                json!({"log_level": "loud"}),
                "sampling.log_level: expected `debug`",
            ),
            (json!({"timeout": "soon"}), "sampling.timeout"),
        ] {
            let error = parsed(sampling).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
