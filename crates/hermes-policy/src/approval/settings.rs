//! The settings of approvals, read once from the configuration.

use std::time::Duration;

use hermes_config::Config;
use serde_json::Value;

/// Who decides about what was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalMode {
    /// A person.
    Manual,
    /// A model first, a person where it does not approve.
    Smart,
    /// Nobody: everything runs that is not blocked.
    Off,
}

/// What happens to what was detected when nobody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unattended {
    Deny,
    Approve,
}

/// Settings of approvals.
#[derive(Debug, Clone)]
pub struct ApprovalSettings {
    pub mode: ApprovalMode,
    pub cron: Unattended,
    pub noninteractive: Unattended,
    pub deny: Vec<String>,
    /// `command_allowlist`
    pub allowlist: Vec<String>,
    pub timeout: Duration,
    pub gateway_timeout: Duration,
    pub foreground_guard: bool,
    /// What was wrong with the settings; to be logged once.
    pub warnings: Vec<String>,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            mode: ApprovalMode::Smart,
            cron: Unattended::Deny,
            noninteractive: Unattended::Deny,
            deny: Vec::new(),
            allowlist: Vec::new(),
            timeout: Duration::from_mins(1),
            gateway_timeout: Duration::from_mins(5),
            foreground_guard: true,
            warnings: Vec::new(),
        }
    }
}

impl ApprovalSettings {
    /// Reads the settings. An unknown value means the careful choice, not the default.
    pub fn from_config(config: &Config) -> Self {
        let default = Self::default();
        let mut warnings = Vec::new();
        let mode = match written(config, "approvals.mode") {
            None => default.mode,
            Some(value) => mode(&value).unwrap_or_else(|| {
                warnings.push(format!(
                    "approvals.mode: {value} is not one of manual, smart, off; using manual"
                ));
                ApprovalMode::Manual
            }),
        };
        let mut unattended = |key: &str| match written(config, key) {
            None => Unattended::Deny,
            Some(value) => unattended(&value).unwrap_or_else(|| {
                warnings.push(format!(
                    "{key}: {value} is not one of deny, approve; using deny"
                ));
                Unattended::Deny
            }),
        };
        let cron = unattended("approvals.cron_mode");
        let noninteractive = unattended("approvals.noninteractive_mode");
        let seconds = |key: &str, default: Duration| {
            let given = config.int(key).and_then(|given| u64::try_from(given).ok());
            let given = given.filter(|given| *given > 0);
            given.map_or(default, Duration::from_secs)
        };
        let texts = |key: &str| config.texts(key).into_iter().map(str::to_owned).collect();
        Self {
            mode,
            cron,
            noninteractive,
            deny: texts("approvals.deny"),
            allowlist: texts("command_allowlist"),
            timeout: seconds("approvals.timeout", default.timeout),
            gateway_timeout: seconds("approvals.gateway_timeout", default.gateway_timeout),
            foreground_guard: config
                .get("terminal.foreground_guard")
                .and_then(Value::as_bool)
                .unwrap_or(default.foreground_guard),
            warnings,
        }
    }

    /// Takes back every setting by which flagged commands run unasked. Commands that the user listed
    /// one by one stay allowed.
    pub fn require_approval(&mut self) {
        if self.mode == ApprovalMode::Off {
            self.mode = ApprovalMode::Manual;
        }
        self.cron = Unattended::Deny;
        self.noninteractive = Unattended::Deny;
    }
}

/// The value as it was written, the administrator's file first. The merged settings have replaced
/// what does not fit by the default, which here is not the careful choice.
pub(crate) fn written(config: &Config, key: &str) -> Option<Value> {
    let pointer = format!("/{}", key.replace('.', "/"));
    let files = [config.managed_file(), Some(config.user_file())];
    let written = files
        .into_iter()
        .flatten()
        .filter_map(|file| file.document())
        .find_map(|document| document.value().pointer(&pointer))
        .filter(|value| !value.is_null())?;
    match written {
        // A reference to a variable was looked up when the settings were merged.
        Value::String(text) if text.contains("${") => config.get(key).cloned(),
        other => Some(other.clone()),
    }
}

fn mode(value: &Value) -> Option<ApprovalMode> {
    match value {
        Value::Bool(false) => Some(ApprovalMode::Off),
        Value::Bool(true) => Some(ApprovalMode::Manual),
        Value::String(word) => match word.trim().to_ascii_lowercase().as_str() {
            "manual" => Some(ApprovalMode::Manual),
            "smart" => Some(ApprovalMode::Smart),
            "off" => Some(ApprovalMode::Off),
            _ => None,
        },
        _ => None,
    }
}

/// `off` switches the guard off, so it approves, as in the reference.
fn unattended(value: &Value) -> Option<Unattended> {
    match value {
        // `off` and `yes` without quotes.
        Value::Bool(_) => Some(Unattended::Approve),
        Value::String(word) => match word.trim().to_ascii_lowercase().as_str() {
            "deny" => Some(Unattended::Deny),
            "approve" | "off" | "allow" | "yes" => Some(Unattended::Approve),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hermes_config::{Environment, Sources};

    use super::*;

    fn settings(yaml: &str) -> ApprovalSettings {
        let dir = tempfile::tempdir().unwrap();
        hermes_fs::write_atomic(&dir.path().join("config.yaml"), yaml.as_bytes(), 0o600).unwrap();
        let sources = Sources {
            env: Environment::from_pairs::<&str, &str>([]),
            home: dir.path().to_owned(),
            managed_dir: None,
            tighten_dotenv: true,
        };
        ApprovalSettings::from_config(&Config::load_read_only(&sources))
    }

    #[test]
    fn approval_mode_accepts_booleans_and_any_case() {
        for (yaml, expected, warns) in [
            ("", ApprovalMode::Smart, false),
            ("approvals: {mode: off}", ApprovalMode::Off, false),
            ("approvals: {mode: 'off'}", ApprovalMode::Off, false),
            ("approvals: {mode: on}", ApprovalMode::Manual, false),
            ("approvals: {mode: Manual}", ApprovalMode::Manual, false),
            ("approvals: {mode: auto}", ApprovalMode::Manual, true),
            ("approvals: {mode: 3}", ApprovalMode::Manual, true),
            ("approvals: {mode: null}", ApprovalMode::Smart, false),
        ] {
            let settings = settings(yaml);
            assert_eq!(settings.mode, expected, "{yaml}");
            assert_eq!(!settings.warnings.is_empty(), warns, "{yaml}");
        }
    }

    #[test]
    fn unattended_modes_and_lists_are_read() {
        for (yaml, expected) in [
            ("approvals: {cron_mode: approve}", Unattended::Approve),
            ("approvals: {cron_mode: allow}", Unattended::Approve),
            ("approvals: {cron_mode: off}", Unattended::Approve),
            ("approvals: {cron_mode: yes}", Unattended::Approve),
            ("approvals: {cron_mode: deny}", Unattended::Deny),
            ("approvals: {cron_mode: perhaps}", Unattended::Deny),
            ("", Unattended::Deny),
        ] {
            assert_eq!(settings(yaml).cron, expected, "{yaml}");
        }
        let all = settings(
            "approvals:\n  deny: ['sudo *']\n  timeout: 5\n  gateway_timeout: -1\n  \
             noninteractive_mode: approve\ncommand_allowlist: [recursive delete, 'git \
             *']\nterminal: {foreground_guard: false}\n",
        );
        assert_eq!(all.deny, ["sudo *"]);
        assert_eq!(all.allowlist, ["recursive delete", "git *"]);
        assert_eq!(all.timeout, Duration::from_secs(5));
        assert_eq!(all.gateway_timeout, Duration::from_mins(5));
        assert_eq!(all.noninteractive, Unattended::Approve);
        assert!(!all.foreground_guard);
    }
}
