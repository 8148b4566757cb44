//! HTTP servers of this program as such: connections, bodies, the table of endpoints.
//!
//! [`Listener`] has the socket and serves a [`Service`] until it is told to stop. The rows of
//! [`routes!`](crate::routes) make the router and the OpenAPI document, so that neither can have what
//! the other lacks.

mod body;
mod endpoint;
mod events;
mod listener;
mod peer;
mod route;
mod server;

pub use body::{BodyError, MAX_BODY, read_body};
pub use endpoint::{
    Endpoints, LostWork, ReadRequest, answer_with, answered, disk, off_loop, waiting,
};
pub use events::{KEEPALIVE, event_response};
pub use listener::{BindError, Listener};
pub use peer::Peer;
pub use route::{Route, Verb, document_paths, path_names, router};
pub use server::{Limits, Service};
