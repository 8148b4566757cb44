//! What people see.

use super::super::key::{Section, choice, flag, int, list, map, text};

pub(super) const DASHBOARD: Section = Section {
    name: "dashboard",
    doc: "The web page.",
    open: true,
    keys: &[
        text("theme", "default", "Its theme."),
        flag(
            "show_token_analytics",
            false,
            "Whether token counts are shown.",
        ),
        text(
            "oauth.client_id",
            "",
            "Client id for logging in through a portal.",
        ),
        text("oauth.portal_url", "", "Address of that portal."),
        text(
            "public_url",
            "",
            "Address under which people reach the page.",
        ),
        text(
            "basic_auth.username",
            "",
            "User name of the built-in login.",
        ),
        text("basic_auth.password_hash", "", "Hash of its password.").secret(),
        text(
            "basic_auth.password",
            "",
            "Its password in the clear; better use the hash.",
        )
        .secret(),
        text("basic_auth.secret", "", "Key that signs login cookies.").secret(),
        int(
            "basic_auth.session_ttl_seconds",
            0,
            "Seconds a login lasts; 0 means the built-in time.",
        ),
        list("trusted_proxies", "Proxies whose headers are believed."),
        text("kanban.default_tenant", "", "Tenant the board shows first."),
        flag(
            "kanban.lane_by_profile",
            true,
            "Whether the board has a lane per profile.",
        ),
        flag(
            "kanban.include_archived_by_default",
            false,
            "Whether the board shows archived cards.",
        ),
        flag(
            "kanban.render_markdown",
            true,
            "Whether the board renders Markdown.",
        ),
    ],
};

pub(super) const DISPLAY: Section = Section {
    name: "display",
    doc: "Output of the agent.",
    open: true,
    keys: &[
        text("skin", "default", "Look of the terminal."),
        text("personality", "", "Personality to speak with."),
        text("language", "en", "Language of our own messages."),
        flag(
            "show_reasoning",
            true,
            "Whether the model's reasoning is shown.",
        ),
        flag("show_cost", false, "Whether costs are shown."),
        flag(
            "streaming",
            false,
            "Whether answers appear while they are written.",
        ),
        flag("timestamps", false, "Whether messages carry the time."),
        choice(
            "busy_input_mode",
            &["interrupt", "queue", "steer"],
            "interrupt",
            "What a message does while a turn runs.",
        )
        .var("HERMES_GATEWAY_BUSY_INPUT_MODE"),
        flag(
            "bell_on_complete",
            false,
            "Whether the terminal rings when a turn ends.",
        ),
        choice(
            "background_process_notifications",
            &["all", "result", "error", "off"],
            "all",
            "Which notices about background processes a chat gets.",
        )
        .var("HERMES_BACKGROUND_NOTIFICATIONS"),
        flag(
            "file_mutation_verifier",
            true,
            "Whether files whose last change failed are named after a turn; yes if unset.",
        )
        .unset(),
        map("platforms", "Other values per platform."),
    ],
};

pub(super) const TIMEZONE: Section = Section {
    name: "timezone",
    doc: "Zone for timestamps and schedules; empty means the machine's.",
    open: false,
    keys: &[text("", "", "Name of the zone, such as `Europe/Berlin`.").var("HERMES_TIMEZONE")],
};
