//! What Hermes keeps for the Python runtime and does not act on itself: one table, which
//! `config check`, `doctor` and the generated pages show. `cargo xtask surface` fails for a setting,
//! variable or argument that is neither read nor listed here, and for one that is both.

use serde_json::Value;

use crate::settings::Config;
use crate::vars::{self, Var};

/// What people are told about anything in this table.
pub const NOTE: &str = "used by the Python runtime only";

/// Settings. An entry covers everything below it; `*` stands for any name.
pub const SETTINGS: &[&str] = &[
    "agent.gateway_auto_continue_freshness",
    "agent.gateway_notify_interval",
    "agent.gateway_timeout",
    "agent.gateway_timeout_warning",
    "agent.image_input_mode",
    "agent.restart_drain_timeout",
    "agent.service_tier",
    "agent.verify_on_stop",
    "always_log_local",
    "approvals.mcp_reload_confirm",
    "bedrock",
    "bluebubbles",
    "browser",
    "channel_prompts",
    "checkpoints",
    "computer_use",
    "context",
    "cron",
    "curator",
    "dashboard",
    "desktop",
    "dingtalk",
    "discord",
    "display.background_process_notifications",
    "display.bell_on_complete",
    "display.busy_input_mode",
    "display.language",
    "display.personality",
    "display.platforms",
    "display.show_cost",
    "display.show_reasoning",
    "display.skin",
    "display.streaming",
    "display.timestamps",
    "email",
    "feishu",
    "filter_silence_narration",
    "gateway",
    "goals",
    "group_sessions_per_user",
    "honcho",
    "hooks",
    "hooks_auto_accept",
    "human_delay",
    "image_gen",
    "kanban.auto_decompose_per_tick",
    "known_plugin_toolsets",
    "logging.memory_monitor",
    "lsp",
    "matrix",
    "mattermost",
    "max_concurrent_sessions",
    "max_live_sessions",
    "mcp",
    "mcp_discovery_timeout",
    "mcp_servers",
    "memory",
    "moa",
    "model_catalog",
    "multiplex_profiles",
    "network",
    "onboarding",
    "paste_collapse_char_threshold",
    "paste_collapse_threshold",
    "paste_collapse_threshold_fallback",
    "personalities",
    "platforms",
    "plugins",
    "prefill_messages_file",
    "privacy",
    "profile_routes",
    "qqbot",
    "quick_commands",
    "require_mention",
    "reset_triggers",
    "secrets",
    "security.acked_advisories",
    "security.allow_lazy_installs",
    "security.tirith_enabled",
    "security.tirith_fail_open",
    "security.tirith_path",
    "security.tirith_timeout",
    "security.website_blocklist",
    "server_actions",
    "session_reset",
    "signal",
    "skills.disabled",
    "skills.guard_agent_created",
    "skills.inline_shell",
    "skills.inline_shell_timeout",
    "skills.template_vars",
    "skills.write_approval",
    "slack",
    "smart_model_routing",
    "sms",
    "streaming",
    "stt",
    "stt_echo_transcripts",
    "telegram",
    "terminal.daytona_image",
    "terminal.modal_image",
    "terminal.modal_mode",
    "terminal.singularity_image",
    "thread_sessions_per_user",
    "tools.tool_search",
    "tts",
    "unauthorized_dm_behavior",
    "updates",
    "vertex",
    "video_gen",
    "voice",
    "web",
    "wecom",
    "weixin",
    "whatsapp",
    "x_search",
    "yuanbao",
];

/// Variables, except those that override a setting of [`SETTINGS`].
pub const VARIABLES: &[&Var] = &[
    &vars::HERMES_DEBUG_INTERRUPT,
    &vars::HERMES_SKIP_CONFIG_MIGRATION,
    &vars::TERMINAL_DISK_WARNING_GB,
];

/// Whether only the Python runtime uses the setting of this dotted path.
pub fn is_setting(path: &str) -> bool {
    SETTINGS.iter().any(|entry| covers(entry, path))
}

/// Whether only the Python runtime uses a variable.
pub fn is_variable(name: &str) -> bool {
    let mut overridden = crate::schema::keys()
        .filter(|(_, key)| key.var == Some(name))
        .peekable();
    VARIABLES.iter().any(|var| var.name == name)
        || overridden.peek().is_some() && overridden.all(|(path, _)| is_setting(&path))
}

fn covers(entry: &str, path: &str) -> bool {
    let mut segments = path.split('.');
    entry.split('.').all(|wanted| {
        let segment = segments.next();
        segment.is_some_and(|segment| wanted == "*" || wanted == segment)
    })
}

/// The settings and variables of this configuration that have no effect here, as the user wrote
/// them, sorted.
pub fn in_use(config: &Config) -> Vec<String> {
    let mut found = Vec::new();
    for file in [Some(config.user_file()), config.managed_file()]
        .into_iter()
        .flatten()
    {
        if let Some(document) = file.document() {
            collect(document.value(), &mut Vec::new(), &mut found);
        }
    }
    let overriding = crate::schema::keys().filter_map(|(_, key)| key.var);
    let set = VARIABLES
        .iter()
        .map(|var| var.name)
        .chain(overriding)
        .filter(|name| {
            let value = config
                .sources()
                .env
                .lookup(name)
                .or_else(|| config.dotenv().get(name));
            value.is_some_and(|value| !value.trim().is_empty()) && is_variable(name)
        });
    found.extend(set.map(str::to_owned));
    found.sort();
    found.dedup();
    found
}

fn collect<'v>(value: &'v Value, path: &mut Vec<&'v str>, found: &mut Vec<String>) {
    let Value::Object(map) = value else { return };
    for (key, value) in map {
        path.push(key);
        let whole = path.join(".");
        if is_setting(&whole) {
            found.push(whole);
        } else {
            collect(value, path, found);
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::{Environment, Sources};

    #[test]
    fn an_entry_covers_itself_and_what_is_below() {
        assert!(covers("cron", "cron.provider") && covers("cron", "cron"));
        assert!(covers("platforms.*.token", "platforms.telegram.token"));
        assert!(!covers("cron", "crone") && !covers("cron.provider", "cron"));
    }

    #[test]
    fn every_entry_is_a_setting_or_a_group_of_settings() {
        for entry in SETTINGS {
            let known = crate::schema::keys().any(|(path, _)| covers(entry, &path))
                || crate::schema::sections().any(|section| section.name == *entry);
            assert!(known, "{entry}");
        }
        assert!(SETTINGS.is_sorted());
    }

    #[test]
    fn settings_and_variables_of_the_python_runtime_are_named() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            hermes_fs::write_atomic(&home.path().join(name), text.as_bytes(), 0o600).unwrap();
        };
        write(
            "config.yaml",
            "terminal: {modal_mode: auto, timeout: 9}\ntts: {provider: x}\n",
        );
        write(".env", "TERMINAL_MODAL_IMAGE=x\nTERMINAL_TIMEOUT=9\n");
        let sources = Sources {
            env: Environment::from_pairs([("GATEWAY_MULTIPLEX_PROFILES", "true")]),
            home: home.path().to_owned(),
            managed_dir: None,
            tighten_dotenv: false,
        };
        assert_eq!(
            in_use(&Config::load_read_only(&sources)),
            [
                "GATEWAY_MULTIPLEX_PROFILES",
                "TERMINAL_MODAL_IMAGE",
                "terminal.modal_mode",
                "tts"
            ]
        );
    }
}
