//! What can go wrong with a server, each with the way out.

use std::error::Error as _;
use std::path::PathBuf;

use tokio_postgres::error::SqlState;

use crate::address::{AddressError, ServerAddress};

/// Result of an operation on a server.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation on a server that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("the file of passwords {} {problem}", path.display())]
    PasswordFile { path: PathBuf, problem: String },
    #[error("no connection to the board's database at {place}: {detail}")]
    Unreachable { place: String, detail: String },
    #[error("the database server at {place} does not accept the password of '{user}'")]
    WrongPassword { place: String, user: String },
    #[error("the database server at {place} wants a password for '{user}', and none is set")]
    NoPassword { place: String, user: String },
    #[error("the database server at {place} does not let '{user}' in: {detail}")]
    NotAdmitted {
        place: String,
        user: String,
        detail: String,
    },
    #[error("the certificate of the database server at {place} is not accepted: {detail}")]
    Certificate { place: String, detail: String },
    #[error("the root certificates in {} cannot be used: {detail}", path.display())]
    RootCertificates { path: PathBuf, detail: String },
    #[error("the database server at {place} offers no encryption, which sslmode asks for")]
    NotEncrypted { place: String },
    #[error("there is no database '{database}' on the server at {place}")]
    NoDatabase { place: String, database: String },
    #[error("the role '{user}' may not do this in database '{database}': {detail}")]
    NoRights {
        user: String,
        database: String,
        detail: String,
    },
    #[error("the database server at {place} is a read-only replica")]
    ReadOnly { place: String },
    #[error("the database server at {place} is PostgreSQL {found}; boards need 13 or newer")]
    TooOld { place: String, found: String },
    #[error("the schema '{schema}' of database '{database}' belongs to another program")]
    ForeignSchema { schema: String, database: String },
    #[error(
        "the board in schema '{schema}' has format {found}, and this program knows formats up to \
         {known}"
    )]
    Newer {
        schema: String,
        found: i64,
        known: i64,
    },
    #[error("the board in schema '{schema}' of database '{database}' has moved away")]
    MovedAway {
        schema: String,
        database: String,
        /// What was noted about it.
        note: String,
    },
    #[error("the connection to the board's database at {place} was lost: {detail}")]
    Lost { place: String, detail: String },
    #[error("the database server at {place} is too busy: {detail}")]
    Busy { place: String, detail: String },
    #[error("a board on a database server cannot hold the character NUL")]
    Nul,
    #[error("the database server at {place} reports: {detail}")]
    Server { place: String, detail: String },
}

impl Error {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Address(error) => error.hint(),
            Self::PasswordFile { .. } => {
                "its lines are HOST:PORT:DATABASE:USER:PASSWORD; PGPASSWORD in `.env` works as well"
                    .to_owned()
            }
            Self::Unreachable { .. } | Self::Lost { .. } => {
                "nothing was changed unless it says so; check that the server runs and can be reached \
                 from here, and try again"
                    .to_owned()
            }
            Self::WrongPassword { .. } | Self::NoPassword { .. } => {
                "set PGPASSWORD in `.env`, or name a file of passwords with PGPASSFILE".to_owned()
            }
            Self::NotAdmitted { .. } => {
                "the server decides that in its pg_hba.conf; ask whoever runs it".to_owned()
            }
            Self::Certificate { .. } | Self::RootCertificates { .. } => {
                "name the certificate of the authority with sslrootcert=FILE in the address"
                    .to_owned()
            }
            Self::NotEncrypted { .. } => {
                "switch on `ssl` on the server; sslmode=prefer does without on a network you trust"
                    .to_owned()
            }
            Self::NoDatabase { database, .. } => {
                format!("`createdb {database}` creates it, or name another one in the address")
            }
            Self::NoRights { user, database, .. } => format!(
                "let its owner run: GRANT CREATE ON DATABASE \"{database}\" TO \"{user}\", and grant \
                 the role the schema and the tables of the board if another role made them"
            ),
            Self::ReadOnly { .. } => {
                "name the primary server in the address; with several hosts, separated by commas, the \
                 one that can be written to is found"
                    .to_owned()
            }
            Self::TooOld { .. } => "move the database to a newer server".to_owned(),
            Self::ForeignSchema { .. } => {
                "nothing was changed; name another database, or the board otherwise".to_owned()
            }
            Self::Newer { .. } => {
                "nothing was changed; update this program to the version of the others".to_owned()
            }
            Self::Busy { .. } => "try again".to_owned(),
            Self::MovedAway { .. } | Self::Nul | Self::Server { .. } => return None,
        })
    }

    /// Whether the server or the way to it is at fault, not what was asked for.
    pub fn is_outside(&self) -> bool {
        !matches!(self, Self::Nul | Self::MovedAway { .. })
    }

    /// Whether the server may answer again without anybody changing anything.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Lost { .. })
    }

    /// Whether the answer is missing, so that nobody knows whether the server has done it.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// An error of a statement.
    pub(crate) fn of_statement(address: &ServerAddress, error: &tokio_postgres::Error) -> Self {
        let place = address.place();
        let Some(reported) = error.as_db_error() else {
            if error.is_closed() || is_io(error) {
                return Self::Lost {
                    place,
                    detail: deepest(error),
                };
            }
            if deepest(error) == NUL {
                return Self::Nul;
            }
            return Self::Server {
                place,
                detail: deepest(error),
            };
        };
        let (user, database) = (address.user.clone(), address.database.clone());
        let detail = reported.message().to_owned();
        match reported.code() {
            code if *code == SqlState::INVALID_PASSWORD => Self::WrongPassword { place, user },
            code if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => Self::NotAdmitted {
                place,
                user,
                detail,
            },
            code if *code == SqlState::INVALID_CATALOG_NAME => Self::NoDatabase { place, database },
            code if *code == SqlState::INSUFFICIENT_PRIVILEGE => Self::NoRights {
                user,
                database,
                detail,
            },
            code if *code == SqlState::READ_ONLY_SQL_TRANSACTION => Self::ReadOnly { place },
            code if *code == SqlState::LOCK_NOT_AVAILABLE
                || *code == SqlState::QUERY_CANCELED
                || *code == SqlState::TOO_MANY_CONNECTIONS =>
            {
                Self::Busy { place, detail }
            }
            code if *code == SqlState::ADMIN_SHUTDOWN
                || *code == SqlState::CRASH_SHUTDOWN
                || *code == SqlState::CANNOT_CONNECT_NOW
                || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT =>
            {
                Self::Lost { place, detail }
            }
            code => Self::Server {
                place,
                detail: format!("{detail} ({})", code.code()),
            },
        }
    }

    /// An error of connecting.
    pub(crate) fn of_connecting(
        address: &ServerAddress,
        error: &tokio_postgres::Error,
        has_password: bool,
    ) -> Self {
        let place = address.place();
        if error.as_db_error().is_some() {
            return match Self::of_statement(address, error) {
                Self::Lost { place, detail } => Self::Unreachable { place, detail },
                other => other,
            };
        }
        let chain = chain(error);
        if let Some(detail) = chain.iter().find(|text| text.contains("certificate")) {
            return Self::Certificate {
                place,
                detail: detail.clone(),
            };
        }
        if chain
            .iter()
            .any(|text| text.contains("does not support TLS"))
        {
            return Self::NotEncrypted { place };
        }
        if !has_password && chain.iter().any(|text| text.contains("password missing")) {
            let user = address.user.clone();
            return Self::NoPassword { place, user };
        }
        if chain
            .iter()
            .any(|text| text.contains("database does not allow writes"))
        {
            return Self::ReadOnly { place };
        }
        Self::Unreachable {
            place,
            detail: deepest(error),
        }
    }
}

/// What a value says that PostgreSQL cannot hold.
pub(crate) const NUL: &str = "a text contains NUL";

fn chain(error: &tokio_postgres::Error) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        texts.push(error.to_string());
        cause = error.source();
    }
    texts
}

fn deepest(error: &tokio_postgres::Error) -> String {
    chain(error).pop().unwrap_or_default()
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}
