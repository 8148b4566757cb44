//! The wire formats: encoding requests, decoding answers. Pure: nothing is sent here.

mod answer;
mod anthropic;
mod arguments;
mod cache_markers;
mod chat;
mod codec;
mod responses;
mod schema;
mod sse;
mod usage;

pub(crate) use answer::CollectedAnswer;
pub(crate) use anthropic::BETAS as ANTHROPIC_BETAS;
pub(crate) use codec::{decode_event, decode_whole, encode};
pub(crate) use sse::{SseEvent, SseParser};
pub(crate) use usage::tokens;
