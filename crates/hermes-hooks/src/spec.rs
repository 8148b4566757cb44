//! Hooks as the settings have them. What cannot be used is named and left out; it never keeps a
//! conversation from starting.

use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use crate::event::HookEvent;

/// Seconds a hook may take unless it says otherwise.
const TIMEOUT: u64 = 60;
/// Seconds a hook may take at most.
const MOST_TIMEOUT: u64 = 300;
/// Settings below `hooks` that are no events.
const NO_EVENTS: &[&str] = &["output_spill"];
/// Most hooks of one event that are run.
const MOST_HOOKS: usize = 64;

/// What a hook that fails or takes too long means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnError {
    /// Nothing.
    #[default]
    Allow,
    /// That the call it was asked about is refused.
    Block,
}

/// One hook.
#[derive(Debug, Clone)]
pub struct HookSpec {
    pub event: HookEvent,
    pub command: String,
    pub timeout: Duration,
    pub on_error: OnError,
    /// Variables that its environment has besides those of a user's script.
    pub env_passthrough: Vec<String>,
    matcher: Option<Matcher>,
}

#[derive(Debug, Clone)]
enum Matcher {
    Pattern {
        text: String,
        whole: Regex,
    },
    /// Not a pattern; the name itself.
    Name(String),
}

impl HookSpec {
    /// A handler of a gateway's event.
    pub(crate) fn of_handler(event: HookEvent, command: &str, timeout: Duration) -> Self {
        Self {
            event,
            command: command.to_owned(),
            timeout,
            on_error: OnError::Allow,
            env_passthrough: Vec::new(),
            matcher: None,
        }
    }

    /// A hook for all tools, of a program that is given as words.
    pub(crate) fn of_words(
        event: HookEvent,
        words: &[String],
        timeout: Duration,
        env_passthrough: &[String],
    ) -> Self {
        let words = words.iter().map(String::as_str);
        // Words with a NUL character cannot be started, and neither can none.
        let command = shlex::try_join(words).unwrap_or_default();
        Self {
            env_passthrough: env_passthrough.to_vec(),
            ..Self::of_handler(event, &command, timeout)
        }
    }

    /// The tools it is for, as the settings have them; `None` for all.
    pub fn matcher(&self) -> Option<&str> {
        self.matcher.as_ref().map(|matcher| match matcher {
            Matcher::Pattern { text, .. } | Matcher::Name(text) => text.as_str(),
        })
    }

    /// Whether it is for an event of this tool.
    pub fn is_for_tool(&self, tool: Option<&str>) -> bool {
        match (&self.matcher, tool) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(Matcher::Pattern { whole, .. }), Some(tool)) => whole.is_match(tool),
            (Some(Matcher::Name(name)), Some(tool)) => name == tool,
        }
    }
}

/// What the settings say.
#[derive(Debug, Default)]
pub struct Configured {
    pub hooks: Vec<HookSpec>,
    /// What could not be used, a sentence each.
    pub problems: Vec<String>,
}

/// The hooks of the setting `hooks`.
pub fn configured(setting: Option<&Value>) -> Configured {
    let mut found = Configured::default();
    match setting {
        None | Some(Value::Null) => {}
        Some(Value::Object(events)) => {
            let events = events.iter();
            for (name, entries) in events.filter(|(name, _)| !NO_EVENTS.contains(&name.as_str())) {
                found.read_event(name, entries);
            }
        }
        Some(_) => found
            .problems
            .push("hooks must be a mapping of events to lists of hooks".to_owned()),
    }
    found
}

impl Configured {
    fn read_event(&mut self, name: &str, entries: &Value) {
        let Some(event) = HookEvent::named(name) else {
            let names: Vec<&str> = HookEvent::ALL.iter().map(|event| event.name()).collect();
            let near = hermes_text::closest(name, names.iter().copied());
            let meant = match near {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("the events are {}", names.join(", ")),
            };
            self.problems
                .push(format!("hooks.{name} is no event; {meant}"));
            return;
        };
        match entries {
            Value::Null => {}
            Value::Array(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    let at = format!("hooks.{name}[{index}]");
                    if index >= MOST_HOOKS {
                        self.problems.push(format!(
                            "{at} and what follows is not run: there are more than {MOST_HOOKS} hooks"
                        ));
                        return;
                    }
                    self.read_hook(event, &at, entry);
                }
            }
            _ => self
                .problems
                .push(format!("hooks.{name} must be a list of hooks")),
        }
    }

    fn read_hook(&mut self, event: HookEvent, at: &str, entry: &Value) {
        let command = entry.get("command").and_then(Value::as_str).map(str::trim);
        let Some(command) = command.filter(|command| !command.is_empty()) else {
            self.problems
                .push(format!("{at} must be a mapping with a command"));
            return;
        };
        let matcher = self.matcher(event, at, entry.get("matcher"));
        let timeout = self.timeout(at, entry.get("timeout"));
        let on_error = match entry.get("on_error") {
            None | Some(Value::Null) => OnError::Allow,
            Some(Value::String(word)) if word == "allow" => OnError::Allow,
            Some(Value::String(word)) if word == "block" && event.can_block() => OnError::Block,
            Some(Value::String(word)) if word == "block" => {
                self.problems.push(format!(
                    "{at}.on_error: nothing of this event can be blocked"
                ));
                OnError::Allow
            }
            Some(_) => {
                // Who wrote something there wanted to be sure.
                self.problems.push(format!(
                    "{at}.on_error must be allow or block; it counts as block"
                ));
                OnError::Block
            }
        };
        let names = entry.get("env_passthrough").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        self.hooks.push(HookSpec {
            event,
            command: command.to_owned(),
            timeout,
            on_error,
            env_passthrough: names.map(str::to_owned).collect(),
            matcher,
        });
    }

    fn matcher(&mut self, event: HookEvent, at: &str, value: Option<&Value>) -> Option<Matcher> {
        let text = match value? {
            Value::String(text) => text.trim(),
            Value::Null => return None,
            _ => {
                self.problems.push(format!(
                    "{at}.matcher must be text; the hook is for all tools"
                ));
                return None;
            }
        };
        if text.is_empty() {
            return None;
        }
        if !event.is_of_tool() {
            self.problems.push(format!(
                "{at}.matcher has no effect: {} is not about a tool",
                event.name()
            ));
            return None;
        }
        match Regex::new(&format!("^(?:{text})$")) {
            Ok(whole) => Some(Matcher::Pattern {
                text: text.to_owned(),
                whole,
            }),
            Err(_) => {
                self.problems.push(format!(
                    "{at}.matcher '{text}' is no pattern that can be used; it counts as the name of a tool"
                ));
                Some(Matcher::Name(text.to_owned()))
            }
        }
    }

    fn timeout(&mut self, at: &str, value: Option<&Value>) -> Duration {
        let seconds = match value {
            None | Some(Value::Null) => return Duration::from_secs(TIMEOUT),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_u64().or_else(|| {
                let whole = value.as_f64().filter(|seconds| *seconds >= 1.0)?;
                Some(Duration::try_from_secs_f64(whole).map_or(u64::MAX, |it| it.as_secs()))
            }),
        };
        match seconds {
            Some(seconds) if seconds > MOST_TIMEOUT => {
                self.problems.push(format!(
                    "{at}.timeout is at most {MOST_TIMEOUT} s, and that is what counts"
                ));
                Duration::from_secs(MOST_TIMEOUT)
            }
            Some(seconds) if seconds >= 1 => Duration::from_secs(seconds),
            _ => {
                self.problems.push(format!(
                    "{at}.timeout must be whole seconds, at least 1; {TIMEOUT} counts"
                ));
                Duration::from_secs(TIMEOUT)
            }
        }
    }
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
