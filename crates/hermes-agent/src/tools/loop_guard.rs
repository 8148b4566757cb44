//! Detects loops: the same failing call, a tool that keeps failing, a read with the same result. The
//! model is warned first and, if enabled, stopped.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use crate::history_repair::canonical_arguments;

/// Numbers of repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatLimits {
    /// Failures of the same call.
    pub same_failure: u32,
    /// Failures of one tool.
    pub tool_failures: u32,
    /// Equal results of the same read.
    pub same_result: u32,
}

/// Limits of the loop guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopGuardSettings {
    /// Whether the model is warned.
    pub warnings: bool,
    /// Whether calls are refused, and the turn ends when one tool keeps failing.
    pub hard_stop: bool,
    pub warn: RepeatLimits,
    pub stop: RepeatLimits,
}

impl Default for LoopGuardSettings {
    fn default() -> Self {
        Self {
            warnings: true,
            hard_stop: false,
            warn: RepeatLimits {
                same_failure: 2,
                tool_failures: 3,
                same_result: 2,
            },
            stop: RepeatLimits {
                same_failure: 5,
                tool_failures: 8,
                same_result: 5,
            },
        }
    }
}

/// The calls of a turn so far.
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

    /// Why a call is refused, if so.
    pub(crate) fn refusal(&self, name: &str, arguments: &str) -> Option<String> {
        if !self.settings.hard_stop {
            return None;
        }
        let key = self.key(name, arguments);
        let failures = self.same_failure.get(&key).copied().unwrap_or(0);
        if failures >= self.settings.stop.same_failure {
            return Some(format!(
                "Not called: {name} failed {failures} times with exactly these arguments. Try \
                 something else."
            ));
        }
        let repeats = self.same_result.get(&key).map_or(0, |(_, count)| *count);
        (repeats >= self.settings.stop.same_result).then(|| {
            format!(
                "Not called: {name} returned the same result {repeats} times for exactly these arguments. \
                 Use the result you have."
            )
        })
    }

    /// Records a result and returns a warning for the model, if any. `only_reads` is whether the tool
    /// changes nothing.
    pub(crate) fn note(
        &mut self,
        name: &str,
        arguments: &str,
        result: &str,
        only_reads: bool,
    ) -> Option<String> {
        let key = self.key(name, arguments);
        if failed(name, result) {
            let one_more = |count: &mut u32| {
                *count += 1;
                *count
            };
            let same = one_more(self.same_failure.entry(key).or_default());
            let of_tool = one_more(self.tool_failures.entry(name.to_owned()).or_default());
            self.halted |= self.settings.hard_stop && of_tool >= self.settings.stop.tool_failures;
            if !self.settings.warnings {
                return None;
            }
            if same >= self.settings.warn.same_failure {
                return Some(format!(
                    "[loop guard: this exact call has failed {same} times. Repeating it will not \
                     help; change the arguments or the approach.]"
                ));
            }
            return (of_tool >= self.settings.warn.tool_failures).then(|| {
                format!(
                    "[loop guard: {name} has failed {of_tool} times in this turn. Look for the \
                     cause before calling it again.]"
                )
            });
        }
        self.tool_failures.remove(name);
        self.same_failure.remove(&key);
        if !only_reads {
            return None;
        }
        let result_hash = self.hasher.hash_one(result);
        let seen = self.same_result.entry(key).or_insert((result_hash, 0));
        if seen.0 != result_hash {
            *seen = (result_hash, 0);
        }
        seen.1 += 1;
        let count = seen.1;
        (self.settings.warnings && count >= self.settings.warn.same_result).then(|| {
            format!(
                "[loop guard: this call has returned the same result {count} times. You already have \
                 this information; continue with it.]"
            )
        })
    }

    pub(crate) fn is_halted(&self) -> bool {
        self.halted
    }

    /// The key of a call, independent of spacing and order of its arguments.
    fn key(&self, name: &str, arguments: &str) -> u64 {
        let canonical = canonical_arguments(arguments);
        let arguments = canonical.as_deref().unwrap_or(arguments);
        self.hasher.hash_one((name, arguments))
    }
}

/// Whether a result is a failure, by exit code or an error near its beginning.
fn failed(name: &str, result: &str) -> bool {
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
    // An error that is null is none.
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
    fn second_identical_failure_is_warned_about() {
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
    fn spacing_does_not_make_another_call() {
        let mut guard = LoopGuard::new(LoopGuardSettings::default());
        let one = r#"{"command":"false","timeout":1}"#;
        let other = r#"{ "timeout": 1, "command": "false" }"#;
        assert_eq!(guard.note("terminal", one, BAD, false), None);
        assert!(guard.note("terminal", other, BAD, false).is_some());
    }

    #[test]
    fn repeatedly_failing_tool_is_warned_about_and_ends_the_turn() {
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
    fn read_with_the_same_result_is_warned_about_and_then_refused() {
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
    fn failure_is_an_exit_code_or_an_error_at_the_beginning() {
        assert!(failed("terminal", BAD));
        assert!(!failed("terminal", GOOD));
        assert!(failed("patch", r#"{"error":"x"}"#));
        assert!(!failed("patch", r#"{"success":true,"error":null}"#));
        assert!(failed("x", "Error: no"));
        assert!(!failed("x", &format!("{}\"error\"", "y".repeat(600))));
    }
}
