//! Names of credentials beyond the fixed list: those the program knows, and those the settings of
//! this installation mention.

use std::collections::BTreeSet;

use hermes_config::Config;
use hermes_config::dotenv::{is_valid_name, known_names};
use serde_json::Value;

/// Settings whose value is a credential, wherever they stand.
const CREDENTIAL_KEYS: &[&str] = &["api_key", "token", "secret", "password", "authorization"];

/// Settings that name the variable of a credential.
const NAMING_KEYS: &[&str] = &["key_env", "api_key_env"];

/// Platforms whose secrets the table of known names files under `other`.
const PLATFORM_PREFIXES: &[&str] = &["FEISHU_", "QQ_", "WEIXIN_"];

/// Inherited on purpose although they are credentials of providers: other programs of the user's
/// rely on them, and a `claude` without its token wipes the shared store (hermes-agent#55878).
const KEPT: &[&str] = &["CLAUDE_CODE_OAUTH_TOKEN", "SSH_AUTH_SOCK"];

/// All credentials that children must not see, beyond the fixed list.
pub fn derived_secret_names(config: &Config) -> BTreeSet<String> {
    let mut names = config_secret_names(config);
    let known = known_names().filter(|known| match known.category {
        "tool" | "messaging" => true,
        "setting" => known.secret,
        "provider" => known.secret || known.name.ends_with("_BASE_URL"),
        "other" => {
            let of_platform = |prefix: &&str| known.name.starts_with(*prefix);
            known.secret && PLATFORM_PREFIXES.iter().any(of_platform)
        }
        _ => false,
    });
    names.extend(known.map(|known| known.name.to_owned()));
    names.retain(|name| !is_kept(name));
    names
}

/// Variables that the settings use as credentials: `${NAME}` under a key such as `api_key`, and the
/// `key_env` of a provider. The redactor wants their values too.
pub fn config_secret_names(config: &Config) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let files = [Some(config.user_file()), config.managed_file()];
    for document in files
        .into_iter()
        .flatten()
        .filter_map(|file| file.document())
    {
        collect(document.value(), false, &mut names);
    }
    names.retain(|name| !is_kept(name));
    names
}

fn is_kept(name: &str) -> bool {
    KEPT.contains(&name) || name.starts_with("AWS_") && name != "AWS_BEARER_TOKEN_BEDROCK"
}

fn collect(value: &Value, in_credential: bool, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let key = key.to_ascii_lowercase().replace('-', "_");
                if NAMING_KEYS.contains(&key.as_str())
                    && let Some(name) = value.as_str().map(str::trim)
                    && is_valid_name(name)
                {
                    names.insert(name.to_owned());
                }
                let credential = in_credential || CREDENTIAL_KEYS.contains(&key.as_str());
                collect(value, credential, names);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect(item, in_credential, names)),
        Value::String(text) if in_credential => names.extend(references(text)),
        _ => {}
    }
}

/// The names in `${NAME}` references of a text.
fn references(text: &str) -> impl Iterator<Item = String> {
    text.split("${").skip(1).filter_map(|rest| {
        let (inside, _) = rest.split_once('}')?;
        let end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        // `${NAME:-fallback}` refers to NAME as well.
        let name = inside.split(end).next().unwrap_or_default();
        is_valid_name(name).then(|| name.to_owned())
    })
}
