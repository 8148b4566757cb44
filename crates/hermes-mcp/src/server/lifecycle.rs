//! One server: its connection, made when it is needed; what it offers; how its calls went.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tokio::time::{sleep, timeout};

use super::breaker::Breaker;
use super::connection::Connection;
use super::keeper::{Learn, keep};
use super::open::{catalog, open};
use super::request;
use crate::answer::Answer;
use crate::catalog::{Catalog, Operation};
use crate::catalog_store;
use crate::config::ServerConfig;
use crate::error::Error;
use crate::host::ServerHost;

/// Attempts after the first for a server that was never reached, and for one that was.
const FIRST_RETRIES: u32 = 3;
const LATER_RETRIES: u32 = 5;
/// Between attempts: one second, then twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// A server whose tools are not known yet is tried again after so long.
const PARKED: Duration = Duration::from_mins(5);
/// A catalog this old is looked at again, beside the conversation.
const STALE: Duration = Duration::from_hours(24);
/// For a new connection after a session was ended by the server.
const RECONNECT_LIMIT: Duration = Duration::from_secs(15);

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// Not needed so far, or closed since.
    NotRunning,
    Running,
    /// The last attempt failed.
    Failed,
}

/// What is known of a server now.
#[derive(Debug, Clone)]
pub struct ServerStatus {
    pub state: ServerState,
    /// Why the last attempt failed, if it did.
    pub problem: Option<String>,
    /// `None` if its tools were never listed.
    pub catalog: Option<Arc<Catalog>>,
}

/// One server of one profile.
pub(crate) struct Server {
    config: Arc<ServerConfig>,
    host: Arc<dyn ServerHost>,
    own: Weak<Self>,
    facts: Mutex<Facts>,
    /// Held while a connection is made, so that only one is.
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
    /// The same connection, for those who only look.
    current: Mutex<Option<Weak<Connection>>>,
    is_discovering: AtomicBool,
    /// Counts changes of what servers offer.
    changes: Arc<AtomicU64>,
}

#[derive(Default)]
struct Facts {
    breaker: Breaker,
    catalog: Option<Arc<Catalog>>,
    /// Whether the catalog was read from disk and is old.
    is_stale: bool,
    was_reached: bool,
    is_closed: bool,
}

impl Server {
    pub(crate) fn new(
        config: ServerConfig,
        host: Arc<dyn ServerHost>,
        changes: Arc<AtomicU64>,
    ) -> Arc<Self> {
        let known = catalog_store::load(host.home(), &config);
        Arc::new_cyclic(|own| Self {
            config: Arc::new(config),
            host,
            own: own.clone(),
            facts: Mutex::new(Facts {
                is_stale: known.as_ref().is_some_and(|known| known.age > STALE),
                catalog: known.map(|known| known.catalog),
                ..Facts::default()
            }),
            connection: tokio::sync::Mutex::default(),
            current: Mutex::default(),
            is_discovering: AtomicBool::new(false),
            changes,
        })
    }

    pub(crate) fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }

    pub(crate) fn home(&self) -> &Path {
        self.host.home()
    }

    pub(crate) fn catalog(&self) -> Option<Arc<Catalog>> {
        self.facts().catalog.clone()
    }

    /// Whether what is known of the server is so old that it should be asked again. The answer is yes
    /// once.
    pub(crate) fn take_stale(&self) -> bool {
        std::mem::take(&mut self.facts().is_stale)
    }

    pub(crate) fn status(&self) -> ServerStatus {
        let facts = self.facts();
        let problem = facts.breaker.last().map(str::to_owned);
        let state = match (&problem, self.open_connection()) {
            (_, Some(_)) => ServerState::Running,
            (Some(_), None) => ServerState::Failed,
            (None, None) => ServerState::NotRunning,
        };
        ServerStatus {
            state,
            problem,
            catalog: facts.catalog.clone(),
        }
    }

    /// Notes what the server offers, here and on disk.
    fn learn(&self, catalog: Catalog) {
        let is_new = {
            let mut facts = self.facts();
            let is_new = facts.catalog.as_deref() != Some(&catalog);
            if is_new {
                facts.catalog = Some(Arc::new(catalog.clone()));
            }
            is_new
        };
        if is_new {
            self.changes.fetch_add(1, Ordering::Release);
        }
        // Also when it is as before: the file's age says when it was looked at last.
        if let Err(error) = catalog_store::save(self.host.home(), &self.config, &catalog) {
            tracing::warn!(server = self.config.name, %error, "the tools of an MCP server were not saved");
        }
    }

    /// Makes a request, with a connection made for it if need be.
    pub(crate) async fn call(
        &self,
        operation: &Operation,
        arguments: &Map<String, Value>,
    ) -> Result<Answer, Error> {
        if let Some(refusal) = self.facts().breaker.refusal(Instant::now()) {
            return Err(refusal);
        }
        let called = match self.call_once(operation, arguments).await {
            // The server has refused the request, so it can be made again.
            Err(Error::SessionExpired) => {
                self.drop_connection().await;
                match timeout(RECONNECT_LIMIT, self.connected()).await {
                    Ok(Ok(_)) => self.call_once(operation, arguments).await,
                    Ok(Err(error)) => Err(error),
                    Err(_) => Err(Error::NoAnswer(RECONNECT_LIMIT)),
                }
            }
            called => called,
        };
        let mut facts = self.facts();
        match &called {
            Ok(_) | Err(Error::Refused(_)) => facts.breaker.succeeded(),
            Err(error) => facts.breaker.failed(error, Instant::now()),
        }
        called
    }

    async fn call_once(
        &self,
        operation: &Operation,
        arguments: &Map<String, Value>,
    ) -> Result<Answer, Error> {
        let connection = self.connected().await?;
        let _in_use = connection.in_use();
        let asked = request::make(&connection.peer, operation, arguments);
        match timeout(self.config.timeout, asked).await {
            Ok(Err(Error::LostDuringCall)) => Err(match connection.fault.get() {
                Some(fault) => Error::NotMcp(fault),
                None => Error::LostDuringCall,
            }),
            Ok(Err(Error::NeedsLogin { reason })) => Err(Error::NeedsLogin {
                reason: connection.fault.get().unwrap_or(reason),
            }),
            Ok(answer) => answer,
            Err(_) => Err(Error::NoAnswer(self.config.timeout)),
        }
    }

    /// Makes a connection if there is none.
    pub(crate) async fn connect_now(&self) -> Result<(), Error> {
        self.connected().await.map(|_| ())
    }

    /// The connection, made now if there is none.
    async fn connected(&self) -> Result<Arc<Connection>, Error> {
        let mut slot = self.connection.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Arc::clone(connection));
        }
        if self.facts().is_closed {
            return Err(Error::Closing);
        }
        let connection = self.connect().await?;
        *slot = Some(Arc::clone(&connection));
        *self.current() = Some(Arc::downgrade(&connection));
        Ok(connection)
    }

    /// Connects, several times if that may help, and lists the tools.
    async fn connect(&self) -> Result<Arc<Connection>, Error> {
        let retries = if self.facts().was_reached {
            LATER_RETRIES
        } else {
            FIRST_RETRIES
        };
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut attempt = 0;
        loop {
            let error = match self.connect_once().await {
                Ok(connection) => {
                    self.facts().was_reached = true;
                    return Ok(connection);
                }
                Err(error) => error,
            };
            let name = &self.config.name;
            tracing::warn!(server = name, attempt, %error, "an MCP server was not reached");
            let has_time = began.elapsed() + pause < self.config.connect_timeout;
            if attempt >= retries || !error.is_passing() || !has_time || self.facts().is_closed {
                return Err(error);
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            attempt += 1;
        }
    }

    async fn connect_once(&self) -> Result<Arc<Connection>, Error> {
        let opened = open(&self.config, &self.host).await?;
        let listed = catalog(&self.config, opened.service.peer()).await;
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) => {
                let error = match opened.fault.get() {
                    Some(fault) => Error::NotMcp(fault),
                    None => error,
                };
                opened.close().await;
                return Err(error);
            }
        };
        self.learn(listed);
        let connection = Connection::new(opened.service.peer().clone(), opened.fault.clone());
        let own = self.own.clone();
        let learn: Learn = Box::new(move |catalog| {
            if let Some(server) = own.upgrade() {
                server.learn(catalog);
            }
        });
        let config = Arc::clone(&self.config);
        tokio::spawn(keep(config, learn, Arc::clone(&connection), opened));
        Ok(connection)
    }

    async fn drop_connection(&self) {
        let connection = self.connection.lock().await.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Finds out what the server offers. On failure it is tried again every now and then, for as long
    /// as the process lives.
    pub(crate) async fn discover(self: Arc<Self>, attempted: impl FnOnce() + Send) {
        let is_first = !self.is_discovering.swap(true, Ordering::Relaxed);
        let mut attempted = Some(attempted);
        loop {
            let outcome = self.connected().await;
            {
                let mut facts = self.facts();
                match &outcome {
                    Ok(_) => facts.breaker.succeeded(),
                    Err(error) => facts.breaker.failed(error, Instant::now()),
                }
                if facts.is_closed {
                    return;
                }
            }
            if let Some(attempted) = attempted.take() {
                attempted();
            }
            if outcome.is_ok() || !is_first {
                break;
            }
            sleep(PARKED).await;
        }
        if is_first {
            self.is_discovering.store(false, Ordering::Relaxed);
        }
    }

    /// Closes the connection, for good.
    pub(crate) async fn close(&self) {
        self.facts().is_closed = true;
        self.drop_connection().await;
    }

    fn open_connection(&self) -> Option<Arc<Connection>> {
        let connection = self.current().as_ref()?.upgrade()?;
        connection.is_open().then_some(connection)
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> MutexGuard<'_, Option<Weak<Connection>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
