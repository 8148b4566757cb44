//! The token of the GitHub CLI, which people log in to GitHub with at a terminal.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use hermes_config::vars;
use hermes_proc::{ChildSpec, find_on_path};
use hermes_providers::CopilotHost;
use hermes_secret::SecretString;

use crate::context::Context;
use crate::error::{CommandError, Result};

/// The source of such a key, as the Python runtime names it.
pub(super) const SOURCE: &str = "gh_cli";

/// How long the program may take.
const LIMIT: Duration = Duration::from_secs(5);

/// The token for a host.
pub(super) fn token(context: &Context, host: &CopilotHost) -> Result<SecretString> {
    let path = context.env.os(&vars::PATH);
    let Some(program) = find_on_path(OsStr::new("gh"), path) else {
        return Err(other_ways(CommandError::environment(
            "the GitHub CLI, whose login is used for Copilot, is not installed",
        )));
    };
    let mut args = ["auth", "token"].map(OsString::from).to_vec();
    args.extend(
        host.own_name()
            .map(|name| OsString::from(format!("--hostname={name}"))),
    );
    // With these set it gives them back instead of what it keeps.
    let plan = context.environment().helper_plan();
    let plan = plan.without("GH_TOKEN").without("GITHUB_TOKEN");
    let ran = ChildSpec::new(&program, args, plan).run_captured(LIMIT, 16 * 1024);
    let ran = ran.map_err(|error| other_ways(CommandError::environment(error.to_string())))?;
    let text = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
    if !ran.status.success() || text.is_empty() || text.contains(char::is_whitespace) {
        let login = match host.own_name() {
            Some(name) => format!("gh auth login --hostname {name}"),
            None => "gh auth login".to_owned(),
        };
        let failed = CommandError::user("the GitHub CLI is not logged in");
        return Err(other_ways(
            failed.hint(format!("log in with `{login}`, then run this again")),
        ));
    }
    Ok(SecretString::new(&text))
}

fn other_ways(error: CommandError) -> CommandError {
    error
        .hint("with an access token for \"Copilot Requests\": `hermes auth add copilot --type api-key`")
        .hint("by code, with an OAuth app of your own: `hermes auth add copilot --client-id ID`")
}
