//! How the API server of the profile is, seen from outside its gateway.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use hermes_api::ApiSettings;
use serde_json::{Value, json};

use crate::context::Context;
use crate::gateways::gateway_row;

/// How long the server has to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);

/// How the API server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApiServerState {
    Off,
    /// The settings ask for a server that they do not allow.
    Refused(String),
    /// No gateway runs that would host it.
    NoGateway(ApiAddress),
    Serving(ApiAddress),
    /// The gateway runs without it.
    Failed(String),
}

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiAddress {
    host: String,
    port: u16,
}

impl ApiServerState {
    /// By the settings of the profile and the state file of its gateway.
    pub(crate) fn find(context: &Context) -> Self {
        let settings = match ApiSettings::resolve(context) {
            Ok(Some(settings)) => settings,
            Ok(None) => return Self::Off,
            Err(error) => return Self::Refused(error.to_string()),
        };
        let address = ApiAddress {
            host: settings.host,
            port: settings.port,
        };
        let gateway = gateway_row(context);
        if gateway.pid.is_none() {
            return Self::NoGateway(address);
        }
        let services = gateway.services();
        match services.iter().find(|(name, ..)| *name == "api_server") {
            // A gateway of the Python runtime says nothing about it here.
            None | Some((_, "running" | "starting", _)) => Self::Serving(address),
            Some((_, _, note)) => Self::Failed(hermes_text::shown(note, 200)),
        }
    }

    /// The name for programs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Refused(_) => "refused",
            Self::NoGateway(_) => "no_gateway",
            Self::Serving(_) => "serving",
            Self::Failed(_) => "failed",
        }
    }

    /// In a few words.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Off => "off (API_SERVER_KEY in .env turns it on)".to_owned(),
            Self::Refused(reason) | Self::Failed(reason) => format!("✗ {reason}"),
            Self::NoGateway(address) => {
                format!(
                    "✗ not running, for no gateway is; it would be {}",
                    address.url()
                )
            }
            Self::Serving(address) => format!("✓ {}", address.url()),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let (url, reason) = match self {
            Self::Off => (None, None),
            Self::Refused(reason) | Self::Failed(reason) => (None, Some(reason)),
            Self::NoGateway(address) | Self::Serving(address) => (Some(address.url()), None),
        };
        json!({"state": self.name(), "url": url, "reason": reason})
    }
}

impl ApiAddress {
    pub(crate) fn url(&self) -> String {
        let host = match self.host.as_str() {
            host if host.contains(':') => format!("[{host}]"),
            host => host.to_owned(),
        };
        format!("http://{host}:{}", self.port)
    }

    /// Why no server could listen here.
    pub(crate) fn obstacle(&self) -> Option<String> {
        TcpListener::bind((self.host.as_str(), self.port))
            .err()
            .map(|error| hermes_fs::describe(&error))
    }

    /// Whether a server answers here; otherwise why not.
    pub(crate) fn ask(&self) -> Result<(), String> {
        let target = self.target()?;
        let asked = TcpStream::connect_timeout(&target, ANSWER_LIMIT).and_then(|mut stream| {
            stream.set_read_timeout(Some(ANSWER_LIMIT))?;
            stream.write_all(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
            let mut answer = [0; 16];
            stream.read_exact(&mut answer)?;
            Ok(answer)
        });
        let answer = asked.map_err(|error| hermes_fs::describe(&error))?;
        let status = answer.get(9..12).unwrap_or_default();
        if status == b"200" {
            return Ok(());
        }
        Err(format!(
            "it answered with status {}",
            hermes_text::shown(&String::from_utf8_lossy(status), 3)
        ))
    }

    /// The address that reaches the server from this machine.
    fn target(&self) -> Result<SocketAddr, String> {
        let host = match self.host.as_str() {
            "0.0.0.0" => "127.0.0.1",
            "::" => "::1",
            host => host,
        };
        let mut found = (host, self.port)
            .to_socket_addrs()
            .map_err(|error| hermes_fs::describe(&error))?;
        found.next().ok_or_else(|| format!("{host} has no address"))
    }
}
