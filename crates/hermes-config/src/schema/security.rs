//! Which settings decide what an agent may do. An agent must not change them for itself.

/// Sections and settings that decide what an agent may run, read, write, reach or whom it asks, and
/// what it is told to run later. An entry stands for everything below it.
const SECURITY: &[&str] = &[
    // Who is asked, and what is masked.
    "approvals",
    "command_allowlist",
    "security",
    "privacy",
    "secrets",
    // Where commands run, what they see and what confines them.
    "terminal.backend",
    "terminal.env_type",
    "terminal.env_passthrough",
    "terminal.trusted_env_passthrough",
    "terminal.shell_init_files",
    "terminal.home_mode",
    "terminal.profile_home_keychain",
    "terminal.profile_home_links",
    "terminal.foreground_guard",
    "terminal.sandbox",
    "terminal.sandbox_write",
    "terminal.sandbox_network",
    "terminal.sandbox_dir",
    "terminal.docker_image",
    "terminal.docker_forward_env",
    "terminal.docker_env",
    "terminal.docker_volumes",
    "terminal.docker_extra_args",
    "terminal.docker_mount_cwd_to_workspace",
    "terminal.docker_run_as_host_user",
    "terminal.docker_network",
    "terminal.docker_pids_limit",
    "terminal.docker_require_limits",
    "terminal.docker_auto_mounts",
    "terminal.docker_host_path_map",
    "terminal.docker_isolation",
    "terminal.ssh_host",
    "terminal.ssh_user",
    "terminal.ssh_port",
    "terminal.ssh_key",
    "terminal.credential_files",
    "terminal.sudo_password",
    "kanban.workspace_roots",
    // The way back from what an agent did.
    "checkpoints",
    // Programs that run later, and tools that are at hand.
    "hooks",
    "hooks_auto_accept",
    "quick_commands",
    "server_actions",
    "plugins",
    "mcp",
    "mcp_servers",
    "lsp",
    "addons.python",
    "addons.worker.sandbox",
    "code_execution.python",
    "code_execution.mode",
    "skills.external_dirs",
    "skills.inline_shell",
    "skills.guard_agent_created",
    "skills.write_approval",
    "memory.write_approval",
    "tools.env_passthrough",
    "toolsets",
    "platform_toolsets",
    "known_plugin_toolsets",
    "agent.disabled_toolsets",
    "computer_use",
    "browser",
    "prefill_messages_file",
    "delegation.max_spawn_depth",
    "delegation.orchestrator_enabled",
    "delegation.inherit_mcp_toolsets",
    "delegation.subagent_auto_approve",
    // Where keys go, and which they are.
    "model.base_url",
    "model.api_base",
    "model.api_key",
    "model.key_env",
    "model.inherit_keys",
    "base_url",
    "providers",
    "custom_providers",
    "model_aliases",
    "fallback_model",
    "fallback_providers",
    "auxiliary",
    "delegation.provider",
    "delegation.base_url",
    "delegation.api_key",
    "delegation.api_mode",
    "credential_pool_strategies",
    "bedrock",
    "vertex",
    // Who may talk to the agent, and who sees what it does.
    "memory.provider",
    "memory.mcp",
    "gateway",
    "platforms",
    "dashboard",
    "profile_routes",
    "unauthorized_dm_behavior",
    "cron",
];

/// Whether a change at this path may widen what an agent may do. `replaces_below` says that what
/// stands below the path changes too: a mapping is written, or the path is removed.
pub(crate) fn is_security<S: AsRef<str>>(path: &[S], replaces_below: bool) -> bool {
    // `SOME_NAME: value` fills in for a variable, and any variable may be a key or a setting.
    let is_variable = path.first().is_some_and(|first| {
        let first = first.as_ref();
        !first.is_empty() && !first.bytes().any(|byte| byte.is_ascii_lowercase())
    });
    is_variable
        || SECURITY.iter().any(|entry| {
            let length = entry.split('.').count();
            let shared = entry
                .split('.')
                .zip(path)
                .take_while(|(want, have)| *want == have.as_ref())
                .count();
            shared == length || (replaces_below && shared == path.len())
        })
}

#[cfg(test)]
mod tests {
    use super::super::lookup::{Known, classify};
    use super::*;

    fn of(path: &str, replaces_below: bool) -> bool {
        is_security(&path.split('.').collect::<Vec<_>>(), replaces_below)
    }

    #[test]
    fn every_entry_is_known_to_the_schema() {
        // Older spellings, which are read as well.
        let older = ["terminal.env_type", "model.api_base", "base_url"];
        for entry in SECURITY.iter().filter(|entry| !older.contains(entry)) {
            let path: Vec<&str> = entry.split('.').collect();
            assert!(!matches!(classify(&path), Known::Unknown), "{entry}");
        }
    }

    #[test]
    fn what_an_agent_may_do_is_told_from_taste() {
        for path in [
            "approvals.mode",
            "approvals",
            "command_allowlist",
            "command_allowlist.0",
            "terminal.sandbox_write",
            "kanban.workspace_roots",
            "security.redact_secrets",
            "mcp_servers.x.command",
            "delegation.subagent_auto_approve",
            "delegation.base_url",
            "checkpoints.retention_days",
            "model.base_url",
            "HERMES_YOLO_MODE",
        ] {
            assert!(of(path, false), "{path}");
        }
        for path in [
            "display.skin",
            "terminal.timeout",
            "model",
            "model.default",
            "agent.max_turns",
            "_config_version_x",
        ] {
            assert!(!of(path, false), "{path}");
        }
    }

    #[test]
    fn replacing_a_section_replaces_what_stands_in_it() {
        for path in ["terminal", "model", "kanban", "agent", "skills"] {
            assert!(!of(path, false) && of(path, true), "{path}");
        }
        assert!(!of("display", true));
    }
}
