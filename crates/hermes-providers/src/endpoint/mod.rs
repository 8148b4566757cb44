//! One route that can be asked: a request out, an answer in, broken streams taken up again.
//!
//! No retries after errors and no choice of keys here; that is [`crate::chain`].

mod ask;
mod body;
mod dump;
mod read;

pub(crate) use ask::Endpoint;
pub(crate) use dump::RequestDump;
