//! Anthropic's messages format, `POST {base}/v1/messages`.

mod claude;
mod decode;
mod encode;
mod turns;

pub(super) use decode::{decode_event, decode_whole};
pub(super) use encode::encode;

/// Behaviours asked of Anthropic's own servers.
pub(crate) const BETAS: &str =
    "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14";
