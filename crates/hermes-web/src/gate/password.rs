//! The password of the dashboard. An unknown user takes as long as a wrong password.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use hermes_secret::SecretString;
use scrypt::Params;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Cost of hashes that are made here: 2^14 rounds, 16 MiB.
const LOG_N: u8 = 14;
const BLOCK: u32 = 8;
const LANES: u32 = 1;
const HASH_BYTES: usize = 32;
/// Most memory and work that a configured hash may ask for.
const MOST_LOG_N: u8 = 20;
const MOST_BLOCK: u32 = 32;
const MOST_LANES: u32 = 16;
/// Seconds of a session.
const DEFAULT_TTL: i64 = 43_200;
const LEAST_TTL: i64 = 60;

/// User, password and how long a session lasts.
#[derive(Debug)]
pub(crate) struct PasswordSettings {
    username: String,
    hash: Option<Hash>,
    plain: Option<SecretString>,
    /// Hash of the plain password, and one that nothing fits.
    made: OnceLock<Hash>,
    pub(crate) ttl_seconds: i64,
}

/// `scrypt$n$r$p$<salt>$<key>`.
#[derive(Debug, Clone)]
struct Hash {
    log_n: u8,
    block: u32,
    lanes: u32,
    salt: Vec<u8>,
    key: Vec<u8>,
}

impl PasswordSettings {
    pub(crate) fn new(
        username: String,
        hash: Option<SecretString>,
        plain: Option<SecretString>,
        seconds: Option<i64>,
    ) -> Result<Self, String> {
        let hash = hash.map(|hash| Hash::parse(hash.expose())).transpose()?;
        let seconds = seconds.filter(|seconds| *seconds > 0);
        Ok(Self {
            username,
            hash,
            plain,
            made: OnceLock::new(),
            ttl_seconds: seconds.unwrap_or(DEFAULT_TTL).max(LEAST_TTL),
        })
    }

    /// Whether these are the user and the password. Takes a while, on purpose.
    pub(crate) fn fits(&self, username: &str, password: &str) -> bool {
        let digest = |text: &str| Sha256::digest(text.as_bytes());
        let is_user = digest(username).ct_eq(&digest(&self.username));
        let hash = self.hash.as_ref().unwrap_or_else(|| {
            let plain = self.plain.as_ref().map_or("", SecretString::expose);
            self.made.get_or_init(|| Hash::of(plain))
        });
        bool::from(is_user & subtle::Choice::from(u8::from(hash.fits(password))))
    }
}

impl Hash {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            "the hash of the password must look like scrypt$16384$8$1$SALT$KEY, salt and key in base64"
                .to_owned()
        };
        let parts: Vec<&str> = text.trim().split('$').collect();
        let ["scrypt", n, block, lanes, salt, key] = parts.as_slice() else {
            return Err(wrong());
        };
        let n: u64 = n.parse().map_err(|_| wrong())?;
        let hash = Self {
            log_n: u8::try_from(n.trailing_zeros()).map_err(|_| wrong())?,
            block: block.parse().map_err(|_| wrong())?,
            lanes: lanes.parse().map_err(|_| wrong())?,
            salt: decoded(salt).ok_or_else(wrong)?,
            key: decoded(key).ok_or_else(wrong)?,
        };
        let is_usable = n.is_power_of_two()
            && (1..=MOST_LOG_N).contains(&hash.log_n)
            && (1..=MOST_BLOCK).contains(&hash.block)
            && (1..=MOST_LANES).contains(&hash.lanes)
            && (16..=64).contains(&hash.key.len());
        if is_usable { Ok(hash) } else { Err(wrong()) }
    }

    /// The hash of a password, with a salt of its own.
    fn of(password: &str) -> Self {
        let mut hash = Self {
            log_n: LOG_N,
            block: BLOCK,
            lanes: LANES,
            salt: hermes_fs::random_hex(32).into_bytes(),
            key: vec![0; HASH_BYTES],
        };
        hash.key = hash.derive(password).unwrap_or_default();
        hash
    }

    fn derive(&self, password: &str) -> Option<Vec<u8>> {
        let parameters = Params::new(self.log_n, self.block, self.lanes).ok()?;
        let mut key = vec![0; self.key.len()];
        scrypt::scrypt(password.as_bytes(), &self.salt, &parameters, &mut key).ok()?;
        Some(key)
    }

    fn fits(&self, password: &str) -> bool {
        let derived = self.derive(password);
        derived.is_some_and(|key| !key.is_empty() && bool::from(key.ct_eq(&self.key)))
    }
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let standard = STANDARD.decode(text);
    standard.or_else(|_| STANDARD_NO_PAD.decode(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by Python: `hashlib.scrypt(b"correct horse", salt=b"0123456789abcdef", n=16, r=8, p=1)`.
    const FOREIGN: &str =
        "scrypt$16$8$1$MDEyMzQ1Njc4OWFiY2RlZg==$OAkZqUBelG6VIYdTJfYSENL5OmZRxMa3GwXn5oFliTg=";

    #[test]
    fn hashes_of_the_python_runtime_fit() {
        let hash = Hash::parse(FOREIGN).unwrap();
        assert!(hash.fits("correct horse"));
        assert!(!hash.fits("correct horsf"));
    }

    #[test]
    fn passwords_of_the_settings_fit_and_no_others() {
        let plain = |password: &str| Some(SecretString::new(password));
        let settings = PasswordSettings::new("ada".into(), None, plain("pass"), None).unwrap();
        assert!(settings.fits("ada", "pass"));
        for (user, password) in [("ada", "Pass"), ("Ada", "pass"), ("", ""), ("ada", "")] {
            assert!(!settings.fits(user, password), "{user} {password}");
        }
        assert_eq!(settings.ttl_seconds, DEFAULT_TTL);
    }

    #[test]
    fn unusable_hashes_are_refused() {
        for wrong in [
            "",
            "plain",
            "scrypt$16$8$1$x",
            "scrypt$15$8$1$MDEy$MDEyMzQ1Njc4OWFiY2RlZg==",
            "scrypt$9999999999$8$1$MDEy$MDEyMzQ1Njc4OWFiY2RlZg==",
            "scrypt$16$8$1$MDEy$",
        ] {
            assert!(Hash::parse(wrong).is_err(), "{wrong}");
        }
    }
}
