//! Settings that stand at the top of the file, in no section.

use super::super::key::{Fallback, Kind, choice, custom, flag, int, number, positive, text};

sections! {
    /// Size of the files that are put into the system prompt.
    "context_file_max_chars" open = false {
        /// Most characters of a context file; empty means 20,000.
        "": positive(0).null();
    }

    /// Size of one file read.
    "file_read_max_chars" open = false {
        /// Most characters of one file read.
        "": positive(100_000);
    }

    /// How many conversations may be open.
    "max_concurrent_sessions" open = false {
        /// Conversations of this profile that may be open at once; empty or 0 means no limit.
        "": custom(Kind::IntOr(&[]), Fallback::Null);
    }

    /// How many conversations the full-screen interface keeps.
    "max_live_sessions" open = false {
        /// Conversations kept in memory; 0 means no limit.
        "": custom(Kind::IntOr(&[]), Fallback::Int(16));
    }

    /// Conversations in groups.
    "group_sessions_per_user" open = false {
        /// Whether members of a group have sessions of their own.
        "": flag(true);
    }

    /// Conversations in threads.
    "thread_sessions_per_user" open = false {
        /// Whether members of a thread have sessions of their own.
        "": flag(false);
    }

    /// When the bot answers in groups.
    "require_mention" open = false {
        /// Whether the bot answers only when mentioned; if unset, what the platform says.
        "": flag(false).unset();
    }

    /// Messages of strangers.
    "unauthorized_dm_behavior" open = false {
        /// What a private message of an unknown user gets: an offer to pair, or nothing.
        "": choice(&["pair", "ignore"], "pair");
    }

    /// Starting over.
    "reset_triggers" open = false {
        /// Phrases that start a new conversation.
        "": custom(Kind::List, Fallback::Texts(&["/new", "/reset"]));
    }

    /// Remarks about silence.
    "filter_silence_narration" open = false {
        /// Whether remarks about staying silent are dropped.
        "": flag(true);
    }

    /// Voice messages.
    "stt_echo_transcripts" open = false {
        /// Whether transcripts are sent back.
        "": flag(true);
    }

    /// Results of scheduled jobs.
    "always_log_local" open = false {
        /// Whether results are also kept in local files.
        "": flag(true);
    }

    /// Older place of `gateway.multiplex_profiles`.
    "multiplex_profiles" open = false {
        /// Whether the default gateway serves all profiles.
        "": flag(false).unset();
    }

    /// Hooks nobody has approved.
    "hooks_auto_accept" open = false {
        /// Whether new hooks are accepted without asking.
        "": flag(false);
    }

    /// MCP servers as a whole.
    "mcp" open = true {
        /// Whether a conversation follows changes of `mcp_servers` in the settings.
        "auto_reload_on_config_change": flag(true);
    }

    /// MCP servers that are slow to answer.
    "mcp_discovery_timeout" open = false {
        /// Seconds that the start of a conversation waits for MCP servers whose tools are not known
        /// yet.
        "": number(1.5);
    }

    /// A fixed beginning of conversations.
    "prefill_messages_file" open = false {
        /// JSON file of messages that are sent before each conversation and never stored.
        "": text("");
    }

    /// Folding of pasted lines.
    "paste_collapse_threshold" open = false {
        /// Lines from which a paste is folded; 0 means never.
        "": int(5);
    }

    /// Folding of pasted lines where the terminal does not mark pastes.
    "paste_collapse_threshold_fallback" open = false {
        /// Lines from which a paste is folded; 0 means never.
        "": int(5);
    }

    /// Folding of long pastes.
    "paste_collapse_char_threshold" open = false {
        /// Characters from which a paste is folded; 0 means never.
        "": int(2_000);
    }
}
