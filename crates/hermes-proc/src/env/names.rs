//! The names that rules are about, as data.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Tier 2 as far as it is fixed: settings and credentials of providers, tools and platforms, one per
/// line, sorted.
pub(super) const LISTED: &str = include_str!("secret_names.txt");

static LISTED_SET: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| LISTED.lines().collect());

/// Tier 1: credentials that let their holder act in the user's name.
pub(super) const CREDENTIALS: &[&str] = &[
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITHUB_APP_ID",
    "GITHUB_APP_PRIVATE_KEY_PATH",
    "GITHUB_APP_INSTALLATION_ID",
    "TELEGRAM_BOT_TOKEN",
    "DISCORD_BOT_TOKEN",
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "SLACK_SIGNING_SECRET",
    "GATEWAY_ALLOWED_USERS",
    "GATEWAY_ALLOW_ALL_USERS",
    "GATEWAY_RELAY_ID",
    "GATEWAY_RELAY_SECRET",
    "GATEWAY_RELAY_DELIVERY_KEY",
    "HASS_TOKEN",
    "EMAIL_PASSWORD",
    "MODAL_TOKEN_ID",
    "MODAL_TOKEN_SECRET",
    "DAYTONA_API_KEY",
    "SUDO_PASSWORD",
];

/// Where a sandbox reaches its host; set anew for the sandbox that owns them.
pub(super) const RPC_NAMES: &[&str] = &["HERMES_RPC_SOCKET", "HERMES_RPC_TOKEN", "HERMES_RPC_DIR"];

/// What kind of run a process of ours is. Inherited, they make an interactive turn look like a
/// scheduled one (hermes-agent#56771) or a parent like a delegated child (hermes-agent#90782).
pub(super) const MODE_MARKERS: &[&str] = &[
    "HERMES_YOLO_MODE",
    "HERMES_ACCEPT_HOOKS",
    "HERMES_INTERACTIVE",
    "HERMES_EXEC_ASK",
    "HERMES_GATEWAY_SESSION",
    "HERMES_CRON_SESSION",
    "HERMES_QUIET",
    "HERMES_SPINNER_PAUSE",
    "HERMES_TUI",
    "HERMES_DELEGATED_CHILD_CONTEXT",
];

/// Secrets of our own that no other program knows what to do with.
pub(super) const INTERNAL_SECRETS: &[&str] = &[
    "HERMES_DASHBOARD_SESSION_TOKEN",
    "HERMES_AUTH_JSON_BOOTSTRAP",
];

/// Identity of a conversation: set for the session a child belongs to, or absent.
pub const SESSION_NAMES: &[&str] = &[
    "HERMES_SESSION_PLATFORM",
    "HERMES_SESSION_SOURCE",
    "HERMES_SESSION_CHAT_ID",
    "HERMES_SESSION_CHAT_NAME",
    "HERMES_SESSION_THREAD_ID",
    "HERMES_SESSION_USER_ID",
    "HERMES_SESSION_USER_NAME",
    "HERMES_SESSION_KEY",
    "HERMES_SESSION_ID",
    "HERMES_SESSION_MESSAGE_ID",
    "HERMES_SESSION_PROFILE",
    "HERMES_UI_SESSION_ID",
    "HERMES_CRON_AUTO_DELIVER_PLATFORM",
    "HERMES_CRON_AUTO_DELIVER_CHAT_ID",
    "HERMES_CRON_AUTO_DELIVER_THREAD_ID",
];

/// Tier 3: marks of an activated environment. `CONDA_PREFIX_<digits>` belongs to them too; see
/// [`is_activation_marker`]. Inherited, they made `uv sync` in another project rebuild and so
/// destroy the runtime's own environment (hermes-agent#23473).
pub const ACTIVATION_MARKERS: &[&str] = &[
    "VIRTUAL_ENV",
    "VIRTUAL_ENV_PROMPT",
    "UV_PROJECT_ENVIRONMENT",
    "POETRY_ACTIVE",
    "PIPENV_ACTIVE",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "CONDA_PROMPT_MODIFIER",
    "CONDA_SHLVL",
    "PYENV_VERSION",
    "PYENV_VIRTUAL_ENV",
    "HATCH_ENV_ACTIVE",
    "PIXI_PROJECT_ROOT",
    "PIXI_ENVIRONMENT_NAME",
    "UV_RUN_RECURSION_DEPTH",
    "UV_INTERNAL__PARENT_INTERPRETER",
    "_OLD_VIRTUAL_PATH",
    "_OLD_VIRTUAL_PYTHONHOME",
    "_OLD_VIRTUAL_PS1",
    "PYTHONHOME",
    "PYTHONEXECUTABLE",
    "__PYVENV_LAUNCHER__",
];

/// Directories of a conversation that a nested Hermes must not prefer to the one it stands in
/// (hermes-agent#95078).
pub(super) const DIRECTORY_NAMES: &[&str] = &["TERMINAL_CWD", "HERMES_CWD", "MESSAGING_CWD"];

/// Names that always come from the plan itself, whatever a session exported.
pub(super) const OWN_NAMES: &[&str] = &[
    "HERMES_HOME",
    "HERMES_REAL_HOME",
    "HERMES_EXEC_ID",
    "HERMES_AGENT_SHELL",
];

/// Names no setting can declare a secret: without them nothing runs.
pub(super) const STRUCTURAL: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TERM",
    "TMPDIR",
    "PWD",
    "HERMES_HOME",
    "HERMES_REAL_HOME",
    "HERMES_PROFILE",
    "HERMES_EXEC_ID",
    "HERMES_AGENT_SHELL",
];

/// Prefix of an extra variable that is set although its name is a credential.
pub(super) const FORCE_PREFIX: &str = "_HERMES_FORCE_";

pub(super) fn is_listed(name: &str) -> bool {
    LISTED_SET.contains(name)
}

/// Whether a variable marks an activated Python or Conda environment.
pub fn is_activation_marker(name: &str) -> bool {
    ACTIVATION_MARKERS.contains(&name)
        || name.strip_prefix("CONDA_PREFIX_").is_some_and(|level| {
            !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// Whether this marker holds the directory of an activated environment, whose programs are in `bin`.
pub(super) fn is_activated_prefix(name: &str) -> bool {
    matches!(
        name,
        "VIRTUAL_ENV" | "UV_PROJECT_ENVIRONMENT" | "CONDA_PREFIX" | "PYENV_VIRTUAL_ENV"
    ) || (name.starts_with("CONDA_PREFIX_") && is_activation_marker(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_whole_and_free_of_what_is_kept_on_purpose() {
        let names: Vec<_> = LISTED.lines().collect();
        assert_eq!(names.len(), 319);
        assert!(names.is_sorted());
        for kept in [
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_PROFILE",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "SSH_AUTH_SOCK",
            "HTTPS_PROXY",
            "NOTION_TOKEN",
        ] {
            assert!(!is_listed(kept) && !CREDENTIALS.contains(&kept), "{kept}");
        }
    }

    #[test]
    fn numbered_conda_prefixes_are_markers() {
        assert!(is_activation_marker("CONDA_PREFIX_12"));
        for other in ["CONDA_PREFIX_", "CONDA_PREFIX_X", "CONDA_EXE", "_CE_CONDA"] {
            assert!(!is_activation_marker(other), "{other}");
        }
    }
}
