//! All servers of a process. One thread drives them: every process of a server ends with that
//! thread, and with the pool.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hermes_proc::{Wake, wait_for_any};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::answer::Answer;
use crate::catalog::{Catalog, Operation};
use crate::config::ServerConfig;
use crate::error::Error;
use crate::host::ServerHost;
use crate::server::{Discovery, Server, ServerStatus};

/// For the end of all servers together: a farewell, SIGTERM, SIGKILL, and some room.
const CLOSING_LIMIT: Duration = Duration::from_secs(8);
/// For processes that are still being ended then.
const ENDING_LIMIT: Duration = Duration::from_secs(5);
/// Beyond the limits of a server, for what lies around a call.
const MARGIN: Duration = Duration::from_secs(10);

/// The servers of a process. Nothing is started before it is needed.
#[derive(Default)]
pub struct McpPool {
    servers: Mutex<Vec<Pooled>>,
    driver: Mutex<Option<Driver>>,
    changes: Arc<AtomicU64>,
}

impl std::fmt::Debug for McpPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpPool").finish_non_exhaustive()
    }
}

/// A server, and the home whose settings name it.
struct Pooled {
    home: PathBuf,
    server: Arc<Server>,
}

/// A server of the pool.
#[derive(Clone)]
pub struct PooledServer {
    server: Arc<Server>,
    pool: Arc<McpPool>,
}

struct Driver {
    handle: Handle,
    /// Dropped, it ends the thread.
    until: Option<oneshot::Sender<Vec<Arc<Server>>>>,
    thread: Option<JoinHandle<()>>,
}

/// The place of an answer that another thread makes.
struct Reply {
    answer: Mutex<Option<Result<Answer, Error>>>,
    is_there: Wake,
}

impl McpPool {
    /// The server of these settings, the same for all who ask.
    pub fn server(
        self: &Arc<Self>,
        config: &ServerConfig,
        host: &Arc<dyn ServerHost>,
    ) -> PooledServer {
        let mut servers = self.servers();
        let is_meant = |one: &&Pooled| one.home == host.home() && **one.server.config() == *config;
        let known = servers.iter().find(is_meant);
        let server = match known {
            Some(known) => Arc::clone(&known.server),
            None => {
                let (host, changes) = (Arc::clone(host), Arc::clone(&self.changes));
                let server = Server::new(config.clone(), host, changes);
                self.replace(&mut servers, &server, config);
                server
            }
        };
        PooledServer {
            server,
            pool: Arc::clone(self),
        }
    }

    /// Adds a server, and ends those of the same name under earlier settings that nobody uses any
    /// more.
    fn replace(&self, servers: &mut Vec<Pooled>, server: &Arc<Server>, config: &ServerConfig) {
        let home = server.home().to_owned();
        let is_over = |one: &Pooled| {
            one.home == home
                && one.server.config().name == config.name
                && Arc::strong_count(&one.server) == 1
        };
        for old in servers.extract_if(.., |one| is_over(one)) {
            if let Some(driver) = &*self.driver() {
                driver.handle.spawn(async move { old.server.close().await });
            }
        }
        servers.push(Pooled {
            home,
            server: Arc::clone(server),
        });
    }

    /// A number that is another one after the tools of any server have changed.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Asks servers for their tools, all at once, and waits so long for the first attempt at each.
    /// Answers that come later are noted as well.
    pub fn discover(&self, servers: &[PooledServer], limit: Duration) {
        let Ok(attempted) = Wake::new().map(Arc::new) else {
            return;
        };
        let left = Arc::new(AtomicU64::new(servers.len() as u64));
        for one in servers {
            let (left, attempted) = (Arc::clone(&left), Arc::clone(&attempted));
            let discovery = Arc::clone(&one.server).discover(move || {
                if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    attempted.raise();
                }
            });
            match self.handle() {
                Ok(handle) => drop(handle.spawn(discovery)),
                Err(_) => return,
            }
        }
        if servers.is_empty() || limit.is_zero() || attempted.wait(limit) {
            return;
        }
        for one in servers {
            one.server.note_slow(limit);
        }
    }

    /// Ends all servers, and waits until they are gone.
    pub fn close(&self) {
        let servers = std::mem::take(&mut *self.servers());
        let driver = self.driver().take();
        let Some(mut driver) = driver else {
            return;
        };
        if let Some(until) = driver.until.take() {
            // Fails when the thread has ended, and with it all servers.
            let servers = servers.into_iter().map(|one| one.server);
            drop(until.send(servers.collect()));
        }
        if let Some(thread) = driver.thread.take() {
            drop(thread.join());
        }
    }

    fn handle(&self) -> Result<Handle, Error> {
        let mut driver = self.driver();
        if let Some(driver) = &*driver {
            return Ok(driver.handle.clone());
        }
        let started = start().map_err(|error| {
            Error::NotStarted(format!("there is no thread for MCP servers: {error}"))
        })?;
        let handle = started.handle.clone();
        *driver = Some(started);
        Ok(handle)
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Pooled>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn driver(&self) -> MutexGuard<'_, Option<Driver>> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for McpPool {
    fn drop(&mut self) {
        self.close();
    }
}

impl PooledServer {
    /// The settings of the server.
    pub fn config(&self) -> &ServerConfig {
        self.server.config()
    }

    /// What the server offers, if that was ever found out.
    pub fn catalog(&self) -> Option<Arc<Catalog>> {
        self.server.catalog()
    }

    /// Whether what is known of the server is old. The answer is yes once.
    pub fn take_stale(&self) -> bool {
        self.server.take_stale()
    }

    /// What has to be done to know what the server offers.
    pub fn discovery(&self) -> Discovery {
        self.server.discovery()
    }

    /// Whether somebody is finding out what the server offers, or waits to try that again.
    pub fn is_discovering(&self) -> bool {
        self.server.is_discovering()
    }

    /// Forgets that the server failed, so that it is tried again at once.
    pub fn forget_failures(&self) {
        self.server.forget_failures();
    }

    /// How the server is.
    pub fn status(&self) -> ServerStatus {
        self.server.status()
    }

    /// Connects now, unless that was done before.
    pub fn connect(&self, interrupt: &Wake) -> Result<Arc<Catalog>, Error> {
        let server = Arc::clone(&self.server);
        self.wait(interrupt, self.longest(), async move {
            server.connect_now().await?;
            Ok(Answer::value(Value::Null))
        })?;
        Ok(self.catalog().unwrap_or_default())
    }

    /// Makes a request for a session and waits for its end, or for the interrupt.
    pub fn call(
        &self,
        operation: &Operation,
        arguments: &Map<String, Value>,
        session: Option<&str>,
        interrupt: &Wake,
    ) -> Result<Answer, Error> {
        self.call_within(self.longest(), operation, arguments, session, interrupt)
    }

    /// The same, taken back after so long, a start of the server included.
    pub fn call_within(
        &self,
        limit: Duration,
        operation: &Operation,
        arguments: &Map<String, Value>,
        session: Option<&str>,
        interrupt: &Wake,
    ) -> Result<Answer, Error> {
        let server = Arc::clone(&self.server);
        let (operation, arguments) = (operation.clone(), arguments.clone());
        let session = session.map(str::to_owned);
        self.wait(interrupt, limit, async move {
            let session = session.as_deref();
            server.call(&operation, &arguments, session).await
        })
    }

    /// Every step has a limit of its own; this one is for a bug in them.
    fn longest(&self) -> Duration {
        let config = self.server.config();
        (config.timeout + config.connect_timeout) * 2 + MARGIN
    }

    fn wait(
        &self,
        interrupt: &Wake,
        limit: Duration,
        work: impl Future<Output = Result<Answer, Error>> + Send + 'static,
    ) -> Result<Answer, Error> {
        let no_room = |error: std::io::Error| Error::NotStarted(error.to_string());
        let reply = Arc::new(Reply {
            answer: Mutex::default(),
            is_there: Wake::new().map_err(no_room)?,
        });
        let place = Arc::clone(&reply);
        let task = self.pool.handle()?.spawn(async move {
            let answer = work.await;
            *place.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            place.is_there.raise();
        });
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match wait_for_any(&[&reply.is_there, interrupt], left) {
                Some(0) => break,
                Some(_) => {
                    // The request is taken back with its task.
                    task.abort();
                    return Err(Error::Interrupted);
                }
                None if left.is_zero() => {
                    task.abort();
                    return Err(Error::NoAnswer(limit));
                }
                None => {}
            }
        }
        let answer = reply
            .answer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        answer.unwrap_or(Err(Error::Closing))
    }
}

fn start() -> std::io::Result<Driver> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let handle = runtime.handle().clone();
    let (until, ended) = oneshot::channel::<Vec<Arc<Server>>>();
    let thread = std::thread::Builder::new()
        .name("hermes-mcp".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                let servers = ended.await.unwrap_or_default();
                let closing = servers.iter().map(|server| server.close());
                let closing = futures_util::future::join_all(closing);
                // Whoever is left is killed with this thread.
                drop(tokio::time::timeout(CLOSING_LIMIT, closing).await);
            });
            // Processes of calls that were interrupted may still be ending.
            runtime.shutdown_timeout(ENDING_LIMIT);
        })?;
    Ok(Driver {
        handle,
        until: Some(until),
        thread: Some(thread),
    })
}
