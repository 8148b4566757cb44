//! `Idempotency-Key`: a request that is sent again gets the first answer, one that is sent twice at once
//! is done once, and one whose turn was cut off by a restart goes on where it was.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::active_runs;
use crate::app::{App, off_loop};
use crate::call::Answered;
use crate::http::ApiError;
use crate::ledger::{KeptAnswer, Recalled, TurnEntry};

/// What of a request makes it the same request.
pub(crate) fn fingerprint(body: &Map<String, Value>, fields: &[&str]) -> [u8; 32] {
    let subset: Vec<Option<&Value>> = fields.iter().map(|field| body.get(*field)).collect();
    let text = serde_json::to_vec(&subset).unwrap_or_default();
    Sha256::digest(&text).into()
}

/// The answer of the first request with this key; `work` gives it if this is the first one. It goes on
/// when the client has gone: whoever sends a key means to ask again. Failures are not kept.
pub(crate) async fn once<W>(
    app: &Arc<App>,
    key: &str,
    fingerprint: [u8; 32],
    entry: TurnEntry,
    work: impl FnOnce(TurnEntry) -> W + Send + 'static,
) -> Answered
where
    W: Future<Output = Answered> + Send,
{
    let mut receiver = {
        let mut open = app.repeated.open();
        match open.get(key) {
            // One whose channel is closed has broken off without an answer.
            Some((known, receiver)) if *known == fingerprint && receiver.has_changed().is_ok() => {
                receiver.clone()
            }
            _ => {
                let (sender, receiver) = watch::channel(None);
                open.insert(key.to_owned(), (fingerprint, receiver.clone()));
                let (app, key) = (Arc::clone(app), key.to_owned());
                tokio::spawn(async move {
                    let outcome = first(&app, &key, fingerprint, entry, work).await;
                    sender.send_replace(Some(outcome));
                    let mut open = app.repeated.open();
                    if open
                        .get(&key)
                        .is_some_and(|(_, own)| own.same_channel(&sender.subscribe()))
                    {
                        open.remove(&key);
                    }
                });
                receiver
            }
        }
    };
    let told = receiver.wait_for(Option::is_some).await;
    let told = told.ok().and_then(|told| told.clone());
    let lost = || ApiError::internal("the request was lost; the log has the reason");
    let kept = told.unwrap_or_else(|| Err(lost()))?;
    let mut response = Response::new(Body::from(kept.body));
    *response.status_mut() = kept.status;
    *response.headers_mut() = kept.headers;
    Ok(response)
}

/// Gives the stored answer, or makes it.
async fn first<W>(
    app: &Arc<App>,
    key: &str,
    fingerprint: [u8; 32],
    mut entry: TurnEntry,
    work: impl FnOnce(TurnEntry) -> W,
) -> Result<KeptAnswer, ApiError>
where
    W: Future<Output = Answered>,
{
    let home = app.context().location.home.clone();
    let recalled = {
        let (app, home, key, id) = (
            Arc::clone(app),
            home.clone(),
            key.to_owned(),
            entry.id.clone(),
        );
        off_loop(move || app.ledger.recall(&home, &key, &fingerprint, &id)).await?
    };
    match recalled {
        Recalled::Answered(kept) => return Ok(kept),
        Recalled::Accepted(run) => return kept_answer(active_runs::accepted(&run)).await,
        Recalled::Interrupted(earlier) => {
            entry.id.clone_from(&earlier.id);
            entry.earlier = Some(*earlier);
        }
        Recalled::New => {}
    }
    entry.is_repeatable = true;
    let own = entry.id.clone();
    let turn = (!entry.is_run()).then(|| entry.id.clone());
    let answer = match work(entry).await {
        Ok(response) => kept_answer(response).await,
        Err(error) => Err(error),
    };
    let (ledger, key) = (Arc::clone(&app.ledger), key.to_owned());
    let kept = answer.clone();
    off_loop(move || {
        match &kept {
            Ok(kept) => ledger.keep_answer(&home, &key, &own, kept)?,
            // The client may ask again for what the end of the gateway has cut off.
            Err(error) if error.is_cut_off() => {
                return match &turn {
                    Some(turn) => ledger.set_interrupted(&home, turn),
                    None => Ok(()),
                };
            }
            Err(_) => ledger.release_key(&home, &key, &own),
        }
        if let Some(turn) = &turn {
            ledger.end(&home, turn);
        }
        Ok(())
    })
    .await?;
    answer
}

async fn kept_answer(response: Response) -> Result<KeptAnswer, ApiError> {
    let (parts, body) = response.into_parts();
    let body = body.collect().await;
    let body = body.map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(KeptAnswer {
        status: parts.status,
        headers: parts.headers,
        body: body.to_bytes(),
    })
}
