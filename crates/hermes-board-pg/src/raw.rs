//! One connection, as the driver has it: made with a password and encryption, and asked with plain
//! texts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_postgres::config::{SslMode as ServerSsl, TargetSessionAttrs};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, SimpleQueryMessage, Socket};

use crate::address::{ServerAddress, SslMode};
use crate::driver;
use crate::error::{Error, Result};
use crate::password::Passwords;
use crate::tls::Tls;

/// How often a connection on which nothing happens is checked.
const KEEPALIVE: Duration = Duration::from_secs(5);
/// How long sent bytes may stay unacknowledged.
const USER_TIMEOUT: Duration = Duration::from_secs(15);
/// Signals that may wait to be taken; one is as good as many.
const SIGNALS: usize = 1;

/// A connection.
pub(crate) struct Raw {
    pub(crate) client: Client,
    pub(crate) address: ServerAddress,
    /// Set once an answer did not come in time: the next one would be that of another question.
    is_out_of_step: AtomicBool,
}

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Raw({})", self.address)
    }
}

/// What comes of a signal of the server: nothing, or a mark that one came.
pub(crate) type Signals = mpsc::Receiver<()>;

impl Raw {
    /// Connects; also returns the signals that the server sends.
    pub(crate) fn connect(
        address: &ServerAddress,
        passwords: &Passwords,
    ) -> Result<(Self, Signals)> {
        let unreachable = |detail: String| Error::Unreachable {
            place: address.place(),
            detail,
        };
        let runtime = driver::handle().map_err(|error| unreachable(error.to_string()))?;
        let (answer, answered) = oneshot::channel();
        let (own, passwords) = (address.clone(), passwords.clone());
        runtime.spawn(async move {
            // Whoever asked may have given up.
            drop(answer.send(Self::connect_async(&own, &passwords).await));
        });
        let limit = address.connect_timeout + Duration::from_secs(1);
        match driver::wait(answered, limit) {
            Some(Ok(connected)) => connected,
            Some(Err(_)) | None => Err(unreachable(format!(
                "no answer within {} s",
                address.connect_timeout.as_secs()
            ))),
        }
    }

    /// The same inside the driver.
    pub(crate) async fn connect_async(
        address: &ServerAddress,
        passwords: &Passwords,
    ) -> Result<(Self, Signals)> {
        let password = passwords.of(address)?;
        let mut config = Config::new();
        for (host, port) in &address.hosts {
            config.host(host).port(*port);
        }
        config
            .user(&address.user)
            .dbname(&address.database)
            .application_name("hermes")
            .connect_timeout(address.connect_timeout)
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(Duration::from_secs(3))
            .keepalives_retries(3)
            .tcp_user_timeout(USER_TIMEOUT)
            .ssl_mode(match address.ssl_mode {
                SslMode::Disable => ServerSsl::Disable,
                SslMode::Prefer => ServerSsl::Prefer,
                SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => ServerSsl::Require,
            });
        if address.hosts.len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if let Some(password) = &password {
            config.password(password.expose());
        }
        let tls = Tls::of(address)?;
        let failed = |error: tokio_postgres::Error| {
            Error::of_connecting(address, &error, password.is_some())
        };
        let connecting = async {
            match tls {
                Some(tls) => {
                    let (client, connection) = config.connect(tls).await.map_err(failed)?;
                    Ok((client, drive(connection)))
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await.map_err(failed)?;
                    Ok((client, drive(connection)))
                }
            }
        };
        // The limit of the driver is about each step of its own.
        let connected = tokio::time::timeout(address.connect_timeout, connecting).await;
        let (client, signals) = connected.unwrap_or_else(|_| {
            Err(Error::Unreachable {
                place: address.place(),
                detail: format!("no answer within {} s", address.connect_timeout.as_secs()),
            })
        })?;
        let raw = Self {
            client,
            address: address.clone(),
            is_out_of_step: AtomicBool::new(false),
        };
        Ok((raw, signals))
    }

    /// Whether it can be used no longer.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.is_out_of_step.load(Ordering::Relaxed)
    }

    /// Waits for an answer.
    pub(crate) fn wait<T>(
        &self,
        answer: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
        limit: Duration,
    ) -> Result<T> {
        match driver::wait(answer, limit) {
            Some(answer) => answer.map_err(|error| Error::of_statement(&self.address, &error)),
            None => {
                self.is_out_of_step.store(true, Ordering::Relaxed);
                Err(Error::Lost {
                    place: self.address.place(),
                    detail: format!("no answer within {} s", limit.as_secs()),
                })
            }
        }
    }

    /// Runs statements without parameters; gives the last row, as texts.
    pub(crate) fn simple(&self, sql: &str, limit: Duration) -> Result<Vec<Option<String>>> {
        let messages = self.wait(self.client.simple_query(sql), limit)?;
        Ok(last_row(messages))
    }
}

/// The last row of an answer, as texts.
pub(crate) fn last_row(messages: Vec<SimpleQueryMessage>) -> Vec<Option<String>> {
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let texts = |row: tokio_postgres::SimpleQueryRow| {
        let columns = 0..row.len();
        columns
            .map(|column| row.get(column).map(str::to_owned))
            .collect()
    };
    rows.last().map(texts).unwrap_or_default()
}

/// Moves the bytes of a connection until it ends.
fn drive<T>(mut connection: tokio_postgres::Connection<Socket, T>) -> Signals
where
    T: tokio_postgres::tls::TlsStream + Unpin + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(SIGNALS);
    tokio::spawn(async move {
        loop {
            match std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                Some(Ok(AsyncMessage::Notification(_))) => {
                    // Full: somebody is about to look anyway. Closed: nobody is interested.
                    sender.try_send(()).ok();
                }
                Some(Ok(_)) => {}
                // Whoever asks something next is told.
                Some(Err(_)) | None => break,
            }
        }
    });
    receiver
}
