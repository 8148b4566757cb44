//! A script with its parameters, run on a remote host for an answer.

use std::time::Duration;

use hermes_proc::Wake;
use hermes_terminal::remote::{RemoteError, ScriptRequest, ScriptRunner};

use super::answer::ScriptAnswer;
use super::script::{Locale, script};

/// How all scripts give their answers.
const ANSWERING: &str = include_str!("answer.sh");
/// Bytes of an answer that holds no content of files.
const SMALL: usize = 1024 * 1024;

/// A script that ends with an answer.
#[derive(Clone, Copy)]
pub(crate) struct ScriptQuery<'a> {
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

impl<'a> ScriptQuery<'a> {
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
    pub(crate) fn ask(&self, host: &dyn ScriptRunner) -> Result<ScriptAnswer, String> {
        let parts = [ANSWERING, self.functions, self.body];
        let script = script(Locale::Bytes, &parts, self.arguments);
        let request = ScriptRequest {
            script: &script,
            input: self.input,
            directory: None,
            limit: self.limit,
            // Scripts bound what they print; this is for a shell that adds to it.
            most_output: self.most_output.saturating_add(SMALL),
            interrupt: Some(self.interrupt),
        };
        let outcome = host.run_script(&request).map_err(|error| match error {
            RemoteError::Interrupted => "The call was interrupted.".to_owned(),
            RemoteError::TimedOut { limit } => format!(
                "{} did not answer within {} seconds.",
                host.describe(),
                limit.as_secs()
            ),
            error => error.with_hint(),
        })?;
        if outcome.is_cut {
            return Err(format!(
                "{} printed more than {} bytes.",
                host.describe(),
                request.most_output
            ));
        }
        if outcome.exit_code != 0 {
            return Err(format!(
                "The shell of {} ended with exit code {} instead of an answer.",
                host.describe(),
                outcome.exit_code
            ));
        }
        Ok(ScriptAnswer::new(outcome.stdout, host.describe()))
    }
}
