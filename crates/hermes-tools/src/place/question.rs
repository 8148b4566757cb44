//! A script with what it needs, and how it is put to a place.

use std::time::{Duration, Instant};

use hermes_proc::Wake;

use super::answer::Answer;
use super::script::{Locale, script};
use super::{Job, Place};

/// How all scripts give their answers.
const ANSWERING: &str = include_str!("answer.sh");
/// Bytes of an answer that holds no content of files.
const SMALL: usize = 1024 * 1024;

/// A script that ends with an answer.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    /// Shell functions it needs.
    pub(crate) functions: &'a str,
    pub(crate) body: &'a str,
    /// Its positional parameters.
    pub(crate) arguments: &'a [&'a [u8]],
    pub(crate) input: &'a [u8],
    pub(crate) limit: Duration,
    /// What it prints at most.
    pub(crate) most_output: usize,
    pub(crate) interrupt: &'a Wake,
}

impl<'a> Question<'a> {
    /// One without arguments and with a short answer, that is answered soon.
    pub(crate) fn new(body: &'a str, interrupt: &'a Wake) -> Self {
        Self {
            functions: "",
            body,
            arguments: &[],
            input: &[],
            limit: Duration::from_mins(1),
            most_output: SMALL,
            interrupt,
        }
    }

    /// Runs the script and takes its answer; the error is a sentence.
    pub(crate) fn ask(&self, place: &dyn Place) -> Result<Answer, String> {
        let parts = [ANSWERING, self.functions, self.body];
        let script = script(Locale::Bytes, &parts, self.arguments);
        let started = Instant::now();
        let job = Job {
            script: &script,
            input: self.input,
            limit: self.limit,
            // Scripts bound what they print; this is for a shell that adds to it.
            most_output: self.most_output.saturating_add(SMALL),
            interrupt: self.interrupt,
        };
        let ran = place.run(&job).map_err(|message| {
            if self.interrupt.is_raised() {
                "The call was interrupted.".to_owned()
            } else if started.elapsed() >= self.limit {
                format!(
                    "{} did not answer within {} seconds.",
                    place.describe(),
                    self.limit.as_secs()
                )
            } else {
                message
            }
        })?;
        if ran.exit_code != 0 {
            return Err(format!(
                "The shell in {} ended with exit code {} instead of an answer.",
                place.describe(),
                ran.exit_code
            ));
        }
        Ok(Answer::new(ran.stdout, place.describe()))
    }
}
