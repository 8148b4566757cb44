//! The dashboard beside programs that nobody here wrote: an OpenID Connect provider and a tester of
//! OpenAPI documents, in the versions named in `packages`.
//!
//! Needs Python with PyPI and the registry of npm. The packages are installed once below the target
//! directory; if that fails, so do the tests, with the reason.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::string_slice,
    reason = "tests look at files and run programs directly"
)]

#[allow(
    dead_code,
    reason = "shared with the tests of the dashboard, which use all of it"
)]
#[path = "../dashboard/client.rs"]
mod client;
mod oidc;
mod openapi_document;
mod packages;
mod provider;
#[allow(
    dead_code,
    reason = "shared with the tests of the dashboard, which use all of it"
)]
#[path = "../dashboard/server.rs"]
mod server;
