//! The secret with which a service asks the gateway to take no new work. It opens that one path and
//! nothing else, and one that could be guessed opens nothing.

use std::collections::BTreeMap;

use hermes_secret::SecretString;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The path that it opens.
pub(crate) const DRAIN_PATH: &str = "/api/gateway/drain";
/// Characters of 256 bits in base64.
const LEAST_CHARACTERS: usize = 43;
const LEAST_DIFFERENT: usize = 16;
const LEAST_BITS: f64 = 128.0;

/// A secret that is good enough.
#[derive(Debug)]
pub(crate) struct DrainSecret {
    hashed: [u8; 32],
}

impl DrainSecret {
    /// Takes a secret, or says why it could be guessed. The reason does not show it.
    pub(crate) fn new(secret: &SecretString) -> Result<Self, String> {
        let text = secret.expose().trim();
        let length = text.chars().count();
        if length < LEAST_CHARACTERS {
            return Err(format!(
                "it has {length} characters, and {LEAST_CHARACTERS} is the least"
            ));
        }
        let mut counts: BTreeMap<char, u32> = BTreeMap::new();
        for letter in text.chars() {
            *counts.entry(letter).or_default() += 1;
        }
        if counts.len() < LEAST_DIFFERENT || bits(&counts) < LEAST_BITS {
            return Err("it repeats itself; `openssl rand -base64 32` makes one".to_owned());
        }
        Ok(Self {
            hashed: Sha256::digest(text.as_bytes()).into(),
        })
    }

    /// Whether this is it.
    pub(crate) fn is(&self, sent: &str) -> bool {
        let sent: [u8; 32] = Sha256::digest(sent.as_bytes()).into();
        bool::from(sent.ct_eq(&self.hashed))
    }
}

/// Shannon's measure of a text with these letters.
fn bits(counts: &BTreeMap<char, u32>) -> f64 {
    let total: f64 = counts.values().map(|count| f64::from(*count)).sum();
    let of = |count: &u32| -f64::from(*count) * (f64::from(*count) / total).log2();
    counts.values().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<DrainSecret, String> {
        DrainSecret::new(&SecretString::new(text))
    }

    #[test]
    fn secrets_that_can_be_guessed_are_refused_without_being_shown() {
        let good = "Zk3vP1qR8sT0uWxYbC2dE4fG5hJ6kL7mN9oQaSdF-gH";
        assert_eq!(good.len(), LEAST_CHARACTERS);
        let secret = of(good).unwrap();
        assert!(secret.is(good));
        let shorter = good.strip_prefix('Z').unwrap();
        assert!(!secret.is("") && !secret.is(shorter));
        let repeated = "abcdefgh".repeat(8);
        let long = "a".repeat(64);
        for weak in ["", "short", shorter, &repeated, &long] {
            let reason = of(weak).unwrap_err();
            assert!(weak.is_empty() || !reason.contains(weak), "{reason}");
        }
    }
}
