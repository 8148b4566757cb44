//! `config.yaml` and `.env`.

use std::cmp::Ordering;
use std::os::unix::fs::PermissionsExt;

use hermes_board::WorkspaceRules;
use hermes_config::schema::CONFIG_VERSION;
use hermes_config::settings::{FileState, Problem, version_of};
use hermes_config::{literal_secrets, python_runtime};
use hermes_runtime::workspace_rules;

use super::row::{Fix, Report};
use crate::context::Context;
use crate::ui::Mark;

pub(super) fn check(context: &Context, problems: &[Problem], report: &mut Report) {
    report.section = "Configuration Files";
    check_file(context, report);
    check_dotenv(context, report);
    check_problems(problems, report);
    let zone = context.config().text("timezone");
    if !zone.is_empty() && hermes_time::named(zone).is_none() {
        let text = format!("timezone '{zone}' is not known on this machine");
        report
            .warning("timezone", text)
            .hint("times are shown in the machine's timezone; use a name such as Europe/Berlin");
    }
    for complaint in workspace_rules(context).complaints {
        report
            .warning("workspace_roots", complaint)
            .hint(WorkspaceRules::ROOTS_HINT);
    }
    let python_only = python_runtime::in_use(context.config());
    if !python_only.is_empty() {
        let text = format!("{}: {}", python_runtime::NOTE, python_only.join(", "));
        report.ok("python_only", text);
    }
    let conflicts = context.config().conflicting_names();
    if !conflicts.is_empty() {
        let text = format!(
            "set to different values in the environment and in .env: {}",
            conflicts.join(", ")
        );
        report
            .warning("env_conflict", text)
            .hint("the environment wins; remove one of the two");
    }
}

fn check_file(context: &Context, report: &mut Report) {
    let file = context.config().user_file();
    let shown = context.display(&file.path);
    let document = match &file.state {
        FileState::Absent => {
            report.ok(
                "config",
                format!("{shown} does not exist; defaults are in effect"),
            );
            return;
        }
        // Reported among the problems, with the reason.
        FileState::Broken(_) => return,
        FileState::Parsed(document) => document,
    };
    report.ok("config", format!("{shown} parses"));
    let version = version_of(Some(document));
    let text = format!("schema version {version}");
    match version.cmp(&CONFIG_VERSION) {
        Ordering::Equal => report.ok("config_version", text),
        Ordering::Less => report
            .warning(
                "config_version",
                format!("{text}, current is {CONFIG_VERSION}"),
            )
            .hint("hermes config migrate")
            .fix(Fix::MigrateConfig),
        Ordering::Greater => {
            let text = format!("{text} is newer than {CONFIG_VERSION}; used as it is");
            report.warning("config_version", text);
        }
    }
    let literals = literal_secrets(document);
    if !literals.is_empty() {
        let keys: Vec<String> = literals.iter().map(|path| path.join(".")).collect();
        report
            .warning(
                "literal_secrets",
                format!("secrets in plain text: {}", keys.join(", ")),
            )
            .hint("move them to .env and refer to them as ${NAME} here");
    }
    let entries = document.root().entries().iter();
    let misplaced: Vec<String> = entries
        .map(|entry| entry.key.clone())
        .filter(|key| hermes_config::dotenv::is_known_name(key))
        .collect();
    if !misplaced.is_empty() {
        let text = format!("variables in config.yaml: {}", misplaced.join(", "));
        report
            .warning("misplaced_keys", text)
            .hint("they belong in .env")
            .fix(Fix::MoveVariables(misplaced));
    }
}

fn check_dotenv(context: &Context, report: &mut Report) {
    let path = context.config().sources().dotenv_path();
    let shown = context.display(&path);
    let meta = match hermes_fs::metadata(&path) {
        Ok(meta) => meta,
        Err(error) if error.is_not_found() => {
            report.ok(
                "dotenv",
                format!("{shown} does not exist; no secrets are stored"),
            );
            return;
        }
        // Reported among the problems, with the reason.
        Err(_) => return,
    };
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 == 0 || !context.home_policy().tighten_files {
        report.ok("dotenv", format!("{shown} exists, mode {mode:04o}"));
    } else {
        report
            .problem(
                "dotenv",
                format!("{shown} can be read by others (mode {mode:04o})"),
            )
            .hint(format!("chmod 600 {}", path.display()))
            .fix(Fix::SetMode(path, 0o600));
    }
}

fn check_problems(problems: &[Problem], report: &mut Report) {
    for problem in problems {
        let (id, mark) = match problem {
            Problem::Broken { .. } => ("config_broken", Mark::Problem),
            Problem::DotEnv { .. } => ("dotenv_broken", Mark::Problem),
            Problem::DotEnvLine { .. } => ("dotenv_line", Mark::Warning),
            Problem::UnknownKey { .. } => ("unknown_key", Mark::Warning),
            Problem::WrongType { .. } => ("wrong_type", Mark::Problem),
            Problem::BadVariable { .. } => ("bad_variable", Mark::Problem),
        };
        report
            .add(id, mark, problem.to_string())
            .hints(problem.hint());
    }
}
