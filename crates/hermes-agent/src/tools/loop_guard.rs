//! Notices a model that goes round in circles: the same failing call, a tool that keeps failing, a
//! look that shows nothing new. It first gets told; where the settings say so, it is stopped.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use crate::repair::canonical_arguments;

/// When to speak up and when to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopGuardSettings {
    /// Whether circles are told to the model.
    pub warnings: bool,
    /// Whether they are ended.
    pub hard_stop: bool,
    /// The same call failed this often: told.
    pub warn_same_failure: u32,
    /// One tool failed this often: told.
    pub warn_tool_failures: u32,
    /// The same look showed the same this often: told.
    pub warn_same_result: u32,
    /// The same call failed this often: refused.
    pub block_same_failure: u32,
    /// One tool failed this often: the turn ends.
    pub halt_tool_failures: u32,
    /// The same look showed the same this often: refused.
    pub block_same_result: u32,
}

impl Default for LoopGuardSettings {
    fn default() -> Self {
        Self {
            warnings: true,
            hard_stop: false,
            warn_same_failure: 2,
            warn_tool_failures: 3,
            warn_same_result: 2,
            block_same_failure: 5,
            halt_tool_failures: 8,
            block_same_result: 5,
        }
    }
}

/// What a turn has called so far.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard {
    settings: LoopGuardSettings,
    hasher: RandomState,
    same_failure: HashMap<u64, u32>,
    tool_failures: HashMap<String, u32>,
    same_result: HashMap<u64, (u64, u32)>,
    halted: bool,
}

impl LoopGuard {
    pub(crate) fn new(settings: LoopGuardSettings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Why a call is not made, if so.
    pub(crate) fn refusal(&self, name: &str, arguments: &str) -> Option<String> {
        if !self.settings.hard_stop {
            return None;
        }
        let key = self.key(name, arguments);
        let failures = self.same_failure.get(&key).copied().unwrap_or(0);
        if failures >= self.settings.block_same_failure {
            return Some(format!(
                "Not called: {name} failed {failures} times with exactly these arguments. Try \
                 something else."
            ));
        }
        let repeats = self.same_result.get(&key).map_or(0, |(_, count)| *count);
        (repeats >= self.settings.block_same_result).then(|| {
            format!(
                "Not called: {name} showed the same {repeats} times for exactly these arguments. \
                 Use what you know."
            )
        })
    }

    /// Takes note of a result; gives what is added to it for the model. `looks` says that the tool
    /// changes nothing.
    pub(crate) fn note(
        &mut self,
        name: &str,
        arguments: &str,
        result: &str,
        looks: bool,
    ) -> Option<String> {
        let key = self.key(name, arguments);
        if failed(name, result) {
            let same = self.same_failure.entry(key).or_insert(0);
            *same += 1;
            let same = *same;
            let of_tool = self.tool_failures.entry(name.to_owned()).or_insert(0);
            *of_tool += 1;
            let of_tool = *of_tool;
            self.halted |= self.settings.hard_stop && of_tool >= self.settings.halt_tool_failures;
            if !self.settings.warnings {
                return None;
            }
            if same >= self.settings.warn_same_failure {
                return Some(format!(
                    "[loop guard: this exact call has failed {same} times. Repeating it will not \
                     help; change the arguments or the approach.]"
                ));
            }
            return (of_tool >= self.settings.warn_tool_failures).then(|| {
                format!(
                    "[loop guard: {name} has failed {of_tool} times in this turn. Look for the \
                     cause before calling it again.]"
                )
            });
        }
        self.tool_failures.remove(name);
        self.same_failure.remove(&key);
        if !looks {
            return None;
        }
        let shown = self.hasher.hash_one(result);
        let seen = self.same_result.entry(key).or_insert((shown, 0));
        if seen.0 != shown {
            *seen = (shown, 0);
        }
        seen.1 += 1;
        let count = seen.1;
        (self.settings.warnings && count >= self.settings.warn_same_result).then(|| {
            format!(
                "[loop guard: this call has shown the same {count} times. You have this \
                 information already; go on with it.]"
            )
        })
    }

    /// Whether the turn is to end.
    pub(crate) fn is_halted(&self) -> bool {
        self.halted
    }

    /// The same call, however its arguments are spaced and ordered.
    fn key(&self, name: &str, arguments: &str) -> u64 {
        let canonical = canonical_arguments(arguments);
        let arguments = canonical.as_deref().unwrap_or(arguments);
        self.hasher.hash_one((name, arguments))
    }
}

/// Whether a result tells of a failure: a command's exit code, or the word near its beginning.
pub(crate) fn failed(name: &str, result: &str) -> bool {
    if name == "terminal"
        && let Ok(value) = serde_json::from_str::<Value>(result)
        && let Some(code) = value.get("exit_code").and_then(Value::as_i64)
    {
        return code != 0;
    }
    if result.starts_with("Error") {
        return true;
    }
    let beginning: String = result.chars().take(500).collect();
    // A field that is null tells of the opposite.
    let beginning = beginning
        .replace("\"error\":null", "")
        .replace("\"error\": null", "");
    beginning.contains("\"error\"") || beginning.contains("\"failed\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: &str = r#"{"output":"","exit_code":1,"error":null}"#;
    const GOOD: &str = r#"{"output":"","exit_code":0,"error":null}"#;

    #[test]
    fn the_second_identical_failure_is_told() {
        let mut guard = LoopGuard::new(LoopGuardSettings::default());
        assert_eq!(guard.note("terminal", "a", BAD, false), None);
        assert!(
            guard
                .note("terminal", "a", BAD, false)
                .unwrap()
                .contains("2 times")
        );
        assert_eq!(guard.note("terminal", "b", GOOD, false), None);
        assert_eq!(guard.note("terminal", "b", BAD, false), None);
        assert_eq!(guard.refusal("terminal", "a"), None);
    }

    #[test]
    fn other_spacing_makes_no_other_call() {
        let mut guard = LoopGuard::new(LoopGuardSettings::default());
        let one = r#"{"command":"false","timeout":1}"#;
        let other = r#"{ "timeout": 1, "command": "false" }"#;
        assert_eq!(guard.note("terminal", one, BAD, false), None);
        assert!(guard.note("terminal", other, BAD, false).is_some());
    }

    #[test]
    fn a_tool_that_keeps_failing_is_told_and_ends_the_turn_if_asked_to() {
        let settings = LoopGuardSettings {
            hard_stop: true,
            ..LoopGuardSettings::default()
        };
        let mut guard = LoopGuard::new(settings);
        let notes: Vec<Option<String>> = (0..8)
            .map(|n| guard.note("patch", &n.to_string(), r#"{"error":"no match"}"#, false))
            .collect();
        assert!(notes[1].is_none() && notes[2].is_some());
        assert!(guard.is_halted());
    }

    #[test]
    fn a_look_that_shows_nothing_new_is_told_and_then_refused() {
        let settings = LoopGuardSettings {
            hard_stop: true,
            ..LoopGuardSettings::default()
        };
        let mut guard = LoopGuard::new(settings);
        assert!(guard.note("read_file", "a", "x", true).is_none());
        assert!(guard.note("read_file", "a", "x", true).is_some());
        assert!(guard.note("read_file", "a", "changed", true).is_none());
        for _ in 0..5 {
            guard.note("read_file", "a", "changed", true);
        }
        assert!(guard.refusal("read_file", "a").is_some());
        assert!(guard.refusal("read_file", "b").is_none());
    }

    #[test]
    fn failure_is_an_exit_code_or_a_word_at_the_beginning() {
        assert!(failed("terminal", BAD));
        assert!(!failed("terminal", GOOD));
        assert!(failed("patch", r#"{"error":"x"}"#));
        assert!(!failed("patch", r#"{"success":true,"error":null}"#));
        assert!(failed("x", "Error: no"));
        assert!(!failed("x", &format!("{}\"error\"", "y".repeat(600))));
    }
}
