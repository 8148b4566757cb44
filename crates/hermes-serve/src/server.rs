//! Connections: accepted, counted, timed, and ended when the server has to stop.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use hermes_proc::{Wake, wait_for_any};
use hyper::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::listener::Listener;
use crate::peer::Peer;

/// Largest head of a request.
const HEAD_BYTES: usize = 64 << 10;
/// Connections at once; further ones wait.
const MOST_CONNECTIONS: usize = 1_024;
/// Pause after a failure to accept, such as a lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long the thread that waits for the end sleeps at most.
const WAIT: Duration = Duration::from_hours(1);

/// How long things may take, and how many threads wait for the disk.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For the head of a request, and for the first byte of the next one.
    pub head: Duration,
    /// For answers that are on their way when the server has to stop.
    pub end: Duration,
    /// Threads that wait for the disk.
    pub disk_threads: usize,
    /// How often the service is told that time has passed; `None` if it need not know.
    pub tick: Option<Duration>,
}

/// What a server does. All calls come from the thread of the connections, but [`Self::ended`].
pub trait Service: Send + Sync + 'static {
    /// Answers a request, or refuses it.
    fn answer(&self, peer: &Peer, request: Request<Body>) -> impl Future<Output = Response> + Send;

    /// Nobody was answered yet.
    fn begin(&self) {}

    /// Time has passed.
    fn tick(&self) {}

    /// A connection was accepted.
    fn opened(&self) {}

    /// A connection has ended.
    fn closed(&self) {}

    /// Nobody is accepted any more: what goes on by itself has to end.
    fn stopping(&self) {}

    /// Connections have ended, or been left: waits no longer than this for what goes on beside them.
    fn ended(&self, limit: Duration);
}

impl Listener {
    /// Answers requests until the flag is up, and ends within the limits then, whatever clients do.
    pub fn serve<S: Service>(
        &self,
        service: &Arc<S>,
        limits: Limits,
        stop: &Wake,
    ) -> io::Result<()> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(limits.disk_threads)
            .build()?;
        let done = Wake::new()?;
        let (stopping, stopped) = oneshot::channel();
        let served = std::thread::scope(|scope| {
            scope.spawn(|| {
                // Nothing else ends the wait, however long it takes.
                while wait_for_any(&[stop, &done], WAIT).is_none() {}
                drop(stopping);
            });
            let served = runtime.block_on(self.accept_all(service, limits, stopped));
            done.raise();
            served
        });
        service.ended(limits.end);
        runtime.shutdown_timeout(limits.end);
        served
    }

    async fn accept_all<S: Service>(
        &self,
        service: &Arc<S>,
        limits: Limits,
        mut stopped: oneshot::Receiver<()>,
    ) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.socket.try_clone()?)?;
        let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let (ending, ended) = watch::channel(false);
        let mut tick = limits.tick.map(tokio::time::interval);
        service.begin();
        loop {
            let accepted = tokio::select! {
                _ = &mut stopped => break,
                () = next(&mut tick) => {
                    service.tick();
                    continue;
                }
                accepted = accept(&listener, &free) => accepted,
            };
            match accepted {
                Ok((stream, peer, place)) => {
                    let service = Arc::clone(service);
                    let ended = ended.clone();
                    tokio::spawn(async move {
                        connection(service, limits, (stream, peer), ended).await;
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
        service.stopping();
        if timeout(limits.end, ending.closed()).await.is_err() {
            tracing::info!("connections were still open when the server stopped");
        }
        Ok(())
    }
}

/// Waits for the next tick, forever if there is none.
async fn next(tick: &mut Option<tokio::time::Interval>) {
    match tick {
        Some(tick) => {
            tick.tick().await;
        }
        None => std::future::pending().await,
    }
}

async fn accept(
    listener: &tokio::net::TcpListener,
    free: &Arc<Semaphore>,
) -> io::Result<(TcpStream, Peer, OwnedSemaphorePermit)> {
    let place = Arc::clone(free)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    let peer = Peer::new(stream.local_addr()?, peer);
    Ok((stream, peer, place))
}

/// Serves one connection to its end.
async fn connection<S: Service>(
    service: Arc<S>,
    limits: Limits,
    (stream, peer): (TcpStream, Peer),
    mut ended: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        // Events then come later, and come.
        tracing::debug!(%error, "small answers may be held back");
    }
    service.opened();
    let (answering, address) = (Arc::clone(&service), peer.ip());
    let peer = Arc::new(peer);
    let answer = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (service, peer) = (Arc::clone(&answering), Arc::clone(&peer));
        async move { Ok::<_, Infallible>(service.answer(&peer, request.map(Body::new)).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades();
    let mut served = std::pin::pin!(served);
    let result = tokio::select! {
        result = served.as_mut() => result,
        _ = ended.changed() => {
            served.as_mut().graceful_shutdown();
            timeout(limits.end, served.as_mut()).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = result {
        if error.is_parse() || error.is_parse_too_large() {
            tracing::info!(%error, peer = %address, "what a client sent is not a request");
        } else {
            // Clients go whenever they like.
            tracing::debug!(%error, peer = %address, "a connection ended early");
        }
    }
    service.closed();
}
