//! Scripts with which tools ask a remote host: how they are put together and how their answers are
//! read. The host is a [`hermes_terminal::remote::ScriptRunner`].

mod answer;
mod query;
mod script;

pub(crate) use answer::ScriptAnswer;
pub(crate) use query::ScriptQuery;
pub(crate) use script::{Locale, script, word};
