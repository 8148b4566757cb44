//! `hermes mcp login` and `hermes mcp reauth`: logins to servers with `auth: oauth`.

use std::io::IsTerminal as _;
use std::os::fd::AsFd as _;

use hermes_mcp::oauth::{self, OAuthError};
use hermes_mcp::{Auth, ConfiguredServers, ServerConfig, Transport};
use hermes_proc::Wake;
use hermes_providers::LoginStep;

use super::entry::find;
use crate::commands::auth::login_failed;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{counted, visible};
use crate::web_page::open_page;

/// `hermes mcp login`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Server to log in to
    name: String,
}

/// `hermes mcp reauth`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReauthArgs {
    /// Server to log in to again
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    name: Option<String>,
    /// Log in to all servers that take a login, one after the other
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("logging in to an MCP server")?;
    log_in(&find(&args.name, context)?, context)
}

pub(crate) fn reauth(args: &ReauthArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("logging in to an MCP server")?;
    if let Some(name) = &args.name {
        return log_in(&find(name, context)?, context);
    }
    let servers = ConfiguredServers::resolve(context.config());
    let wanted: Vec<&ServerConfig> = servers
        .servers
        .iter()
        .filter(|one| takes_login(one))
        .collect();
    if wanted.is_empty() {
        return context.line("No MCP server takes a login (`auth: oauth`).");
    }
    // A person can look at one page at a time.
    let mut failed = Vec::new();
    for server in &wanted {
        context.note(format!("{}:", visible(&server.name)))?;
        if let Err(error) = log_in(server, context) {
            context.warn(&error.message)?;
            for hint in &error.hints {
                context.hint(hint)?;
            }
            failed.push(visible(&server.name));
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(CommandError::user(format!(
            "not logged in to {} of {}: {}",
            failed.len(),
            counted(wanted.len(), "server"),
            failed.join(", ")
        ))),
    }
}

fn takes_login(server: &ServerConfig) -> bool {
    matches!(&server.transport, Transport::Remote(remote) if remote.auth == Auth::OAuth)
}

fn log_in(server: &ServerConfig, context: &Context) -> Result<()> {
    let name = visible(&server.name);
    if !takes_login(server) {
        let hint = if server.is_remote() {
            format!("if it wants one, set it: `hermes config set mcp_servers.{name}.auth oauth`")
        } else {
            "only servers with an address (`url`) take one".to_owned()
        };
        let sentence = format!("the MCP server '{name}' takes no login");
        return Err(CommandError::user(sentence).hint(hint));
    }
    let input = std::io::stdin();
    if !input.is_terminal() {
        let sentence = format!("a login to '{name}' needs a person at a terminal");
        let hint = format!("run `hermes mcp login {name}` in a terminal");
        return Err(CommandError::user(sentence).hint(hint));
    }
    context.ensure_home()?;
    // Ctrl-C ends the program; nothing is stored before the end.
    let interrupt = Wake::new()?;
    let mut tell = |step: LoginStep<'_>| match step {
        LoginStep::Page { page, port } => show(context, page, port),
        LoginStep::NotThisLogin => {
            drop(context.note("That is not the address of this login; copy it whole."));
        }
    };
    let terminal = Some(input.as_fd());
    oauth::log_in(server, context.config(), &interrupt, terminal, &mut tell).map_err(failed)?;
    hermes_mcp::forget_failures(&context.location.home, server)?;
    context.line(format!("✓ Logged in to {name}"))
}

fn show(context: &Context, page: &str, port: u16) {
    // Standard error may be closed; the login can still come about.
    drop(context.note(format!("Open {}", visible(page))));
    open_page(context, page);
    drop(context.note(format!(
        "Waiting for the browser; Ctrl-C gives up. If it runs on another machine, it ends at a page \
         on port {port} that it cannot open: paste the address of that page here."
    )));
}

fn failed(error: OAuthError) -> CommandError {
    match error {
        OAuthError::Login(error) => login_failed(&error),
        OAuthError::Settings(error) => CommandError::user(error.to_string()),
        OAuthError::Files(error) => CommandError::from(error),
        OAuthError::NoLogin(name) => CommandError::user(format!(
            "the MCP server '{}' takes no login",
            visible(&name)
        )),
    }
}
