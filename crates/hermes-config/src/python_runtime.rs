//! What Hermes keeps for the Python runtime and does not act on itself: one table, which
//! `config check`, `doctor` and the generated pages show. `cargo xtask check surface` fails for a
//! setting, variable or argument that is neither read nor listed here, and for one that is both.

use serde_json::Value;

use crate::settings::Config;
use crate::vars::{self, Var};

/// How everything in this table is described to people.
pub const NOTE: &str = "used by the Python runtime only";

/// Settings, one per line, sorted. An entry covers everything below it; `*` stands for any name. An
/// entry with `!` before it is read here, whatever else covers it.
const SETTINGS: &str = include_str!("python_settings.txt");

/// Variables, except those that override one of these settings.
const VARIABLES: &[&Var] = &[
    &vars::HERMES_DEBUG_INTERRUPT,
    &vars::TERMINAL_DISK_WARNING_GB,
];

/// Whether only the Python runtime uses the setting of this dotted path.
pub fn is_setting(path: &str) -> bool {
    let is_read = SETTINGS
        .lines()
        .filter_map(|entry| entry.strip_prefix('!'))
        .any(|entry| covers(entry, path));
    !is_read && SETTINGS.lines().any(|entry| covers(entry, path))
}

/// Whether only the Python runtime uses a variable.
pub fn is_variable(name: &str) -> bool {
    let mut overridden = crate::schema::keys()
        .filter(|(_, key)| key.var == Some(name))
        .peekable();
    VARIABLES.iter().any(|var| var.name == name)
        || overridden.peek().is_some() && overridden.all(|(path, _)| is_setting(&path))
}

fn covers(entry: &str, path: &str) -> bool {
    let mut segments = path.split('.');
    entry.split('.').all(|wanted| {
        let segment = segments.next();
        segment.is_some_and(|segment| wanted == "*" || wanted == segment)
    })
}

/// The settings and variables of this configuration that have no effect here, as the user wrote
/// them, sorted.
pub fn in_use(config: &Config) -> Vec<String> {
    let mut found = Vec::new();
    for file in [Some(config.user_file()), config.managed_file()]
        .into_iter()
        .flatten()
    {
        if let Some(document) = file.document() {
            collect(document.value(), &mut Vec::new(), &mut found);
        }
    }
    let overriding = crate::schema::keys().filter_map(|(_, key)| key.var);
    let set = VARIABLES
        .iter()
        .map(|var| var.name)
        .chain(overriding)
        .filter(|name| {
            let value = config
                .sources()
                .env
                .lookup(name)
                .or_else(|| config.dotenv().get(name));
            value.is_some_and(|value| !value.trim().is_empty()) && is_variable(name)
        });
    found.extend(set.map(str::to_owned));
    found.sort();
    found.dedup();
    found
}

fn collect<'v>(value: &'v Value, path: &mut Vec<&'v str>, found: &mut Vec<String>) {
    let Value::Object(map) = value else { return };
    for (key, value) in map {
        path.push(key);
        let whole = path.join(".");
        if is_setting(&whole) {
            found.push(whole);
        } else {
            collect(value, path, found);
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::{Environment, Sources};

    #[test]
    fn an_entry_covers_itself_and_what_is_below() {
        assert!(covers("cron", "cron.provider") && covers("cron", "cron"));
        assert!(covers("platforms.*.token", "platforms.telegram.token"));
        assert!(!covers("cron", "crone") && !covers("cron.provider", "cron"));
    }

    #[test]
    fn every_entry_is_a_setting_or_a_group_of_settings() {
        for entry in SETTINGS.lines() {
            let entry = entry.trim_start_matches('!');
            let known = crate::schema::keys().any(|(path, _)| covers(entry, &path))
                || crate::schema::sections().any(|section| section.name == entry)
                || crate::schema::reference_defaults(entry).is_some();
            assert!(known, "{entry}");
        }
        assert!(SETTINGS.lines().is_sorted());
    }

    #[test]
    fn settings_and_variables_of_the_python_runtime_are_named() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            hermes_fs::write_atomic(&home.path().join(name), text.as_bytes(), 0o600).unwrap();
        };
        write(
            "config.yaml",
            "terminal: {modal_mode: auto, timeout: 9}\nstt: {provider: x}\n",
        );
        write(".env", "TERMINAL_MODAL_IMAGE=x\nTERMINAL_TIMEOUT=9\n");
        let sources = Sources {
            env: Environment::from_pairs([("HERMES_DEBUG_INTERRUPT", "1")]),
            home: home.path().to_owned(),
            managed_dir: None,
            tighten_dotenv: false,
        };
        assert_eq!(
            in_use(&Config::load_read_only(&sources)),
            [
                "HERMES_DEBUG_INTERRUPT",
                "TERMINAL_MODAL_IMAGE",
                "stt",
                "terminal.modal_mode"
            ]
        );
    }
}
