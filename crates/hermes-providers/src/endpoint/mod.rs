//! One route: sends a request, reads the answer, resumes broken streams.
//!
//! Retries after errors and the choice of keys are in [`crate::chain`].

mod answer_reader;
mod body;
mod dump;
mod route_endpoint;

pub(crate) use dump::RequestDump;
pub(crate) use route_endpoint::Endpoint;
