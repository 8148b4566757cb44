//! Whom an encrypted connection trusts.

use std::path::{Path, PathBuf};

use hermes_config::{Config, vars};
use reqwest::{Certificate, ClientBuilder};

/// Largest bundle of certificates that is read.
const MAX_BYTES: u64 = 16 << 20;

/// The bundle that replaces the system's, if a variable names one.
pub(crate) fn bundle(config: &Config) -> Option<PathBuf> {
    [
        &vars::HERMES_CA_BUNDLE,
        &vars::REQUESTS_CA_BUNDLE,
        &vars::SSL_CERT_FILE,
    ]
    .into_iter()
    .find_map(|var| {
        let from_dotenv = || config.dotenv().get(var.name).map(str::trim);
        config.sources().env.text(var).or_else(from_dotenv)
    })
    .filter(|path| !path.is_empty())
    .map(PathBuf::from)
}

/// A client that may speak to encrypted addresses: reads the trusted certificates.
pub(super) fn trusting(
    builder: ClientBuilder,
    bundle: Option<&Path>,
) -> Result<ClientBuilder, String> {
    let Some(path) = bundle else {
        return Ok(builder);
    };
    let bytes = hermes_fs::read_capped(path, MAX_BYTES).map_err(|error| error.to_string())?;
    let none = || format!("{} holds no PEM certificates", path.display());
    let certificates = Certificate::from_pem_bundle(&bytes).map_err(|_| none())?;
    // A client that trusts nobody would blame the server.
    if certificates.is_empty() {
        return Err(none());
    }
    Ok(builder.tls_certs_only(certificates))
}

/// A client for plain addresses: it trusts nobody, and starts without reading two hundred
/// certificates.
pub(super) fn trusting_nobody(builder: ClientBuilder) -> ClientBuilder {
    builder.tls_certs_only([])
}

/// Chooses the cryptography, once per process.
pub(super) fn choose_cryptography() {
    // Fails when it was chosen before, which is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
}
