//! OpenAI's responses format, `POST {base}/responses`.

mod decode;
mod encode;

pub(super) use decode::{decode_event, decode_whole};
pub(super) use encode::encode;
