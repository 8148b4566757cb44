//! What requests to GitHub Copilot carry besides the key. Hermes gives its own name there, never that of
//! an editor.

use crate::message::Role;
use crate::request::ModelRequest;

/// The domain of the interface.
pub(super) const HOST: &str = "githubcopilot.com";

/// The program that asks.
pub(crate) fn program_header() -> (&'static str, String) {
    let version = concat!("hermes/", env!("CARGO_PKG_VERSION"));
    ("editor-version", version.to_owned())
}

/// Who began the turn, a person or the agent by itself, and whether there is something to see.
pub(crate) fn turn_headers(request: &ModelRequest) -> Vec<(&'static str, String)> {
    let last = request.messages.last().map(|message| message.role);
    let is_of_person = last == Some(Role::User) && request.task.is_none();
    let initiator = if is_of_person { "user" } else { "agent" };
    let mut headers = vec![("x-initiator", initiator.to_owned())];
    let mut contents = request.messages.iter().map(|message| &message.content);
    if contents.any(|content| content.images() > 0) {
        headers.push(("copilot-vision-request", "true".to_owned()));
    }
    headers
}

/// The address of the interface for the account of a token, which is a list of `key=value` pairs. Only
/// below the domain of the interface.
pub(super) fn api_of_token(token: &str) -> Option<String> {
    let mut pairs = token
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, proxy) = pairs.find(|(key, _)| *key == "proxy-ep")?;
    let account = proxy.strip_prefix("proxy.")?.strip_suffix(HOST)?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let is_plain = account.chars().all(is_name) && (account.is_empty() || account.ends_with('.'));
    is_plain.then(|| format!("https://api.{account}{HOST}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_names_the_host_of_its_account() {
        let api = |proxy: &str| api_of_token(&format!("tid=1;exp=2;proxy-ep={proxy};st=dotcom"));
        for (proxy, expected) in [
            (
                "proxy.enterprise.githubcopilot.com",
                Some("https://api.enterprise.githubcopilot.com"),
            ),
            (
                "proxy.githubcopilot.com",
                Some("https://api.githubcopilot.com"),
            ),
            ("proxy.evilgithubcopilot.com", None),
            ("proxy.example.com", None),
            ("proxy.a@b.githubcopilot.com", None),
            ("proxy.a/b.githubcopilot.com", None),
        ] {
            assert_eq!(api(proxy).as_deref(), expected, "{proxy}");
        }
        assert_eq!(api_of_token("gho_0123456789"), None);
    }
}
