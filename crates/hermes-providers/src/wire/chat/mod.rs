//! The chat completions format, `POST {base}/chat/completions`.

mod decode;
mod encode;

pub(super) use decode::{decode_event, decode_whole};
pub(super) use encode::encode;
