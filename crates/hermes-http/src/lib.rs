//! HTTP clients: whom they trust, which proxies they use, how long they wait.
//!
//! The only crate that chooses certificates, proxies and cryptography. Addresses are kept out of
//! errors: they may hold a key.

mod blocklist;
mod body;
mod download;
mod malware;
mod settings;

pub use body::{BodyError, read_body};
pub use download::{Downloaded, Downloads, Reachable};
pub use malware::{MalwareList, PublicPackage, Registry};
pub use settings::{HttpSettings, Scheme};

/// What went wrong, in the words of the innermost cause and without the address.
pub fn root_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
