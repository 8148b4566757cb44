//! SQLite files of the home.

use hermes_store::{Integrity, quick_check_untouched, wal_size};

use super::row::Report;
use crate::context::Context;
use crate::ui::human_size;

/// Files of the profile, then of the root.
const FILES: [&str; 5] = [
    "state.db",
    "response_store.db",
    "memory_store.db",
    "projects.db",
    "kanban.db",
];

/// A write-ahead log of this size means that no process checkpoints.
const LARGE_WAL: u64 = 64 << 20;

pub(super) fn check(context: &Context, report: &mut Report) {
    report.section = "Databases";
    for name in FILES {
        let dir = if name == "kanban.db" {
            &context.location.root
        } else {
            &context.location.home
        };
        let path = dir.join(name);
        if !path.is_file() {
            continue;
        }
        match quick_check_untouched(&path) {
            Ok(Some(Integrity::Sound)) => report.ok("database", format!("{name} is intact")),
            Ok(Some(Integrity::Damaged(findings))) => {
                let first = findings.first().map(String::as_str).unwrap_or_default();
                report
                    .problem("database", format!("{name} is damaged: {first}"))
                    .hint("restore it from a backup or snapshot");
            }
            Ok(None) => report.ok(
                "database",
                format!(
                    "{name} was not checked: its write-ahead log will be checkpointed at the next \
                     start"
                ),
            ),
            Err(error) => {
                report
                    .problem("database", error.to_string())
                    .hints(error.hint());
            }
        }
        if let Ok(size) = wal_size(&path)
            && size > LARGE_WAL
        {
            let size = human_size(size);
            report
                .warning("wal", format!("{name}-wal has grown to {size}"))
                .hint("restart the processes that have the database open");
        }
    }
}
