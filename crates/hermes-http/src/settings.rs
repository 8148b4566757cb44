//! Certificates and proxies, and the clients that use them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_config::{Config, vars};
use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy};

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest bundle of certificates that is read.
const MAX_BUNDLE_BYTES: u64 = 16 << 20;
/// Hosts that are reached without a proxy.
const OWN_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// Certificates and proxies of all connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpSettings {
    /// Certificates instead of the system's.
    pub ca_bundle: Option<PathBuf>,
    /// Proxy for plain addresses.
    pub http_proxy: Option<String>,
    /// Proxy for encrypted addresses.
    pub https_proxy: Option<String>,
    /// Hosts that are reached without a proxy, beside this machine.
    pub no_proxy: Option<String>,
    /// Whether certificates are not checked; only where the user asks for it.
    pub trust_any_certificate: bool,
}

/// The addresses a client is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `http:`; such a client trusts nobody, and starts without reading two hundred certificates.
    Plain,
    Encrypted,
}

impl HttpSettings {
    /// Reads the usual variables, in upper or lower case, also from `.env`.
    pub fn resolve(config: &Config) -> Self {
        let lookup = |name: &str| {
            let env = &config.sources().env;
            [name.to_owned(), name.to_ascii_lowercase()]
                .iter()
                .find_map(|name| env.lookup(name).or_else(|| config.dotenv().get(name)))
                .map(str::trim)
                .filter(|value| !value.is_empty())
                .map(str::to_owned)
        };
        let all = lookup("ALL_PROXY");
        Self {
            ca_bundle: ca_bundle(config),
            http_proxy: lookup("HTTP_PROXY").or_else(|| all.clone()),
            https_proxy: lookup("HTTPS_PROXY").or(all),
            no_proxy: lookup("NO_PROXY"),
            trust_any_certificate: false,
        }
    }

    /// A client to be: with our user agent and certificates, without redirects, retries and
    /// proxies.
    pub fn builder(&self, scheme: Scheme) -> Result<ClientBuilder, String> {
        // Fails when the cryptography was chosen before, which is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let builder = Client::builder()
            .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .tcp_nodelay(true)
            // The environment was read elsewhere, once.
            .no_proxy();
        if self.trust_any_certificate && scheme == Scheme::Encrypted {
            return Ok(builder.tls_danger_accept_invalid_certs(true));
        }
        Ok(match (scheme, &self.ca_bundle) {
            (Scheme::Plain, _) => builder.tls_certs_only([]),
            (Scheme::Encrypted, Some(path)) => builder.tls_certs_only(certificates(path)?),
            (Scheme::Encrypted, None) => builder,
        })
    }

    /// Adds the proxies of these settings.
    pub fn with_proxies(&self, mut builder: ClientBuilder) -> Result<ClientBuilder, String> {
        let excepted = match &self.no_proxy {
            Some(hosts) => format!("{OWN_MACHINE},{hosts}"),
            None => OWN_MACHINE.to_owned(),
        };
        let proxies = [
            (&self.http_proxy, Proxy::http as fn(String) -> _),
            (&self.https_proxy, Proxy::https),
        ];
        for (address, kind) in proxies {
            let Some(address) = address else { continue };
            let proxy = kind(address.clone())
                .map_err(|_| "the address of the proxy is not a URL".to_owned())?;
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(&excepted)));
        }
        Ok(builder)
    }
}

/// The bundle that replaces the system's certificates, if a variable names one.
fn ca_bundle(config: &Config) -> Option<PathBuf> {
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

fn certificates(path: &Path) -> Result<Vec<Certificate>, String> {
    let bytes =
        hermes_fs::read_capped(path, MAX_BUNDLE_BYTES).map_err(|error| error.to_string())?;
    let certificates = Certificate::from_pem_bundle(&bytes).unwrap_or_default();
    // A client that trusts nobody would blame the server.
    if certificates.is_empty() {
        return Err(format!("{} contains no PEM certificates", path.display()));
    }
    Ok(certificates)
}
