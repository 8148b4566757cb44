//! Connections: accepted, timed, counted, and ended when the dashboard has to stop.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use hermes_proc::{Wake, wait_for_any};
use hermes_runtime::Context;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::admission::{Endpoints, answered};
use crate::app::App;
use crate::routes::{ROUTES, router};
use crate::settings::DashboardSettings;

/// How long a client may take for the head of a request, and for the first byte of the next one.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
/// Largest head.
const HEAD_BYTES: usize = 64 << 10;
/// Connections at once; further ones wait.
const MOST_CONNECTIONS: usize = 1_024;
/// How long answers may still take when the dashboard stops.
const END_LIMIT: Duration = Duration::from_millis(700);
/// Pause after a failure to accept, such as a lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long the thread that waits for the end sleeps at most.
const WAIT: Duration = Duration::from_hours(1);
/// Threads that wait for the disk.
const DISK_THREADS: usize = 8;

/// Why a dashboard cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has the port.
    #[error("port {port} on {host} is in use")]
    PortInUse { host: String, port: u16 },
    /// Anything else.
    #[error("the dashboard cannot listen on {host}, port {port}: {source}")]
    Failed {
        host: String,
        port: u16,
        source: io::Error,
    },
}

impl BindError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::PortInUse { .. } => {
                "`hermes dashboard --status` shows dashboards that run; --port 0 takes any free port"
            }
            Self::Failed { .. } => "--host takes an address of this machine, such as 127.0.0.1",
        }
    }
}

/// A dashboard that listens.
pub struct Dashboard {
    listener: TcpListener,
    app: Arc<App>,
    endpoints: Endpoints,
}

impl Dashboard {
    /// Listens. Answers nobody before [`Self::run`].
    pub fn bind(settings: DashboardSettings, context: Context) -> Result<Self, BindError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::PortInUse {
                host: settings.gate.host.clone(),
                port: settings.port,
            },
            _ => BindError::Failed {
                host: settings.gate.host.clone(),
                port: settings.port,
                source,
            },
        };
        let name = settings
            .gate
            .host
            .trim_start_matches('[')
            .trim_end_matches(']');
        let addresses: Vec<SocketAddr> = (name, settings.port)
            .to_socket_addrs()
            .map_err(failed)?
            .collect();
        let listener = TcpListener::bind(addresses.as_slice()).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            listener,
            endpoints: Endpoints::new(router()),
            app: App::new(settings, port, context, ROUTES),
        })
    }

    /// Where the dashboard listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The address of the first page, for people.
    pub fn url(&self) -> String {
        self.app.own_url()
    }

    /// Answers requests until the flag is up, and ends within a second then, whatever clients do.
    pub fn run(&self, stop: &Wake) -> io::Result<()> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(DISK_THREADS)
            .build()?;
        let done = Wake::new()?;
        let (stopping, stopped) = oneshot::channel();
        let served = std::thread::scope(|scope| {
            scope.spawn(|| {
                // Nothing else ends the wait, however long it takes.
                while wait_for_any(&[stop, &done], WAIT).is_none() {}
                self.app.stop();
                drop(stopping);
            });
            let served = runtime.block_on(self.serve(stopped));
            done.raise();
            served
        });
        self.app.runs.wait(END_LIMIT);
        runtime.shutdown_timeout(END_LIMIT);
        served
    }

    async fn serve(&self, mut stopped: oneshot::Receiver<()>) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener.try_clone()?)?;
        let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let (ending, ended) = watch::channel(false);
        loop {
            let accepted = tokio::select! {
                _ = &mut stopped => break,
                accepted = accept(&listener, &free) => accepted,
            };
            match accepted {
                Ok((stream, peer, place)) => {
                    let endpoints = self.endpoints.clone();
                    let app = Arc::clone(&self.app);
                    let connection = connection(app, endpoints, (stream, peer), ended.clone());
                    tokio::spawn(async move {
                        connection.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        drop(ended);
        // Nobody listens if there is no connection.
        ending.send_replace(true);
        if timeout(END_LIMIT, ending.closed()).await.is_err() {
            tracing::info!("connections were still open when the dashboard stopped");
        }
        Ok(())
    }
}

type Place = tokio::sync::OwnedSemaphorePermit;

async fn accept(
    listener: &tokio::net::TcpListener,
    free: &Arc<Semaphore>,
) -> io::Result<(TcpStream, IpAddr, Place)> {
    let place = Arc::clone(free)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer.ip().to_canonical(), place))
}

/// Serves one connection to its end.
async fn connection(
    app: Arc<App>,
    endpoints: Endpoints,
    (stream, peer): (TcpStream, IpAddr),
    mut ended: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        // Events then come later, and come.
        tracing::debug!(%error, "small answers may be held back");
    }
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (app, endpoints) = (Arc::clone(&app), endpoints.clone());
        async move {
            let request = request.map(Body::new);
            Ok::<_, Infallible>(answered(&app, &endpoints, peer, request).await)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut served = std::pin::pin!(served);
    let result = tokio::select! {
        result = served.as_mut() => result,
        _ = ended.changed() => {
            served.as_mut().graceful_shutdown();
            match timeout(END_LIMIT, served.as_mut()).await {
                Ok(result) => result,
                Err(_) => Ok(()),
            }
        }
    };
    if let Err(error) = result {
        if error.is_parse() || error.is_parse_too_large() {
            tracing::info!(%error, %peer, "what a client sent is not a request");
        } else {
            // Clients go whenever they like.
            tracing::debug!(%error, %peer, "a connection ended early");
        }
    }
}
