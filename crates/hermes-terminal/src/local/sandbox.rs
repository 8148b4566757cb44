//! The sandbox of this machine's commands: resolved when it is first needed, and again when what it
//! was resolved from has changed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hermes_fs::Staging;
use hermes_policy::{Looked, SandboxFacts, SandboxPolicy, SandboxSettings};
use hermes_proc::sandbox::{Enforcement, KernelSupport, Sandbox};

use crate::background::{SandboxRequest, temporary_variables};
use crate::lock::lock;

/// Name of temporary directories of sandboxes, by which left-overs are found.
const NAME: &str = "sandbox";

/// The sandbox of a terminal's commands.
pub struct LocalSandbox {
    settings: SandboxSettings,
    facts: SandboxFacts,
    support: KernelSupport,
    /// Where temporary directories are made.
    temp_directory: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    temporary: Option<Staging>,
    /// The policy with the temporary directory, and what it was resolved from.
    resolved: Option<(SandboxPolicy, Looked)>,
    prepared: Option<Arc<Sandbox>>,
}

impl State {
    /// What commands may do now. Looking at everything takes as long as a short command, so what is
    /// still as it was is not looked at again.
    fn policy(&mut self, sandbox: &LocalSandbox) -> &SandboxPolicy {
        let known = self.resolved.take();
        let known =
            known.and_then(|(policy, mut looked)| looked.still_holds().then_some((policy, looked)));
        let resolved = known.unwrap_or_else(|| {
            let facts = SandboxFacts {
                temporary: self.temporary.as_ref().map(|made| made.path().to_owned()),
                ..sandbox.facts.clone()
            };
            SandboxPolicy::resolve(&sandbox.settings, &facts)
        });
        &self.resolved.insert(resolved).0
    }
}

impl LocalSandbox {
    /// A sandbox under these settings. Makes nothing.
    pub fn new(
        settings: SandboxSettings,
        facts: SandboxFacts,
        support: KernelSupport,
        temp_directory: PathBuf,
    ) -> Self {
        Self {
            settings,
            facts,
            support,
            temp_directory,
            state: Mutex::default(),
        }
    }

    /// The settings.
    pub fn settings(&self) -> &SandboxSettings {
        &self.settings
    }

    /// What commands may do now. Changes nothing.
    pub fn policy(&self) -> SandboxPolicy {
        lock(&self.state).policy(self).clone()
    }

    /// The sandbox for the next command; the error says why there is none.
    pub fn prepared(&self) -> Result<Arc<Sandbox>, String> {
        let mut state = lock(&self.state);
        if state.temporary.is_none() {
            sweep(&self.temp_directory);
            let made = hermes_fs::create_dir_all(&self.temp_directory, 0o700)
                .and_then(|()| Staging::begin(&self.temp_directory, NAME))
                .map_err(|error| format!("could not prepare the sandbox: {error}"))?;
            state.temporary = Some(made);
            state.resolved = None;
        }
        let policy = state.policy(self);
        let plan = policy.plan();
        let create = policy.create.clone();
        if let Some(prepared) = &state.prepared
            && *prepared.plan() == plan
            && prepared.is_current()
        {
            return Ok(Arc::clone(prepared));
        }
        let renewed = state.prepared.take().and_then(|earlier| {
            let renewed = earlier.renewed(&plan);
            renewed.unwrap_or_else(|error| {
                tracing::debug!(%error, "the sandbox is prepared anew");
                None
            })
        });
        if let Some(renewed) = renewed {
            return Ok(Arc::clone(state.prepared.insert(Arc::new(renewed))));
        }
        for directory in &create {
            // One that cannot be made cannot be made by the command either.
            if let Err(error) = hermes_fs::create_dir_all(directory, 0o755) {
                tracing::debug!(%error, "a directory of the sandbox could not be made");
            }
        }
        let prepared = Sandbox::prepare(plan, self.support).map_err(|error| error.to_string())?;
        let prepared = Arc::new(prepared);
        state.prepared = Some(Arc::clone(&prepared));
        Ok(prepared)
    }

    /// Whether commands may change this path, or make it.
    pub fn may_write(&self, path: &Path) -> bool {
        let policy = self.policy();
        // The part of it that exists decides, without links.
        let existing = path.ancestors().find_map(|ancestor| {
            let real = hermes_fs::canonicalize(ancestor).ok()?;
            Some((real, path.strip_prefix(ancestor).ok()?))
        });
        existing.is_some_and(|(real, rest)| policy.plan().may_write(&real.join(rest)))
    }

    /// The same for a process whose supervisor prepares it.
    pub(super) fn request(&self) -> Result<Vec<u8>, String> {
        let mut plan = self.prepared()?.plan().clone();
        let state = lock(&self.state);
        // It gets a directory for temporary files of its own, which outlives ours.
        let ours = state.temporary.as_ref().map(Staging::path);
        let ours = ours.and_then(|path| hermes_fs::canonicalize(path).ok());
        plan.writable.retain(|path| Some(path) != ours.as_ref());
        let request = SandboxRequest {
            plan,
            support: self.support,
            temp_directory: self.temp_directory.clone(),
        };
        Ok(request.encode())
    }

    /// What this kernel would enforce, or why nothing can be. Changes nothing.
    pub fn probe(&self) -> Result<Enforcement, String> {
        let sandbox = Sandbox::prepare(self.policy().plan(), self.support);
        sandbox
            .map(|sandbox| sandbox.enforcement().clone())
            .map_err(|error| error.to_string())
    }

    /// Whether commands can be confined here.
    pub fn is_possible(&self) -> bool {
        self.prepared()
            .inspect_err(|reason| tracing::warn!(reason, "commands cannot be sandboxed"))
            .is_ok()
    }

    /// Removes the temporary directory. A later command gets another one.
    pub fn release(&self) {
        *lock(&self.state) = State::default();
    }

    /// The variables by which programs find the temporary directory.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let state = lock(&self.state);
        let directory = state.temporary.as_ref().map(Staging::path);
        temporary_variables(directory)
    }
}

/// Removes what crashed processes left. A failure is the next one's to mend.
fn sweep(directory: &Path) {
    if let Err(error) = Staging::sweep(directory, NAME) {
        tracing::debug!(%error, "left-over directories of sandboxes were not removed");
    }
}
