//! Which redirects are followed: those that stay with the host the key was configured for.
//!
//! A request carries a key and a conversation. Neither goes to a host nobody named, so a redirect to
//! another one is an error and not a detour.

use reqwest::{Method, Url};

/// Redirects followed for one request.
pub(super) const MAX_REDIRECTS: usize = 5;

/// Where a redirect leads, if it may be followed.
pub(super) fn target(
    from: &Url,
    method: &Method,
    status: u16,
    location: &str,
) -> Result<Url, String> {
    let to = from
        .join(location)
        .map_err(|_| "it redirects to an invalid address".to_owned())?;
    // 301, 302 and 303 turn a POST into a GET, and a question into nothing.
    if *method != Method::GET && !matches!(status, 307 | 308) {
        return Err(format!(
            "it redirects to {} (HTTP {status}); set that as the address",
            shown(&to)
        ));
    }
    if from.origin() != to.origin() {
        return Err(format!(
            "it redirects to {}, which was not configured; set that as the address if it is right",
            shown(&to)
        ));
    }
    Ok(to)
}

/// Scheme, host and port alone: the rest of an address may hold a secret.
fn shown(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(from: &str, status: u16, to: &str) -> Result<String, String> {
        let from = Url::parse(from).unwrap();
        target(&from, &Method::POST, status, to).map(|url| url.to_string())
    }

    #[test]
    fn only_the_same_host_is_followed() {
        let base = "https://api.example.com/v1/chat";
        assert_eq!(
            follow(base, 307, "/v2/chat").unwrap(),
            "https://api.example.com/v2/chat"
        );
        for elsewhere in [
            "https://evil.example/?k=1",
            "https://api.example.com.evil.example/",
            "http://api.example.com/v1/chat",
            "https://api.example.com:8443/v1/chat",
            "//evil.example/",
        ] {
            let refused = follow(base, 307, elsewhere).unwrap_err();
            assert!(!refused.contains("k=1"), "{refused}");
        }
        assert!(follow(base, 302, "/v2/chat").is_err());
    }
}
