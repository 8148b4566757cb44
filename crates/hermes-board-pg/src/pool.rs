//! Connections that nobody uses at the moment: programs open a board for each thing they do, and a
//! connection with a password and encryption takes longer than most of them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::address::ServerAddress;
use crate::board_address::BoardAddress;
use crate::connection::Connection;
use crate::error::Result;

/// Most idle connections per board.
const MOST: usize = 4;
/// An idle connection older than this is closed by whoever looks next.
const AGE: Duration = Duration::from_mins(5);

type Key = (ServerAddress, String);

static IDLE: Mutex<Option<HashMap<Key, Vec<Idle>>>> = Mutex::new(None);

struct Idle {
    connection: Connection,
    since: Instant,
    busy_timeout: Duration,
}

/// A connection to a board: one that waits, or a new one. The second value tells whether it has waited,
/// so that the server may have closed it meanwhile.
pub(crate) fn take(place: &BoardAddress, busy_timeout: Duration) -> Result<(Connection, bool)> {
    let key = (place.address.clone(), place.schema.clone());
    loop {
        let waiting = {
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            idle.get_or_insert_default()
                .get_mut(&key)
                .and_then(|waiting| {
                    waiting.retain(|one| one.since.elapsed() < AGE);
                    waiting.pop()
                })
        };
        match waiting {
            Some(one) if one.connection.is_reusable() => {
                if one.busy_timeout != busy_timeout && one.connection.set_up(busy_timeout).is_err()
                {
                    continue;
                }
                return Ok((one.connection, true));
            }
            Some(_) => {}
            None => return Ok((Connection::open(place, busy_timeout)?, false)),
        }
    }
}

/// Keeps a connection for the next one who asks.
pub(crate) fn give_back(place: &BoardAddress, connection: Connection, busy_timeout: Duration) {
    if !connection.is_reusable() {
        return;
    }
    let key = (place.address.clone(), place.schema.clone());
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let waiting = idle.get_or_insert_default().entry(key).or_default();
    if waiting.len() < MOST {
        waiting.push(Idle {
            connection,
            since: Instant::now(),
            busy_timeout,
        });
    }
}
