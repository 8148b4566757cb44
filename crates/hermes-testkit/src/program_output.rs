//! How a call ended. Every check that fails shows all of it.

use std::fmt;

use serde_json::Value;

/// Exit code and output of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutput {
    /// The call, for messages.
    pub call: String,
    /// Exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl fmt::Display for ProgramOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ended with ", self.call)?;
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}")?,
            (None, signal) => write!(f, "signal {}", signal.unwrap_or_default())?,
        }
        write!(
            f,
            "\n--- stdout\n{}--- stderr\n{}---",
            self.stdout, self.stderr
        )
    }
}

impl ProgramOutput {
    /// Exit code 0.
    #[track_caller]
    pub fn succeeds(&self) -> &Self {
        self.exits(0)
    }

    /// This exit code.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert!(self.code == Some(code), "wanted exit code {code}: {self}");
        self
    }

    /// Ended by SIGKILL.
    pub fn was_killed(&self) -> bool {
        self.signal == Some(9)
    }

    /// Exactly this on standard output.
    #[track_caller]
    pub fn prints(&self, text: &str) -> &Self {
        pretty_assertions::assert_str_eq!(self.stdout, text, "standard output of {self}");
        self
    }

    /// Exactly this on standard error.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        pretty_assertions::assert_str_eq!(self.stderr, text, "standard error of {self}");
        self
    }

    /// This somewhere on standard output.
    #[track_caller]
    pub fn prints_part(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "wanted {text:?} from {self}");
        self
    }

    /// This somewhere on standard error.
    #[track_caller]
    pub fn says_part(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "wanted {text:?} from {self}");
        self
    }

    /// Refused in one sentence: `code`, nothing on standard output, `Error: MESSAGE` as the first
    /// line of standard error, and at most hints behind it.
    #[track_caller]
    pub fn refuses(&self, code: i32, message: &str) -> &Self {
        self.exits(code).prints("");
        let mut lines = self.stderr.lines();
        let first = format!("Error: {message}");
        assert!(
            lines.next() == Some(first.as_str()),
            "wanted {first:?}: {self}"
        );
        let rest: Vec<&str> = lines.filter(|line| !line.starts_with("hint: ")).collect();
        assert!(rest.is_empty(), "more than hints, {rest:?}: {self}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("no JSON ({error}): {self}"),
        }
    }

    /// This nowhere in the output.
    #[track_caller]
    pub fn never_shows(&self, secret: &str) -> &Self {
        let shown = self.stdout.contains(secret) || self.stderr.contains(secret);
        assert!(!shown, "{secret:?} is shown: {self}");
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(stderr: &str) -> ProgramOutput {
        ProgramOutput {
            call: "hermes x".to_owned(),
            code: Some(1),
            signal: None,
            stdout: String::new(),
            stderr: stderr.to_owned(),
        }
    }

    #[test]
    fn a_refusal_is_one_sentence_and_hints() {
        refused("Error: no\nhint: try y\n").refuses(1, "no");
    }

    #[test]
    #[should_panic(expected = "more than hints")]
    fn a_second_sentence_is_noticed() {
        refused("Error: no\nthread 'main' panicked\n").refuses(1, "no");
    }

    #[test]
    #[should_panic(expected = "wanted \"Error: no\"")]
    fn another_sentence_is_noticed() {
        refused("Error: not that\n").refuses(1, "no");
    }
}
