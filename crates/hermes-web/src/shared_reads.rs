//! One look for many who ask for the same at the same time. When a board changes, everybody who watches
//! it asks anew within a moment; they share an answer that was begun after they asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use hyper::StatusCode;

/// Answers that are kept.
const MOST_ANSWERS: usize = 16;

/// What the API said.
pub(crate) type Reading = (StatusCode, Bytes);

type Place = Arc<tokio::sync::Mutex<Option<(Instant, Reading)>>>;

/// The latest answers by what was asked.
#[derive(Debug, Default)]
pub(crate) struct SharedReads {
    places: Mutex<HashMap<String, Place>>,
}

impl SharedReads {
    /// The answer to a question, asked by this caller or by another one after this one has come.
    pub(crate) async fn read<F, A, E>(&self, question: &str, ask: F) -> Result<Reading, E>
    where
        F: FnOnce() -> A,
        A: Future<Output = Result<Reading, E>>,
    {
        let came = Instant::now();
        let place = self.place(question);
        let mut latest = place.lock().await;
        if let Some((begun, reading)) = &*latest
            && *begun >= came
        {
            return Ok(reading.clone());
        }
        let begun = Instant::now();
        let reading = ask().await?;
        *latest = Some((begun, reading.clone()));
        Ok(reading)
    }

    /// Forgets all answers.
    pub(crate) fn forget(&self) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.clear();
    }

    fn place(&self, question: &str) -> Place {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MOST_ANSWERS && !places.contains_key(question) {
            // Whoever waits for one of them has it still.
            places.clear();
        }
        Arc::clone(places.entry(question.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn many_who_ask_at_once_share_two_looks_at_most() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let reads = Arc::new(SharedReads::default());
        let asked = Arc::new(AtomicUsize::new(0));
        runtime.block_on(async {
            let mut all = Vec::new();
            for _ in 0..50 {
                let (reads, asked) = (Arc::clone(&reads), Arc::clone(&asked));
                all.push(tokio::spawn(async move {
                    let ask = || async {
                        asked.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                        Ok::<_, Infallible>((StatusCode::OK, Bytes::from_static(b"board")))
                    };
                    reads.read("board", ask).await
                }));
            }
            for one in all {
                assert_eq!(one.await.unwrap().unwrap().1, "board");
            }
        });
        let asked = asked.load(Ordering::Relaxed);
        assert!((1..=2).contains(&asked), "{asked}");
    }

    #[test]
    fn whoever_comes_later_gets_a_newer_answer() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let reads = SharedReads::default();
        let asked = AtomicUsize::new(0);
        runtime.block_on(async {
            for expected in ["0", "1"] {
                let ask = || async {
                    let count = asked.fetch_add(1, Ordering::Relaxed);
                    Ok::<_, Infallible>((StatusCode::OK, Bytes::from(count.to_string())))
                };
                assert_eq!(reads.read("board", ask).await.unwrap().1, expected);
            }
        });
    }
}
