//! Calls of this program itself, for what only its commands do: as a child, with its own checks and
//! messages.

use std::ffi::OsString;
use std::time::Duration;

use hermes_config::vars;
use hermes_proc::{ChildSpec, EnvPlan, EnvRequest, SpawnClass};
use hermes_runtime::Context;

use crate::http::ApiError;

/// Most of what a command says.
const MAX_OUTPUT: usize = 64 << 10;

/// A command of this program, not started yet.
pub(crate) fn command(context: &Context, words: &[&str]) -> ChildSpec {
    let environment = context.environment();
    let base: Vec<(OsString, OsString)> = context
        .env
        .without(&vars::OF_SUPERVISOR)
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let request = EnvRequest::new(SpawnClass::Hermes, &base, environment.policy());
    let profile = context.current.as_ref();
    let profile = profile.map(|name| [OsString::from("-p"), OsString::from(name.as_str())]);
    let words = words.iter().map(OsString::from);
    let arguments: Vec<OsString> = profile.into_iter().flatten().chain(words).collect();
    ChildSpec {
        cwd: Some(context.location.home.clone()),
        ..ChildSpec::new(&context.program.path, arguments, EnvPlan::build(&request))
    }
}

/// Runs a command to its end. What it refuses is an answer in its words.
pub(crate) fn run(context: &Context, words: &[&str], limit: Duration) -> Result<String, ApiError> {
    let done = command(context, words)
        .run_captured(limit, MAX_OUTPUT)
        .map_err(|error| ApiError::unavailable(error.to_string()))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if done.status.success() {
        return Ok(said(&done.stdout));
    }
    let problem = said(&done.stderr);
    let problem = problem.strip_prefix("Error: ").unwrap_or(&problem);
    let problem = if problem.is_empty() {
        "the command failed"
    } else {
        problem
    };
    Err(ApiError::bad_request(hermes_text::cut(problem, 2_000)))
}
