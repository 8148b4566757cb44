//! What people see.

use super::super::key::{Fallback, Kind, choice, custom, flag, int, list, map, text};

sections! {
    /// The web page.
    "dashboard" open = true {
        /// Its theme.
        "theme": text("default");
        /// Whether token counts are shown.
        "show_token_analytics": flag(false);
        /// Client id for logging in through a portal.
        "oauth.client_id": text("").var("HERMES_DASHBOARD_OAUTH_CLIENT_ID");
        /// Address of that portal.
        "oauth.portal_url": text("").var("HERMES_DASHBOARD_PORTAL_URL");
        /// Address of an OpenID Connect provider whose users may log in.
        "oauth.self_hosted.issuer": text("").var("HERMES_DASHBOARD_OIDC_ISSUER");
        /// Client id of the dashboard at that provider.
        "oauth.self_hosted.client_id": text("").var("HERMES_DASHBOARD_OIDC_CLIENT_ID");
        /// Client secret, where the provider gave one.
        "oauth.self_hosted.client_secret": text("").var("HERMES_DASHBOARD_OIDC_CLIENT_SECRET").secret();
        /// Scopes that are asked for; `openid` must be among them.
        "oauth.self_hosted.scopes": text("").var("HERMES_DASHBOARD_OIDC_SCOPES");
        /// Address under which the dashboard is reached.
        "public_url": text("").var("HERMES_DASHBOARD_PUBLIC_URL");
        /// User name of the built-in login.
        "basic_auth.username": text("").var("HERMES_DASHBOARD_BASIC_AUTH_USERNAME");
        /// Hash of its password.
        "basic_auth.password_hash": text("").secret().var("HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_HASH");
        /// Its password in plain text; the hash is better.
        "basic_auth.password": text("").secret().var("HERMES_DASHBOARD_BASIC_AUTH_PASSWORD");
        /// Key that signs login cookies.
        "basic_auth.secret": text("").secret().var("HERMES_DASHBOARD_BASIC_AUTH_SECRET");
        /// Seconds a login lasts; 0 means the built-in default.
        "basic_auth.session_ttl_seconds": int(0).var("HERMES_DASHBOARD_BASIC_AUTH_TTL_SECONDS");
        /// Further names under which the dashboard is reached, such as the one of a tunnel.
        "extra_hosts": list();
        /// Proxies whose headers are trusted.
        "trusted_proxies": list();
        /// Tenant the board shows first.
        "kanban.default_tenant": text("");
        /// Whether the board has a lane per profile.
        "kanban.lane_by_profile": flag(true);
        /// Whether the board shows archived cards.
        "kanban.include_archived_by_default": flag(false);
        /// Whether the board renders Markdown.
        "kanban.render_markdown": flag(true);
    }

    /// Output of the agent.
    "display" open = true {
        /// Colours of the terminal: a built-in skin, or one of `skins/NAME.yaml`.
        "skin": text("default");
        /// How `chat` is shown at a terminal: `plain` is line by line, for screen readers; `cli` and
        /// `tui` are the same interface.
        "interface": choice(&["cli", "tui", "plain"], "cli");
        /// Personality of the agent.
        "personality": text("");
        /// Language of Hermes' own messages.
        "language": text("en");
        /// Whether the model's reasoning is shown.
        "show_reasoning": flag(true);
        /// Whether all of the reasoning stays above the answer.
        "reasoning_full": flag(false);
        /// Whether costs are shown.
        "show_cost": flag(false);
        /// Whether answers appear while they are written; at a terminal they do unless this is set to
        /// false.
        "streaming": flag(false);
        /// Whether messages show the time.
        "timestamps": flag(false);
        /// How that time is written, as for `date`.
        "timestamp_format": text("%H:%M");
        /// How much is shown of tool calls: `new` leaves out repeated calls of the same tool, and
        /// `verbose` shows their output.
        "tool_progress": choice(&["off", "new", "all", "verbose", "log"], "all");
        /// What moves while the agent works; at a terminal it is `unicode` unless this is set.
        "tui_status_indicator": choice(&["kaomoji", "emoji", "unicode", "ascii"], "kaomoji");
        /// Whether a line under each answer says more about it.
        "runtime_footer.enabled": flag(false);
        /// What that line says.
        "runtime_footer.fields": custom(
            Kind::List,
            Fallback::Texts(&["model", "context_pct", "cwd"]),
        );
        /// What happens to a message sent while a turn runs.
        "busy_input_mode": choice(&["interrupt", "queue", "steer"], "interrupt")
            .var("HERMES_GATEWAY_BUSY_INPUT_MODE");
        /// Whether the terminal rings when a turn ends.
        "bell_on_complete": flag(false);
        /// Which notices about background processes a chat gets.
        "background_process_notifications": choice(&["all", "result", "error", "off"], "all")
            .var("HERMES_BACKGROUND_NOTIFICATIONS");
        /// Whether files whose last change failed are named after a turn.
        "file_mutation_verifier": flag(true);
        /// Other values per platform.
        "platforms": map();
    }

    /// Zone for timestamps and schedules; empty means the machine's.
    "timezone" open = false {
        /// Name of the zone, such as `Europe/Berlin`.
        "": text("").var("HERMES_TIMEZONE");
    }
}
