//! The process environment, read once.
//!
//! Nothing else in the product reads environment variables, and nothing at all changes them:
//! settings are passed by value, and children get an environment built for them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use crate::vars::Var;

/// A snapshot of environment variables. Cheap to clone. Never printed: values may be secrets.
#[derive(Clone)]
pub struct Environment {
    values: Arc<BTreeMap<OsString, OsString>>,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Environment({} variables)", self.values.len())
    }
}

impl Environment {
    /// Takes the snapshot. Called once, by `main`.
    #[expect(clippy::disallowed_methods, reason = "this is the one reader")]
    pub fn from_process() -> Self {
        Self::from_pairs(std::env::vars_os())
    }

    /// An environment made of these pairs.
    pub fn from_pairs<K: Into<OsString>, V: Into<OsString>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let values = pairs
            .into_iter()
            .map(|(k, v)| (k.into(), v.into()))
            .collect();
        Self {
            values: Arc::new(values),
        }
    }

    /// The same environment with one more or one changed variable.
    #[must_use]
    pub fn with(&self, var: &Var, value: impl Into<OsString>) -> Self {
        let mut values = BTreeMap::clone(&self.values);
        values.insert(var.name.into(), value.into());
        Self {
            values: Arc::new(values),
        }
    }

    /// The same environment without these variables.
    #[must_use]
    pub fn without(&self, vars: &[Var]) -> Self {
        let mut values = BTreeMap::clone(&self.values);
        values.retain(|name, _| !vars.iter().any(|var| name == var.name));
        Self {
            values: Arc::new(values),
        }
    }

    /// The raw value, set and not empty.
    pub fn os(&self, var: &Var) -> Option<&OsStr> {
        self.values
            .get(OsStr::new(var.name))
            .map(OsString::as_os_str)
            .filter(|v| !v.is_empty())
    }

    /// The value as trimmed text. Blank or not Unicode counts as unset.
    pub fn text(&self, var: &Var) -> Option<&str> {
        self.lookup(var.name)
            .map(str::trim)
            .filter(|v| !v.is_empty())
    }

    /// Whether the variable says yes: `1`, `true`, `yes` or `on`, in any case.
    pub fn flag(&self, var: &Var) -> bool {
        self.text(var).is_some_and(is_truthy)
    }

    /// Whether the variable is set to anything but the empty string.
    pub fn is_set(&self, var: &Var) -> bool {
        self.os(var).is_some()
    }

    /// A variable that the user names (`${NAME}` in a setting, a secret in `config get`).
    pub fn lookup(&self, name: &str) -> Option<&str> {
        self.values.get(OsStr::new(name)).and_then(|v| v.to_str())
    }

    /// Everything, for building the environment of a child.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.values
            .iter()
            .map(|(k, v)| (k.as_os_str(), v.as_os_str()))
    }
}

/// Whether a variable says yes, as the reference understands it.
pub fn is_truthy(text: &str) -> bool {
    ["1", "true", "yes", "on"]
        .iter()
        .any(|yes| text.trim().eq_ignore_ascii_case(yes))
}
