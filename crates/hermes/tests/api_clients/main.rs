//! The API of a gateway met by clients that nobody here wrote: SDKs, an agent framework, a proxy and a
//! tester of OpenAPI documents, in the versions named in `packages`.
//!
//! Needs Python with PyPI and the registry of npm. The packages are installed once below the target
//! directory; if that fails, so do the tests, with the reason. What the clients do is in `programs`.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "tests look at files and run programs directly"
)]

mod agent_framework;
mod openai_node;
mod openai_python;
mod openapi_document;
mod packages;
mod proxy;
mod served;
