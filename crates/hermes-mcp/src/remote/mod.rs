//! Servers that are addresses.

mod client;
mod failure;
mod sse;
mod streamable;

pub(crate) use client::client;
pub(crate) use failure::{cause, send_failure};
pub(crate) use sse::sse;
pub(crate) use streamable::streamable;
