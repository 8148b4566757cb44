//! Anthropic's messages format, `POST {base}/v1/messages`.

mod claude;
mod decode;
mod encode;
mod turns;

pub(crate) use decode::AnthropicDecoder;
pub(crate) use encode::encode;

/// Behaviours asked of Anthropic's own servers.
pub(crate) const BETAS: &str =
    "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14";
