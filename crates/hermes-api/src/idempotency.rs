//! `Idempotency-Key`: a request that is sent again gets the first answer; one that is sent twice at
//! once is done once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::header::HeaderMap;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::call::Answered;
use crate::http::ApiError;

const KEPT: Duration = Duration::from_secs(300);
const MOST: usize = 1_000;
/// Bytes of all answers together.
const MOST_BYTES: usize = 8 << 20;

/// A good answer, to be given again.
#[derive(Debug, Clone)]
struct KeptAnswer {
    headers: HeaderMap,
    body: Bytes,
}

#[derive(Debug)]
struct Entry {
    fingerprint: [u8; 32],
    begun: Instant,
    answer: Arc<OnceCell<KeptAnswer>>,
}

/// The requests of the last minutes that carried a key.
#[derive(Debug, Default)]
pub(crate) struct RepeatedRequests {
    entries: Mutex<HashMap<String, Entry>>,
}

/// What of a request makes it the same request.
pub(crate) fn fingerprint(body: &Map<String, Value>, fields: &[&str]) -> [u8; 32] {
    let subset: Vec<Option<&Value>> = fields.iter().map(|field| body.get(*field)).collect();
    let text = serde_json::to_vec(&subset).unwrap_or_default();
    Sha256::digest(&text).into()
}

impl RepeatedRequests {
    /// The answer of the first request with this key; `work` gives it if this is the first one.
    /// Failures are not kept.
    pub(crate) async fn once(
        &self,
        key: &str,
        fingerprint: [u8; 32],
        work: impl Future<Output = Answered>,
    ) -> Answered {
        let cell = self.entry(key, fingerprint);
        let kept = cell
            .get_or_try_init(|| async {
                let response = work.await?;
                let (parts, body) = response.into_parts();
                let body = body
                    .collect()
                    .await
                    .map_err(|error| ApiError::internal(error.to_string()))?;
                Ok::<_, ApiError>(KeptAnswer {
                    headers: parts.headers,
                    body: body.to_bytes(),
                })
            })
            .await?;
        let mut response = Response::new(Body::from(kept.body.clone()));
        *response.headers_mut() = kept.headers.clone();
        Ok(response)
    }

    fn entry(&self, key: &str, fingerprint: [u8; 32]) -> Arc<OnceCell<KeptAnswer>> {
        let now = Instant::now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| now.duration_since(entry.begun) < KEPT);
        if let Some(known) = entries.get(key)
            && known.fingerprint == fingerprint
        {
            return Arc::clone(&known.answer);
        }
        let size = |entry: &Entry| entry.answer.get().map_or(0, |answer| answer.body.len());
        while entries.len() >= MOST || entries.values().map(size).sum::<usize>() > MOST_BYTES {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.begun);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            entries.remove(&oldest);
        }
        let answer = Arc::new(OnceCell::new());
        entries.insert(
            key.to_owned(),
            Entry {
                fingerprint,
                begun: now,
                answer: Arc::clone(&answer),
            },
        );
        answer
    }
}
