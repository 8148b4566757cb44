//! Another place where files lie and programs run: a container, another machine.
//!
//! The file tools and scripts need one thing of it, a POSIX shell that runs a script and gives back
//! what it printed. How the place is reached, and that a script there ends when it must, is the
//! business of whoever implements [`Place`].

mod answer;
mod question;
mod script;

use std::time::Duration;

use hermes_proc::Wake;

pub(crate) use answer::Answer;
pub(crate) use question::Question;
pub(crate) use script::{Locale, script, word};

/// A place with a POSIX shell.
pub trait Place: Send + Sync {
    /// Runs a script there, at most once, apart from the session's shell.
    ///
    /// Standard input is exactly [`Job::input`], standard output comes back byte for byte, standard
    /// error is nobody's business. The directory in which it starts does not matter. Several jobs
    /// may run at once.
    ///
    /// When the limit has passed or the interrupt is raised, everything the script started is
    /// stopped there, with SIGTERM first, before this returns an error. The error is a sentence.
    fn run(&self, job: &Job<'_>) -> Result<Ran, String>;

    /// The place in words: `container hermes-0123abcd`, `user@host`.
    fn describe(&self) -> String;
}

/// A script to run.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// For `sh`, of any size.
    pub script: &'a str,
    /// Its standard input.
    pub input: &'a [u8],
    /// How long it may take.
    pub limit: Duration,
    /// How much it may print; more is an error.
    pub most_output: usize,
    /// Ends it early.
    pub interrupt: &'a Wake,
}

/// What a script left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// What it printed.
    pub stdout: Vec<u8>,
    /// How it ended.
    pub exit_code: i32,
}
