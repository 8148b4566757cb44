//! Unusable values, for parts of the program that must not run on a default that the user did not
//! choose.
//!
//! Loading goes on with the next layer and lists a problem. A part that depends on a setting asks
//! here whether the layer that should have decided holds something unusable. Never shows a text that
//! may be a secret.

use serde_json::Value;

use super::config::{Config, showable};
use super::file::SettingsFile;
use super::problem::Problem;
use crate::schema::{self, Kind};

/// An unusable value in the highest layer that has one for its key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: expected {expected}, got {found}")]
pub struct WrongValue {
    /// The variable, or the file, line and key.
    pub source_name: String,
    pub expected: String,
    /// What is there: its type, and itself where that cannot be a secret.
    pub found: String,
}

impl WrongValue {
    /// What to do about it.
    pub fn hint(&self) -> String {
        "fix it in the environment, .env or config.yaml, or remove it to use the default".to_owned()
    }
}

impl Config {
    /// The unusable value that should have decided about `key`, if so. A good value in a higher
    /// layer makes all lower ones irrelevant.
    pub fn wrong_value(&self, key: &str) -> Option<WrongValue> {
        let path: Vec<&str> = key.split('.').collect();
        let spec = schema::find(&path)?;
        let of_file = |file: &SettingsFile| self.wrong_in_file(file, key);
        let has_layer = |file: &SettingsFile| {
            let document = file.document();
            document.is_some_and(|document| document.find(&path).is_some())
        };
        if let Some(file) = self.managed_file()
            && has_layer(file)
        {
            return of_file(file);
        }
        let check = |text: Option<&str>| -> Option<Option<WrongValue>> {
            let (var, text) = (spec.var?, text.filter(|text| !text.trim().is_empty())?);
            let wrong = spec.kind.from_text(text).is_none();
            Some(wrong.then(|| WrongValue {
                source_name: var.to_owned(),
                expected: expected(spec.kind),
                found: found(spec, text),
            }))
        };
        let of_environment = spec.var.and_then(|name| self.sources().env.lookup(name));
        if let Some(verdict) = check(of_environment) {
            return verdict;
        }
        if has_layer(self.user_file()) {
            return of_file(self.user_file());
        }
        check(spec.var.and_then(|name| self.dotenv().get(name))).flatten()
    }

    fn wrong_in_file(&self, file: &SettingsFile, wanted: &str) -> Option<WrongValue> {
        self.problems().iter().find_map(|problem| match problem {
            Problem::WrongType {
                file: path,
                line,
                key,
                expected,
                found,
            } if key == wanted && *path == file.path => {
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                Some(WrongValue {
                    source_name: format!("{}{line}: {key}", path.display()),
                    expected: expected.clone(),
                    found: found.clone(),
                })
            }
            _ => None,
        })
    }
}

fn expected(kind: Kind) -> String {
    match kind {
        Kind::List => "a JSON list".to_owned(),
        Kind::Map => "a JSON mapping".to_owned(),
        other => other.expected(),
    }
}

fn found(spec: &schema::Key, text: &str) -> String {
    if matches!(spec.kind, Kind::List | Kind::Map | Kind::ListOrMap) {
        return match serde_json::from_str::<Value>(text.trim()) {
            Err(_) => "text that is not JSON",
            Ok(Value::Null) => "null",
            Ok(Value::Bool(_)) => "true or false",
            Ok(Value::Number(_)) => "a number",
            Ok(Value::String(_)) => "a text",
            Ok(Value::Array(_)) => "a list",
            Ok(Value::Object(_)) => "a mapping",
        }
        .to_owned();
    }
    showable(spec, text).map_or_else(|| "a text".to_owned(), |text| format!("'{text}'"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use crate::{Config, Environment, Sources};

    fn wrong(config: &str, dotenv: &str, env: &[(&str, &str)], key: &str) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("config.yaml", config), (".env", dotenv)] {
            hermes_fs::write_atomic(&dir.path().join(name), text.as_bytes(), 0o600).unwrap();
        }
        let sources = Sources {
            env: Environment::from_pairs(env.iter().copied()),
            home: dir.path().to_owned(),
            managed_dir: None,
            tighten_dotenv: false,
        };
        let found = Config::load_read_only(&sources).wrong_value(key)?;
        let home = format!("{}/", dir.path().display());
        Some(found.to_string().replace(&home, ""))
    }

    #[test]
    fn a_variable_is_named_with_what_it_should_be_and_what_it_is() {
        let of = |name: &str, text: &str, key: &str| wrong("", "", &[(name, text)], key);
        let message = of("TERMINAL_CONTAINER_CPU", "lots", "terminal.container_cpu");
        assert_eq!(
            message.unwrap(),
            "TERMINAL_CONTAINER_CPU: expected a number, got 'lots'"
        );
        let volumes = |text| {
            of("TERMINAL_DOCKER_VOLUMES", text, "terminal.docker_volumes").unwrap_or_default()
        };
        assert_eq!(
            volumes("/a:/b"),
            "TERMINAL_DOCKER_VOLUMES: expected a JSON list, got text that is not JSON"
        );
        assert_eq!(
            volumes("\"--privileged\""),
            "TERMINAL_DOCKER_VOLUMES: expected a JSON list, got a text"
        );
        assert_eq!(
            volumes("{\"a\": 1}"),
            "TERMINAL_DOCKER_VOLUMES: expected a JSON list, got a mapping"
        );
        assert_eq!(volumes("[]"), "");
        assert_eq!(volumes("  "), "");
    }

    #[test]
    fn only_the_layer_that_decides_is_checked() {
        let key = "terminal.container_memory";
        let name = "TERMINAL_CONTAINER_MEMORY";
        let bad_file = "terminal:\n  container_memory: [1]\n";
        let message = wrong(bad_file, "", &[], key).unwrap();
        assert_eq!(
            message,
            "config.yaml:2: terminal.container_memory: expected a whole number, got a list"
        );
        assert_eq!(wrong(bad_file, "", &[(name, "7")], key), None);
        let bad_dotenv = "TERMINAL_CONTAINER_MEMORY=x\n";
        let good_file = "terminal: {container_memory: 5}\n";
        assert_eq!(wrong(good_file, bad_dotenv, &[], key), None);
        assert!(wrong("", bad_dotenv, &[], key).is_some());
        assert!(wrong(good_file, "", &[(name, "x")], key).is_some());
        assert_eq!(wrong("", "", &[], key), None);
        assert_eq!(wrong("", "", &[], "terminal.no_such"), None);
    }
}
