//! Finding a setting by its dotted path.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::areas::sections;
use super::key::{Key, Kind, Section};

/// What the schema says of a path.
#[derive(Debug, Clone, Copy)]
pub enum Known {
    Key(&'static Key),
    Group,
    /// Below a mapping whose keys are the user's, or in a section that others own.
    Free,
    Unknown,
}

/// All settings with their full dotted path.
pub fn keys() -> impl Iterator<Item = (String, &'static Key)> {
    sections().flat_map(|section| {
        section
            .keys
            .iter()
            .map(move |key| (section.path_of(key), key))
    })
}

/// The setting of that path.
pub fn find<S: AsRef<str>>(path: &[S]) -> Option<&'static Key> {
    match classify(path) {
        Known::Key(key) => Some(key),
        Known::Group | Known::Free | Known::Unknown => None,
    }
}

/// What a path is to the schema.
pub fn classify<S: AsRef<str>>(path: &[S]) -> Known {
    let Some((first, rest)) = path.split_first() else {
        return Known::Group;
    };
    let first = first.as_ref();
    // `_config_version` and its like are ours; `SOME_NAME: value` fills in for a variable.
    let variable = first
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if first.starts_with('_') || variable {
        return Known::Free;
    }
    let Some(section) = sections().find(|section| section.name == first) else {
        return Known::Unknown;
    };
    let mut best = if section.open {
        Known::Free
    } else {
        Known::Unknown
    };
    for key in section.keys {
        let segments = || key.path.split('.').filter(|s| !s.is_empty());
        let count = segments().count();
        let shared = segments()
            .zip(rest)
            .take_while(|(want, have)| *want == "*" || *want == have.as_ref())
            .count();
        if shared == count && shared == rest.len() {
            return Known::Key(key);
        }
        if shared == rest.len() {
            best = Known::Group;
        } else if shared == count && takes_anything_below(key.kind) {
            best = Known::Free;
        }
    }
    if rest.is_empty() && !section.keys.is_empty() {
        Known::Group
    } else {
        best
    }
}

fn takes_anything_below(kind: Kind) -> bool {
    matches!(kind, Kind::Map | Kind::List | Kind::ListOrMap)
}

/// The tree of defaults.
pub(crate) fn defaults() -> Value {
    let with_defaults = sections().filter_map(|section| {
        let defaults = defaults_of(section.name)?;
        Some((section.name.to_owned(), defaults.clone()))
    });
    Value::Object(with_defaults.collect())
}

/// The defaults of a section, made when they are first asked for.
pub(crate) fn defaults_of(name: &str) -> Option<&'static Value> {
    static MADE: OnceLock<Vec<OnceLock<Option<Value>>>> = OnceLock::new();
    let made = MADE.get_or_init(|| sections().map(|_| OnceLock::new()).collect());
    let (section, defaults) = sections()
        .zip(made)
        .find(|(section, _)| section.name == name)?;
    defaults.get_or_init(|| make_defaults(section)).as_ref()
}

fn make_defaults(section: &Section) -> Option<Value> {
    let mut settings = Map::new();
    let mut own = None;
    for key in section.keys.iter().filter(|key| !key.path.contains('*')) {
        let Some(value) = key.default.value() else {
            continue;
        };
        if key.path.is_empty() {
            own = Some(value);
        } else {
            put_below(&mut settings, key.path, value);
        }
    }
    // A section that may be a value (`model`) and has settings keeps the settings.
    if settings.is_empty() {
        own
    } else {
        Some(Value::Object(settings))
    }
}

fn put_below(map: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        map.insert(path.to_owned(), value);
        return;
    };
    let below = map
        .entry(first)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(below) = below {
        put_below(below, rest, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Known {
        classify(&path.split('.').collect::<Vec<_>>())
    }

    #[test]
    fn paths_are_told_apart() {
        assert!(matches!(of("terminal.timeout"), Known::Key(_)));
        assert!(matches!(of("terminal"), Known::Group));
        assert!(matches!(of("gateway.restart_loop_guard"), Known::Group));
        assert!(matches!(of("terminal.bakend"), Known::Unknown));
        assert!(matches!(of("bogus"), Known::Unknown));
        assert!(matches!(of("terminal.docker_env.FOO"), Known::Free));
        assert!(matches!(of("platforms.telegram.enabled"), Known::Key(_)));
        assert!(matches!(of("platforms.telegram.extra.port"), Known::Free));
        assert!(matches!(of("tts.provider"), Known::Free));
        assert!(matches!(of("tts"), Known::Free));
        assert!(matches!(of("model"), Known::Key(_)));
        assert!(matches!(of("file_read_max_chars"), Known::Key(_)));
        assert!(matches!(of("file_read_max_chars.x"), Known::Unknown));
        assert!(matches!(of("timezone"), Known::Key(_)));
        assert!(matches!(of("_config_version"), Known::Free));
    }

    #[test]
    fn every_default_fits_its_own_type() {
        for (path, key) in keys() {
            if let Some(value) = key.default.value() {
                assert!(key.kind.accept(&value).is_some(), "{path}: {value}");
            }
            assert!(!key.doc.is_empty(), "{path}");
        }
    }

    #[test]
    fn every_terminal_setting_has_its_variable() {
        for (path, key) in keys() {
            let Some(name) = path.strip_prefix("terminal.") else {
                continue;
            };
            let expected = match name {
                "backend" => "TERMINAL_ENV".to_owned(),
                "sudo_password" => "SUDO_PASSWORD".to_owned(),
                "sandbox" => "HERMES_TERMINAL_SANDBOX".to_owned(),
                other => format!("TERMINAL_{}", other.to_ascii_uppercase()),
            };
            assert_eq!(key.var, Some(expected.as_str()), "{path}");
        }
    }

    #[test]
    fn defaults_make_a_tree() {
        let tree = defaults();
        assert_eq!(tree["terminal"]["timeout"], 180);
        assert_eq!(tree["gateway"]["restart_loop_guard"]["max_restarts"], 3);
        assert_eq!(tree["timezone"], "");
        assert_eq!(tree["model"], "");
    }
}
