//! Opening `state.db`: new, of either reference version, of a newer version, or not a database.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use hermes_store::{Database, OpenOptions};

use super::SessionStore;
use crate::error::database_path;
use crate::schema::{self, ExistingSchema};
use crate::{Error, Result};

/// Statements kept ready per connection.
const STATEMENTS: usize = 64;

impl SessionStore {
    /// Opens the sessions of a home, creating (mode 0600) or migrating the file if necessary.
    pub fn open(home: &Path) -> Result<Self> {
        hermes_fs::create_dir_all(home, 0o700)?;
        let path = database_path(home);
        let mut database = Database::open(
            &path,
            &OpenOptions {
                eager: true,
                ..OpenOptions::default()
            },
        )?;
        keep_private(&path);
        let behind = ExistingSchema::of(database.connection())
            .and_then(|schema| schema::is_behind(database.connection(), &schema))
            .map_err(database.error("read"))?;
        if behind {
            database.write(|connection| {
                schema::bring_up_to_date(connection)
                    .map_err(hermes_store::Error::sqlite("migrate", &path))
                    .map_err(Error::from)
            })?;
        }
        Ok(Self::new(database))
    }

    /// Opens the sessions of a home read-only, changing nothing. `None` if there are none yet.
    pub fn open_read_only(home: &Path) -> Result<Option<Self>> {
        let path = database_path(home);
        let database = match Database::open_for_inspection(&path) {
            Ok(database) => database,
            Err(hermes_store::Error::File(error)) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let existing = ExistingSchema::of(database.connection()).map_err(database.error("read"))?;
        // A process that died while creating the file leaves it empty.
        if !existing.has_table("sessions") || !existing.has_table("messages") {
            return Ok(None);
        }
        schema::add_missing_columns(database.connection(), &existing)
            .map_err(database.error("read"))?;
        Ok(Some(Self::new(database)))
    }

    fn new(database: Database) -> Self {
        database
            .connection()
            .set_prepared_statement_cache_capacity(STATEMENTS);
        Self {
            path: database.path().to_owned(),
            database: Arc::new(Mutex::new(database)),
        }
    }
}

/// Makes the database private: the reference leaves it readable for everybody.
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
            tracing::debug!(%error, "could not restrict the mode of the session database");
        }
    }
}
