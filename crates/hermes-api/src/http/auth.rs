//! Keys of requests: compared in constant time, and peers that keep guessing are put off.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_secret::SecretString;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Wrong keys of a peer within the window.
const MOST_FAILURES: usize = 10;
const WINDOW: Duration = Duration::from_mins(1);
/// Peers that are remembered.
const MOST_PEERS: usize = 4_096;

/// Whether a request carries the key. The time it takes tells nothing about either.
pub(crate) fn has_key(headers: &HeaderMap, key: &SecretString) -> bool {
    let sent = headers
        .get(AUTHORIZATION)
        .map(hyper::header::HeaderValue::as_bytes);
    let sent = sent.and_then(|value| {
        let (scheme, token) = value.split_at_checked(7)?;
        scheme
            .eq_ignore_ascii_case(b"bearer ")
            .then_some(token.trim_ascii())
    });
    let hash = |bytes: &[u8]| Sha256::digest(bytes);
    let given = hash(sent.unwrap_or_default());
    bool::from(given.ct_eq(&hash(key.expose().as_bytes()))) && sent.is_some()
}

/// Wrong keys by peer.
#[derive(Debug, Default)]
pub(crate) struct AuthFailures {
    peers: Mutex<HashMap<IpAddr, Vec<Instant>>>,
}

impl AuthFailures {
    /// Seconds that a peer with too many wrong keys has to wait; `None` if it may ask.
    pub(crate) fn wait_of(&self, peer: IpAddr, now: Instant) -> Option<u64> {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = peers.get_mut(&peer)?;
        failures.retain(|at| now.duration_since(*at) < WINDOW);
        if failures.is_empty() {
            peers.remove(&peer);
            return None;
        }
        let first = *failures
            .first()
            .filter(|_| failures.len() >= MOST_FAILURES)?;
        let left = WINDOW.saturating_sub(now.duration_since(first));
        Some(left.as_secs() + 1)
    }

    pub(crate) fn note(&self, peer: IpAddr, now: Instant) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.len() >= MOST_PEERS && !peers.contains_key(&peer) {
            peers.retain(|_, failures| {
                let last = failures.last();
                last.is_some_and(|at| now.duration_since(*at) < WINDOW)
            });
            if peers.len() >= MOST_PEERS {
                return;
            }
        }
        let failures = peers.entry(peer).or_default();
        if failures.len() < MOST_FAILURES {
            failures.push(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_the_whole_key_counts() {
        let key = SecretString::new("0123456789abcdef");
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            has_key(&headers, &key)
        };
        assert!(with("Bearer 0123456789abcdef") && with("bearer  0123456789abcdef "));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Basic 0123456789abcdef",
            "0123456789abcdef",
        ] {
            assert!(!with(wrong), "{wrong}");
        }
        assert!(!with("Bearer 0123456789abcde") && !with("Bearer 0123456789abcdef0"));
        assert!(!has_key(&HeaderMap::new(), &key));
    }

    #[test]
    fn ten_wrong_keys_in_a_minute_put_a_peer_off_and_nobody_else() {
        let failures = AuthFailures::default();
        let peer: IpAddr = "10.0.0.1".parse().unwrap();
        let start = Instant::now();
        for count in 0..10 {
            assert_eq!(failures.wait_of(peer, start), None, "{count}");
            failures.note(peer, start);
        }
        assert_eq!(failures.wait_of(peer, start), Some(61));
        assert_eq!(failures.wait_of("10.0.0.2".parse().unwrap(), start), None);
        let later = start + Duration::from_secs(61);
        assert_eq!(failures.wait_of(peer, later), None);
    }
}
