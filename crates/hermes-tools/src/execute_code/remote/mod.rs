//! Scripts that run on a remote host, next to the files they are about.
//!
//! The same tool, the same limits and the same result as on this machine. What is different is how a
//! script calls tools: requests and answers are files in a private directory there, which we ask for.

mod poll;
mod run;
mod stage;

pub(super) use run::run_remote;
