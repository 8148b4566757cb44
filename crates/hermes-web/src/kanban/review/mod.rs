//! The review of a card's work for programs and for the page: what it changed, comments on lines, the
//! verdict. The rules are the board's.

mod bounds;
mod endpoints;

pub(crate) use endpoints::{approve, comment, reply, request_changes, resolve, show};
