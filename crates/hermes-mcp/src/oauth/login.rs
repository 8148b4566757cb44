//! Logging in to a server, at a terminal.

use std::os::fd::BorrowedFd;

use hermes_config::Config;
use hermes_proc::Wake;
use hermes_providers::{LoginError, LoginStep};

use super::settings;
use super::token_files::TokenFiles;
use crate::config::ServerConfig;
use crate::fields::ConfigError;

/// Why a login to a server did not come about.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    #[error("the MCP server '{0}' takes no login")]
    NoLogin(String),
    #[error(transparent)]
    Settings(#[from] ConfigError),
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(transparent)]
    Files(#[from] hermes_fs::Error),
}

/// Logs in to a server, in the browser or by its last address typed at `terminal`. What was kept of
/// an earlier login stays until there is another.
pub fn log_in(
    server: &ServerConfig,
    config: &Config,
    interrupt: &Wake,
    terminal: Option<BorrowedFd<'_>>,
    tell: &mut dyn FnMut(LoginStep<'_>),
) -> Result<(), OAuthError> {
    let Some(remote) = settings::remote(server) else {
        return Err(OAuthError::NoLogin(server.name.clone()));
    };
    let login = settings::login(server, remote)?;
    let grant = login.run(config, interrupt, terminal, tell)?;
    let files = TokenFiles::of_server(&config.sources().home, &server.name);
    let _held = files.lock()?;
    files.remove()?;
    if let Some(document) = grant.server.to_keep() {
        files.keep_server(&document)?;
    }
    files.keep_client(&grant.client)?;
    files.keep_tokens(&grant.tokens)?;
    Ok(())
}
