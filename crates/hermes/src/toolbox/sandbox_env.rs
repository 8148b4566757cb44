//! What scripts see of the environment: a short list of names, and no other.

use std::ffi::{OsStr, OsString};

use hermes_tools::{CallContext, RpcEnv, SandboxEnv};

use crate::context::Context;

/// Names a script may see.
const NAMES: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "TZ",
    "PATH",
    "HERMES_HOME",
    "HERMES_PROFILE",
    "HERMES_CONFIG",
    "HERMES_ENV",
    "HERMES_REAL_HOME",
];
/// Families of names it may see.
const PREFIXES: &[&str] = &["LC_", "XDG_"];
/// Parts of names that say "secret", whatever the list says.
const SECRET_PARTS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "AUTH",
    "DSN",
    "WEBHOOK",
    "CREDS",
    "BEARER",
];

/// The variables of this process that pass the list.
pub(super) struct AllowedNames {
    variables: Vec<(OsString, OsString)>,
}

impl AllowedNames {
    pub(super) fn of(context: &Context) -> Self {
        let zone = context.config().text("timezone");
        let mut variables: Vec<(OsString, OsString)> = context
            .env
            .iter()
            .filter(|(name, _)| is_allowed(name) && (zone.is_empty() || *name != "TZ"))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        if !zone.is_empty() {
            variables.push(("TZ".into(), zone.into()));
        }
        Self { variables }
    }
}

impl SandboxEnv for AllowedNames {
    fn variables(&self, rpc: &RpcEnv, _: &CallContext) -> Vec<(OsString, OsString)> {
        let own = rpc.variables();
        self.variables.iter().cloned().chain(own).collect()
    }
}

fn is_allowed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let upper = name.to_uppercase();
    (NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        && !SECRET_PARTS.iter().any(|part| upper.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_pass_by_list_and_not_by_beginning() {
        for allowed in ["PATH", "TERM", "LC_ALL", "XDG_RUNTIME_DIR", "HERMES_HOME"] {
            assert!(is_allowed(OsStr::new(allowed)), "{allowed}");
        }
        for kept in [
            "TERMINAL_CWD",
            "PYTHONPATH",
            "VIRTUAL_ENV",
            "HOMEBREW_PREFIX",
            "LC_SECRET",
            "XDG_AUTH",
            "HERMES_RPC_TOKEN",
            "path",
        ] {
            assert!(!is_allowed(OsStr::new(kept)), "{kept}");
        }
    }
}
