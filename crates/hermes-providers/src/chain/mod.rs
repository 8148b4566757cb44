//! The provider that does not give up: retries, other keys, other routes.

mod backoff;
mod decide;
mod patient;
mod provider;

pub(crate) use patient::Patient;
pub(crate) use provider::{Chain, Leg};
