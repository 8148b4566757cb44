//! What the agent must not do, and who is asked.

use super::super::key::{choice, flag, int, list, positive, switch, text, whole};

sections! {
    /// Limits that hold whatever the model says.
    "security" open = false {
        /// Whether tools may fetch addresses of private networks.
        "allow_private_urls": flag(false);
        /// Whether secrets are masked in logs and results.
        "redact_secrets": flag(true).var("HERMES_REDACT_SECRETS");
        /// Whether add-ons may be installed, by whomever.
        "allow_lazy_installs": switch(true);
        /// Whether the program tirith looks into commands before they run, if it is there.
        "tirith_enabled": flag(true).var("TIRITH_ENABLED");
        /// That program; a name is looked for on the PATH, then in `bin` of the home.
        "tirith_path": text("tirith").var("TIRITH_BIN");
        /// Seconds for one check.
        "tirith_timeout": whole(5).var("TIRITH_TIMEOUT");
        /// Whether a command that tirith could not look into counts as harmless.
        "tirith_fail_open": flag(true).var("TIRITH_FAIL_OPEN");
        /// Whether the list of blocked sites is used.
        "website_blocklist.enabled": flag(false);
        /// Blocked sites, with those below them; `*.` before one means only those below.
        "website_blocklist.domains": list();
        /// Files with further blocked sites, one per line; relative ones are those of the home.
        "website_blocklist.shared_files": list();
        /// Security advisories the user has seen.
        "acked_advisories": list();
    }

    /// Optional backends that are installed at run time.
    "addons" open = false {
        /// Python 3.11 to 3.13 that add-ons are installed for; empty means the first on `PATH`.
        "python": text("").var("HERMES_ADDON_PYTHON");
        /// Seconds that one install may take, 30 to 1800.
        "install_timeout_seconds": int(300);
        /// Megabytes that all add-ons together may take.
        "max_store_mb": int(4096);
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
