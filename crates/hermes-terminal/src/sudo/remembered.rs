//! Passwords that people typed, one per session, for a quarter of an hour.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use hermes_secret::SecretString;

use crate::lock::lock;
use crate::shell::SessionKey;

/// How long a password is remembered after it was typed.
const LIFETIME: Duration = Duration::from_mins(15);

/// Passwords by session. What is forgotten is overwritten in memory.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    passwords: Mutex<BTreeMap<String, (SecretString, Instant)>>,
}

impl Remembered {
    /// The password of a session, unless it is too old. Old ones of all sessions are dropped.
    pub(super) fn get(&self, session: &SessionKey, now: Instant) -> Option<SecretString> {
        let mut passwords = lock(&self.passwords);
        passwords.retain(|_, (_, typed)| now.saturating_duration_since(*typed) < LIFETIME);
        let (password, _) = passwords.get(session.as_str())?;
        Some(password.clone())
    }

    pub(super) fn put(&self, session: &SessionKey, password: SecretString, now: Instant) {
        lock(&self.passwords).insert(session.as_str().to_owned(), (password, now));
    }

    /// Forgets the password of a session; says whether there was one.
    pub(super) fn forget(&self, session: &SessionKey) -> bool {
        lock(&self.passwords).remove(session.as_str()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_its_own_for_a_quarter_of_an_hour() {
        let remembered = Remembered::default();
        let (one, other) = (SessionKey::new("one"), SessionKey::new("other"));
        let now = Instant::now();
        remembered.put(&one, "swordfish".into(), now);
        let get = |session, after: u64| {
            let found = remembered.get(session, now + Duration::from_secs(after));
            found.map(|password| password.expose().to_owned())
        };
        assert_eq!(get(&other, 0), None);
        assert_eq!(get(&one, 14 * 60).as_deref(), Some("swordfish"));
        // Being used does not make it younger.
        assert_eq!(get(&one, 15 * 60), None);
        assert!(!remembered.forget(&one), "an old one is gone, not hidden");
        remembered.put(&one, "swordfish".into(), now);
        assert!(remembered.forget(&one));
        assert_eq!(get(&one, 0), None);
    }
}
