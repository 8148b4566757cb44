//! The two classes that get named variables only.

/// Words in a name that keep it out of the script sandbox, whatever list it is on.
const SECRET_WORDS: &[&str] = &[
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
    "APIKEY",
];

/// For programs the agent writes. Compared whole: by prefix, `TERM` would let `TERMINAL_*` in.
const SCRIPT_NAMES: &[&str] = &[
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

const SERVER_NAMES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TERM",
    "SHELL",
    "TMPDIR",
    "TZ",
    "SSH_AUTH_SOCK",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
];

/// Whether a script of the agent gets this name without being told so.
pub(super) fn is_for_scripts(name: &str) -> bool {
    SCRIPT_NAMES.contains(&name) || is_locale_or_directory(name)
}

pub(super) fn speaks_of_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| upper.contains(word))
}

pub(super) fn is_for_servers(name: &str) -> bool {
    SERVER_NAMES.contains(&name) || is_locale_or_directory(name)
}

fn is_locale_or_directory(name: &str) -> bool {
    name.starts_with("LC_") || name.starts_with("XDG_")
}
