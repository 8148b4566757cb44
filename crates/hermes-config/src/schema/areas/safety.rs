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
        /// Whether a person is asked before a tool installs an add-on that it needs. Where nobody can
        /// be asked, nothing is installed then.
        "confirm": flag(false);
        /// Seconds that one install may take, 30 to 1800.
        "install_timeout_seconds": int(300);
        /// Megabytes that all add-ons together may take.
        "max_store_mb": int(4096);
        /// Seconds that a tool waits for the install of an add-on it needs, 0 to 300; the install goes
        /// on without it.
        "first_use_wait_seconds": int(45);
        /// Seconds after a failed install in which tools do not try it again, 0 to 86400; twice as long
        /// after each further failure, up to six hours.
        "retry_after_seconds": int(600);
        /// Megabytes of memory that the process of an add-on may take.
        "worker.memory_mb": int(2048);
        /// Seconds that the process of an add-on may take to start.
        "worker.start_timeout_seconds": int(20);
        /// Seconds that one call of an add-on may take.
        "worker.call_timeout_seconds": int(60);
        /// Seconds without a call after which the process of an add-on is ended.
        "worker.idle_seconds": int(300);
        /// Crashes within ten minutes after which an add-on is not started again.
        "worker.max_restarts": int(5);
        /// Whether the kernel keeps add-ons from reading the home and from writing outside of their
        /// own directory: `auto` where it can, `off` never.
        "worker.sandbox": choice(&["auto", "off"], "auto");
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
