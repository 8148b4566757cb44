//! Whether a request means this dashboard. A page of another host that a browser was led to believe is
//! here (DNS rebinding) does not, nor does a page that sends requests across.

use std::net::IpAddr;

use hyper::header::{self, HeaderMap};

use super::settings::{GateSettings, Mode};
use super::web_address::{WebAddress, host_name};

/// The names under which the dashboard is reached.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// None: any.
    names: Option<Vec<String>>,
    /// Further names, also accepted as origins.
    extra: Vec<String>,
    /// Whether an origin must be the host it asks.
    same_origin: bool,
}

const OWN: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl Hosts {
    pub(crate) fn new(settings: &GateSettings) -> Self {
        let bound = settings.host.trim_matches(['[', ']']).to_lowercase();
        let address = bound.parse::<IpAddr>().ok();
        let is_any = address.is_some_and(|address| address.is_unspecified());
        let mut names = vec![bound];
        if settings.mode == Mode::Local {
            names.extend(OWN.map(str::to_owned));
        }
        let public = settings.public_url.as_ref().map(WebAddress::host);
        let extra = settings.extra_hosts.iter().cloned().chain(public);
        Self {
            names: (!is_any).then_some(names),
            extra: extra.collect(),
            same_origin: is_any,
        }
    }

    /// Whether the `Host` header names this dashboard.
    pub(crate) fn accept_host(&self, headers: &HeaderMap) -> bool {
        let Some(host) = headers.get(header::HOST) else {
            // Only HTTP/1.0 has none; no browser speaks it.
            return self.names.is_none();
        };
        let host = host.to_str().ok().and_then(host_name);
        host.is_some_and(|host| self.accept(&host))
    }

    fn accept(&self, host: &str) -> bool {
        let is_named = self
            .names
            .as_ref()
            .is_none_or(|names| names.iter().any(|name| name == host));
        is_named || self.extra.iter().any(|name| name == host)
    }

    /// Whether the page that sends a request is one of this dashboard. Requests without an origin do
    /// not come from a page of another one.
    pub(crate) fn accept_origin(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else {
            return true;
        };
        let origin = origin.to_str().ok().and_then(WebAddress::parse);
        let Some(origin) = origin.map(|origin| origin.host()) else {
            return false;
        };
        if self.extra.contains(&origin) {
            return true;
        }
        if self.same_origin {
            let host = headers
                .get(header::HOST)
                .and_then(|host| host.to_str().ok());
            return host.and_then(host_name).is_some_and(|host| host == origin);
        }
        self.accept(&origin)
    }
}

/// Whether pages of this origin may read answers: those of this machine, on any port.
pub(crate) fn is_own_machine(origin: &str) -> bool {
    let rest = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    let Some(rest) = rest else {
        return false;
    };
    let (name, port) = rest.split_once(':').unwrap_or((rest, "0"));
    let is_port = !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
    is_port && (name == "localhost" || name == "127.0.0.1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_origins_of_this_machine_may_read() {
        for own in [
            "http://localhost",
            "https://localhost:3000",
            "http://127.0.0.1:9119",
        ] {
            assert!(is_own_machine(own), "{own}");
        }
        for other in [
            "http://localhost.evil.com",
            "http://evil.com",
            "null",
            "http://127.0.0.1.evil.com:80",
            "http://localhost:",
            "http://localhost:80.evil.com",
            "ftp://localhost",
        ] {
            assert!(!is_own_machine(other), "{other}");
        }
    }
}
