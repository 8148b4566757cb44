//! API keys: from `auth.json`, variables and settings, and the choice of the next one.

mod auth_file;
mod credential;
mod key_ring;
mod login_tokens;
mod strategy;
mod token_exchange;
mod token_refresher;

pub use auth_file::{AuthError, AuthFile, RemovedLogin};
pub use credential::{CredentialEntry, CredentialStatus, LoginPortal};
pub(crate) use key_ring::{KeyRing, Lease};
pub use login_tokens::LoginTokens;
pub(crate) use strategy::Strategy;
pub(crate) use token_exchange::TokenExchange;
pub use token_refresher::RefreshError;
pub(crate) use token_refresher::TokenRefresher;

/// Whether a text can be a key: long enough and not a placeholder.
pub fn is_usable_secret(text: &str) -> bool {
    const PLACEHOLDERS: &[&str] = &[
        "changeme",
        "your_api_key",
        "your_api_key_here",
        "your-api-key",
        "placeholder",
        "example",
        "dummy",
        "null",
        "none",
    ];
    let text = text.trim();
    text.chars().count() >= 4
        && !text.chars().all(|c| c == '*')
        && !PLACEHOLDERS
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
}

/// Why a provider does not take a key of this shape, if it is known not to.
pub fn key_refusal(provider: &str, key: &str) -> Option<&'static str> {
    (provider == "copilot" && key.trim().starts_with("ghp_")).then_some(
        "Copilot takes no classic access token (ghp_...), only a fine-grained one with the permission \
         \"Copilot Requests\", or that of a login",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_not_keys() {
        for no in [
            "",
            "abc",
            "***",
            "****",
            "ChangeMe",
            " your_api_key ",
            "none",
        ] {
            assert!(!is_usable_secret(no), "{no}");
        }
        for yes in ["abcd", "sk-1234567890", "  sk-or-x  "] {
            assert!(is_usable_secret(yes), "{yes}");
        }
    }
}
