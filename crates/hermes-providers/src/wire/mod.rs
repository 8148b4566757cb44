//! The wire formats: a request as JSON, an answer from events. Pure: nothing here sends anything.

pub(crate) mod anthropic;
mod arguments;
mod cache_markers;
pub(crate) mod chat;
mod decoder;
mod lenient;
mod number;
pub(crate) mod responses;
mod schema;
mod sse;

pub use arguments::canonical_arguments;
pub(crate) use cache_markers::CacheMarkers;
pub(crate) use decoder::Decoder;
pub(crate) use lenient::parse_lenient;
pub(crate) use number::tokens_at;
pub(crate) use sse::{Event, EventParser};
