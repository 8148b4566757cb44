//! Another machine as a host for commands.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::client::SshClient;
use super::connection::{connect, find_home};
use super::control::ControlPaths;
use super::diagnosis;
use super::mux::MuxUser;
use super::programs::check_programs;
use super::settings::SshSettings;
use super::surroundings::SshSurroundings;
use super::sync::{Demand, FileSync, PulledBack, There};
use hermes_terminal::remote::{Launch, SessionVariable, Transport, TransportError, Trouble};

/// A user on another machine. Cheap to make; the connection comes with [`Transport::ensure`] and is
/// shared with every other user of it on this machine. Dropped, it lets go of the connection;
/// [`SshHost::cleanup`] also fetches changed files first.
#[derive(Debug)]
pub struct SshHost {
    settings: SshSettings,
    surroundings: SshSurroundings,
    control: ControlPaths,
    connection: Mutex<Option<Connection>>,
    /// Set when a client found the connection gone.
    is_lost: AtomicBool,
    sync: Mutex<FileSync>,
}

#[derive(Debug)]
struct Connection {
    client: Arc<SshClient>,
    mux: MuxUser,
    /// The home there.
    home: Arc<str>,
}

impl SshHost {
    /// Nothing happens yet.
    pub fn new(settings: SshSettings, surroundings: SshSurroundings) -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let id = settings.id();
        Self {
            control: ControlPaths::plan(&surroundings.temp_directory, uid, &id),
            sync: Mutex::new(FileSync::new(id, surroundings.timing.clone())),
            connection: Mutex::new(None),
            is_lost: AtomicBool::new(false),
            settings,
            surroundings,
        }
    }

    /// Brings files that go along now, whenever that was done last.
    pub fn push(&self) -> Result<(), TransportError> {
        self.push_files(Demand::Now)
    }

    /// Fetches what was changed there and lets go of the connection, which is closed if nobody else
    /// uses it. The connection goes even if fetching fails. A second call does nothing; after
    /// [`Transport::ensure`] the host can be used again.
    pub fn cleanup(&self) -> Result<PulledBack, TransportError> {
        let Some(connection) = hold(&self.connection).take() else {
            return Ok(PulledBack::default());
        };
        let carried = &self.surroundings.carried;
        let pulled = hold(&self.sync).pull(connection.there(), carried);
        connection.leave();
        let pulled = pulled.map_err(|error| error.into_transport(&self.settings.target()))?;
        self.tell(&pulled);
        Ok(pulled)
    }

    fn tell(&self, pulled: &PulledBack) {
        let target = self.settings.target();
        for warning in &pulled.warnings {
            tracing::warn!("from {target}: {warning}");
        }
        for copy in &pulled.kept {
            tracing::warn!(
                "a file was changed here and on {target}; the local version is kept as {}",
                copy.display()
            );
        }
    }

    fn push_files(&self, demand: Demand) -> Result<(), TransportError> {
        let (client, home) = {
            let connection = hold(&self.connection);
            let connection = connection.as_ref().ok_or_else(|| self.not_connected())?;
            (Arc::clone(&connection.client), Arc::clone(&connection.home))
        };
        let there = There {
            client: &client,
            home: &home,
        };
        let pushed = hold(&self.sync).push(there, &self.surroundings.carried, demand);
        pushed.map_err(|error| error.into_transport(&self.settings.target()))
    }

    fn not_connected(&self) -> TransportError {
        let target = self.settings.target();
        diagnosis::down(format!("not connected to {target}"), None)
    }

    fn client_program(&self) -> Result<PathBuf, TransportError> {
        let program = check_programs(self.surroundings.environment.get("PATH"))?;
        self.settings.key.as_deref().map_or(Ok(()), check_key)?;
        Ok(program)
    }

    /// A share in the connection and a client for it; what a lost connection had is kept.
    fn join(&self, previous: Option<Connection>) -> Result<Connection, TransportError> {
        if let Some(previous) = previous {
            return Ok(previous);
        }
        let program = self.client_program()?;
        let plan = &self.surroundings.environment;
        let mux = MuxUser::join(&self.control, &self.settings.target())?;
        let client = SshClient::new(program, &self.settings, &self.control, plan.clone());
        Ok(Connection {
            client: Arc::new(client),
            mux,
            home: Arc::from(""),
        })
    }
}

impl Connection {
    fn there(&self) -> There<'_> {
        There {
            client: &self.client,
            home: &self.home,
        }
    }

    fn leave(self) {
        let is_last = self.mux.leave(&self.client);
        tracing::debug!(
            is_last,
            "release the connection to {}",
            self.client.target()
        );
    }
}

impl Transport for SshHost {
    fn ensure(&self) -> Result<(), TransportError> {
        let mut slot = hold(&self.connection);
        let was_lost = self.is_lost.swap(false, Ordering::SeqCst);
        if slot.is_some() && !was_lost {
            return Ok(());
        }
        let is_new = slot.is_none();
        let mut connection = self.join(slot.take())?;
        let timing = &self.surroundings.timing;
        let limit = timing.connect;
        if let Err(error) = connect(&connection.client, &self.settings, &self.control, limit) {
            connection.leave();
            return Err(error);
        }
        connection.home = find_home(&connection.client, &self.settings, timing).into();
        let mut sync = hold(&self.sync);
        sync.reconnected();
        if is_new {
            let carried = &self.surroundings.carried;
            // Commands run without the files, too, and bring them as soon as that works.
            hermes_telemetry::best_effort("bring files along", || {
                let pushed = sync.push(connection.there(), carried, Demand::Now);
                pushed.map_err(|error| error.into_transport(&self.settings.target()))
            });
        }
        *slot = Some(connection);
        Ok(())
    }

    fn launch(&self, argv: &[&str]) -> Result<Launch, TransportError> {
        let connection = hold(&self.connection);
        let connection = connection.as_ref().ok_or_else(|| self.not_connected())?;
        Ok(connection.client.launch(argv))
    }

    fn diagnose(&self, exit_code: Option<i32>, stderr: &str) -> Trouble {
        let trouble = diagnosis::trouble(exit_code, stderr, &self.settings);
        if !matches!(trouble, Trouble::Final(_)) {
            self.is_lost.store(true, Ordering::SeqCst);
        }
        trouble
    }

    fn before_command(&self) -> Result<(), TransportError> {
        self.push_files(if self.surroundings.force_sync {
            Demand::Now
        } else {
            Demand::IfDue
        })
    }

    fn session_variables(&self) -> Vec<SessionVariable> {
        Vec::new()
    }

    fn start_directory(&self) -> PathBuf {
        self.settings.start_directory.clone()
    }

    fn describe(&self) -> String {
        self.settings.target()
    }
}

impl Drop for SshHost {
    fn drop(&mut self) {
        if let Some(connection) = hold(&self.connection).take() {
            connection.leave();
        }
    }
}

/// `ssh` would only warn and then ask for another key, which nobody can give.
fn check_key(key: &Path) -> Result<(), TransportError> {
    let reason = match hermes_fs::metadata(key) {
        Ok(meta) if meta.is_file() => return Ok(()),
        Ok(_) => "it is not a regular file".to_owned(),
        Err(error) if error.is_not_found() => "there is no such file".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(TransportError {
        message: format!("terminal.ssh_key names {}: {reason}", key.display()),
        hint: Some(
            "give the path of a private key, or leave terminal.ssh_key empty for ssh's own choice"
                .to_owned(),
        ),
        is_missing_part: false,
    })
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
