//! Opening `state.db`: fresh, of either reference, of the future, or something else.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use hermes_store::{Database, OpenOptions};

use super::SessionStore;
use crate::clock::{Clock, SystemClock};
use crate::error::database_of;
use crate::schema::{self, Shape};
use crate::{Error, Result};

/// Statements kept ready per connection.
const STATEMENTS: usize = 64;

/// How the sessions of a home are opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Time and chance.
    pub clock: Arc<dyn Clock>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
        }
    }
}

pub(super) fn open(home: &Path, options: &StoreOptions) -> Result<SessionStore> {
    hermes_fs::create_dir_all(home, 0o700)?;
    let path = database_of(home);
    let mut database = Database::open(
        &path,
        &OpenOptions {
            eager: true,
            ..OpenOptions::default()
        },
    )?;
    keep_private(&path);
    let behind = Shape::of(database.connection())
        .and_then(|shape| schema::is_behind(database.connection(), &shape))
        .map_err(database.error("read"))?;
    if behind {
        database.write(|connection| {
            schema::bring_up_to_date(connection)
                .map_err(hermes_store::Error::sqlite("migrate", &path))
                .map_err(Error::from)
        })?;
    }
    Ok(store_of(database, options.clock.clone()))
}

pub(super) fn open_read_only(home: &Path) -> Result<Option<SessionStore>> {
    let path = database_of(home);
    let database = match Database::open_to_look(&path) {
        Ok(database) => database,
        Err(hermes_store::Error::File(error)) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let shape = Shape::of(database.connection()).map_err(database.error("read"))?;
    // An empty file is what a process leaves that died while making it.
    if !shape.has_table("sessions") || !shape.has_table("messages") {
        return Ok(None);
    }
    schema::stand_in(database.connection(), &shape).map_err(database.error("read"))?;
    Ok(Some(store_of(database, Arc::new(SystemClock))))
}

fn store_of(database: Database, clock: Arc<dyn Clock>) -> SessionStore {
    database
        .connection()
        .set_prepared_statement_cache_capacity(STATEMENTS);
    SessionStore {
        path: database.path().to_owned(),
        database,
        clock,
    }
}

/// The reference leaves its file readable for everybody. Conversations are nobody else's business.
fn keep_private(path: &Path) {
    for file in hermes_store::sidecars(path)
        .iter()
        .map(AsRef::as_ref)
        .chain([path])
    {
        let tightened = hermes_fs::metadata(file).and_then(|meta| {
            let mode = meta.permissions().mode() & 0o777;
            if mode & 0o077 == 0 {
                return Ok(());
            }
            hermes_fs::set_mode(file, mode & 0o700)
        });
        if let Err(error) = tightened
            && !error.is_not_found()
        {
            tracing::debug!(%error, "the mode of the session database stays as it is");
        }
    }
}
