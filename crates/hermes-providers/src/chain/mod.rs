//! Retrying requests: after a delay, with other keys, over other routes.

mod backoff;
mod provider;
mod retry_decision;
mod retrying;

pub(crate) use provider::{Chain, ChainRoute};
pub(crate) use retrying::Retrying;
