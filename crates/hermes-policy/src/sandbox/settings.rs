//! The settings of the sandbox.

use hermes_config::Config;
use hermes_proc::sandbox::Network;
use serde_json::Value;

use crate::approval::written;

/// Which commands run in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxMode {
    /// Those of workers, and those that would be refused because nobody can be asked.
    Auto,
    /// All.
    On,
    /// None.
    Off,
}

impl SandboxMode {
    /// The word of the setting.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// Settings of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    pub mode: SandboxMode,
    /// Further paths that may be written, as they were given.
    pub write: Vec<String>,
    pub network: Network,
    /// What was wrong with the settings.
    pub warnings: Vec<String>,
}

impl SandboxSettings {
    /// Reads the settings. An unknown value means the careful choice, not the default.
    pub fn from_config(config: &Config) -> Self {
        let mut warnings = Vec::new();
        let mut unknown = |key: &str, careful: &str| {
            let value = written(config, key)?;
            let fits = match &value {
                Value::Bool(_) => true,
                Value::String(word) => ["auto", "on", "off", "loopback"].contains(&word.trim()),
                _ => false,
            };
            (!fits).then(|| {
                warnings.push(format!("{key}: {value} is not known; using {careful}"));
            })
        };
        let mode = match config.text("terminal.sandbox") {
            _ if unknown("terminal.sandbox", "on").is_some() => SandboxMode::On,
            "on" => SandboxMode::On,
            "off" => SandboxMode::Off,
            _ => SandboxMode::Auto,
        };
        let network = match config.text("terminal.sandbox_network") {
            _ if unknown("terminal.sandbox_network", "off").is_some() => Network::Off,
            "off" => Network::Off,
            "loopback" => Network::Loopback,
            _ => Network::On,
        };
        let mut write = Vec::new();
        for value in config
            .get("terminal.sandbox_write")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            match value.as_str() {
                Some(path) => write.push(path.to_owned()),
                None => warnings.push(format!(
                    "terminal.sandbox_write: {value} is not a path; left out"
                )),
            }
        }
        Self {
            mode,
            write,
            network,
            warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use hermes_config::{Environment, Sources};

    use super::*;

    fn settings(yaml: &str, variable: Option<&str>) -> SandboxSettings {
        let dir = tempfile::tempdir().unwrap();
        hermes_fs::write_atomic(&dir.path().join("config.yaml"), yaml.as_bytes(), 0o600).unwrap();
        let variables = variable.map(|value| ("HERMES_TERMINAL_SANDBOX", value));
        let sources = Sources {
            env: Environment::from_pairs(variables),
            home: dir.path().to_owned(),
            managed_dir: None,
            tighten_dotenv: true,
        };
        SandboxSettings::from_config(&Config::load_read_only(&sources))
    }

    #[test]
    fn words_and_unquoted_booleans_count() {
        for (yaml, mode, network) in [
            ("", SandboxMode::Auto, Network::On),
            (
                "terminal: {sandbox: off, sandbox_network: off}",
                SandboxMode::Off,
                Network::Off,
            ),
            (
                "terminal: {sandbox: on, sandbox_network: on}",
                SandboxMode::On,
                Network::On,
            ),
            (
                "terminal: {sandbox: 'auto', sandbox_network: loopback}",
                SandboxMode::Auto,
                Network::Loopback,
            ),
        ] {
            let found = settings(yaml, None);
            assert_eq!((found.mode, found.network), (mode, network), "{yaml}");
            assert!(found.warnings.is_empty(), "{yaml}");
        }
        assert_eq!(settings("", Some("on")).mode, SandboxMode::On);
        let off = settings("terminal: {sandbox: on}", Some("off"));
        assert_eq!(off.mode, SandboxMode::Off);
    }

    #[test]
    fn a_value_that_is_not_known_is_named_and_means_the_careful_choice() {
        let found = settings(
            "terminal: {sandbox: onn, sandbox_network: lo, sandbox_write: [/a, 3]}",
            None,
        );
        assert_eq!(found.mode, SandboxMode::On);
        assert_eq!(found.network, Network::Off);
        assert_eq!(found.write, ["/a"]);
        assert_eq!(found.warnings.len(), 3, "{:?}", found.warnings);
    }
}
