//! The home and what belongs into it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Access, access};

use super::row::{Fix, Report};
use crate::context::Context;

/// Directories that a home in use has.
const EXPECTED: [&str; 6] = ["cron", "sessions", "logs", "memories", "skills", "hooks"];

pub(super) fn check(context: &Context, report: &mut Report) {
    report.section = "Directory Structure";
    let home = &context.location.home;
    let shown = context.display(home);
    match hermes_fs::metadata(home) {
        Ok(meta) if meta.is_dir() => check_access(context, report, home, &meta),
        Ok(_) => {
            report
                .problem("home", format!("{shown} is not a directory"))
                .hint("move it out of the way, or point HERMES_HOME elsewhere");
            return;
        }
        Err(error) if error.is_not_found() => {
            report
                .warning("home", format!("{shown} does not exist yet"))
                .hint("the first command that writes creates it")
                .fix(Fix::EnsureHome);
            return;
        }
        Err(error) => {
            report.problem("home", error.to_string());
            return;
        }
    }
    if hermes_home::backup::is_interrupted(&context.location.root) {
        report
            .problem(
                "interrupted_import",
                "an import was interrupted; some files are old, some new",
            )
            .hint("run any other command to finish it, such as: hermes status");
    }
    let expected = EXPECTED.into_iter();
    let missing: Vec<&str> = expected.filter(|name| !home.join(name).is_dir()).collect();
    if missing.is_empty() {
        report.ok("subdirectories", format!("{} exist", EXPECTED.join(", ")));
    } else {
        report
            .warning("subdirectories", format!("missing: {}", missing.join(", ")))
            .hint("the first command that writes creates them")
            .fix(Fix::EnsureHome);
    }
    if home.join("SOUL.md").is_file() {
        report.ok("soul", "SOUL.md exists");
    } else {
        report
            .warning("soul", "SOUL.md is missing; the agent has no persona")
            .fix(Fix::EnsureHome);
    }
}

fn check_access(context: &Context, report: &mut Report, home: &Path, meta: &std::fs::Metadata) {
    let shown = context.display(home);
    let policy = context.home_policy();
    let mode = meta.permissions().mode() & 0o777;
    if access(home, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        report
            .problem("home", format!("{shown} is not writable"))
            .hint("check its owner, its mode, and whether its file system is read-only");
    } else if mode & 0o077 != 0 && policy.set_dir_modes && policy.new_dir_mode & 0o077 == 0 {
        report
            .warning(
                "home",
                format!("{shown} is open to others (mode {mode:04o})"),
            )
            .fix(Fix::SetMode(home.to_owned(), policy.new_dir_mode));
    } else {
        report.ok("home", format!("{shown} exists, mode {mode:04o}"));
    }
    let (owner, uid) = (meta.uid(), context.system.uid);
    if owner != uid {
        report
            .warning(
                "owner",
                format!("{shown} is owned by user {owner}, but you are user {uid}"),
            )
            .hint("files created now may be unusable for the owner");
    }
}
