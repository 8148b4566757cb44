//! Answers to requests with an `Idempotency-Key`, and which turn will give those that are not there yet.

use std::path::Path;

use bytes::Bytes;
use hermes_store::Commit;
use hermes_store::rusqlite::{Connection, OptionalExtension as _, Result, params};
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::turns::{Interrupted, RUNS};
use super::{TurnLedger, unavailable};
use crate::clock::unix_time;
use crate::http::ApiError;

/// Seconds for which an answer is given again.
const KEPT: f64 = 300.0;
const MOST: i64 = 1_000;

/// A good answer, to be given again.
#[derive(Debug, Clone)]
pub(crate) struct KeptAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What is known of a request that carries a key.
#[derive(Debug)]
pub(crate) enum Recalled {
    /// Nothing: it is the first of its kind, and its turn has this id.
    New,
    Answered(KeptAnswer),
    /// It asked for this run, which was accepted.
    Accepted(String),
    /// Its turn was cut off by a restart.
    Interrupted(Box<Interrupted>),
}

impl TurnLedger {
    /// Looks for the answer to a request, and claims the key for the turn if there is none.
    pub(crate) fn recall(
        &self,
        home: &Path,
        key: &str,
        fingerprint: &[u8; 32],
        turn: &str,
    ) -> std::result::Result<Recalled, ApiError> {
        let recalled = self.database.write(home, Commit::Forced, |connection| {
            let known = look(connection, key, fingerprint)?;
            if let Recalled::New = known {
                claim(connection, key, fingerprint, turn)?;
            }
            Ok(known)
        });
        recalled.map_err(unavailable)
    }

    /// Keeps the answer of the request whose turn this was, unless another request has the key by now.
    pub(crate) fn keep_answer(
        &self,
        home: &Path,
        key: &str,
        turn: &str,
        answer: &KeptAnswer,
    ) -> std::result::Result<(), ApiError> {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers: Map<String, Value> = answer
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), Value::String(text(value))))
            .collect();
        let headers = Value::Object(headers).to_string();
        let kept = self.database.write(home, Commit::Logged, |connection| {
            connection.execute(
                "UPDATE answers SET status = ?2, headers = ?3, body = ?4, created_at = ?5 \
                 WHERE key = ?1 AND turn_id = ?6",
                params![
                    key,
                    answer.status.as_u16(),
                    headers,
                    &answer.body[..],
                    unix_time(),
                    turn
                ],
            )
        });
        kept.map(drop).map_err(unavailable)
    }

    /// Lets a request that failed be tried again, unless another has the key by now.
    pub(crate) fn release_key(&self, home: &Path, key: &str, turn: &str) {
        let released = self.database.write(home, Commit::Logged, |connection| {
            connection.execute(
                "DELETE FROM answers WHERE key = ?1 AND turn_id = ?2",
                params![key, turn],
            )
        });
        if let Err(error) = released {
            tracing::warn!(%error, "the key of a failed request was not released");
        }
    }

    /// Forgets keys whose turns never began, because the process ended first. For a start: until then a
    /// turn may wait for its session as long as it takes.
    pub(crate) fn forget_unbegun(&self, home: &Path) {
        let forgotten = self.database.write(home, Commit::Logged, |connection| {
            connection.execute(
                "DELETE FROM answers WHERE body IS NULL AND created_at < ?1
                     AND turn_id NOT IN (SELECT id FROM turns)",
                params![unix_time() - KEPT],
            )
        });
        if let Err(error) = forgotten {
            tracing::warn!(%error, "keys of requests that never began were not forgotten");
        }
    }

    /// Forgets answers that are too old, and turns that nobody asked for again.
    pub(super) fn forget_answers(&self, home: &Path) -> std::result::Result<(), ApiError> {
        let forgotten = self.database.write(home, Commit::Logged, |connection| {
            connection.execute(
                "DELETE FROM answers WHERE created_at < ?1 AND (body IS NOT NULL OR turn_id IN (
                     SELECT id FROM turns WHERE state = 'interrupted'))",
                params![unix_time() - KEPT],
            )?;
            connection.execute(
                "DELETE FROM turns WHERE state = 'interrupted'
                     AND id NOT IN (SELECT turn_id FROM answers)",
                [],
            )?;
            connection.execute(
                "DELETE FROM answers WHERE body IS NOT NULL AND key NOT IN (
                     SELECT key FROM answers ORDER BY created_at DESC LIMIT ?1)",
                params![MOST],
            )
        });
        forgotten.map(drop).map_err(unavailable)
    }
}

/// Notes that this turn will answer the requests with this key.
fn claim(connection: &Connection, key: &str, fingerprint: &[u8; 32], turn: &str) -> Result<()> {
    connection.execute(
        "INSERT INTO answers (key, fingerprint, turn_id, created_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint,
             turn_id = excluded.turn_id, status = NULL, headers = NULL, body = NULL,
             created_at = excluded.created_at",
        params![key, &fingerprint[..], turn, unix_time()],
    )?;
    Ok(())
}

fn look(connection: &Connection, key: &str, fingerprint: &[u8; 32]) -> Result<Recalled> {
    let found = connection
        .query_row(
            "SELECT turn_id, status, headers, body FROM answers
             WHERE key = ?1 AND fingerprint = ?2 AND created_at >= ?3",
            params![key, &fingerprint[..], unix_time() - KEPT],
            |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, Option<u16>>(1)?,
                    row.get::<_, Option<String>>(2)?,
                    row.get::<_, Option<Vec<u8>>>(3)?,
                ))
            },
        )
        .optional()?;
    let Some((turn, status, headers, body)) = found else {
        return Ok(Recalled::New);
    };
    if let (Some(status), Some(body)) = (status, body) {
        return Ok(Recalled::Answered(KeptAnswer {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
            headers: read_headers(&headers.unwrap_or_default()),
            body: Bytes::from(body),
        }));
    }
    let known = TurnLedger::turn(connection, &turn)?;
    Ok(match known {
        Some(turn) if turn.endpoint == RUNS => Recalled::Accepted(turn.id),
        Some(turn) => Recalled::Interrupted(Box::new(turn)),
        // Its turn had not begun.
        None => Recalled::New,
    })
}

fn read_headers(text: &str) -> HeaderMap {
    let read: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let pairs = read.iter().filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_str(value.as_str()?).ok()?))
    });
    pairs.collect()
}
