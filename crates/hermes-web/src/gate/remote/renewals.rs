//! Renewals that several requests ask for at once, and tokens that a logout has ended.
//!
//! A page asks for many things in a moment. Providers give out every refresh token once and end the
//! whole session when they see one twice, so one request renews and the others get what it got.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use super::exchange::Refreshed;
use super::failure::LoginFailure;

/// How long requests that still carry the token before get what it was renewed to.
const KEPT: Duration = Duration::from_secs(30);
/// How long an ended token is refused: as long as its cookie lives.
const ENDED: Duration = Duration::from_hours(30 * 24);
/// Tokens of each kind that are remembered.
const MOST: usize = 4_096;

type Hash = [u8; 32];
type Place = Arc<tokio::sync::Mutex<Option<(Instant, Refreshed)>>>;

/// What has become of refresh tokens.
#[derive(Debug, Default)]
pub(super) struct Renewals {
    places: Mutex<HashMap<Hash, Place>>,
    ended: Mutex<HashMap<Hash, Instant>>,
}

fn hash(token: &str) -> Hash {
    Sha256::digest(token.as_bytes()).into()
}

impl Renewals {
    /// Renews with a token, or takes what another request has just got with it.
    pub(super) async fn share<A>(&self, token: &str, renew: A) -> Result<Refreshed, LoginFailure>
    where
        A: Future<Output = Result<Refreshed, LoginFailure>>,
    {
        let own = hash(token);
        if self.has_ended(&own) {
            return Err(LoginFailure::Refused("it was logged out".to_owned()));
        }
        let place = self.place(own);
        let mut latest = place.lock().await;
        if let Some((at, renewed)) = &*latest
            && at.elapsed() < KEPT
        {
            return Ok(renewed.clone());
        }
        let renewed = renew.await?;
        let next = renewed.refresh_token.as_ref();
        // A token that stays the same can be used again, and its provider is asked each time.
        if next.is_some_and(|next| next.expose() != token) {
            *latest = Some((Instant::now(), renewed.clone()));
        }
        Ok(renewed)
    }

    /// Refuses a token from now on, and whatever led to it.
    pub(super) fn end(&self, token: &str) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone = vec![hash(token)];
        for (earlier, place) in &*places {
            let Ok(renewed) = place.try_lock() else {
                continue;
            };
            let next = renewed
                .as_ref()
                .and_then(|(_, got)| got.refresh_token.as_ref());
            if next.is_some_and(|next| next.expose() == token) {
                gone.push(*earlier);
            }
        }
        places.retain(|known, _| !gone.contains(known));
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.retain(|_, at| at.elapsed() < ENDED);
        for one in gone {
            if ended.len() < MOST {
                ended.insert(one, Instant::now());
            }
        }
    }

    fn has_ended(&self, token: &Hash) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.contains_key(token)
    }

    fn place(&self, token: Hash) -> Place {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MOST {
            // Whoever waits for one of them has it still.
            places.retain(|_, place| {
                place.try_lock().map_or(true, |renewed| {
                    renewed.as_ref().is_some_and(|(at, _)| at.elapsed() < KEPT)
                })
            });
        }
        Arc::clone(places.entry(token).or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hermes_secret::SecretString;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::gate::sessions::Identity;

    fn renewed(count: usize) -> Refreshed {
        Refreshed {
            identity: Identity::named("ada", "self-hosted"),
            refresh_token: Some(SecretString::new(format!("token-{count}"))),
        }
    }

    #[test]
    fn requests_of_one_moment_use_a_token_once() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let renewals = Arc::new(Renewals::default());
        let asked = Arc::new(AtomicUsize::new(0));
        runtime.block_on(async {
            let mut all = Vec::new();
            for _ in 0..20 {
                let (renewals, asked) = (Arc::clone(&renewals), Arc::clone(&asked));
                all.push(tokio::spawn(async move {
                    let renew = async {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                        Ok(renewed(asked.fetch_add(1, Ordering::Relaxed) + 1))
                    };
                    renewals.share("token-0", renew).await
                }));
            }
            for one in all {
                let got = one.await.unwrap().unwrap();
                assert_eq!(got.refresh_token.unwrap().expose(), "token-1");
            }
            assert_eq!(asked.load(Ordering::Relaxed), 1);
            // A logout ends the token before as well: it would still lead into the session.
            renewals.end("token-1");
            for ended in ["token-0", "token-1"] {
                let refused = renewals.share(ended, async { Ok(renewed(9)) }).await;
                assert!(matches!(refused, Err(LoginFailure::Refused(_))), "{ended}");
            }
            // A failure is not remembered.
            let failed = async { Err(LoginFailure::Unreachable("down".to_owned())) };
            assert!(renewals.share("other", failed).await.is_err());
            assert!(
                renewals
                    .share("other", async { Ok(renewed(2)) })
                    .await
                    .is_ok()
            );
        });
    }
}
