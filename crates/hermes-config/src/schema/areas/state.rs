//! What is kept on disk, and for how long.

use super::super::key::{Fallback, Kind, Section, choice, custom, flag, int, whole};

pub(super) const SESSIONS: Section = Section {
    name: "sessions",
    doc: "Stored conversations.",
    open: true,
    keys: &[
        flag(
            "auto_prune",
            false,
            "Whether old sessions are removed by themselves.",
        ),
        int("retention_days", 90, "Days a session is kept."),
        flag(
            "vacuum_after_prune",
            true,
            "Whether the file shrinks afterwards.",
        ),
        whole("min_interval_hours", 24, "Hours between two clean-ups."),
        flag(
            "write_json_snapshots",
            false,
            "Whether each conversation is also written to `sessions/session_<id>.json`.",
        ),
    ],
};

pub(super) const LOGGING: Section = Section {
    name: "logging",
    doc: "Log files.",
    open: true,
    keys: &[
        choice(
            "level",
            &["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"],
            "INFO",
            "Least level written to `agent.log`.",
        ),
        whole("max_size_mb", 5, "Size at which a log is rotated."),
        int("backup_count", 3, "Rotated logs kept."),
        flag(
            "memory_monitor.enabled",
            true,
            "Whether a gateway logs its memory.",
        ),
        int(
            "memory_monitor.interval_seconds",
            300,
            "Seconds between two such lines.",
        ),
    ],
};

pub(super) const UPDATES: Section = Section {
    name: "updates",
    doc: "Updates of the program.",
    open: true,
    keys: &[
        custom(
            "pre_update_backup",
            Kind::BoolOr(&["quick", "full"]),
            Fallback::Text("quick"),
            "Backup made before an update.",
        ),
        int("backup_keep", 5, "Such backups kept."),
    ],
};

pub(super) const NETWORK: Section = Section {
    name: "network",
    doc: "Connections.",
    open: true,
    keys: &[flag("force_ipv4", false, "Whether IPv6 is left alone.")],
};

pub(super) const SESSION_RESET: Section = Section {
    name: "session_reset",
    doc: "When conversations start anew.",
    open: true,
    keys: &[whole(
        "bg_process_max_age_hours",
        24,
        "Hours for which a background process keeps its conversation from starting anew.",
    )],
};
