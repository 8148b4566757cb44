//! What is kept on disk, and for how long.

use super::super::key::{Fallback, Kind, choice, custom, flag, int, whole};

sections! {
    /// Stored conversations.
    "sessions" open = true {
        /// Whether old sessions are removed automatically.
        "auto_prune": flag(false);
        /// Days a session is kept.
        "retention_days": int(90);
        /// Whether the database is vacuumed afterwards.
        "vacuum_after_prune": flag(true);
        /// Hours between two clean-ups.
        "min_interval_hours": whole(24);
        /// Whether each conversation is also written to `sessions/session_<id>.json`.
        "write_json_snapshots": flag(false);
    }

    /// Snapshots of files before the agent changes them.
    "checkpoints" open = true {
        /// Whether a directory is snapshotted before its files are changed.
        "enabled": flag(false);
        /// Snapshots kept of one directory.
        "max_snapshots": whole(20);
        /// Megabytes of all snapshots together; 0 for any number.
        "max_total_size_mb": whole(500);
        /// Larger files are not snapshotted; 0 for any size.
        "max_file_size_mb": whole(10);
        /// Whether old snapshots are removed automatically.
        "auto_prune": flag(true);
        /// Days the snapshots of a directory are kept after the last one; 0 for ever.
        "retention_days": whole(7);
        /// Whether snapshots of directories that are gone are removed.
        "delete_orphans": flag(true);
        /// Hours between two clean-ups.
        "min_interval_hours": whole(24);
    }

    /// Log files.
    "logging" open = true {
        /// Lowest level written to `agent.log`.
        "level": choice(&["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], "INFO");
        /// Size at which a log is rotated.
        "max_size_mb": whole(5);
        /// Rotated logs kept.
        "backup_count": int(3);
        /// Whether a gateway logs its memory.
        "memory_monitor.enabled": flag(true);
        /// Seconds between two such lines.
        "memory_monitor.interval_seconds": int(300);
    }

    /// Updates of the program.
    "updates" open = true {
        /// Backup made before an update.
        "pre_update_backup": custom(Kind::BoolOr(&["quick", "full"]), Fallback::Text("quick"));
        /// Such backups kept.
        "backup_keep": int(5);
    }

    /// Connections.
    "network" open = true {
        /// Whether IPv6 is avoided.
        "force_ipv4": flag(false);
    }
}
