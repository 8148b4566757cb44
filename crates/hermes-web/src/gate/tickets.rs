//! Tickets for WebSockets, whose requests can carry no header: good once, for half a minute.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::sessions::Identity;

/// How long a ticket is good.
pub(crate) const LIFETIME: Duration = Duration::from_secs(30);
/// Tickets at once.
const MOST: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct Tickets {
    open: Mutex<HashMap<String, (Identity, Instant)>>,
}

impl Tickets {
    /// A ticket for somebody who is logged in; `None` while there are too many.
    pub(crate) fn issue(&self, identity: Identity, now: Instant) -> Option<String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, (_, until)| *until > now);
        if open.len() >= MOST {
            return None;
        }
        let ticket = hermes_fs::random_hex(48);
        open.insert(ticket.clone(), (identity, now + LIFETIME));
        Some(ticket)
    }

    /// Whose ticket this is. It is used up.
    pub(crate) fn redeem(&self, ticket: &str, now: Instant) -> Option<Identity> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (identity, until) = open.remove(ticket)?;
        (until > now).then_some(identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once_and_for_half_a_minute() {
        let tickets = Tickets::default();
        let now = Instant::now();
        let first = tickets.issue(Identity::named("ada", "basic"), now).unwrap();
        assert!(tickets.redeem(&first, now).is_some());
        assert!(tickets.redeem(&first, now).is_none());
        let late = tickets.issue(Identity::named("ada", "basic"), now).unwrap();
        assert!(tickets.redeem(&late, now + LIFETIME).is_none());
        assert!(tickets.redeem("", now).is_none());
    }
}
