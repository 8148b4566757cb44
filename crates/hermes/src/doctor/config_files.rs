//! `config.yaml` and `.env`.

use std::os::unix::fs::PermissionsExt;

use hermes_config::schema::CONFIG_VERSION;
use hermes_config::settings::{FileState, Problem, version_of};
use hermes_config::{literal_secrets, python_runtime};

use super::row::{Fix, Row};
use crate::context::Context;

const SECTION: &str = "Configuration Files";

pub(super) fn check(context: &Context, rows: &mut Vec<Row>) {
    check_file(context, rows);
    check_dotenv(context, rows);
    check_problems(context, rows);
    check_zone(context, rows);
    let python_only = python_runtime::in_use(context.config());
    if !python_only.is_empty() {
        let text = format!("{}: {}", python_runtime::NOTE, python_only.join(", "));
        rows.push(Row::ok(SECTION, "python_only", text));
    }
    let conflicts = context.config().conflicting_names();
    if !conflicts.is_empty() {
        rows.push(
            Row::warning(
                SECTION,
                "env_conflict",
                format!(
                    "set to different values in the environment and in .env: {}",
                    conflicts.join(", ")
                ),
            )
            .hint("the environment wins; remove one of the two"),
        );
    }
}

fn check_file(context: &Context, rows: &mut Vec<Row>) {
    let file = context.config().user_file();
    let shown = context.display(&file.path);
    let document = match &file.state {
        FileState::Absent => {
            rows.push(Row::ok(
                SECTION,
                "config",
                format!("{shown} is not there; defaults are in effect"),
            ));
            return;
        }
        // Reported among the problems, with the reason.
        FileState::Broken(_) => return,
        FileState::Parsed(document) => document,
    };
    rows.push(Row::ok(SECTION, "config", format!("{shown} parses")));
    let version = version_of(Some(document));
    rows.push(match version.cmp(&CONFIG_VERSION) {
        std::cmp::Ordering::Equal => Row::ok(
            SECTION,
            "config_version",
            format!("schema version {version}"),
        ),
        std::cmp::Ordering::Less => Row::warning(
            SECTION,
            "config_version",
            format!("schema version {version}, current is {CONFIG_VERSION}"),
        )
        .hint("hermes config migrate")
        .fix(Fix::MigrateConfig),
        std::cmp::Ordering::Greater => Row::warning(
            SECTION,
            "config_version",
            format!("schema version {version} is newer than {CONFIG_VERSION}; used as it is"),
        ),
    });
    let literals = literal_secrets(document);
    if !literals.is_empty() {
        let keys: Vec<String> = literals.iter().map(|path| path.join(".")).collect();
        rows.push(
            Row::warning(
                SECTION,
                "literal_secrets",
                format!("secrets in plain text: {}", keys.join(", ")),
            )
            .hint("keep them in .env and write ${NAME} here"),
        );
    }
    let misplaced: Vec<String> = document
        .root()
        .entries()
        .iter()
        .map(|entry| entry.key.clone())
        .filter(|key| hermes_config::dotenv::is_known_name(key))
        .collect();
    if !misplaced.is_empty() {
        rows.push(
            Row::warning(
                SECTION,
                "misplaced_keys",
                format!("variables in config.yaml: {}", misplaced.join(", ")),
            )
            .hint("they belong into .env")
            .fix(Fix::MoveVariables(misplaced)),
        );
    }
}

fn check_dotenv(context: &Context, rows: &mut Vec<Row>) {
    let path = context.config().sources().dotenv_path();
    let shown = context.display(&path);
    let meta = match hermes_fs::metadata(&path) {
        Ok(meta) => meta,
        Err(error) if error.is_not_found() => {
            rows.push(Row::ok(
                SECTION,
                "dotenv",
                format!("{shown} is not there; no secrets are kept"),
            ));
            return;
        }
        // Reported among the problems, with the reason.
        Err(_) => return,
    };
    let mode = meta.permissions().mode() & 0o777;
    rows.push(
        if mode & 0o077 == 0 || !context.home_policy().tighten_files {
            Row::ok(
                SECTION,
                "dotenv",
                format!("{shown} exists, mode {mode:04o}"),
            )
        } else {
            Row::problem(
                SECTION,
                "dotenv",
                format!("{shown} can be read by others (mode {mode:04o})"),
            )
            .hint(format!("chmod 600 {}", path.display()))
            .fix(Fix::SetMode(path, 0o600))
        },
    );
}

fn check_zone(context: &Context, rows: &mut Vec<Row>) {
    let name = context.config().text("timezone");
    if name.is_empty() || hermes_time::named(name).is_some() {
        return;
    }
    let text = format!("timezone is '{name}', which this machine does not know");
    rows.push(
        Row::warning(SECTION, "timezone", text)
            .hint("times are shown in the machine's zone; write one such as Europe/Berlin"),
    );
}

fn check_problems(context: &Context, rows: &mut Vec<Row>) {
    for problem in context.config().problems() {
        let row = match problem {
            Problem::Broken { .. } => Row::problem(SECTION, "config_broken", problem.to_string()),
            Problem::DotEnv { .. } => Row::problem(SECTION, "dotenv_broken", problem.to_string()),
            Problem::UnknownKey { .. } => Row::warning(SECTION, "unknown_key", problem.to_string()),
            Problem::WrongType { .. } => Row::problem(SECTION, "wrong_type", problem.to_string()),
            Problem::BadVariable { .. } => {
                Row::problem(SECTION, "bad_variable", problem.to_string())
            }
        };
        rows.push(row.hints(problem.hint()));
    }
}
