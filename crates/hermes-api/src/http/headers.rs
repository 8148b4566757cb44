//! Headers of our own.

use hyper::header::HeaderName;

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("x-hermes-session-id");
pub(crate) const SESSION_KEY: HeaderName = HeaderName::from_static("x-hermes-session-key");
pub(crate) const IDEMPOTENCY: HeaderName = HeaderName::from_static("idempotency-key");
