//! Models, the agent itself, and what it may use.

use super::super::key::{
    Fallback, Kind, choice, custom, flag, int, list, map, positive, text, whole,
};

sections! {
    /// The model that answers. A plain string is the name of the model.
    "model" open = false {
        /// Name of the model, or a mapping of the settings below.
        "": custom(Kind::TextOrMap, Fallback::Text(""));
        /// Name of the model.
        "default": text("").unset();
        /// Provider to use; empty means the first one with a key.
        "provider": text("").unset().var("HERMES_INFERENCE_PROVIDER");
        /// Address of the provider's API.
        "base_url": text("").unset();
        /// Key for that address; better kept in `.env`.
        "api_key": text("").unset().secret();
        /// Variable that holds the key for that address.
        "key_env": text("").unset();
        /// Whether the keys of the default profile serve this profile as well; nothing is copied.
        "inherit_keys": flag(false).unset();
        /// Wire format of the API: chat_completions, codex_responses or anthropic_messages.
        "api_mode": text("").unset();
        /// File of turns for the provider `replay`.
        "script": text("").unset();
        /// Size of the context window in tokens.
        "context_length": int(0).unset();
        /// Most tokens of one answer.
        "max_tokens": int(0).unset();
        /// Size of the context window requested from Ollama.
        "ollama_num_ctx": int(0).unset();
        /// What to do about windows under 64,000 tokens; `warn` if unset.
        "min_context_enforcement": choice(&["warn", "strict", "off"], "warn").unset();
    }

    /// Providers of your own, by name.
    "providers" open = true {
        /// Name of a provider to its address, key and models.
        "": map();
    }

    /// Older form of `providers`.
    "custom_providers" open = true {
        /// List of providers; `config migrate` turns it into `providers`.
        "": custom(Kind::List, Fallback::Unset);
    }

    /// Model to use when the first one fails.
    "fallback_model" open = true {
        /// A mapping with provider and model, or a list of such.
        "": custom(Kind::ListOrMap, Fallback::Unset);
    }

    /// Providers to try in turn.
    "fallback_providers" open = false {
        /// Mappings with provider and model; base_url, api_key and key_env if needed.
        "": list();
    }

    /// How several keys of one provider are used.
    "credential_pool_strategies" open = true {
        /// Name of a provider to its strategy.
        "": map();
    }

    /// Which groups of tools the agent has.
    "toolsets" open = false {
        /// Names of toolsets.
        "": custom(Kind::List, Fallback::Texts(&["hermes-cli"]));
    }

    /// Standing goals (`/goal`).
    "goals" open = false {
        /// Most turns towards a goal before it rests.
        "max_turns": int(20);
    }

    /// How long and how hard the agent works.
    "agent" open = false {
        /// Most turns for one request.
        "max_turns": int(90).var("HERMES_MAX_ITERATIONS");
        /// Seconds a request through the gateway may take.
        "gateway_timeout": int(1800).var("HERMES_AGENT_TIMEOUT");
        /// Seconds of silence after which the log of the gateway has a warning; 0 means none.
        "gateway_timeout_warning": int(900).var("HERMES_AGENT_TIMEOUT_WARNING");
        /// Seconds between two lines in the log of the gateway about a request that takes long; 0 means
        /// none.
        "gateway_notify_interval": int(180).var("HERMES_AGENT_NOTIFY_INTERVAL");
        /// Seconds within which an interrupted turn is resumed.
        "gateway_auto_continue_freshness": int(3600).var("HERMES_AUTO_CONTINUE_FRESHNESS");
        /// Seconds a stopping gateway waits for running turns; 0 means none.
        "restart_drain_timeout": whole(0).var("HERMES_RESTART_DRAIN_TIMEOUT");
        /// Tries per request to a provider.
        "api_max_retries": int(3);
        /// Seconds a question to the user stays open.
        "clarify_timeout": int(3600);
        /// Whether a model is urged to use its tools: auto, true, false, or parts of model names.
        "tool_use_enforcement": custom(Kind::Any, Fallback::Text("auto"));
        /// How images reach the model: `native` as they are, `text` as a description by the model of
        /// `auxiliary.vision`, `auto` by what the model is known to see.
        "image_input_mode": choice(&["auto", "native", "text"], "auto");
        /// Toolsets that stay off everywhere.
        "disabled_toolsets": list();
        /// Service tier requested from OpenAI: `fast` or `priority`, `flex`; empty means the usual.
        "service_tier": text("");
        /// Whether the agent is asked to check changed code before it stops; `auto` means no.
        "verify_on_stop": custom(Kind::BoolOr(&["auto"]), Fallback::Text("auto"));
        /// Whether it is also asked to tidy up before a commit, and to leave checks of a design until
        /// the user likes it.
        "verify_guidance": flag(true);
        /// How often the agent is sent back to check its work.
        "max_verify_nudges": int(3);
        /// Whether a model that only announces an action is told to go on: true, false, parts of model
        /// names, or `auto` for models of the Responses API.
        "intent_ack_continuation": custom(Kind::Any, Fallback::Text("auto"));
        /// Whether the system prompt says when a task is done.
        "task_completion_guidance": flag(true);
        /// Whether the system prompt says that calls may be made together.
        "parallel_tool_call_guidance": flag(true);
        /// Whether the system prompt says what is missing or unusual about Python on this machine.
        "environment_probe": flag(true);
        /// Whether the system prompt has rules for programming: `on`, `off`, `auto` where the directory
        /// is that of a project, `focus` for that with fewer tools.
        "coding_context": custom(
            Kind::BoolOr(&["auto", "focus", "on", "off"]),
            Fallback::Text("auto"),
        );
        /// Further rules for programming, a text or a list.
        "coding_instructions": custom(Kind::Any, Fallback::Text(""));
        /// Personalities of your own, by name.
        "personalities": map().unset();
        /// Text added to the system prompt of every request.
        "system_prompt": text("").unset();
        /// What the model is told about the machine.
        "environment_hint": text("");
        /// How much the model thinks.
        "reasoning_effort": text("").unset();
        /// How much individual models think, by name.
        "reasoning_overrides": map();
        /// Seconds a local server may stay silent while answering.
        "local_stream_stale_timeout": whole(900);
    }

    /// Sub-agents.
    "delegation" open = false {
        /// Model of sub-agents; empty means that of the conversation.
        "model": text("");
        /// Provider of sub-agents; empty means that of the conversation.
        "provider": text("");
        /// Address of the API for sub-agents, instead of the provider's own.
        "base_url": text("");
        /// Key for that address or provider; better kept in `.env`, as `${NAME}`.
        "api_key": text("").secret();
        /// Wire format at that address: chat_completions, codex_responses or anthropic_messages; empty
        /// means by the address.
        "api_mode": text("");
        /// How much sub-agents think; empty means as the conversation.
        "reasoning_effort": text("");
        /// Whether a sub-agent that gets fewer toolsets keeps those of MCP servers.
        "inherit_mcp_toolsets": flag(true);
        /// Most characters of a sub-agent's report in the conversation; the rest stays in a file. 0
        /// means no limit.
        "max_summary_chars": int(24_000);
        /// Whether sub-agents may have sub-agents, within `max_spawn_depth`.
        "orchestrator_enabled": flag(true);
        /// Whether risky commands of sub-agents run without approval.
        "subagent_auto_approve": flag(false);
        /// Sub-agents that may run at once.
        "max_concurrent_children": int(3);
        /// Most turns of a sub-agent.
        "max_iterations": int(50);
        /// Seconds a sub-agent may take; 0 for no limit.
        "child_timeout_seconds": int(0);
        /// How deep sub-agents may nest.
        "max_spawn_depth": int(1);
    }

    /// What the agent remembers.
    "memory" open = false {
        /// Whether `MEMORY.md` is used.
        "memory_enabled": flag(true);
        /// Whether `USER.md` is used.
        "user_profile_enabled": flag(true);
        /// Most characters of `MEMORY.md`.
        "memory_char_limit": int(2200);
        /// Most characters of `USER.md`.
        "user_char_limit": int(1375);
        /// Messages of the user, without anything remembered, after which a conversation is looked
        /// through for what to remember, in the background; 0 means never.
        "nudge_interval": int(10);
        /// Memory service beside the files: `mem0`, `supermemory`, `hindsight`, or `mcp:SERVER` for a
        /// server of `mcp_servers`; empty means files only.
        "provider": text("");
        /// Tool of that server that finds what is known about a message; empty means none is asked.
        "mcp.recall_tool": text("");
        /// Argument of that tool that gets the message.
        "mcp.recall_argument": text("query");
        /// Tool of that server that gets each completed turn; empty means none does.
        "mcp.store_tool": text("");
        /// Argument of that tool that gets the turn.
        "mcp.store_argument": text("content");
        /// Whether the user approves each note.
        "write_approval": flag(false);
    }

    /// Skills the agent can read.
    "skills" open = false {
        /// Further directories of skills.
        "external_dirs": list();
        /// Skills that stay off.
        "disabled": list();
        /// Skills that stay off on one platform, by platform.
        "platform_disabled": map();
        /// Values that skills ask for, by the key that they declare.
        "config": map();
        /// Whether `${HERMES_SKILL_DIR}` and `${HERMES_SESSION_ID}` in a skill are filled in.
        "template_vars": flag(true);
        /// Whether a skill may run commands while it is read.
        "inline_shell": flag(false);
        /// Seconds for such a command.
        "inline_shell_timeout": int(10);
        /// Whether skills written by the agent are checked first.
        "guard_agent_created": flag(false);
        /// Requests to the model, without a change to a skill, after which a conversation is looked
        /// through for a way of working worth keeping, in the background; 0 means never.
        "creation_nudge_interval": int(10);
        /// Whether the user approves each change to a skill.
        "write_approval": flag(false);
    }

    /// Settings for all tools.
    "tools" open = false {
        /// Whether tools of MCP servers are found by a search instead of being listed: always, never,
        /// or (`auto`) when listing them would take too much of the context.
        "tool_search.enabled": custom(Kind::BoolOr(&["auto"]), Fallback::Text("auto"));
        /// Share of the context window, in percent, from which that is too much.
        "tool_search.threshold_pct": whole(10);
        /// Results of a search that names no limit.
        "tool_search.search_default_limit": int(5);
        /// Most results of a search.
        "tool_search.max_search_limit": int(20);
        /// Another name of `terminal.env_passthrough`.
        "env_passthrough": list().unset();
    }

    /// MCP servers, by name.
    "mcp_servers" open = false {
        /// Name of a server to its settings.
        "": map();
        /// Program that starts a local server.
        "*.command": text("").unset();
        /// Its arguments.
        "*.args": list().unset();
        /// Variables for it.
        "*.env": map().unset();
        /// Address of a remote server.
        "*.url": text("").unset();
        /// Headers sent to it.
        "*.headers": map().unset();
        /// Whether it is used.
        "*.enabled": flag(true);
        /// Seconds for one call.
        "*.timeout": int(120).unset();
    }

    /// Programs the agent writes and runs.
    "code_execution" open = true {
        /// Where such a program runs and what it may see.
        "mode": choice(&["project", "strict"], "project");
        /// Seconds such a program may take.
        "timeout": positive(300);
        /// Tools it may call.
        "max_tool_calls": positive(50);
        /// Interpreter; empty means the one on PATH.
        "python": text("");
    }
}
