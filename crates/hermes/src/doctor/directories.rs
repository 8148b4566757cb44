//! The home and what belongs into it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Access, access};

use super::row::{Fix, Row};
use crate::context::Context;

const SECTION: &str = "Directory Structure";

/// Directories that a home in use has.
const EXPECTED: [&str; 6] = ["cron", "sessions", "logs", "memories", "skills", "hooks"];

pub(super) fn check(context: &Context, rows: &mut Vec<Row>) {
    let home = &context.location.home;
    let shown = context.display(home);
    let meta = match hermes_fs::metadata(home) {
        Ok(meta) => meta,
        Err(error) if error.is_not_found() => {
            rows.push(
                Row::warning(SECTION, "home", format!("{shown} is not there yet"))
                    .hint("it is made by the first command that writes")
                    .fix(Fix::EnsureHome),
            );
            return;
        }
        Err(error) => {
            rows.push(Row::problem(SECTION, "home", error.to_string()));
            return;
        }
    };
    if !meta.is_dir() {
        rows.push(
            Row::problem(SECTION, "home", format!("{shown} is not a directory"))
                .hint("move it away, or set HERMES_HOME elsewhere"),
        );
        return;
    }
    check_access(context, rows, home, &meta);
    if hermes_home::backup::is_interrupted(&context.location.root) {
        rows.push(
            Row::problem(
                SECTION,
                "interrupted_import",
                "an import was interrupted; some files are old, some new",
            )
            .hint("any other command finishes it, such as: hermes status"),
        );
    }
    let missing: Vec<&str> = EXPECTED
        .into_iter()
        .filter(|name| !home.join(name).is_dir())
        .collect();
    rows.push(if missing.is_empty() {
        Row::ok(
            SECTION,
            "subdirectories",
            format!("{} exist", EXPECTED.join(", ")),
        )
    } else {
        Row::warning(
            SECTION,
            "subdirectories",
            format!("missing: {}", missing.join(", ")),
        )
        .hint("they are made by the first command that writes")
        .fix(Fix::EnsureHome)
    });
    let soul = home.join("SOUL.md").is_file();
    rows.push(if soul {
        Row::ok(SECTION, "soul", "SOUL.md exists")
    } else {
        Row::warning(
            SECTION,
            "soul",
            "SOUL.md is missing; the agent has no persona",
        )
        .fix(Fix::EnsureHome)
    });
}

fn check_access(context: &Context, rows: &mut Vec<Row>, home: &Path, meta: &std::fs::Metadata) {
    let shown = context.display(home);
    let policy = context.home_policy();
    let mode = meta.permissions().mode() & 0o777;
    if access(home, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        rows.push(
            Row::problem(SECTION, "home", format!("{shown} cannot be written"))
                .hint("check its owner, its mode, and whether its file system is read-only"),
        );
    } else if mode & 0o077 != 0 && policy.set_dir_modes && policy.new_dir_mode & 0o077 == 0 {
        rows.push(
            Row::warning(
                SECTION,
                "home",
                format!("{shown} is open to others (mode {mode:04o})"),
            )
            .fix(Fix::SetMode(home.to_owned(), policy.new_dir_mode)),
        );
    } else {
        rows.push(Row::ok(
            SECTION,
            "home",
            format!("{shown} exists, mode {mode:04o}"),
        ));
    }
    if meta.uid() != context.system.uid {
        rows.push(
            Row::warning(
                SECTION,
                "owner",
                format!(
                    "{shown} belongs to user {}, you are user {}",
                    meta.uid(),
                    context.system.uid
                ),
            )
            .hint("files made now may be unusable for its owner"),
        );
    }
}
