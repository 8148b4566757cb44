//! What the agent must not do, and who is asked.

use super::super::key::{Section, choice, flag, list, positive, text, whole};

pub(super) const SECURITY: Section = Section {
    name: "security",
    doc: "Limits that hold whatever the model says.",
    open: true,
    keys: &[
        flag(
            "allow_private_urls",
            false,
            "Whether tools may fetch addresses of private networks.",
        ),
        flag(
            "redact_secrets",
            true,
            "Whether secrets are masked in logs and results.",
        )
        .var("HERMES_REDACT_SECRETS"),
        flag(
            "allow_lazy_installs",
            true,
            "Whether optional parts may be installed on demand.",
        ),
        flag(
            "tirith_enabled",
            true,
            "Whether commands are checked by tirith, if it is there.",
        )
        .var("TIRITH_ENABLED"),
        text("tirith_path", "tirith", "Program of tirith.").var("TIRITH_BIN"),
        whole("tirith_timeout", 5, "Seconds for one check.").var("TIRITH_TIMEOUT"),
        flag(
            "tirith_fail_open",
            true,
            "Whether a failing check lets the command through.",
        )
        .var("TIRITH_FAIL_OPEN"),
        flag(
            "website_blocklist.enabled",
            false,
            "Whether the list of blocked sites is used.",
        ),
        list("website_blocklist.domains", "Blocked sites."),
        list(
            "website_blocklist.shared_files",
            "Files with further blocked sites.",
        ),
        list("acked_advisories", "Security advisories the user has seen."),
    ],
};

pub(super) const APPROVALS: Section = Section {
    name: "approvals",
    doc: "Which commands need a yes.",
    open: true,
    keys: &[
        choice(
            "mode",
            &["manual", "smart", "off"],
            "smart",
            "Who decides about risky commands: `manual` asks the person, `smart` the model of \
             `auxiliary.approval` first, `off` nobody.",
        ),
        positive("timeout", 60, "Seconds a question stays open."),
        positive(
            "gateway_timeout",
            300,
            "Seconds a question stays open on a chat platform.",
        ),
        choice(
            "cron_mode",
            &["deny", "approve"],
            "deny",
            "What happens to risky commands in scheduled jobs.",
        ),
        choice(
            "noninteractive_mode",
            &["deny", "approve"],
            "deny",
            "What happens to risky commands when nobody can be asked.",
        ),
        list("deny", "Patterns of commands that never run."),
        flag(
            "mcp_reload_confirm",
            true,
            "Whether reloading MCP servers is confirmed.",
        ),
        flag(
            "destructive_slash_confirm",
            true,
            "Whether slash commands that discard something are confirmed.",
        ),
    ],
};

pub(super) const COMMAND_ALLOWLIST: Section = Section {
    name: "command_allowlist",
    doc: "Commands approved for good.",
    open: false,
    keys: &[list("", "Keys of patterns, or whole commands.")],
};
