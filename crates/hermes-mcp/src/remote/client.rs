//! The HTTP client of one server: its certificates, its headers.

use std::collections::HashMap;
use std::path::Path;

use hermes_http::Scheme;
use http::{HeaderName, HeaderValue};
use reqwest::{Certificate, Client, Identity};

use crate::command::expand_home;
use crate::config::{RemoteConfig, Verify};
use crate::error::Error;
use crate::host::ServerHost;

const MAX_PEM: u64 = 16 << 20;

/// A client with the certificates and proxies of these settings. It follows no redirects: what
/// answers has to be the server.
pub(crate) fn client(remote: &RemoteConfig, host: &dyn ServerHost) -> Result<Client, Error> {
    let scheme = if remote.url.to_ascii_lowercase().starts_with("https:") {
        Scheme::Encrypted
    } else {
        Scheme::Plain
    };
    let mut settings = host.http();
    settings.trust_any_certificate |= remote.verify == Verify::Off;
    let unreachable = |reason: String| Error::Unreachable(reason);
    let builder = settings.builder(scheme).map_err(unreachable)?;
    let mut builder = settings.with_proxies(builder).map_err(unreachable)?;
    let user_home = host.user_home();
    let read = |path: &Path| -> Result<(std::path::PathBuf, Vec<u8>), Error> {
        let path = expand_home(&path.to_string_lossy(), &user_home);
        match hermes_fs::read_capped(&path, MAX_PEM) {
            Ok(bytes) => Ok((path, bytes)),
            Err(error) => Err(Error::Unusable {
                path,
                reason: error.to_string(),
            }),
        }
    };
    if let Verify::Against(bundle) = &remote.verify {
        let (path, bytes) = read(bundle)?;
        let certificates = Certificate::from_pem_bundle(&bytes).unwrap_or_default();
        if certificates.is_empty() {
            return Err(Error::Unusable {
                path,
                reason: "it contains no PEM certificates".to_owned(),
            });
        }
        builder = builder.tls_certs_only(certificates);
    }
    if let Some(own) = &remote.client_certificate {
        let (path, mut pem) = read(&own.certificate)?;
        if let Some(key) = &own.key {
            pem.push(b'\n');
            pem.extend(read(key)?.1);
        }
        let identity = Identity::from_pem(&pem).map_err(|_| Error::Unusable {
            path,
            reason: "it is no certificate with a key, as PEM".to_owned(),
        })?;
        builder = builder.identity(identity);
    }
    builder
        .build()
        .map_err(|error| Error::Unreachable(hermes_http::root_cause(error)))
}

/// The headers of the settings.
pub(super) fn headers(remote: &RemoteConfig) -> Result<HashMap<HeaderName, HeaderValue>, Error> {
    let mut headers = HashMap::new();
    for (name, value) in &remote.headers {
        let invalid = || Error::Unreachable(format!("the header '{name}' cannot be sent"));
        let parsed = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| invalid())?;
        let mut value = HeaderValue::from_str(value.expose().trim()).map_err(|_| invalid())?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}
