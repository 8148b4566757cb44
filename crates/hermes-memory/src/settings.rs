//! Which services there are, and what the home and the environment say of them. Files and variables
//! are the Python runtime's.

use std::path::Path;

use hermes_config::Config;
use serde_json::{Map, Value};

/// Largest file of settings that is read.
const LIMIT: u64 = 1 << 20;

/// A service with an API that this program speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostedService {
    /// In `memory.provider`.
    pub name: &'static str,
    /// The variable of its key.
    pub key: &'static str,
    /// Where a key can be had.
    pub site: &'static str,
}

impl HostedService {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self {
            name: "hindsight",
            key: "HINDSIGHT_API_KEY",
            site: "https://ui.hindsight.vectorize.io",
        },
        Self {
            name: "mem0",
            key: "MEM0_API_KEY",
            site: "https://app.mem0.ai",
        },
        Self {
            name: "supermemory",
            key: "SUPERMEMORY_API_KEY",
            site: "https://app.supermemory.ai",
        },
    ];

    /// The service of this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|service| service.name == name.trim().to_ascii_lowercase())
    }
}

/// Whose memory it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The profile.
    pub profile: String,
    /// Where the conversation takes place: `cli`, `api_server`, …
    pub platform: String,
    /// The user of that platform, if it has several.
    pub user: Option<String>,
}

/// Why a service cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotUsable {
    /// A clause.
    pub reason: String,
    /// What to do.
    pub hint: String,
}

impl NotUsable {
    pub(crate) fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            hint: hint.into(),
        }
    }
}

/// What is set for a service: its file, then variables.
pub(crate) struct ServiceSettings<'a> {
    service: HostedService,
    file: Map<String, Value>,
    file_name: &'static str,
    config: &'a Config,
}

impl<'a> ServiceSettings<'a> {
    pub(crate) fn read(
        service: HostedService,
        config: &'a Config,
        home: &Path,
    ) -> Result<Self, NotUsable> {
        let file_name = match service.name {
            "mem0" => "mem0.json",
            "supermemory" => "supermemory.json",
            _ => "hindsight/config.json",
        };
        let bytes = hermes_fs::read_optional(&home.join(file_name), LIMIT);
        let wrong = |reason: String| {
            NotUsable::new(
                reason,
                format!("correct {file_name} in the home, or remove it"),
            )
        };
        let bytes = bytes.map_err(|error| wrong(error.to_string()))?;
        let file = match bytes.as_deref().map(serde_json::from_slice) {
            None => Map::new(),
            Some(Ok(Value::Object(file))) => file,
            Some(_) => return Err(wrong(format!("{file_name} is not a JSON object"))),
        };
        Ok(Self {
            service,
            file,
            file_name,
            config,
        })
    }

    /// The first of these keys that the file has, else the variable.
    pub(crate) fn text(&self, keys: &[&str], variable: Option<&str>) -> Option<String> {
        let of_file = keys.iter().find_map(|key| match self.file.get(*key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        });
        let filled = |text: &String| !text.trim().is_empty();
        let of_environment = || {
            let found = self.config.secret(variable?)?;
            Some(found.expose().to_owned())
        };
        let found = of_file
            .filter(filled)
            .or_else(|| of_environment().filter(filled));
        found.map(|text| text.trim().to_owned())
    }

    pub(crate) fn flag(&self, keys: &[&str], usual: bool) -> bool {
        let text = self.text(keys, None).map(|text| text.to_ascii_lowercase());
        match text.as_deref() {
            Some("true" | "1" | "yes" | "y" | "on") => true,
            Some("false" | "0" | "no" | "n" | "off") => false,
            _ => usual,
        }
    }

    pub(crate) fn number(&self, keys: &[&str], variable: Option<&str>) -> Option<f64> {
        let number: f64 = self.text(keys, variable)?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// Words of a list, or of a text with commas.
    pub(crate) fn words(&self, key: &str, variable: Option<&str>) -> Vec<String> {
        if let Some(Value::Array(items)) = self.file.get(key) {
            let words = items.iter().filter_map(Value::as_str);
            return words.map(str::to_owned).collect();
        }
        let text = self.text(&[key], variable).unwrap_or_default();
        let words = text.split(',').map(str::trim);
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// A part of the file.
    pub(crate) fn part(&self, pointer: &str) -> Option<String> {
        let value = self.file.get(pointer.split('/').next()?)?;
        let rest = pointer.split_once('/').map_or("", |(_, rest)| rest);
        let found = value.pointer(&format!("/{rest}"))?.as_str()?.trim();
        (!found.is_empty()).then(|| found.to_owned())
    }

    /// The key of the account.
    pub(crate) fn key(&self) -> Option<String> {
        self.text(&["api_key", "apiKey"], Some(self.service.key))
    }

    /// What is missing without a key.
    pub(crate) fn no_key(&self) -> String {
        format!("{} is not set", self.service.key)
    }

    /// What to do where it cannot be used.
    pub(crate) fn hint(&self) -> String {
        let Self {
            service, file_name, ..
        } = self;
        format!(
            "run `hermes memory setup {}` (keys: {}), or correct {file_name}",
            service.name, service.site
        )
    }
}
