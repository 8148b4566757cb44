//! Names of loggers: how a module path becomes one, and which belong to which component.
//!
//! The names are the ones the log files have always had, so filters and habits keep working.

use std::borrow::Cow;
use std::str::FromStr;

use hermes_text::named_enum;

use crate::ArgumentError;

/// Crates whose logger is not just their name without `hermes_`.
const RENAMED: &[(&str, &str)] = &[
    ("hermes", "hermes_cli"),
    ("hermes_addons", "hermes_plugins"),
    ("hermes_api", "gateway.api"),
    ("hermes_board", "hermes_cli.kanban"),
    ("hermes_chat", "hermes_cli.chat"),
    ("hermes_config", "hermes_cli.config"),
    ("hermes_docker", "tools.terminal.docker"),
    ("hermes_home", "hermes_cli.profiles"),
    ("hermes_mcp", "tools.mcp"),
    ("hermes_providers", "agent.providers"),
    ("hermes_session", "agent.session"),
    ("hermes_ssh", "tools.terminal.ssh"),
    ("hermes_supervise", "gateway.service"),
    ("hermes_terminal", "tools.terminal"),
    ("hermes_web", "gui"),
];

/// Loggers whose lines go to `gui.log`.
const GUI_LOGGERS: &[&str] = &["gui", "websocket", "tui_gateway", "hermes_cli.web_server"];

/// The logger of a `tracing` target: `hermes_gateway::cron` becomes `gateway.cron`.
pub fn logger_name(target: &str) -> Cow<'_, str> {
    let (krate, path) = match target.split_once("::") {
        Some((krate, path)) => (krate, Some(path)),
        None => (target, None),
    };
    let renamed = RENAMED.iter().find(|(name, _)| *name == krate);
    let root = match renamed {
        Some((_, logger)) => logger,
        None => krate.strip_prefix("hermes_").unwrap_or(krate),
    };
    match path {
        None => Cow::Borrowed(root),
        Some(path) => Cow::Owned(format!("{root}.{}", path.replace("::", "."))),
    }
}

/// Whether a target is ours. Of foreign crates only warnings and worse are kept.
pub(crate) fn is_own_target(target: &str) -> bool {
    let krate = target.split("::").next().unwrap_or_default();
    krate == "hermes" || krate.starts_with("hermes_")
}

/// Whether a logger's lines go to `gui.log`.
pub(crate) fn is_gui_logger(logger: &str) -> bool {
    GUI_LOGGERS.iter().any(|name| is_below(logger, name))
}

named_enum! {
    /// A part of the program whose lines can be asked for, with the name a user types.
    pub enum Component {
        /// Messaging, delivery and add-ons.
        Gateway = "gateway",
        /// Turns, providers, sessions.
        Agent = "agent",
        Tools = "tools",
        Cli = "cli",
        Cron = "cron",
    }
}

impl Component {
    const fn loggers(self) -> &'static [&'static str] {
        match self {
            Self::Gateway => &["gateway", "hermes_plugins"],
            Self::Agent => &["agent", "run_agent", "model_tools", "batch_runner"],
            Self::Tools => &["tools"],
            Self::Cli => &["hermes_cli", "cli"],
            Self::Cron => &["cron"],
        }
    }

    /// Whether a logger belongs to it.
    pub fn owns(self, logger: &str) -> bool {
        self.loggers().iter().any(|name| is_below(logger, name))
    }
}

impl FromStr for Component {
    type Err = ArgumentError;

    fn from_str(value: &str) -> Result<Self, ArgumentError> {
        Self::parse(&value.trim().to_ascii_lowercase())
            .ok_or_else(|| ArgumentError::UnknownComponent(value.to_owned()))
    }
}

fn is_below(logger: &str, root: &str) -> bool {
    logger
        .strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_become_the_loggers_people_know() {
        for (target, logger) in [
            (
                "hermes_gateway::platform::telegram",
                "gateway.platform.telegram",
            ),
            ("hermes_agent", "agent"),
            ("hermes_tools::files", "tools.files"),
            ("hermes::commands::logs", "hermes_cli.commands.logs"),
            ("hermes_cron", "cron"),
            ("hermes_store::writer", "store.writer"),
            ("hyper::client", "hyper.client"),
        ] {
            assert_eq!(logger_name(target), logger);
        }
    }

    #[test]
    fn components_own_their_loggers_and_nothing_that_merely_begins_alike() {
        assert!(Component::Gateway.owns("gateway"));
        assert!(Component::Gateway.owns("hermes_plugins.x"));
        assert!(!Component::Gateway.owns("gatewayish"));
        assert!(Component::Agent.owns("agent.providers"));
        assert!(Component::Cli.owns(&logger_name("hermes::main")));
        assert!(Component::Tools.owns(&logger_name("hermes_docker")));
    }

    #[test]
    fn a_component_is_read_back_and_an_unknown_one_refused() {
        for component in Component::ALL {
            assert_eq!(component.name().parse(), Ok(*component));
        }
        let error = "kitchen".parse::<Component>().unwrap_err();
        assert_eq!(error.to_string(), "unknown component 'kitchen'");
        for component in Component::ALL {
            assert!(error.hint().contains(component.name()));
        }
    }

    #[test]
    fn own_targets_are_hermes_crates() {
        assert!(is_own_target("hermes"));
        assert!(is_own_target("hermes_fs::lock"));
        assert!(!is_own_target("hermeslike::x"));
    }
}
