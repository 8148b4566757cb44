//! The wire formats: encoding requests, decoding answers. Pure: nothing is sent here.

pub(crate) mod anthropic;
mod arguments;
mod cache_markers;
pub(crate) mod chat;
mod decoder;
mod lenient_json;
pub(crate) mod responses;
mod schema;
mod sse;
mod token_count;

pub(crate) use cache_markers::CacheMarkers;
pub(crate) use decoder::Decoder;
pub(crate) use lenient_json::parse_lenient;
pub(crate) use sse::{SseEvent, SseParser};
pub(crate) use token_count::tokens_at;
