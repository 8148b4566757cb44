//! What the gate knows.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_secret::SecretString;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::audit::Audit;
use super::hosts::Hosts;
use super::limits::RateLimit;
use super::sessions::Sessions;
use super::settings::{GateSettings, Mode};
use super::tickets::Tickets;

/// Logins of a client within a minute.
const MOST_LOGINS: usize = 10;
const LOGIN_WINDOW: Duration = Duration::from_mins(1);
/// Secrets shown within half a minute, to everybody together.
const MOST_REVEALS: usize = 5;
const REVEAL_WINDOW: Duration = Duration::from_secs(30);
/// Shortest key that a configured text is decoded to.
const LEAST_KEY: usize = 16;

/// The gate of a dashboard.
pub(crate) struct Gate {
    pub(crate) hosts: Hosts,
    pub(crate) sessions: Sessions,
    pub(crate) tickets: Tickets,
    pub(crate) logins: RateLimit<IpAddr>,
    pub(crate) audit: Audit,
    reveals: RateLimit<()>,
    /// Hash of the token.
    hashed: [u8; 32],
    pub(crate) settings: GateSettings,
}

impl Gate {
    pub(crate) fn new(settings: GateSettings, home: &Path) -> Self {
        let key = settings.logins.signing_key.as_ref();
        let key = key.map_or_else(|| hermes_fs::random_hex(64).into_bytes(), signing_key);
        Self {
            hosts: Hosts::new(&settings),
            sessions: Sessions::new(&key),
            tickets: Tickets::default(),
            logins: RateLimit::new(MOST_LOGINS, LOGIN_WINDOW),
            audit: Audit::of_home(home),
            reveals: RateLimit::new(MOST_REVEALS, REVEAL_WINDOW),
            hashed: Sha256::digest(settings.token.expose().as_bytes()).into(),
            settings,
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.settings.mode
    }

    /// Whether this is the token of the page.
    pub(crate) fn is_token(&self, sent: &str) -> bool {
        let sent: [u8; 32] = Sha256::digest(sent.as_bytes()).into();
        bool::from(sent.ct_eq(&self.hashed))
    }

    /// Counts a secret that is about to be shown; the seconds to wait if there were too many.
    pub(crate) fn reveal(&self) -> Result<(), u64> {
        self.reveals.attempt((), std::time::Instant::now())
    }
}

/// A configured key: base64, hexadecimal or text.
fn signing_key(text: &SecretString) -> Vec<u8> {
    let text = text.expose();
    let from_hex = || {
        let digits = text.as_bytes().chunks(2);
        let bytes = digits.map(|pair| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16)
                .ok()
                .filter(|_| pair.len() == 2)
        });
        bytes.collect::<Option<Vec<u8>>>()
    };
    let decoded = STANDARD.decode(text).ok();
    let long_enough = |key: &Vec<u8>| key.len() >= LEAST_KEY;
    decoded
        .filter(long_enough)
        .or_else(|| from_hex().filter(long_enough))
        .unwrap_or_else(|| text.as_bytes().to_vec())
}
