//! The environment of a child, built from nothing.
//!
//! Every name of the parent passes a rule of the child's class before it is copied. Values are
//! never printed: `Debug` shows names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// What a child is, which decides what it may know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvClass {
    /// The user's own program in the user's own terminal (an editor): everything but secrets and
    /// the marks of an activated Python or Conda environment.
    Interactive,
    /// A tool we call for our own ends (git): a short list of what such tools need.
    Helper,
}

/// Names a helper gets.
const HELPER_NAMES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TZ",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
];

/// Marks of an environment someone activated; inherited, they redirect other people's programs.
const ACTIVATION_MARKERS: &[&str] = &[
    "VIRTUAL_ENV",
    "VIRTUAL_ENV_PROMPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "POETRY_ACTIVE",
    "PIPENV_ACTIVE",
    "UV_PROJECT_ENVIRONMENT",
];

/// Last words of a name that say "this is a secret".
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "PWD",
    "PAT",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
    "DSN",
];

/// Names that look like secrets and are none: a socket, a directory, a file of the display.
const NOT_SECRET: &[&str] = &["SSH_AUTH_SOCK", "XAUTHORITY", "PWD", "OLDPWD"];

/// Variables for one child.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ChildEnv {
    values: BTreeMap<OsString, OsString>,
}

impl std::fmt::Debug for ChildEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl ChildEnv {
    /// Copies from the parent's variables what the class allows.
    pub fn for_class<'a>(
        class: EnvClass,
        parent: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
    ) -> Self {
        let values = parent
            .into_iter()
            .filter(|(name, _)| is_allowed(class, name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Self { values }
    }

    /// Adds or replaces one variable, past the rules of the class.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// The names the child will see, in order.
    pub fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.values.keys().map(OsString::as_os_str)
    }

    /// The value the child will see.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.values.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.values.iter()
    }
}

fn is_allowed(class: EnvClass, name: &OsStr) -> bool {
    // A name that is not Unicode has no rule that lets it pass.
    let Some(name) = name.to_str() else {
        return false;
    };
    match class {
        EnvClass::Interactive => !is_activation_marker(name) && !looks_secret(name),
        EnvClass::Helper => {
            let upper = name.to_ascii_uppercase();
            // Proxies are commonly written in lower case; the other names have one spelling.
            HELPER_NAMES.contains(&name)
                || name.starts_with("LC_")
                || (upper.ends_with("_PROXY") && HELPER_NAMES.contains(&upper.as_str()))
        }
    }
}

fn is_activation_marker(name: &str) -> bool {
    ACTIVATION_MARKERS.contains(&name) || name.starts_with("CONDA_")
}

fn looks_secret(name: &str) -> bool {
    if NOT_SECRET.contains(&name) {
        return false;
    }
    let upper = name.to_ascii_uppercase();
    upper == "DATABASE_URL"
        || upper.split('_').any(|word| SECRET_WORDS.contains(&word))
        || ["TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "APIKEY"]
            .iter()
            .any(|word| upper.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(class: EnvClass, parent: &[&str]) -> Vec<String> {
        let pairs = parent.iter().map(|n| (OsStr::new(*n), OsStr::new("v")));
        ChildEnv::for_class(class, pairs)
            .names()
            .map(|n| n.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn an_editor_gets_everything_but_secrets_and_activation_marks() {
        let kept = [
            "DISPLAY",
            "EDITOR",
            "HERMES_HOME",
            "KEYBOARD_LAYOUT",
            "OLDPWD",
            "PATH",
            "PWD",
            "SSH_AUTH_SOCK",
            "XAUTHORITY",
        ];
        let dropped = [
            "OPENROUTER_API_KEY",
            "openai_api_key",
            "GH_TOKEN",
            "GITHUB_PAT",
            "AWS_SECRET_ACCESS_KEY",
            "MYPASSWORD",
            "PGPASSWORD",
            "SENTRY_DSN",
            "DATABASE_URL",
            "HTTP_BASIC_AUTH",
            "VIRTUAL_ENV",
            "PYTHONPATH",
            "PYTHONHOME",
            "CONDA_PREFIX",
            "POETRY_ACTIVE",
        ];
        let parent: Vec<&str> = kept.iter().chain(&dropped).copied().collect();
        assert_eq!(names(EnvClass::Interactive, &parent), kept);
    }

    #[test]
    fn a_helper_gets_its_list() {
        let parent = [
            "PATH",
            "HOME",
            "LC_ALL",
            "https_proxy",
            "HTTPS_PROXY",
            "GIT_DIR",
            "GIT_SSH_COMMAND",
            "LD_PRELOAD",
            "EVIL_PROXY",
            "HERMES_HOME",
            "GH_TOKEN",
        ];
        assert_eq!(
            names(EnvClass::Helper, &parent),
            ["HOME", "HTTPS_PROXY", "LC_ALL", "PATH", "https_proxy"]
        );
    }

    #[test]
    fn debug_shows_no_value() {
        let env = ChildEnv::default().with("A", "hunter2");
        assert_eq!(format!("{env:?}"), r#"{"A"}"#);
    }

    proptest! {
        #[test]
        fn no_secret_reaches_either_class(prefix in "[A-Z]{0,8}", word in 0..SECRET_WORDS.len()) {
            let name = format!("{prefix}X_{}", SECRET_WORDS.get(word).copied().unwrap_or("KEY"));
            prop_assert!(names(EnvClass::Interactive, &[&name]).is_empty());
            prop_assert!(names(EnvClass::Helper, &[&name]).is_empty());
        }
    }
}
