//! Whether scripts run when nobody can be asked.

use hermes_config::Config;
use hermes_tools::UnattendedScripts;

/// Name of whole scripts in `command_allowlist`.
const KEY: &str = "execute_code";

/// The decision of the settings: approvals switched off, scripts on the allow-list, or unattended
/// runs approved as such.
pub(super) fn unattended_scripts(config: &Config) -> UnattendedScripts {
    let off = matches!(config.text("approvals.mode"), "off");
    let listed = config.texts("command_allowlist").contains(&KEY);
    let approved = config.text("approvals.noninteractive_mode") == "approve";
    if off || listed || approved {
        UnattendedScripts::Approve
    } else {
        UnattendedScripts::Deny
    }
}
