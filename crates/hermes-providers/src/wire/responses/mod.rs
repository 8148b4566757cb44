//! OpenAI's responses format, `POST {base}/responses`.

mod decode;
mod encode;

pub(crate) use decode::ResponsesDecoder;
pub(crate) use encode::encode;
