//! One sandbox: its container as long as this process uses it.
//!
//! Found or made when it is first needed, found or made again when it is gone. Several callers are
//! served by one attempt. It never falls back to running anything on the host.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_policy::covered_home;
use jiff::Timestamp;

use super::attach::{Container, Found, is_meant, probe, wake};
use super::create::{Made, make};
use super::diagnose::diagnose;
use super::engine::Engine;
use super::error::{DockerError, Result};
use super::host::DockerHost;
use super::host_access::{BOUND_DIRECTORY, host_access};
use super::identity::SandboxIdentity;
use super::inspect::{ContainerFacts, Presence, State};
use super::labels;
use super::mounts::PathMap;
use super::plan::{SandboxPlan, SandboxRequest};
use super::reaper::{parse_time, sweep};
use super::session_env::session_variables;
use super::usage::Usage;
use hermes_terminal::remote::{
    Connection, Launch, SessionVariable, Transport, TransportError, Trouble,
};

/// How long a name may be held by a container that is going away.
const NAME_PATIENCE: Duration = Duration::from_secs(10);
/// Containers of the past whose end still explains a failure.
const REMEMBERED: usize = 8;
const POLL: Duration = Duration::from_millis(100);
/// A container that ran for less than this may be one that cannot run.
const EARLY: Duration = Duration::from_secs(5);
/// How long such a container is watched when it has been started again.
const WATCH: Duration = Duration::from_secs(1);
const REMOVE_LIMIT: Duration = Duration::from_secs(30);

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

impl Progress {
    /// The container in use is gone, stopped or paused, unless another one is in use by now.
    fn lose(&mut self, container: &Container) {
        if self.container.as_ref() != Some(container) {
            return;
        }
        self.container = None;
        self.earlier.insert(0, container.clone());
        self.earlier.truncate(REMEMBERED);
        self.lost = Some(container.clone());
    }

    /// Whether the trouble is that of a container that is known to be gone.
    fn knew(&self, of: impl Fn(&Container) -> Trouble) -> bool {
        self.earlier.iter().any(|known| of(known) == Trouble::Gone)
    }
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
        let Some(work) = self.request.workspace.as_deref() else {
            return false;
        };
        plan.identity.bound_directory.is_some()
            && covered_home(work, &self.host.facts.protected_homes()).is_none()
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

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds or makes the container.
    fn obtain(&self) -> Result<(SandboxPlan, Container)> {
        let plan = self.host.plan(&self.request)?;
        self.host.tell(&plan);
        let lost = self.lock().lost.take();
        let container = match lost {
            Some(lost) => self.recover(&plan, &lost)?,
            None => self.find_or_make(&plan)?,
        };
        hermes_fs::create_dir_all(&plan.sandbox_directory, 0o700)?;
        self.usage.hold();
        self.usage.touch();
        Ok((plan, container))
    }

    /// A container instead of one that was lost. What ends as soon as it starts is replaced once.
    fn recover(&self, plan: &SandboxPlan, lost: &Container) -> Result<Container> {
        let engine = &self.host.engine;
        let id = lost.id.as_str();
        let facts = engine.inspect(&[id]).unwrap_or_default();
        let facts = facts.first();
        // One that is shared is found by its labels, whatever its state.
        if !plan.is_shared {
            if facts.is_some_and(|facts| facts.state() == State::Paused)
                && wake(&self.host, id, State::Paused)
            {
                return Ok(lost.clone());
            }
            self.host.teardown.begin(id);
        }
        let has_ended_early = facts.is_some_and(may_end_early);
        let mut container = self.find_or_make(plan)?;
        if !has_ended_early {
            return Ok(container);
        }
        let mut end = stays_up(engine, &container.id);
        if end.is_some() && container.id == id {
            self.host
                .notice_once("the sandbox ended as soon as it was started; it is replaced");
            self.discard(id);
            container = self.find_or_make(plan)?;
            end = stays_up(engine, &container.id);
        }
        let Some(end) = end else {
            return Ok(container);
        };
        let error = DockerError::EndsAtOnce {
            image: end.image.unwrap_or_else(|| plan.image.clone()),
            code: end.code,
            lines: engine.last_lines(&container.id),
        };
        // The next command begins anew, perhaps with another image.
        self.discard(&container.id);
        Err(error)
    }

    fn discard(&self, id: &str) {
        if let Err(error) = self.host.engine.remove(id, true, REMOVE_LIMIT) {
            tracing::warn!(container = id, %error, "a container that ended may be left behind");
        }
    }

    /// The sandbox that is there comes before the sweep: stopped long ago it is used again, not
    /// removed.
    fn find_or_make(&self, plan: &SandboxPlan) -> Result<Container> {
        let found = find_or_make(&self.host, plan);
        if self.host.settings.orphan_reaper {
            self.host.sweep.behind_first_command(sweeper(&self.host));
        }
        found
    }
}

/// What the sweep of this process does.
fn sweeper(host: &Arc<DockerHost>) -> impl FnOnce() + Send + 'static {
    let host = Arc::clone(host);
    move || {
        sweep(&host);
    }
}

fn find_or_make(host: &Arc<DockerHost>, plan: &SandboxPlan) -> Result<Container> {
    let mut name = SandboxIdentity::random_name();
    if plan.is_shared {
        match probe(host, plan) {
            Found::Attached(container) => return Ok(container),
            Found::Nothing => name = plan.identity.shared_name(),
            Found::Unusable => {}
        }
    }
    if host.settings.orphan_reaper {
        host.sweep.before_creation(sweeper(host));
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

/// How a container ended.
struct End {
    image: Option<String>,
    code: Option<i64>,
}

/// Whether a container has ended as soon as it had started, or is about to: its processes may be
/// gone before the engine has taken note.
fn may_end_early(facts: &ContainerFacts) -> bool {
    let time = |text: &Option<String>| parse_time(text.as_deref()?);
    let Some(started) = time(&facts.started_at) else {
        return false;
    };
    let since = |then: Timestamp| Duration::try_from(then.duration_since(started)).ok();
    // An end before the start is that of an earlier life, and this one's is not told yet.
    let ended = time(&facts.finished_at).and_then(since);
    let ran = match facts.state() {
        State::Exited => ended.or_else(|| since(Timestamp::now())),
        State::Paused => None,
        _ => since(Timestamp::now()),
    };
    ran.is_some_and(|ran| ran < EARLY)
}

/// Watches a container for a while; says how it ended, if it did. What cannot be asked is running.
fn stays_up(engine: &Engine, id: &str) -> Option<End> {
    let deadline = Instant::now() + WATCH;
    loop {
        let facts = engine.inspect(&[id]).unwrap_or_default();
        let ended =
            |facts: &&ContainerFacts| matches!(facts.state(), State::Exited | State::Leaving);
        if let Some(facts) = facts.first().filter(ended) {
            return Some(End {
                image: Some(facts.image.clone()).filter(|image| !image.is_empty()),
                code: facts.exit_code,
            });
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(POLL);
    }
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

    /// Over the socket of the engine, if there is one.
    fn connect(&self, argv: &[&str]) -> Connection {
        let container = self.container();
        match (self.host.engine.socket(), container) {
            (Some(socket), Some(container)) => socket.exec(&container.id, argv),
            _ => Connection::Unavailable,
        }
    }

    fn diagnose(&self, exit_code: Option<i32>, stderr: &str) -> Trouble {
        let of = |known: &Container| diagnose(&known.id, &known.name, exit_code, stderr);
        let mut state = self.lock();
        let Some(container) = state.container.clone() else {
            let trouble = diagnose("", "", exit_code, stderr);
            return if state.knew(of) {
                Trouble::Gone
            } else {
                trouble
            };
        };
        let trouble = of(&container);
        if trouble == Trouble::Gone {
            state.lose(&container);
            return Trouble::Gone;
        }
        if state.knew(of) {
            return Trouble::Gone;
        }
        drop(state);
        // With its container a client ends without a word from the engine.
        if matches!(&trouble, Trouble::Final(error) if !error.is_missing_part) {
            let is_over = matches!(
                self.host.engine.presence(&container.id),
                Some(Presence::Missing | Presence::There(State::Exited | State::Leaving))
            );
            if is_over {
                self.lock().lose(&container);
                return Trouble::Gone;
            }
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
