//! Requests over the network for a world of blocking threads.
//!
//! One thread of the process drives every connection; callers hand it a request and read the answer
//! from a queue. The thread starts with the first request and ends with the last [`Transport`].

mod exchange;
mod redirect;
mod transport;
mod whole;

pub(crate) use exchange::{Exchange, Head, Next};
pub(crate) use transport::{HttpRequest, Method, Transport};
pub(crate) use whole::whole_answer;
