//! SQLite files of the home.

use hermes_store::{Integrity, quick_check_untouched, wal_size};

use super::row::Row;
use crate::context::Context;
use crate::ui::human_size;

const SECTION: &str = "Databases";

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

pub(super) fn check(context: &Context, rows: &mut Vec<Row>) {
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
        rows.push(match quick_check_untouched(&path) {
            Ok(Some(Integrity::Sound)) => Row::ok(SECTION, "database", format!("{name} is intact")),
            Ok(Some(Integrity::Damaged(findings))) => {
                let first = findings.first().map(String::as_str).unwrap_or_default();
                Row::problem(SECTION, "database", format!("{name} is damaged: {first}"))
                    .hint("restore it from a backup or snapshot")
            }
            Ok(None) => Row::ok(
                SECTION,
                "database",
                format!(
                    "{name} was not checked: its write-ahead log is written back at the next start"
                ),
            ),
            Err(error) => Row::problem(SECTION, "database", error.to_string()).hints(error.hint()),
        });
        if let Ok(size) = wal_size(&path)
            && size > LARGE_WAL
        {
            rows.push(
                Row::warning(
                    SECTION,
                    "wal",
                    format!("{name}-wal has grown to {}", human_size(size)),
                )
                .hint("restart what has the database open"),
            );
        }
    }
}
