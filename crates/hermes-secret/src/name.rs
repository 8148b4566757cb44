//! Which names announce a secret, judged word by word, so that `max_tokens`, `AUTHOR` and
//! `MONKEY` stay readable. It looks at names only; values are the redactor's.

/// Words that make a name secret wherever they stand, beside those with a secret ending.
const SECRET_WORDS: &[&str] = &[
    "passwd",
    "passphrase",
    "pwd",
    "credential",
    "credentials",
    "creds",
    "auth",
    "authorization",
    "authkey",
    "accesskey",
    "secretkey",
    "privatekey",
    "sshpass",
];

/// Endings of secret words, also of words written together: `token`, `PGPASSWORD`, `clientsecret`.
const SECRET_ENDINGS: &[&str] = &["password", "secret", "token", "apikey"];

/// Variables whose names look like secrets and which every shell shows.
const PLAIN_NAMES: &[&str] = &["PWD", "OLDPWD", "HERMES_SESSION_KEY"];

/// Before `key` these say that the key opens nothing.
const OPEN_KEYS: &[&str] = &[
    "public",
    "primary",
    "foreign",
    "sort",
    "partition",
    "cache",
    "hot",
    "short",
    "routing",
    "group",
    "index",
    "dict",
    "map",
    "lookup",
    "unique",
    "row",
    "column",
    "idempotency",
    "dedupe",
    "object",
    "record",
];

/// As last word these say that the value is about a secret, not one.
const ABOUT_WORDS: &[&str] = &[
    "at",
    "budget",
    "chars",
    "cmd",
    "command",
    "cost",
    "count",
    "counts",
    "dir",
    "disabled",
    "enabled",
    "endpoint",
    "env",
    "error",
    "expiration",
    "expires",
    "expiry",
    "file",
    "header",
    "hint",
    "host",
    "id",
    "ids",
    "label",
    "len",
    "length",
    "limit",
    "max",
    "method",
    "min",
    "mode",
    "name",
    "names",
    "path",
    "policy",
    "port",
    "prefix",
    "present",
    "price",
    "provider",
    "providers",
    "rate",
    "ratio",
    "required",
    "scope",
    "scopes",
    "seconds",
    "set",
    "size",
    "source",
    "state",
    "status",
    "suffix",
    "threshold",
    "timeout",
    "ttl",
    "type",
    "uri",
    "url",
    "usage",
    "used",
    "valid",
    "version",
    "window",
];

/// Whether a variable, field or parameter of this name holds a secret.
///
/// Words are split at `_`, `-`, `.`, spaces and changes of case; digits at the end of a word do
/// not count, so `KEY_2` and `token1` are names like `KEY` and `token`.
pub fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let Some(last) = words.last() else {
        return false;
    };
    if ABOUT_WORDS.contains(&last.as_str()) || PLAIN_NAMES.contains(&name) {
        return false;
    }
    let upper = !name.contains(|c: char| c.is_ascii_lowercase());
    if words.len() == 1 && last == "key" {
        // `key` alone is any dictionary's key; `KEY` is a variable somebody exported.
        return upper;
    }
    if words.len() > 1 && last == "pass" && upper {
        return true;
    }
    words.iter().enumerate().any(|(index, word)| {
        let word = word.as_str();
        if word == "key" {
            let before = index.checked_sub(1).and_then(|i| words.get(i));
            return !before.is_some_and(|word| OPEN_KEYS.contains(&word.as_str()));
        }
        SECRET_WORDS.contains(&word) || SECRET_ENDINGS.iter().any(|end| word.ends_with(end))
    })
}

fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (index, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = index.checked_sub(1).and_then(|i| chars.get(i));
        let after = chars.get(index + 1);
        let starts_word = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    // The `K` of `APIKey`.
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if starts_word {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    for word in &mut words {
        let kept = word.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        word.truncate(kept);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_shell_is_no_password() {
        for plain in ["PWD", "OLDPWD", "HERMES_SESSION_KEY"] {
            assert!(!is_secret_name(plain), "{plain}");
        }
        assert!(is_secret_name("DB_PWD"));
    }

    #[test]
    fn names_of_secrets_are_recognised() {
        for name in [
            "api_key",
            "OPENAI_API_KEY",
            "bot_token",
            "auth_token",
            "client_secret",
            "apiKey",
            "APIKey",
            "x-api-key",
            "Authorization",
            "PGPASSWORD",
            "DB_PASS",
            "MYSQL_PWD",
            "password",
            "GITHUB_TOKEN_2",
            "token1",
            "KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "HERMES_AUTH_JSON_BOOTSTRAP",
            "APIKEY",
            "telegram.bot_token",
            "private_key",
        ] {
            assert!(is_secret_name(name), "{name} should be secret");
        }
    }

    #[test]
    fn similar_names_are_not_secret() {
        for name in [
            "",
            "_",
            "MONKEY",
            "max_tokens",
            "tokens",
            "tokenizer",
            "token_count",
            "AUTHOR",
            "author_name",
            "authority",
            "key",
            "keys",
            "keyboard",
            "public_key",
            "primary_key",
            "cache_key",
            "api_key_env",
            "AWS_ACCESS_KEY_ID",
            "redact_secrets",
            "secretary",
            "compass",
            "pass",
            "auth_type",
            "token_expires_at",
            "TOKEN_FILE",
        ] {
            assert!(!is_secret_name(name), "{name} should be readable");
        }
    }
}
