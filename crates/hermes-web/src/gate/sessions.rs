//! Sessions of people who have logged in: signed, and forgotten at the end of their time. What was
//! logged out is refused although its signature is good.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};

/// Sessions that were logged out and are remembered until their time is over.
const MOST_REVOKED: usize = 16_384;

/// Who somebody is, by the login that vouches for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Identity {
    pub(crate) user_id: String,
    pub(crate) email: String,
    pub(crate) display_name: String,
    pub(crate) org_id: String,
    pub(crate) provider: String,
    /// Unix time.
    pub(crate) expires_at: i64,
}

impl Identity {
    pub(crate) fn named(user: &str, provider: &str) -> Self {
        Self {
            user_id: user.to_owned(),
            display_name: user.to_owned(),
            provider: provider.to_owned(),
            ..Self::default()
        }
    }
}

/// What a signed text is for; one cannot stand for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Access,
    Refresh,
    /// A login on its way.
    Login,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Refresh => "refresh",
            Self::Login => "login",
        }
    }
}

/// Signs and reads sessions.
pub(crate) struct Sessions {
    key: hmac::Key,
    /// Ids of sessions that were logged out, and when their time is over.
    revoked: Mutex<HashMap<String, i64>>,
}

impl Sessions {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, key),
            revoked: Mutex::default(),
        }
    }

    /// Signs a value that is good until `expires_at`.
    pub(crate) fn sign(&self, purpose: Purpose, value: &Value, expires_at: i64) -> String {
        let text = json!({
            "kind": purpose.name(),
            "exp": expires_at,
            "id": hermes_fs::random_hex(24),
            "value": value,
        })
        .to_string();
        let body = URL_SAFE_NO_PAD.encode(text);
        let tag = hmac::sign(&self.key, body.as_bytes());
        format!("{body}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
    }

    /// What was signed, if it was, for this purpose, and its time is not over.
    pub(crate) fn read(&self, purpose: Purpose, text: &str, now: i64) -> Option<(Value, i64)> {
        let signed = self.signed(text)?;
        let expires_at = signed["exp"].as_i64()?;
        let id = signed["id"].as_str()?;
        if signed["kind"] != purpose.name() || expires_at <= now {
            return None;
        }
        let revoked = self.revoked.lock().unwrap_or_else(PoisonError::into_inner);
        (!revoked.contains_key(id)).then(|| (signed["value"].clone(), expires_at))
    }

    /// Refuses a signed text from now on.
    pub(crate) fn revoke(&self, text: &str, now: i64) {
        let Some(signed) = self.signed(text) else {
            return;
        };
        if let (Some(id), Some(until)) = (signed["id"].as_str(), signed["exp"].as_i64()) {
            let mut revoked = self.revoked.lock().unwrap_or_else(PoisonError::into_inner);
            revoked.retain(|_, until| *until > now);
            if revoked.len() < MOST_REVOKED {
                revoked.insert(id.to_owned(), until);
            }
        }
    }

    fn signed(&self, text: &str) -> Option<Value> {
        let (body, tag) = text.split_once('.')?;
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        hmac::verify(&self.key, body.as_bytes(), &tag).ok()?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()
    }

    /// Signs who somebody is.
    pub(crate) fn sign_identity(&self, purpose: Purpose, who: &Identity, until: i64) -> String {
        let value = json!([
            who.user_id,
            who.email,
            who.display_name,
            who.org_id,
            who.provider
        ]);
        self.sign(purpose, &value, until)
    }

    /// Who somebody is, by a session.
    pub(crate) fn identity(&self, purpose: Purpose, text: &str, now: i64) -> Option<Identity> {
        let (value, expires_at) = self.read(purpose, text, now)?;
        let part = |at: usize| value[at].as_str().map(str::to_owned);
        Some(Identity {
            user_id: part(0)?,
            email: part(1)?,
            display_name: part(2)?,
            org_id: part(3)?,
            provider: part(4)?,
            expires_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_session_is_good_for_its_purpose_and_time_until_it_is_revoked() {
        let sessions = Sessions::new(b"0123456789abcdef");
        let ada = Identity::named("ada", "basic");
        let text = sessions.sign_identity(Purpose::Access, &ada, 100);
        let read = |purpose, text: &str, now| sessions.identity(purpose, text, now);
        let expected = Identity {
            expires_at: 100,
            ..ada
        };
        assert_eq!(read(Purpose::Access, &text, 99), Some(expected));
        assert_eq!(read(Purpose::Access, &text, 100), None);
        assert_eq!(read(Purpose::Refresh, &text, 1), None);
        let changed = format!("{}x", text);
        assert_eq!(read(Purpose::Access, &changed, 1), None);
        let others = Sessions::new(b"another key of some length");
        assert_eq!(others.identity(Purpose::Access, &text, 1), None);
        sessions.revoke(&text, 1);
        assert_eq!(read(Purpose::Access, &text, 1), None);
    }
}
