//! One server: its connection, made when it is needed; what it offers; how its calls went.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value};
use tokio::time::{sleep, timeout};

use super::breaker::Breaker;
use super::closing::Closing;
use super::connection::Connection;
use super::keeper::{Learn, keep};
use super::open::{catalog, open};
use super::request;
use crate::answer::Answer;
use crate::catalog::{Catalog, Operation};
use crate::catalog_store;
use crate::config::ServerConfig;
use crate::error::Error;
use crate::failure_store::{self, PastFailure};
use crate::host::ServerHost;
use crate::sampling::{CallsUnderWay, SamplingGate};

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

/// How often a connection is tried to be made.
#[derive(Clone, Copy)]
enum Attempts {
    One,
    /// As often as may help within the time for it.
    Several,
}

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// Not needed so far, or closed since.
    NotRunning,
    Running,
    /// The last attempt failed.
    Failed,
}

/// What has to be done to know what a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discovery {
    /// Nothing: it is known.
    Known,
    /// The server has to be asked.
    Ask,
    /// The server has to be asked, and was too slow the last time for anybody to wait for it.
    AskBeside,
    /// It failed not long ago and is left alone for so long.
    Pause(Duration),
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
    closing: Closing,
    is_discovering: AtomicBool,
    calls: Arc<CallsUnderWay>,
    /// `None` if the server may not ask the model.
    sampling: Option<Arc<SamplingGate>>,
    /// Counts changes of what servers offer.
    changes: Arc<AtomicU64>,
}

#[derive(Default)]
struct Facts {
    breaker: Breaker,
    catalog: Option<Arc<Catalog>>,
    /// Whether the catalog was read from disk and is old.
    is_stale: bool,
    /// What came of the last attempt to find out what the server offers, here or in another process.
    past: Option<PastFailure>,
    was_reached: bool,
}

impl Server {
    pub(crate) fn new(
        config: ServerConfig,
        host: Arc<dyn ServerHost>,
        changes: Arc<AtomicU64>,
    ) -> Arc<Self> {
        let known = catalog_store::load(host.home(), &config);
        let calls = Arc::<CallsUnderWay>::default();
        let sampling = config.sampling.clone().map(|sampling| {
            let (sampler, calls) = (host.sampler(), Arc::clone(&calls));
            let gate = SamplingGate::new(&config.name, sampling, sampler, host.redactor(), calls);
            Arc::new(gate)
        });
        let is_stale = known.as_ref().is_some_and(|known| known.age > STALE);
        let past = if known.is_none() || is_stale {
            failure_store::load(host.home(), &config)
        } else {
            None
        };
        Arc::new_cyclic(|own| Self {
            config: Arc::new(config),
            host,
            own: own.clone(),
            facts: Mutex::new(Facts {
                is_stale,
                past,
                catalog: known.map(|known| known.catalog),
                ..Facts::default()
            }),
            connection: tokio::sync::Mutex::default(),
            current: Mutex::default(),
            closing: Closing::default(),
            is_discovering: AtomicBool::new(false),
            calls,
            sampling,
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
        let mut facts = self.facts();
        let pause = facts.past.as_ref().and_then(pause_left);
        std::mem::take(&mut facts.is_stale) && pause.is_none()
    }

    /// What has to be done to know what the server offers.
    pub(crate) fn discovery(&self) -> Discovery {
        let facts = self.facts();
        match (&facts.catalog, &facts.past) {
            (Some(_), _) => Discovery::Known,
            (None, None) => Discovery::Ask,
            (None, Some(past)) if past.is_slow => Discovery::AskBeside,
            (None, Some(past)) => pause_left(past).map_or(Discovery::Ask, Discovery::Pause),
        }
    }

    /// Whether somebody is finding out what the server offers.
    pub(crate) fn is_discovering(&self) -> bool {
        self.is_discovering.load(Ordering::Relaxed)
    }

    /// Forgets that the server failed, so that it is tried again at once.
    pub(crate) fn forget_failures(&self) {
        self.facts().past = None;
        self.remove_note();
    }

    fn remove_note(&self) {
        if let Err(error) = failure_store::forget(self.host.home(), &self.config) {
            let server = &self.config.name;
            tracing::warn!(server, %error, "the failure of an MCP server is still remembered");
        }
    }

    /// Remembers that the server could not be asked. Further attempts during the pause that follows do
    /// not make it longer.
    fn note_failure(&self, reason: &str, is_slow: bool) {
        let pause = self.facts().past.as_ref().and_then(pause_left);
        if pause.is_some() {
            return;
        }
        match failure_store::note(self.host.home(), &self.config, reason, is_slow) {
            Ok(failure) => self.facts().past = Some(failure),
            Err(error) => {
                let server = &self.config.name;
                tracing::warn!(server, %error, "the failure of an MCP server is not remembered");
            }
        }
    }

    /// Remembers that nobody could wait for the server any longer, if it has not answered by now.
    pub(crate) fn note_slow(&self, waited: Duration) {
        let facts = self.facts();
        if facts.catalog.is_some() || facts.breaker.last().is_some() {
            return;
        }
        drop(facts);
        self.note_failure(&Error::NoAnswer(waited).to_string(), true);
    }

    pub(crate) fn status(&self) -> ServerStatus {
        let facts = self.facts();
        let remembered = facts.past.as_ref().map(|past| past.reason.as_str());
        let remembered = remembered.filter(|_| facts.catalog.is_none());
        let problem = facts.breaker.last().or(remembered).map(str::to_owned);
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
        let (is_new, is_first) = {
            let mut facts = self.facts();
            let is_new = facts.catalog.as_deref() != Some(&catalog);
            let is_first = facts.catalog.is_none() || facts.past.is_some();
            if is_new {
                facts.catalog = Some(Arc::new(catalog.clone()));
            }
            facts.past = None;
            (is_new, is_first)
        };
        if is_first {
            self.remove_note();
        }
        if is_new {
            self.changes.fetch_add(1, Ordering::Release);
        }
        // Also when it is as before: the file's age says when it was looked at last.
        if let Err(error) = catalog_store::save(self.host.home(), &self.config, &catalog) {
            tracing::warn!(server = self.config.name, %error, "the tools of an MCP server were not saved");
        }
    }

    /// Makes a request for a session, with a connection made for it if need be.
    pub(crate) async fn call(
        &self,
        operation: &Operation,
        arguments: &Map<String, Value>,
        session: Option<&str>,
    ) -> Result<Answer, Error> {
        let _under_way = self.calls.begin(session);
        if let Some(refusal) = self.facts().breaker.refusal(Instant::now()) {
            return Err(refusal);
        }
        let called = match self.call_once(operation, arguments).await {
            // The server has refused the request, so it can be made again.
            Err(Error::SessionExpired) => {
                self.drop_connection().await;
                match timeout(RECONNECT_LIMIT, self.connected(Attempts::Several)).await {
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
        let connection = self.connected(Attempts::Several).await?;
        let _in_use = connection.in_use();
        let asked = request::make(&connection.peer, operation, arguments);
        match timeout(self.config.timeout, asked).await {
            Ok(Err(Error::LostDuringCall)) => {
                Err(connection.fault.get().unwrap_or(Error::LostDuringCall))
            }
            Ok(Err(Error::NeedsLogin { reason })) => Err(Error::NeedsLogin {
                reason: connection.fault.login().unwrap_or(reason),
            }),
            Ok(answer) => answer,
            Err(_) => Err(Error::NoAnswer(self.config.timeout)),
        }
    }

    /// Makes a connection if there is none.
    pub(crate) async fn connect_now(&self) -> Result<(), Error> {
        self.connected(Attempts::Several).await.map(|_| ())
    }

    /// The connection, made now if there is none.
    async fn connected(&self, attempts: Attempts) -> Result<Arc<Connection>, Error> {
        let mut slot = self.connection.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Arc::clone(connection));
        }
        if self.closing.has_begun() {
            return Err(Error::Closing);
        }
        let connection = match attempts {
            Attempts::One => {
                let connection = self.connect_once().await?;
                self.facts().was_reached = true;
                connection
            }
            Attempts::Several => self.connect().await?,
        };
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
            if attempt >= retries || !error.is_passing() || !has_time || self.closing.has_begun() {
                return Err(error);
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = self.closing.begun() => return Err(Error::Closing),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            attempt += 1;
        }
    }

    async fn connect_once(&self) -> Result<Arc<Connection>, Error> {
        let opened = open(
            &self.config,
            &self.host,
            self.sampling.clone(),
            &self.closing,
        )
        .await?;
        let listed = tokio::select! {
            listed = catalog(&self.config, opened.service.peer()) => listed,
            () = self.closing.begun() => Err(Error::Closing),
        };
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) => {
                let error = opened.fault.get().unwrap_or(error);
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

    /// Finds out what the server offers. On failure it is tried again, soon at first and then every now
    /// and then, for as long as the process lives. `attempted` is called after the first attempt.
    pub(crate) async fn discover(self: Arc<Self>, attempted: impl FnOnce() + Send) {
        let is_first = !self.is_discovering.swap(true, Ordering::Relaxed);
        let mut attempted = Some(attempted);
        let mut pause = FIRST_PAUSE;
        for attempt in 0.. {
            let outcome = self.connected(Attempts::One).await;
            {
                let mut facts = self.facts();
                match &outcome {
                    Ok(_) => facts.breaker.succeeded(),
                    Err(error) => facts.breaker.failed(error, Instant::now()),
                }
            }
            if self.closing.has_begun() {
                break;
            }
            if let Err(error) = &outcome {
                tracing::warn!(server = self.config.name, attempt, %error, "the tools of an MCP server are not known");
                if error.is_slow_to_find() {
                    self.note_failure(&error.to_string(), false);
                }
            }
            if let Some(attempted) = attempted.take() {
                attempted();
            }
            if outcome.is_ok() || !is_first {
                break;
            }
            if attempt < FIRST_RETRIES && outcome.is_err_and(|error| error.is_passing()) {
                sleep(pause).await;
                pause *= 2;
            } else {
                sleep(PARKED).await;
            }
        }
        if is_first {
            self.is_discovering.store(false, Ordering::Relaxed);
        }
    }

    /// Closes the connection, for good.
    pub(crate) async fn close(&self) {
        self.closing.begin();
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

/// For how long a server that failed is left alone.
fn pause_left(past: &PastFailure) -> Option<Duration> {
    past.pause_left(SystemTime::now())
}
