//! The chat completions format, `POST {base}/chat/completions`.

mod decode;
mod encode;
mod usage;

pub(crate) use decode::ChatDecoder;
pub(crate) use encode::encode;
