//! Connections: accepted, timed, counted, and ended when the server has to stop.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use hermes_proc::{Wake, wait_for_any};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::app::App;
use crate::guard::{Endpoints, Peer, guarded};
use crate::host::ApiHost;
use crate::recovery::{RecoveredRun, recover};
use crate::routes::{ROUTES, router};
use crate::settings::ApiSettings;

/// How long a client may take for the head of a request, and for the first byte of the next one.
const HEAD_LIMIT: Duration = Duration::from_secs(15);
/// Largest head.
const HEAD_BYTES: usize = 64 << 10;
/// Connections at once; further ones wait.
const MOST_CONNECTIONS: usize = 1_024;
/// How long answers may still take when the server stops.
const END_LIMIT: Duration = Duration::from_secs(5);
/// Pause after a failure to accept, such as a lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often what is kept for a while is looked through.
const SWEEP: Duration = Duration::from_secs(30);
/// How long the thread that waits for the end sleeps at most.
const WAIT: Duration = Duration::from_hours(1);
/// Threads that wait for the disk.
const DISK_THREADS: usize = 4;

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has the port.
    #[error("port {port} on {host} is in use; set API_SERVER_PORT to a free one")]
    PortInUse { host: String, port: u16 },
    /// Anything else.
    #[error("the API server cannot listen on {host}, port {port}: {source}")]
    Failed {
        host: String,
        port: u16,
        source: io::Error,
    },
}

impl BindError {
    /// The code in the state file of a gateway.
    pub fn code(&self) -> &'static str {
        match self {
            Self::PortInUse { .. } => "api_server_port_in_use",
            Self::Failed { .. } => "api_server_bind_failed",
        }
    }
}

/// A server that listens.
pub struct ApiServer {
    listener: TcpListener,
    app: Arc<App>,
    endpoints: Endpoints,
}

impl ApiServer {
    /// Listens. Answers nobody before [`Self::run`].
    pub fn bind(settings: ApiSettings, host: Arc<dyn ApiHost>) -> Result<Self, BindError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::PortInUse {
                host: settings.host.clone(),
                port: settings.port,
            },
            _ => BindError::Failed {
                host: settings.host.clone(),
                port: settings.port,
                source,
            },
        };
        let name = settings.host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = (name, settings.port)
            .to_socket_addrs()
            .map_err(failed)?
            .collect();
        let listener = TcpListener::bind(addresses.as_slice()).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        Ok(Self {
            listener,
            endpoints: Endpoints::new(router()),
            app: App::new(settings, host, ROUTES),
        })
    }

    /// Where the server listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until the flag is up. Turns that are still on their way then are interrupted.
    pub fn run(&self, stop: &Wake) -> io::Result<()> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(DISK_THREADS)
            .build()?;
        let recovered = recover(&self.app);
        let done = Wake::new()?;
        let (stopping, stopped) = oneshot::channel();
        let served = std::thread::scope(|scope| {
            scope.spawn(|| {
                // Nothing else ends the wait, however long it takes.
                while wait_for_any(&[stop, &done], WAIT).is_none() {}
                drop(stopping);
            });
            let served = runtime.block_on(self.serve(stopped, recovered));
            done.raise();
            served
        });
        self.app.turns.stop(END_LIMIT);
        runtime.shutdown_timeout(END_LIMIT);
        served
    }

    async fn serve(
        &self,
        mut stopped: oneshot::Receiver<()>,
        recovered: Vec<RecoveredRun>,
    ) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener.try_clone()?)?;
        let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let (ending, ended) = watch::channel(false);
        let mut sweep = tokio::time::interval(SWEEP);
        for run in recovered {
            run.begin(&self.app);
        }
        loop {
            let accepted = tokio::select! {
                _ = &mut stopped => break,
                _ = sweep.tick() => {
                    self.app.turns.sweep();
                    sweep_ledger(&self.app);
                    continue;
                }
                accepted = accept(&listener, &free) => accepted,
            };
            match accepted {
                Ok((stream, peer, place)) => {
                    let client = (stream, peer);
                    let endpoints = self.endpoints.clone();
                    let connection =
                        connection(Arc::clone(&self.app), endpoints, client, ended.clone());
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
        let limit = Instant::now() + END_LIMIT;
        self.app.turns.interrupt_all();
        if tokio::time::timeout_at(limit, ending.closed())
            .await
            .is_err()
        {
            tracing::info!("connections were still open when the API server stopped");
        }
        Ok(())
    }
}

/// Forgets what is too old, beside the connections.
pub(crate) fn sweep_ledger(app: &Arc<App>) {
    if !app.ledger.is_open() {
        return;
    }
    let app = Arc::clone(app);
    tokio::task::spawn_blocking(move || app.ledger.sweep(&app.context().location.home));
}

type Place = tokio::sync::OwnedSemaphorePermit;

async fn accept(
    listener: &tokio::net::TcpListener,
    free: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, Place)> {
    let place = Arc::clone(free)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, place))
}

/// Serves one connection to its end.
async fn connection(
    app: Arc<App>,
    endpoints: Endpoints,
    (stream, peer): (TcpStream, SocketAddr),
    mut ended: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        // Events then come later, and come.
        tracing::debug!(%error, "small answers may be held back");
    }
    app.metrics.connections.fetch_add(1, Ordering::Relaxed);
    let peer = Peer(peer.ip().to_canonical());
    let answering = Arc::clone(&app);
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (app, endpoints) = (Arc::clone(&answering), endpoints.clone());
        async move {
            let request = request.map(Body::new);
            Ok::<_, Infallible>(guarded(&app, &endpoints, peer, request).await)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
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
        let peer = peer.0;
        if error.is_parse() || error.is_parse_too_large() {
            tracing::info!(%error, %peer, "what a client sent is not a request");
        } else {
            // Clients go whenever they like.
            tracing::debug!(%error, %peer, "a connection ended early");
        }
    }
    app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
}
