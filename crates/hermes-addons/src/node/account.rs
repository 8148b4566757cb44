//! How the machine's account reaches the registry of npm: the settings that npm gets in a stage.
//!
//! As with Python's index, where packages come from is the account's affair, and nobody else's: neither
//! a project nor the model can name a registry. npm is given a file that holds only that, and none of the
//! account's other settings, which could run programs or install something else.

use std::path::Path;

use crate::settings::NpmAccount;

/// Largest file of settings that is read.
const MAX_SETTINGS: u64 = 1 << 20;
/// Settings that say how a registry is reached.
const TRANSPORT: [&str; 9] = [
    "registry",
    "proxy",
    "http-proxy",
    "https-proxy",
    "noproxy",
    "cafile",
    "ca",
    "ca[]",
    "strict-ssl",
];
/// What follows an address in a setting that opens a registry to the account.
const CREDENTIALS: [&str; 7] = [
    "_authToken",
    "_auth",
    "username",
    "_password",
    "email",
    "certfile",
    "keyfile",
];

/// The settings for npm: of the files of the system and of the account, in this order, those about
/// registries; then the variable of the account; then the mirror, which stands for all registries.
pub(super) fn settings_for_npm(
    global: Option<&Path>,
    user_home: &Path,
    account: &NpmAccount,
    mirror: Option<&str>,
) -> String {
    let own = account.settings.clone();
    let own = own.unwrap_or_else(|| user_home.join(".npmrc"));
    let mut text = String::new();
    for path in global.into_iter().chain([own.as_path()]) {
        match hermes_fs::read_optional(path, MAX_SETTINGS) {
            Ok(Some(bytes)) => text.push_str(&transport_of(&String::from_utf8_lossy(&bytes))),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "settings of npm cannot be read"),
        }
    }
    if mirror.is_some() {
        let kept = text.lines().filter(|line| !is_of_registry(line));
        text = kept.flat_map(|line| [line, "\n"]).collect();
    }
    if let Some(registry) = mirror.or(account.registry.as_deref()) {
        text.push_str(&format!("registry={registry}\n"));
    }
    text
}

/// The lines of a file of npm's settings that say how registries are reached.
fn transport_of(text: &str) -> String {
    let is_kept = |line: &&str| {
        let Some((key, _)) = line.split_once('=') else {
            return false;
        };
        let key = key.trim();
        let opens = |(address, what): (&str, &str)| {
            address.starts_with("//") && CREDENTIALS.contains(&what)
        };
        TRANSPORT.contains(&key) || is_of_registry(line) || key.rsplit_once(':').is_some_and(opens)
    };
    let lines = text.lines().map(str::trim).filter(is_kept);
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// `registry=…` or `@scope:registry=…`.
fn is_of_registry(line: &str) -> bool {
    let key = line.split_once('=').map_or(line, |(key, _)| key).trim();
    key == "registry" || key.starts_with('@') && key.ends_with(":registry")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes files directly")]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_what_leads_to_a_registry_is_kept() {
        let kept = transport_of(
            "; a comment\nregistry = https://mirror.example/npm/\nignore-scripts=false\n\
             script-shell=/tmp/evil\n@corp:registry=https://corp.example/\n\
             //corp.example/:_authToken=abc\n//corp.example/:something=x\nprefix=/usr\n\
             cafile=/etc/ca.pem\nnode-options=--require /tmp/evil.js\n  strict-ssl=true\n[section]\n",
        );
        assert_eq!(
            kept,
            "registry = https://mirror.example/npm/\n@corp:registry=https://corp.example/\n\
             //corp.example/:_authToken=abc\ncafile=/etc/ca.pem\nstrict-ssl=true\n"
        );
    }

    #[test]
    fn the_account_beats_the_system_a_variable_both_and_a_mirror_everything() {
        let home = tempfile::tempdir().unwrap();
        let global = home.path().join("global");
        std::fs::write(&global, "registry=https://global/\ncafile=/ca\n").unwrap();
        std::fs::write(
            home.path().join(".npmrc"),
            "registry=https://user/\n@a:registry=https://a/\n",
        )
        .unwrap();
        let none = NpmAccount::default();
        let made = |account: &NpmAccount, mirror: Option<&str>| {
            settings_for_npm(Some(&global), home.path(), account, mirror)
        };
        assert_eq!(
            made(&none, None),
            "registry=https://global/\ncafile=/ca\nregistry=https://user/\n@a:registry=https://a/\n"
        );
        let variable = NpmAccount {
            registry: Some("https://variable/".to_owned()),
            settings: Some(home.path().join("nowhere")),
        };
        assert_eq!(
            made(&variable, None),
            "registry=https://global/\ncafile=/ca\nregistry=https://variable/\n"
        );
        assert_eq!(
            made(&none, Some("https://mirror/")),
            "cafile=/ca\nregistry=https://mirror/\n"
        );
    }
}
