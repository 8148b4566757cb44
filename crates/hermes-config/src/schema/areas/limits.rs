//! Limits of output, context and conversations, and commands approved for good.

use super::super::key::{choice, flag, int, list, number, positive, text, whole};

sections! {
    /// Size of tool results.
    "tool_output" open = true {
        /// Most bytes of a command's output.
        "max_bytes": positive(50_000);
        /// Most lines of one file read.
        "max_lines": positive(2_000);
        /// Most characters of one line.
        "max_line_length": positive(2_000);
    }

    /// Brakes for repeated tool calls.
    "tool_loop_guardrails" open = true {
        /// Whether the model is warned.
        "warnings_enabled": flag(true);
        /// Whether such calls are refused.
        "hard_stop_enabled": flag(false);
        /// Failures of one call before a warning.
        "warn_after.exact_failure": positive(2);
        /// Failures of one tool before a warning.
        "warn_after.same_tool_failure": positive(3);
        /// Equal results of one call before a warning.
        "warn_after.idempotent_no_progress": positive(2);
        /// Failures of one call before a refusal.
        "hard_stop_after.exact_failure": positive(5);
        /// Failures of one tool before a refusal.
        "hard_stop_after.same_tool_failure": positive(8);
        /// Equal results of one call before a refusal.
        "hard_stop_after.idempotent_no_progress": positive(5);
    }

    /// Shortening of long conversations.
    "compression" open = false {
        /// Whether long conversations are shortened.
        "enabled": flag(true);
        /// Share of the context window from which one is shortened.
        "threshold": number(0.5);
        /// Share of that which is kept verbatim.
        "target_ratio": number(0.2);
        /// Messages at the beginning that stay.
        "protect_first_n": int(3);
        /// Messages at the end that stay, unless they take more than half of the room.
        "protect_last_n": int(20);
        /// Messages from which a conversation is shortened, whatever its size.
        "hygiene_hard_message_limit": positive(5_000);
        /// Whether models of the Codex service, whose windows are smaller there, use 85 percent of it.
        "codex_gpt55_autoraise": flag(true);
        /// Whether that is said once.
        "codex_gpt55_autoraise_notice": flag(true);
        /// Who shortens conversations of the Codex app server.
        "codex_app_server_auto": choice(&["native", "hermes", "off"], "native");
        /// Whether a shortened conversation keeps its session.
        "in_place": flag(true);
        /// Whether the conversation is left unchanged when no summary can be made.
        "abort_on_summary_failure": flag(false);
    }

    /// The provider OpenRouter.
    "openrouter" open = true {
        /// Whether answers may come from its cache.
        "response_cache": flag(true);
        /// Maximum age of such an answer, in seconds.
        "response_cache_ttl": int(300);
        /// Least coding score, 0 to 1, of the models that `openrouter/pareto-code` chooses from.
        "min_coding_score": number(0.65);
    }

    /// Caching of prompts.
    "prompt_caching" open = true {
        /// How long a prompt stays cached: `5m` or `1h`.
        "cache_ttl": text("5m");
    }

    /// Permanently approved commands.
    "command_allowlist" open = false {
        /// Keys of patterns, or whole commands.
        "": list();
    }

    /// When conversations are reset.
    "session_reset" open = true {
        /// Hours for which a background process keeps its conversation from being reset.
        "bg_process_max_age_hours": whole(24);
    }
}
