//! Whether add-ons may be installed, and which switch forbids it.

use hermes_config::settings::FileState;
use hermes_config::{Config, Environment, vars};
use serde_json::Value;

use crate::error::Code;

/// Largest settings file that is looked at when it cannot be parsed.
const MAX_CONFIG: u64 = 4 << 20;
const KEY: &str = "allow_lazy_installs";

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Open,
    /// `security.allow_lazy_installs` is false.
    ClosedByConfig,
    /// The installation is sealed, and there is no target outside of it.
    ClosedByEnvironment,
}

impl Gate {
    /// The setting beats the variables; a target beats the seal.
    pub(crate) fn resolve(config: &Config, env: &Environment, has_target: bool) -> Self {
        if !allowed_by(config) {
            Self::ClosedByConfig
        } else if !has_target && env.flag(&vars::HERMES_DISABLE_LAZY_INSTALLS) {
            Self::ClosedByEnvironment
        } else {
            Self::Open
        }
    }

    /// The code of the refusal, with the reason and the way out.
    pub fn refusal(self) -> Option<(Code, &'static str, &'static str)> {
        match self {
            Self::Open => None,
            Self::ClosedByConfig => Some((
                Code::DisabledConfig,
                "lazy installs disabled (security.allow_lazy_installs=false)",
                "to allow them, run: hermes config set security.allow_lazy_installs true",
            )),
            Self::ClosedByEnvironment => Some((
                Code::DisabledEnv,
                "lazy installs disabled (HERMES_DISABLE_LAZY_INSTALLS is set and \
                 HERMES_LAZY_INSTALL_TARGET is not)",
                "set HERMES_LAZY_INSTALL_TARGET to a directory that outlives updates",
            )),
        }
    }
}

/// What the settings say. A file that cannot be parsed leaves the gate open, unless a line of it says
/// no in so many words.
fn allowed_by(config: &Config) -> bool {
    if let FileState::Broken(_) = config.user_file().state {
        let path = &config.user_file().path;
        let text = hermes_fs::read_capped(path, MAX_CONFIG).unwrap_or_default();
        let refuses = String::from_utf8_lossy(&text).lines().any(line_refuses);
        tracing::warn!(
            refuses,
            "config.yaml cannot be parsed; its text decides about installs"
        );
        return !refuses;
    }
    match config.get("security.allow_lazy_installs") {
        Some(Value::Bool(allowed)) => *allowed,
        Some(Value::String(text)) => !says_no(text),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        _ => true,
    }
}

fn line_refuses(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['{', '"', '\'']);
    let Some(value) = line.strip_prefix(KEY) else {
        return false;
    };
    let value = value.trim_start_matches(['"', '\'']).trim_start();
    let Some(value) = value.strip_prefix(':') else {
        return false;
    };
    let value = value.split('#').next().unwrap_or_default();
    says_no(value.trim().trim_matches(['"', '\'', '}', ',']))
}

fn says_no(text: &str) -> bool {
    ["false", "no", "off", "0"]
        .iter()
        .any(|no| text.trim().eq_ignore_ascii_case(no))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_says_no_is_recognised() {
        for line in [
            "  allow_lazy_installs: false",
            "allow_lazy_installs: 'no' # mine",
            "\tallow_lazy_installs : OFF",
            "\"allow_lazy_installs\": 0,",
        ] {
            assert!(line_refuses(line), "{line}");
        }
        for line in [
            "  allow_lazy_installs: true",
            "# allow_lazy_installs: false",
            "allow_lazy_installs_too: false",
            "allow_lazy_installs",
        ] {
            assert!(!line_refuses(line), "{line}");
        }
    }
}
