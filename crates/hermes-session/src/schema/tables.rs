//! The tables of the reference, in its order.
//!
//! Other programs use the same columns, in the same order, and the same indexes: nothing here is
//! changed or removed. A column that a file lacks is added, so it needs a default or may be NULL.

/// A table: columns with their definitions, and table constraints.
pub(crate) struct SessionTable {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, &'static str)],
    pub(crate) constraints: &'static [&'static str],
}

impl SessionTable {
    /// The statement that creates the table.
    pub(crate) fn create(&self) -> String {
        let parts: Vec<String> = self
            .columns
            .iter()
            .map(|(name, definition)| format!("    {name} {definition}"))
            .chain(self.constraints.iter().map(|part| format!("    {part}")))
            .collect();
        format!(
            "CREATE TABLE IF NOT EXISTS {} (\n{}\n)",
            self.name,
            parts.join(",\n")
        )
    }
}

pub(crate) const TABLES: &[SessionTable] = &[
    SessionTable {
        name: "schema_version",
        columns: &[("version", "INTEGER NOT NULL")],
        constraints: &[],
    },
    SessionTable {
        name: "sessions",
        columns: &[
            ("id", "TEXT PRIMARY KEY"),
            ("source", "TEXT NOT NULL"),
            ("user_id", "TEXT"),
            ("session_key", "TEXT"),
            ("chat_id", "TEXT"),
            ("chat_type", "TEXT"),
            ("thread_id", "TEXT"),
            ("display_name", "TEXT"),
            ("origin_json", "TEXT"),
            ("expiry_finalized", "INTEGER DEFAULT 0"),
            ("model", "TEXT"),
            ("model_config", "TEXT"),
            ("system_prompt", "TEXT"),
            ("parent_session_id", "TEXT"),
            ("started_at", "REAL NOT NULL"),
            ("ended_at", "REAL"),
            ("end_reason", "TEXT"),
            ("message_count", "INTEGER DEFAULT 0"),
            ("tool_call_count", "INTEGER DEFAULT 0"),
            ("input_tokens", "INTEGER DEFAULT 0"),
            ("output_tokens", "INTEGER DEFAULT 0"),
            ("cache_read_tokens", "INTEGER DEFAULT 0"),
            ("cache_write_tokens", "INTEGER DEFAULT 0"),
            ("reasoning_tokens", "INTEGER DEFAULT 0"),
            ("cwd", "TEXT"),
            ("git_branch", "TEXT"),
            ("git_repo_root", "TEXT"),
            ("billing_provider", "TEXT"),
            ("billing_base_url", "TEXT"),
            ("billing_mode", "TEXT"),
            ("estimated_cost_usd", "REAL"),
            ("actual_cost_usd", "REAL"),
            ("cost_status", "TEXT"),
            ("cost_source", "TEXT"),
            ("pricing_version", "TEXT"),
            ("title", "TEXT"),
            ("api_call_count", "INTEGER DEFAULT 0"),
            ("handoff_state", "TEXT"),
            ("handoff_platform", "TEXT"),
            ("handoff_error", "TEXT"),
            ("compression_failure_cooldown_until", "REAL"),
            ("compression_failure_error", "TEXT"),
            ("compression_fallback_streak", "INTEGER NOT NULL DEFAULT 0"),
            ("profile_name", "TEXT"),
            ("rewind_count", "INTEGER NOT NULL DEFAULT 0"),
            ("archived", "INTEGER NOT NULL DEFAULT 0"),
        ],
        constraints: &["FOREIGN KEY (parent_session_id) REFERENCES sessions(id)"],
    },
    SessionTable {
        name: "messages",
        columns: &[
            ("id", "INTEGER PRIMARY KEY AUTOINCREMENT"),
            ("session_id", "TEXT NOT NULL REFERENCES sessions(id)"),
            ("role", "TEXT NOT NULL"),
            ("content", "TEXT"),
            ("tool_call_id", "TEXT"),
            ("tool_calls", "TEXT"),
            ("tool_name", "TEXT"),
            ("effect_disposition", "TEXT"),
            ("timestamp", "REAL NOT NULL"),
            ("token_count", "INTEGER"),
            ("finish_reason", "TEXT"),
            ("reasoning", "TEXT"),
            ("reasoning_content", "TEXT"),
            ("reasoning_details", "TEXT"),
            ("codex_reasoning_items", "TEXT"),
            ("codex_message_items", "TEXT"),
            ("platform_message_id", "TEXT"),
            ("observed", "INTEGER DEFAULT 0"),
            ("active", "INTEGER NOT NULL DEFAULT 1"),
            ("compacted", "INTEGER NOT NULL DEFAULT 0"),
            ("api_content", "TEXT"),
        ],
        constraints: &[],
    },
    SessionTable {
        name: "session_model_usage",
        columns: &[
            (
                "session_id",
                "TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE",
            ),
            ("model", "TEXT NOT NULL"),
            ("billing_provider", "TEXT NOT NULL DEFAULT ''"),
            ("billing_base_url", "TEXT NOT NULL DEFAULT ''"),
            ("billing_mode", "TEXT NOT NULL DEFAULT ''"),
            ("task", "TEXT NOT NULL DEFAULT ''"),
            ("api_call_count", "INTEGER NOT NULL DEFAULT 0"),
            ("input_tokens", "INTEGER NOT NULL DEFAULT 0"),
            ("output_tokens", "INTEGER NOT NULL DEFAULT 0"),
            ("cache_read_tokens", "INTEGER NOT NULL DEFAULT 0"),
            ("cache_write_tokens", "INTEGER NOT NULL DEFAULT 0"),
            ("reasoning_tokens", "INTEGER NOT NULL DEFAULT 0"),
            ("estimated_cost_usd", "REAL NOT NULL DEFAULT 0"),
            ("actual_cost_usd", "REAL NOT NULL DEFAULT 0"),
            ("cost_status", "TEXT"),
            ("cost_source", "TEXT"),
            ("first_seen", "REAL"),
            ("last_seen", "REAL"),
        ],
        constraints: &[
            "PRIMARY KEY (session_id, model, billing_provider, billing_base_url, billing_mode, \
             task)",
        ],
    },
    SessionTable {
        name: "state_meta",
        columns: &[("key", "TEXT PRIMARY KEY"), ("value", "TEXT")],
        constraints: &[],
    },
    SessionTable {
        name: "gateway_routing",
        columns: &[
            ("scope", "TEXT NOT NULL DEFAULT ''"),
            ("session_key", "TEXT NOT NULL"),
            ("entry_json", "TEXT NOT NULL"),
            ("updated_at", "REAL NOT NULL"),
        ],
        constraints: &["PRIMARY KEY (scope, session_key)"],
    },
    SessionTable {
        name: "compression_locks",
        columns: &[
            ("session_id", "TEXT PRIMARY KEY"),
            ("holder", "TEXT NOT NULL"),
            ("acquired_at", "REAL NOT NULL"),
            ("expires_at", "REAL NOT NULL"),
        ],
        constraints: &[],
    },
    SessionTable {
        name: "async_delegations",
        columns: &[
            ("delegation_id", "TEXT PRIMARY KEY"),
            ("origin_session", "TEXT NOT NULL"),
            ("origin_ui_session_id", "TEXT NOT NULL DEFAULT ''"),
            ("parent_session_id", "TEXT"),
            ("state", "TEXT NOT NULL"),
            ("dispatched_at", "REAL NOT NULL"),
            ("completed_at", "REAL"),
            ("updated_at", "REAL NOT NULL"),
            ("event_json", "TEXT"),
            ("result_json", "TEXT"),
            ("delivery_state", "TEXT NOT NULL DEFAULT 'pending'"),
            ("delivery_attempts", "INTEGER NOT NULL DEFAULT 0"),
            ("delivered_at", "REAL"),
            ("owner_pid", "INTEGER"),
            ("owner_started_at", "INTEGER"),
            ("task_json", "TEXT"),
            ("delivery_claim", "TEXT"),
            ("delivery_claimed_at", "REAL"),
        ],
        constraints: &[],
    },
];

/// The unique index of titles. Created apart from the others, because old files may violate it.
pub(crate) const TITLE_INDEX: &str =
    "idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL";

/// Indexes: the name, and what stands behind it in `CREATE INDEX`.
pub(crate) const INDEXES: &[&str] = &[
    "idx_sessions_source ON sessions(source)",
    "idx_sessions_source_id ON sessions(source, id)",
    "idx_sessions_parent ON sessions(parent_session_id)",
    "idx_sessions_started ON sessions(started_at DESC)",
    "idx_messages_session ON messages(session_id, timestamp)",
    "idx_compression_locks_expires ON compression_locks(expires_at)",
    "idx_session_model_usage_session ON session_model_usage(session_id)",
    "idx_session_model_usage_model ON session_model_usage(model)",
    "idx_async_delegations_delivery ON async_delegations(delivery_state, completed_at)",
    "idx_messages_platform_msg_id ON messages(session_id, platform_message_id) WHERE platform_message_id IS NOT NULL",
    "idx_messages_session_active ON messages(session_id, active, timestamp)",
    "idx_messages_active_null ON messages(active) WHERE active IS NULL",
    "idx_sessions_session_key ON sessions(session_key, started_at DESC)",
    "idx_sessions_gateway_peer ON sessions(source, user_id, chat_id, chat_type, thread_id, started_at DESC)",
    "idx_sessions_handoff_state ON sessions(handoff_state, started_at)",
];

/// The name of an index.
pub(crate) fn index_name(index: &str) -> &str {
    index.split(' ').next().unwrap_or_default()
}
