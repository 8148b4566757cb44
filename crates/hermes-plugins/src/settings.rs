//! `plugins` of `config.yaml`: which plugins are enabled, and what each may do.

use std::collections::BTreeSet;
use std::time::Duration;

use hermes_config::Config;
use serde_json::{Map, Value};

use crate::discovery::{Plugin, Source};
use crate::manifest::Kind;

/// Seconds a hook that decides may take, unless the settings say otherwise.
const HOOK_SECONDS: f64 = 2.0;
const LEAST_SECONDS: f64 = 0.1;
const MOST_SECONDS: f64 = 30.0;

/// What the settings say of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Enabled,
    Disabled,
    NotEnabled,
}

impl Status {
    /// As lists say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::NotEnabled => "not enabled",
        }
    }
}

/// What one plugin may do: `plugins.entries.<key>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Whether its tools may take the place of built-in ones.
    pub allow_tool_override: bool,
    /// Longest wait for a hook that decides.
    pub hook_timeout: Duration,
    /// Whether a hook that fails or takes too long means no.
    pub fail_closed: bool,
}

/// The settings of plugins.
#[derive(Debug, Clone, Default)]
pub struct PluginSettings {
    pub enabled: BTreeSet<String>,
    pub disabled: BTreeSet<String>,
    entries: Map<String, Value>,
    /// `<category>.provider` of each section that has one.
    providers: Vec<(String, String)>,
}

impl PluginSettings {
    /// As the settings have them. What is of the wrong kind grants nothing.
    pub fn resolve(config: &Config) -> Self {
        let section = config.get("plugins");
        let names = |key: &str| {
            let names = section.and_then(|section| section.get(key)?.as_array());
            let names = names.into_iter().flatten().filter_map(Value::as_str);
            names.map(|name| name.trim().to_owned()).collect()
        };
        let entries = section.and_then(|section| section.get("entries")?.as_object());
        let sections = config.tree().as_object().into_iter().flatten();
        let providers = sections.filter_map(|(name, section)| {
            let provider = section.get("provider")?.as_str()?.trim();
            (!provider.is_empty()).then(|| (name.clone(), provider.to_owned()))
        });
        Self {
            enabled: names("enabled"),
            disabled: names("disabled"),
            entries: entries.cloned().unwrap_or_default(),
            providers: providers.collect(),
        }
    }

    /// What the lists of the settings say of a plugin.
    pub fn status(&self, plugin: &Plugin) -> Status {
        let is_in = |names: &BTreeSet<String>| names.iter().any(|name| plugin.is_called(name));
        if is_in(&self.disabled) {
            Status::Disabled
        } else if is_in(&self.enabled) || self.is_chosen(plugin) {
            Status::Enabled
        } else {
            Status::NotEnabled
        }
    }

    /// Whether the plugin is used without being listed: as the one that its category names, or as a
    /// part of the installation.
    fn is_chosen(&self, plugin: &Plugin) -> bool {
        let Ok(manifest) = &plugin.manifest else {
            return false;
        };
        match manifest.kind {
            Kind::Exclusive => plugin.category().is_some_and(|category| {
                let mut chosen = self.providers.iter();
                chosen.any(|(section, name)| {
                    section == category && [plugin.bare_key(), plugin.name()].contains(&&**name)
                })
            }),
            Kind::Backend | Kind::Platform => plugin.source == Source::Bundled,
            Kind::Standalone | Kind::ModelProvider => false,
        }
    }

    /// Whether any plugin could be in use, as far as the settings say.
    pub fn can_have_any(&self) -> bool {
        !self.enabled.is_empty() || !self.providers.is_empty()
    }

    /// What a plugin may do, and what of its entry cannot be used.
    pub fn entry(&self, plugin: &Plugin) -> (Entry, Vec<String>) {
        let names = [plugin.key.as_str(), plugin.name(), plugin.bare_key()];
        let found = names
            .into_iter()
            .find_map(|name| Some((name, self.entries.get(name)?)));
        let mut entry = Entry {
            allow_tool_override: false,
            hook_timeout: Duration::from_secs_f64(HOOK_SECONDS),
            fail_closed: false,
        };
        let mut problems = Vec::new();
        let Some((name, given)) = found.filter(|(_, given)| !given.is_null()) else {
            return (entry, problems);
        };
        let Some(given) = given.as_object() else {
            problems.push(format!("plugins.entries.{name} must be a mapping"));
            return (entry, problems);
        };
        let value = |key: &str| given.get(key).filter(|value| !value.is_null());
        match value("allow_tool_override") {
            None => {}
            Some(Value::Bool(allowed)) => entry.allow_tool_override = *allowed,
            Some(_) => problems.push(format!(
                "plugins.entries.{name}.allow_tool_override must be true or false; it counts as false"
            )),
        }
        match value("fail_closed") {
            None => {}
            Some(Value::Bool(closed)) => entry.fail_closed = *closed,
            // Who wrote something there wanted to be sure.
            Some(_) => {
                entry.fail_closed = true;
                problems.push(format!(
                    "plugins.entries.{name}.fail_closed must be true or false; it counts as true"
                ));
            }
        }
        if let Some(seconds) = value("hook_timeout_seconds") {
            let number = match seconds {
                Value::String(text) => text.trim().parse().ok(),
                seconds => seconds.as_f64(),
            };
            let number = number.filter(|number: &f64| number.is_finite());
            let used = number
                .unwrap_or(HOOK_SECONDS)
                .clamp(LEAST_SECONDS, MOST_SECONDS);
            if number != Some(used) {
                problems.push(format!(
                    "plugins.entries.{name}.hook_timeout_seconds is a number from {LEAST_SECONDS} \
                     to {MOST_SECONDS}; {used} counts"
                ));
            }
            entry.hook_timeout = Duration::from_secs_f64(used);
        }
        (entry, problems)
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
