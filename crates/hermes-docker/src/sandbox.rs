//! One sandbox: its container as long as this process uses it.
//!
//! Found or made when it is first needed, found or made again when it is gone. Several callers are
//! served by one attempt. It never falls back to running anything on the host.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::attach::{Container, Found, is_meant, probe, wake};
use super::create::{Made, make};
use super::diagnose::diagnose;
use super::error::Result;
use super::host::DockerHost;
use super::host_access::{BOUND_DIRECTORY, host_access};
use super::identity::SandboxIdentity;
use super::inspect::State;
use super::mounts::PathMap;
use super::plan::{SandboxPlan, SandboxRequest};
use super::session_env::session_variables;
use super::usage::Usage;
use super::{labels, reaper};
use hermes_terminal::remote::{Launch, SessionVariable, Transport, TransportError, Trouble};

/// How long a name may be held by a container that is going away.
const NAME_PATIENCE: Duration = Duration::from_secs(10);
/// Containers of the past whose end still explains a failure.
const REMEMBERED: usize = 8;
const POLL: Duration = Duration::from_millis(100);

/// Whether a container goes when its sandbox is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// As the settings say: one that later processes share stays and keeps running.
    AsConfigured,
    Forced,
}

/// A sandbox.
pub struct DockerSandbox {
    host: Arc<DockerHost>,
    request: SandboxRequest,
    usage: Usage,
    state: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Default)]
struct Progress {
    container: Option<Container>,
    /// The container that was in use until it was found to be gone, stopped or paused.
    lost: Option<Container>,
    /// Containers that were in use before, the last ones: a client may have been called for one just
    /// before somebody else found out that it is gone.
    earlier: Vec<Container>,
    plan: Option<SandboxPlan>,
    /// Whether someone is finding or making the container.
    is_busy: bool,
    /// How many attempts have ended.
    ended: u64,
    /// How the last of them failed.
    failed: Option<TransportError>,
}

impl std::fmt::Debug for DockerSandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DockerSandbox")
            .field("request", &self.request)
            .field("container", &self.container())
            .finish_non_exhaustive()
    }
}

impl DockerSandbox {
    /// A sandbox that does not exist yet as far as this process knows. Asks the engine nothing.
    pub fn new(host: Arc<DockerHost>, request: SandboxRequest) -> Self {
        let label = labels::sanitize(&request.task);
        let usage = Usage::of(&host.settings.sandbox_of(&label));
        Self {
            host,
            request,
            usage,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// What was asked for.
    pub fn request(&self) -> &SandboxRequest {
        &self.request
    }

    /// What all sandboxes of the process share.
    pub fn host(&self) -> &Arc<DockerHost> {
        &self.host
    }

    /// The container in use, if there is one.
    pub fn container(&self) -> Option<Container> {
        self.lock().container.clone()
    }

    /// Ways from this sandbox to the host; empty for a closed one, whose commands need no approval.
    pub fn host_access(&self) -> Result<Vec<String>> {
        let plan = self.host.plan(&self.request)?;
        let mut ways = host_access(&plan, &self.host.settings.volumes);
        if self.binds_only_the_work(&plan) {
            ways.retain(|way| way != BOUND_DIRECTORY);
        }
        Ok(ways)
    }

    /// Whether the directory of the host in this sandbox is the one its card is about, and nothing of
    /// the user or of Hermes lies in it.
    fn binds_only_the_work(&self, plan: &SandboxPlan) -> bool {
        let facts = &self.host.facts;
        let real = |path: &Path| hermes_fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(work) = self.request.workspace.as_deref().map(real) else {
            return false;
        };
        let homes = [&facts.user_home, &facts.hermes_home];
        plan.identity.bound_directory.is_some()
            && !homes.into_iter().any(|home| real(home).starts_with(&work))
    }

    /// Where files are on both sides of the wall.
    pub fn path_map(&self) -> Result<PathMap> {
        let known = self.lock().plan.as_ref().map(SandboxPlan::path_map);
        match known {
            Some(map) => Ok(map),
            None => Ok(self.host.plan(&self.request)?.path_map()),
        }
    }

    /// Gives the sandbox up. Returns at once; [`DockerHost::finish`] waits. Directories of the host
    /// always stay.
    pub fn cleanup(&self, removal: Removal) {
        let (container, stays) = {
            let mut state = self.lock();
            let stays = state.plan.as_ref().is_some_and(|plan| plan.is_shared);
            (state.container.take(), stays)
        };
        self.usage.let_go();
        let Some(container) = container else { return };
        if stays && removal == Removal::AsConfigured {
            return;
        }
        self.host.teardown.begin(&container.id);
    }

    /// A container of this process alone that was only paused. One that ended is given up; those that
    /// are shared are found by their labels.
    fn revived(&self, plan: &SandboxPlan, lost: Container) -> Option<Container> {
        if plan.is_shared {
            return None;
        }
        let facts = self.host.engine.inspect(&[&lost.id]).unwrap_or_default();
        if let Some(facts) = facts.first()
            && facts.state() == State::Paused
            && wake(&self.host, &facts.id, State::Paused)
        {
            return Some(lost);
        }
        self.host.teardown.begin(&lost.id);
        None
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds or makes the container.
    fn obtain(&self) -> Result<(SandboxPlan, Container)> {
        let plan = self.host.plan(&self.request)?;
        self.host.tell(&plan);
        let lost = self.lock().lost.take();
        let container = match lost.and_then(|lost| self.revived(&plan, lost)) {
            Some(revived) => revived,
            None => find_or_make(&self.host, &plan)?,
        };
        hermes_fs::create_dir_all(&plan.sandbox_directory, 0o700)?;
        self.usage.hold();
        self.usage.touch();
        reaper::sweep_in_background(&self.host);
        Ok((plan, container))
    }
}

fn find_or_make(host: &DockerHost, plan: &SandboxPlan) -> Result<Container> {
    let mut name = SandboxIdentity::random_name();
    if plan.is_shared {
        match probe(host, plan) {
            Found::Attached(container) => return Ok(container),
            Found::Nothing => name = plan.identity.shared_name(),
            Found::Unusable => {}
        }
    }
    let deadline = Instant::now() + NAME_PATIENCE;
    loop {
        if let Made::Container(id) = make(host, plan, &name)? {
            let is_new = true;
            return Ok(Container { id, name, is_new });
        }
        // Another process was faster, or something else has the name.
        let found = if plan.is_shared {
            probe(host, plan)
        } else {
            Found::Unusable
        };
        let may_wait = match found {
            Found::Attached(container) => return Ok(container),
            Found::Nothing => is_worth_waiting_for(host, plan, &name),
            Found::Unusable => false,
        };
        if may_wait && Instant::now() < deadline {
            std::thread::sleep(POLL);
        } else {
            name = SandboxIdentity::random_name();
        }
    }
}

/// Whether a name is about to be free, or to be that of the sandbox meant. An engine takes a name
/// before it lists the container, so a look in between finds nothing.
fn is_worth_waiting_for(host: &DockerHost, plan: &SandboxPlan, name: &str) -> bool {
    let facts = host.engine.inspect(&[name]).unwrap_or_default();
    facts
        .first()
        .is_none_or(|facts| facts.state() == State::Leaving || is_meant(plan, facts))
}

impl Drop for DockerSandbox {
    fn drop(&mut self) {
        self.cleanup(Removal::AsConfigured);
    }
}

impl Transport for DockerSandbox {
    fn ensure(&self) -> std::result::Result<(), TransportError> {
        let mut state = self.lock();
        let begun = state.ended;
        loop {
            if state.container.is_some() {
                return Ok(());
            }
            if state.ended != begun
                && let Some(failed) = &state.failed
            {
                return Err(failed.clone());
            }
            if !state.is_busy {
                break;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.is_busy = true;
        drop(state);
        let outcome = self.obtain();
        let mut state = self.lock();
        state.is_busy = false;
        state.ended += 1;
        state.failed = None;
        let result = match outcome {
            Ok((plan, container)) => {
                tracing::info!(
                    container = container.name,
                    new = container.is_new,
                    "sandbox ready"
                );
                state.container = Some(container);
                state.plan = Some(plan);
                Ok(())
            }
            Err(error) => {
                let error = TransportError::from(error);
                state.failed = Some(error.clone());
                Err(error)
            }
        };
        drop(state);
        self.changed.notify_all();
        result
    }

    fn launch(&self, argv: &[&str]) -> std::result::Result<Launch, TransportError> {
        let Some(container) = self.container() else {
            return Err(TransportError {
                message: "the sandbox has no container yet".to_owned(),
                hint: None,
                is_missing_part: false,
            });
        };
        let mut args = vec!["exec".into(), "-i".into(), container.id.into()];
        args.extend(argv.iter().map(Into::into));
        Ok(Launch {
            program: self.host.engine.program().to_owned(),
            args,
            variables: self
                .host
                .engine
                .plan()
                .variables()
                .clone()
                .into_iter()
                .collect(),
        })
    }

    fn diagnose(&self, exit_code: Option<i32>, stderr: &str) -> Trouble {
        let of = |known: &Container| diagnose(&known.id, &known.name, exit_code, stderr);
        let mut state = self.lock();
        let trouble = match &state.container {
            Some(container) => of(container),
            None => diagnose("", "", exit_code, stderr),
        };
        if trouble == Trouble::Gone {
            state.lost = state.container.take();
            if let Some(lost) = state.lost.clone() {
                state.earlier.insert(0, lost);
                state.earlier.truncate(REMEMBERED);
            }
            return Trouble::Gone;
        }
        if state.earlier.iter().any(|known| of(known) == Trouble::Gone) {
            return Trouble::Gone;
        }
        trouble
    }

    fn before_command(&self) -> std::result::Result<(), TransportError> {
        self.usage.touch();
        Ok(())
    }

    fn session_variables(&self) -> Vec<SessionVariable> {
        let builder = self.host.environment.current();
        session_variables(&self.host.settings, &builder)
    }

    fn start_directory(&self) -> PathBuf {
        let known = self.lock().plan.as_ref().map(|plan| plan.directory.clone());
        let directory = known.or_else(|| Some(self.host.plan(&self.request).ok()?.directory));
        directory
            .unwrap_or_else(|| super::workdir::CONTAINER_HOME.to_owned())
            .into()
    }

    fn describe(&self) -> String {
        match self.container() {
            Some(container) => format!("container {}", container.name),
            None => format!("sandbox {}", self.request.task),
        }
    }

    fn location(&self) -> String {
        "in the container".to_owned()
    }
}
