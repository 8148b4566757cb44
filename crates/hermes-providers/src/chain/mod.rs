//! Retrying requests: after a delay, with other keys, over other routes.

mod backoff;
mod replay_retries;
mod retry_decision;
mod retry_loop;

pub(crate) use replay_retries::ReplayRetries;
pub(crate) use retry_loop::{Chain, ChainRoute, FallbackPolicy};
