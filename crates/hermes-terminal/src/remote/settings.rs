//! Settings of commands on a remote host.

use std::time::Duration;

use hermes_config::Config;

/// How channels are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteSettings {
    pub persistent_shell: bool,
    /// Commands are an agent's: each carries the mark that says so.
    pub of_agent: bool,
    /// Channels kept for later commands.
    pub most_channels: usize,
    pub open_limit: Duration,
    pub login_limit: Duration,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self {
            persistent_shell: true,
            of_agent: false,
            most_channels: 4,
            open_limit: Duration::from_secs(20),
            login_limit: Duration::from_secs(30),
        }
    }
}

impl RemoteSettings {
    /// What the configuration says.
    pub fn configured(config: &Config) -> Self {
        Self {
            persistent_shell: config.flag("terminal.persistent_shell"),
            ..Self::default()
        }
    }
}
