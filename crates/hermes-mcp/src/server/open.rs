//! Opening a connection, and the first questions on it.

use std::sync::Arc;
use std::time::Duration;

use hermes_addons::Launch;
use rmcp::model::{PaginatedRequestParams, ServerCapabilities, Tool};
use rmcp::service::{ClientInitializeError, Peer, RunningService};
use rmcp::{RoleClient, ServiceError, serve_client};
use tokio::time::timeout;

use super::closing::Closing;
use super::handler::Handler;
use super::request::failure;
use crate::catalog::Catalog;
use crate::config::{RemoteConfig, ServerConfig, StdioConfig, Transport};
use crate::error::Error;
use crate::fault::Fault;
use crate::host::ServerHost;
use crate::remote;
use crate::sampling::SamplingGate;
use crate::stdio;
use crate::stdio::ServerProcess;

/// Pages of a list that are read.
const MAX_PAGES: usize = 50;

pub(super) type Service = RunningService<RoleClient, Handler>;

/// A connection as it was opened.
pub(super) struct Opened {
    pub(super) service: Service,
    pub(super) process: Option<ServerProcess>,
    pub(super) fault: Fault,
}

impl Opened {
    /// Closes the connection and ends the process.
    pub(super) async fn close(mut self) {
        // Whether the other side was still there to be told makes no difference.
        drop(
            self.service
                .close_with_timeout(Duration::from_secs(1))
                .await,
        );
        if let Some(process) = self.process {
            process.end().await;
        }
    }
}

/// Connects, once.
pub(super) async fn open(
    config: &ServerConfig,
    host: &Arc<dyn ServerHost>,
    sampling: Option<Arc<SamplingGate>>,
    closing: &Closing,
) -> Result<Opened, Error> {
    let handler = Handler {
        sampling,
        ..Handler::default()
    };
    match &config.transport {
        Transport::Stdio(stdio) => {
            let launch = match &stdio.addon {
                Some(addon) => Some(host.addon(addon).map_err(|error| Error::AddonMissing {
                    reason: error.to_string(),
                    hint: error.hint,
                })?),
                None => None,
            };
            tokio::select! {
                checked = refuse_malware(stdio, launch.as_ref(), host.as_ref()) => checked?,
                () = closing.begun() => return Err(Error::Closing),
            }
            let started = stdio::start(&config.name, stdio, launch, host.as_ref())?;
            let fault = started.transport.fault();
            let serving = serve_client(handler, started.transport);
            let process = started.process;
            let served = tokio::select! {
                served = timeout(config.connect_timeout, serving) => served,
                () = closing.begun() => {
                    process.end().await;
                    return Err(Error::Closing);
                }
            };
            let error = match served {
                Ok(Ok(service)) => {
                    return Ok(Opened {
                        service,
                        process: Some(process),
                        fault,
                    });
                }
                Ok(Err(error)) => match (fault.get(), process.ended().await) {
                    (Some(fault), _) => fault,
                    (None, Some(ended)) => ended,
                    (None, None) => not_initialised(&error, &Fault::default()),
                },
                Err(_) => Error::NoAnswer(config.connect_timeout),
            };
            process.end().await;
            Err(error)
        }
        Transport::Remote(remote) => {
            let opening = open_remote(config, remote, handler, host);
            tokio::select! {
                opened = timeout(config.connect_timeout, opening) => match opened {
                    Ok(opened) => opened,
                    Err(_) => Err(Error::NoAnswer(config.connect_timeout)),
                },
                () = closing.begun() => Err(Error::Closing),
            }
        }
    }
}

/// Refuses a package that is known as malware before it is fetched or run.
async fn refuse_malware(
    stdio: &StdioConfig,
    launch: Option<&Launch>,
    host: &dyn ServerHost,
) -> Result<(), Error> {
    let package = match launch {
        Some(launch) => launch.package.clone(),
        None => stdio::public_package(&stdio.command, &stdio.args),
    };
    let Some(package) = package else {
        return Ok(());
    };
    let advisories = host.malware().advisories(&package).await;
    if advisories.is_empty() {
        return Ok(());
    }
    Err(Error::Malware {
        package: package.name,
        advisories,
    })
}

async fn open_remote(
    config: &ServerConfig,
    remote: &RemoteConfig,
    handler: Handler,
    host: &Arc<dyn ServerHost>,
) -> Result<Opened, Error> {
    let tokens = host.tokens(config);
    let client = remote::client(remote, host.as_ref())?;
    let fault = Fault::default();
    let service = if remote.is_sse {
        let transport = remote::sse(remote, client, tokens, fault.clone()).await?;
        serve_client(handler, transport).await
    } else {
        let transport = remote::streamable(remote, client, tokens, fault.clone())?;
        serve_client(handler, transport).await
    };
    match service {
        Ok(service) => Ok(Opened {
            service,
            process: None,
            fault,
        }),
        Err(error) => Err(not_initialised(&error, &fault)),
    }
}

fn not_initialised(error: &ClientInitializeError, fault: &Fault) -> Error {
    if error.is_authorization_required() {
        return Error::NeedsLogin {
            reason: fault.login().unwrap_or_default(),
        };
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => Error::NotMcp(error.message.to_string()),
        ClientInitializeError::TransportError { error, .. } => {
            Error::Unreachable(crate::remote::cause(error.error.as_ref()))
        }
        ClientInitializeError::ConnectionClosed(_) => {
            Error::Unreachable("the connection was closed".to_owned())
        }
        other => Error::NotMcp(hermes_text::one_line(&other.to_string(), 300)),
    }
}

/// What the server offers.
pub(super) async fn catalog(
    config: &ServerConfig,
    peer: &Peer<RoleClient>,
) -> Result<Catalog, Error> {
    let capabilities = peer
        .peer_info()
        .map_or_else(ServerCapabilities::default, |info| {
            info.capabilities.clone()
        });
    // Servers older than the protocol's capabilities have tools and do not say so.
    let listing = timeout(config.connect_timeout, all_tools(&config.name, peer));
    let Ok(listed) = listing.await else {
        return Err(Error::NoAnswer(config.connect_timeout));
    };
    let tools = match listed {
        Ok(tools) => tools,
        Err(ServiceError::McpError(_)) if capabilities.tools.is_none() => Vec::new(),
        Err(error) => return Err(failure(error)),
    };
    Ok(Catalog::of(&config.name, tools, &capabilities))
}

async fn all_tools(server: &str, peer: &Peer<RoleClient>) -> Result<Vec<Tool>, ServiceError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let listed = peer.list_tools(Some(page)).await?;
        tools.extend(listed.tools);
        cursor = listed.next_cursor.filter(|cursor| !cursor.is_empty());
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    tracing::warn!(
        server,
        "an MCP server has more than {MAX_PAGES} pages of tools"
    );
    Ok(tools)
}
