//! All sessions of this process.
//!
//! A session begins at its first command and ends when it is closed or has not been used for a day.
//! Nothing of it is ever written to disk.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{SessionKey, ShellState, StateDelta};
use crate::lock::lock;

/// How long a session is kept after its last command.
const IDLE_LIMIT: Duration = Duration::from_hours(24);

/// One conversation's shell.
pub struct Session {
    key: SessionKey,
    state: Mutex<ShellState>,
    /// As the login shell left it, before any command.
    logged_in: Mutex<Option<ShellState>>,
    /// Whether the login shell has been asked; held while it is.
    login: Mutex<bool>,
    last_used: Mutex<Instant>,
}

/// All live sessions.
#[derive(Default)]
pub struct Sessions {
    live: Mutex<HashMap<SessionKey, Arc<Session>>>,
}

impl Sessions {
    /// The session of this key, begun in `start` if it is new.
    pub fn get(&self, key: &SessionKey, start: &Path) -> Arc<Session> {
        let now = Instant::now();
        let mut live = lock(&self.live);
        live.retain(|_, session| session.is_wanted(now));
        let session = live.entry(key.clone()).or_insert_with(|| {
            let state = ShellState::new(start.to_owned());
            Arc::new(Session::new(key.clone(), state))
        });
        *lock(&session.last_used) = now;
        Arc::clone(session)
    }
}

impl Session {
    fn new(key: SessionKey, state: ShellState) -> Self {
        Self {
            key,
            state: Mutex::new(state),
            logged_in: Mutex::new(None),
            login: Mutex::new(false),
            last_used: Mutex::new(Instant::now()),
        }
    }

    /// Its key.
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// What the next command would start with.
    pub fn snapshot(&self) -> ShellState {
        lock(&self.state).clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut ShellState)) {
        change(&mut lock(&self.state));
        *lock(&self.last_used) = Instant::now();
    }

    /// Takes over what the login shell set up.
    pub(crate) fn log_in(&self, delta: StateDelta) {
        self.update(|state| state.apply_login(delta));
        *lock(&self.logged_in) = Some(self.snapshot());
    }

    /// The state without what commands have set since the login, in the directory of today.
    pub(crate) fn as_logged_in(&self) -> ShellState {
        let cwd = self.snapshot().cwd;
        match &*lock(&self.logged_in) {
            Some(state) => ShellState {
                cwd,
                ..state.clone()
            },
            None => ShellState::new(cwd),
        }
    }

    /// Runs `ask` unless the login shell was asked before; others wait meanwhile. `ask` says whether
    /// the question is settled.
    pub(crate) fn login_once(&self, ask: impl FnOnce() -> bool) {
        let mut asked = lock(&self.login);
        if !*asked {
            *asked = ask();
        }
    }

    fn is_wanted(self: &Arc<Self>, now: Instant) -> bool {
        // A command in progress holds the session.
        Arc::strong_count(self) > 1
            || now.saturating_duration_since(*lock(&self.last_used)) < IDLE_LIMIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> SessionKey {
        SessionKey::new(text)
    }

    #[test]
    fn a_session_ends_after_a_day_without_use_and_not_before() {
        let sessions = Sessions::default();
        let session = sessions.get(&key("a"), Path::new("/"));
        let soon = Instant::now() + Duration::from_hours(23);
        let later = Instant::now() + Duration::from_hours(25);
        assert!(session.is_wanted(later), "a command holds it");
        let stored = lock(&sessions.live).get(&key("a")).map(Arc::downgrade);
        drop(session);
        let stored = stored.and_then(|weak| weak.upgrade()).unwrap();
        assert_eq!(Arc::strong_count(&stored), 2);
        lock(&sessions.live).clear();
        assert!(stored.is_wanted(soon));
        assert!(!stored.is_wanted(later));
    }

    #[test]
    fn the_login_shell_is_asked_until_it_answers() {
        let sessions = Sessions::default();
        let session = sessions.get(&key("a"), Path::new("/"));
        let mut asked = 0;
        for settled in [false, true, true] {
            session.login_once(|| {
                asked += 1;
                settled
            });
        }
        assert_eq!(asked, 2);
    }
}
