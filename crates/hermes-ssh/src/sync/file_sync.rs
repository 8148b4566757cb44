//! Pushing before commands and pulling at the end.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_fs::{FileLock, LockOptions, Staging};

use super::error::{FETCHED, MAX_FETCHED, NOTHING_THERE, SENT, SyncError, TOO_LARGE};
use super::incoming::{Expected, Received, receive};
use super::manifest::{Manifest, Stamp};
use super::merge::{Destinations, PulledBack, merge};
use super::outgoing::write_archive;
use super::plan::PushPlan;
use super::schedule::PushSchedule;
use super::scripts;
use crate::client::SshClient;
use crate::diagnosis::SSH_FAILED;
use crate::surroundings::SshTiming;
use hermes_fs::random_hex;
use hermes_terminal::carried_files::{CarriedRequest, files_of};
use hermes_terminal::environment::tell_once;

/// How long a command waits for another process that is at it.
const PUSH_WAIT: Duration = Duration::from_secs(10);

/// Whether a push may be put off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    IfDue,
    Now,
}

/// The other side of a connection.
#[derive(Clone, Copy)]
pub(crate) struct There<'a> {
    pub(crate) client: &'a SshClient,
    /// The home there.
    pub(crate) home: &'a str,
}

impl<'a> There<'a> {
    fn base(&self) -> String {
        format!("{}/.hermes", self.home)
    }

    fn host(&self) -> &'a str {
        self.client.target()
    }
}

/// The files of one home on one machine.
#[derive(Debug)]
pub(crate) struct FileSync {
    /// Name of user, host and port.
    id: String,
    timing: SshTiming,
    schedule: PushSchedule,
    /// Whether the stamp there has been compared since the connection came up.
    is_checked: bool,
}

impl FileSync {
    pub(crate) fn new(id: String, timing: SshTiming) -> Self {
        Self {
            id,
            schedule: PushSchedule::new(timing.push_interval),
            timing,
            is_checked: false,
        }
    }

    /// The machine may be another one now.
    pub(crate) fn reconnected(&mut self) {
        self.is_checked = false;
    }

    /// Brings what changed here. On any failure the record stays as it was.
    pub(crate) fn push(
        &mut self,
        there: There<'_>,
        request: &CarriedRequest,
        demand: Demand,
    ) -> Result<(), SyncError> {
        let started = Instant::now();
        if demand == Demand::IfDue && !self.schedule.is_due(started) {
            return Ok(());
        }
        match self.push_now(there, request) {
            Ok(()) => {
                self.schedule.succeeded(Instant::now());
                Ok(())
            }
            Err(error) => {
                self.is_checked = false;
                self.schedule.failed(started, Instant::now());
                Err(error)
            }
        }
    }

    fn push_now(&mut self, there: There<'_>, request: &CarriedRequest) -> Result<(), SyncError> {
        let _lock = lock(&request.hermes_home, PUSH_WAIT)?;
        let carried = request.resolve();
        tell_once(&carried.warnings);
        let files = files_of(&carried.roots).map_err(SyncError::Unlistable)?;
        let path = Manifest::path(&request.hermes_home, &self.id);
        let mut manifest = Manifest::load(&path, &request.hermes_home);
        let mut once_there = Vec::new();
        if !self.is_checked {
            let found = self.read_stamp(there)?;
            once_there = manifest.check(there.home, found.as_ref());
            self.is_checked = true;
        }
        let plan = PushPlan::new(files, &manifest, &once_there);
        let unnamed = plan
            .unnamed
            .iter()
            .map(|path| format!("{} was not copied: its name is not UTF-8", path.display()));
        tell_once(&unnamed.collect::<Vec<_>>());
        if plan.is_empty() {
            return Ok(());
        }
        self.send(there, &plan, &mut manifest)?;
        Ok(manifest.save(&path, &request.hermes_home)?)
    }

    fn read_stamp(&self, there: There<'_>) -> Result<Option<Stamp>, SyncError> {
        let line = scripts::show_stamp(&there.base());
        let captured = there.client.run(&line, self.timing.question)?;
        let code = captured.status.code();
        if code == Some(SSH_FAILED) || code.is_none() {
            return Err(SyncError::of_client(SENT, code, &captured.stderr));
        }
        Ok(Stamp::find_in(&String::from_utf8_lossy(&captured.stdout)))
    }

    fn send(
        &self,
        there: There<'_>,
        plan: &PushPlan,
        manifest: &mut Manifest,
    ) -> Result<(), SyncError> {
        let host = there.host();
        let stamp = Stamp::next(manifest.stamp.as_ref());
        let line = scripts::receive(&there.base(), &random_hex(12));
        let started = Instant::now();
        let mut child = there.client.start(&line, self.timing.transfer)?;
        let written = write_archive(&mut child, plan, &stamp);
        let captured = child.finish()?;
        let code = captured.status.code();
        let sent = match written {
            Ok(sent) if captured.status.success() => sent,
            // Whoever stops reading says why.
            Ok(_) | Err(_) => {
                return Err(SyncError::of_client(SENT, code, &captured.stderr));
            }
        };
        let left_out = sent.left_out.iter();
        let left_out = left_out.map(|reason| format!("not copied to {host}: {reason}"));
        tell_once(&left_out.collect::<Vec<_>>());
        tracing::debug!(
            files = sent.files.len(),
            removed = plan.remove.len(),
            milliseconds = started.elapsed().as_millis(),
            "copied files to {host}"
        );
        for gone in &plan.remove {
            manifest.files.remove(gone);
        }
        manifest.files.extend(sent.files);
        manifest.stamp = Some(stamp);
        there.home.clone_into(&mut manifest.remote_home);
        Ok(())
    }

    /// Fetches what changed there, trying again where that can help.
    pub(crate) fn pull(
        &self,
        there: There<'_>,
        request: &CarriedRequest,
    ) -> Result<PulledBack, SyncError> {
        let mut pauses = self.timing.pull_pauses.iter();
        loop {
            let error = match self.pull_once(there, request) {
                Ok(pulled) => return Ok(pulled),
                Err(error) => error,
            };
            let Some(pause) = pauses.next().filter(|_| error.is_passing()) else {
                return Err(error);
            };
            let reason = error.message(there.host());
            tracing::warn!("{reason}; retrying in {} s", pause.as_secs());
            std::thread::sleep(*pause);
        }
    }

    fn pull_once(
        &self,
        there: There<'_>,
        request: &CarriedRequest,
    ) -> Result<PulledBack, SyncError> {
        let home = &request.hermes_home;
        let path = Manifest::path(home, &self.id);
        // Before anything has been brought there, nothing of ours can come back.
        if Manifest::load(&path, home).stamp.is_none() {
            return Ok(PulledBack::default());
        }
        let _lock = lock(home, self.timing.transfer + PUSH_WAIT)?;
        let mut manifest = Manifest::load(&path, home);
        let carried = request.resolve();
        let destinations = Destinations(&carried.roots);
        let parent = home.join("cache/sync");
        if let Err(error) = Staging::sweep(&parent, "pull") {
            tracing::warn!("could not remove the remains of an earlier transfer: {error}");
        }
        let staging = Staging::begin(&parent, "pull")?;
        let fetched = self.fetch(there, &manifest, &destinations, staging.path())?;
        let Some((received, is_complete)) = fetched else {
            return Ok(PulledBack::default());
        };
        // It is asked for before all files, so an archive without it is none.
        let Some(found) = &received.stamp else {
            return Err(SyncError::Broken("it has no stamp".to_owned()));
        };
        let own = manifest.stamp.as_ref();
        if own.is_none_or(|own| own.home != found.home) {
            return Ok(PulledBack {
                warnings: vec![format!(
                    "nothing was fetched from {}: its files belong to another Hermes home",
                    there.host()
                )],
                ..PulledBack::default()
            });
        }
        if is_complete {
            // Files that were removed there are brought again next time: removing is not passed on
            // from there.
            let is_there = |path: &String| received.present.contains(path);
            manifest
                .files
                .retain(|path, _| !destinations.has(path) || is_there(path));
        }
        let time = jiff::Timestamp::now()
            .strftime("%Y%m%dT%H%M%SZ")
            .to_string();
        let merged = merge(received, &destinations, &mut manifest, &time);
        manifest.save(&path, home)?;
        Ok(merged?)
    }

    /// What is there, and whether that is all; `None` if there is nothing.
    fn fetch(
        &self,
        there: There<'_>,
        manifest: &Manifest,
        destinations: &Destinations<'_>,
        into: &Path,
    ) -> Result<Option<(Received, bool)>, SyncError> {
        let host = there.host();
        let nonce = random_hex(12);
        let directories = destinations.directories();
        let line = scripts::send(&there.base(), &nonce, &directories, MAX_FETCHED);
        let mut child = there.client.start(&line, self.timing.transfer)?;
        if let Err(error) = child.write_all(destinations.listing(manifest).as_bytes()) {
            // It does not compare, or it has ended and tells why below.
            tracing::debug!("could not send the list of files to {host}: {error}");
        }
        child.close_input();
        let expected = Expected {
            known: manifest,
            is_wanted: &|path| destinations.has(path),
            listing: &scripts::listing(&nonce),
            limit: MAX_FETCHED,
        };
        let received = match receive(&mut child, into, &expected) {
            Ok(received) => Ok(received),
            Err(SyncError::Broken(detail)) => Err(detail),
            Err(error) => return Err(error),
        };
        let captured = child.finish()?;
        match (received, captured.status.code()) {
            (Ok(received), Some(0)) => Ok(Some((received, true))),
            // A file that changed or could not be read while `tar` was at it.
            (Ok(received), Some(1)) => Ok(Some((received, false))),
            (Err(detail), Some(0)) => Err(SyncError::Broken(detail)),
            (Err(_), Some(NOTHING_THERE)) => Ok(None),
            (Err(_), Some(TOO_LARGE)) => Err(SyncError::TooLarge),
            (_, code) => Err(SyncError::of_client(FETCHED, code, &captured.stderr)),
        }
    }
}

/// One process at a time moves files of a home.
fn lock(hermes_home: &Path, timeout: Duration) -> Result<FileLock, hermes_fs::Error> {
    let path: PathBuf = hermes_home.join(".sync.lock");
    let options = LockOptions {
        timeout,
        ..LockOptions::new("the exchange of files with other machines")
    };
    FileLock::acquire(&path, &options)
}
