//! What the agent must not do, and who is asked.

use super::super::key::{choice, flag, list, positive, text, whole};

sections! {
    /// Limits that hold whatever the model says.
    "security" open = true {
        /// Whether tools may fetch addresses of private networks.
        "allow_private_urls": flag(false);
        /// Whether secrets are masked in logs and results.
        "redact_secrets": flag(true).var("HERMES_REDACT_SECRETS");
        /// Whether optional parts may be installed on demand.
        "allow_lazy_installs": flag(true);
        /// Whether commands are checked by tirith, if it is there.
        "tirith_enabled": flag(true).var("TIRITH_ENABLED");
        /// Program of tirith.
        "tirith_path": text("tirith").var("TIRITH_BIN");
        /// Seconds for one check.
        "tirith_timeout": whole(5).var("TIRITH_TIMEOUT");
        /// Whether a failing check lets the command through.
        "tirith_fail_open": flag(true).var("TIRITH_FAIL_OPEN");
        /// Whether the list of blocked sites is used.
        "website_blocklist.enabled": flag(false);
        /// Blocked sites.
        "website_blocklist.domains": list();
        /// Files with further blocked sites.
        "website_blocklist.shared_files": list();
        /// Security advisories the user has seen.
        "acked_advisories": list();
    }

    /// Which commands need approval.
    "approvals" open = true {
        /// Who decides about risky commands: `manual` asks the person, `smart` the model of
        /// `auxiliary.approval` first, `off` nobody.
        "mode": choice(&["manual", "smart", "off"], "smart");
        /// Seconds a question stays open.
        "timeout": positive(60);
        /// Seconds a question stays open on a chat platform.
        "gateway_timeout": positive(300);
        /// What happens to risky commands in scheduled jobs.
        "cron_mode": choice(&["deny", "approve"], "deny");
        /// What happens to risky commands when nobody can be asked.
        "noninteractive_mode": choice(&["deny", "approve"], "deny");
        /// Patterns of commands that never run.
        "deny": list();
        /// Whether reloading MCP servers is confirmed.
        "mcp_reload_confirm": flag(true);
        /// Whether slash commands that discard something are confirmed.
        "destructive_slash_confirm": flag(true);
    }
}
