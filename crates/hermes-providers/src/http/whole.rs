//! An answer as a whole, for lists and tokens rather than for streams.

use std::time::{Duration, Instant};

use hermes_proc::Wake;

use super::exchange::{Exchange, Next};

/// Largest answer that is read.
const MAX_BYTES: usize = 8 << 20;

/// An answer with what those who ask for tokens and lists look at.
pub(crate) struct WholeAnswer {
    pub(crate) status: u16,
    pub(crate) text: String,
    /// The header `WWW-Authenticate`.
    pub(crate) challenge: Option<String>,
}

/// Reads an answer to its end.
pub(crate) fn whole_answer(exchange: &Exchange, timeout: Duration) -> Result<WholeAnswer, String> {
    // Nobody interrupts this request; it ends by its timeout.
    let never = Wake::new().map_err(|error| error.to_string())?;
    let deadline = Instant::now() + timeout;
    let (mut status, mut challenge, mut bytes) = (0, None, Vec::new());
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match exchange.next(&never, left) {
            Next::Head(head) => {
                status = head.status;
                challenge = head.header("www-authenticate").map(str::to_owned);
            }
            Next::Chunk(more) if bytes.len() + more.len() <= MAX_BYTES => {
                bytes.extend_from_slice(&more);
            }
            Next::Chunk(_) => return Err("the answer is too large".to_owned()),
            Next::End => {
                return Ok(WholeAnswer {
                    status,
                    text: String::from_utf8_lossy(&bytes).into_owned(),
                    challenge,
                });
            }
            Next::Failed(reason) | Next::Redirected(reason) => return Err(reason),
            Next::Interrupted | Next::Quiet => {
                return Err(format!("no answer within {} s", timeout.as_secs().max(1)));
            }
        }
    }
}
