//! A container or another machine where commands run, from its first use to the end of its
//! conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_config::vars;
use hermes_docker::{DockerHost, DockerSandbox, Removal, SandboxRequest};
use hermes_policy::parse_safe_roots;
use hermes_ssh::{SshHost, SshSettings, SshSurroundings, check_programs};
use hermes_terminal::backend::Backend;
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::remote::{RemoteBackend, RemoteSettings};
use hermes_tools::{Filesystem, RemoteFiles, WriteRules};

use super::BackendKind;
use super::docker::{CardDirectories, add_credentials, host_with};
use crate::context::Context;
use crate::error::Result;
use crate::person::Person;

/// Time to remove containers at an orderly end.
const ORDERLY_LIMIT: Duration = Duration::from_secs(15);
/// Time to remove containers after an interrupt: a removal that takes longer goes on without us.
const URGENT_LIMIT: Duration = Duration::from_secs(1);

/// How much time there is to release a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shutdown {
    Orderly,
    /// The process was asked to end and must be gone soon.
    Urgent,
}

/// Which backend is meant, and which sandbox of it.
#[derive(Debug, Clone, Copy)]
pub struct BackendRequest<'a> {
    pub kind: BackendKind,
    /// The task whose sandbox is meant; `None` for the one all tasks of a profile share.
    pub task: Option<&'a str>,
    /// The session, for sessions that have a sandbox each.
    pub session: &'a str,
    /// Credential files that go along beside those of the settings: skills of the session need them.
    pub credential_files: &'a [String],
}

/// A container or another machine in use.
pub struct RemoteLease {
    pub(crate) backend: Arc<RemoteBackend>,
    pub(crate) filesystem: Filesystem,
    /// Directories of the worker's card, as commands there see them.
    pub(crate) card: CardDirectories,
    /// Whether commands there cannot reach this machine and so need no approval.
    pub(crate) is_isolated: bool,
    kind: Kind,
    is_released: AtomicBool,
}

enum Kind {
    Container {
        host: Arc<DockerHost>,
        sandbox: Arc<DockerSandbox>,
    },
    Machine(Arc<SshHost>),
}

impl RemoteLease {
    /// Whether it is a container on an engine, which may have directories of this machine in it.
    pub(crate) fn is_container(&self) -> bool {
        matches!(self.kind, Kind::Container { .. })
    }

    /// The remote backend under the settings in effect; `None` for this machine. Starts nothing.
    pub(crate) fn prepare(
        context: &Context,
        environment: &Arc<LiveEnvironment>,
        request: BackendRequest<'_>,
        person: &Arc<dyn Person>,
    ) -> Result<Option<Self>> {
        match request.kind {
            BackendKind::Local => Ok(None),
            BackendKind::Docker => Self::container(context, environment, request, person).map(Some),
            BackendKind::Ssh => Self::machine(context, environment, request).map(Some),
        }
    }

    fn container(
        context: &Context,
        environment: &Arc<LiveEnvironment>,
        request: BackendRequest<'_>,
        person: &Arc<dyn Person>,
    ) -> Result<Self> {
        let host = host_with(context, environment, person, request.credential_files)?;
        let mut wanted = match request.task {
            Some(task) => SandboxRequest::of(task),
            None => SandboxRequest::of_session(request.session, host.settings().isolation),
        };
        let card = CardDirectories::on_host(context)?;
        wanted.workspace.clone_from(&card.workspace);
        wanted.attachments.clone_from(&card.attachments);
        let sandbox = Arc::new(DockerSandbox::new(Arc::clone(&host), wanted));
        let paths = sandbox.path_map()?;
        let is_isolated = sandbox.host_access()?.is_empty();
        let settings = channels(context, environment);
        let backend = Arc::new(RemoteBackend::new(sandbox.clone(), settings));
        let kind = Kind::Container { host, sandbox };
        let rules = WriteRules::Unrestricted;
        let mut lease = Self::new(backend, rules, is_isolated, kind);
        lease.card = card.inside(&paths);
        Ok(lease)
    }

    fn machine(
        context: &Context,
        environment: &Arc<LiveEnvironment>,
        request: BackendRequest<'_>,
    ) -> Result<Self> {
        let config = context.config();
        let builder = environment.current();
        let settings = SshSettings::from_config(config, builder.policy().child_home.real_home())?;
        let mut surroundings = SshSurroundings::new(config, &builder);
        let carried = &mut surroundings.carried.credential_files;
        add_credentials(carried, request.credential_files);
        check_programs(context.env.os(&vars::PATH))?;
        let channels = RemoteSettings {
            persistent_shell: settings.persistent_shell,
            ..channels(context, environment)
        };
        let host = Arc::new(SshHost::new(settings, surroundings));
        let backend = Arc::new(RemoteBackend::new(host.clone(), channels));
        let roots = context.env.text(&vars::HERMES_WRITE_SAFE_ROOT);
        let rules = WriteRules::Machine {
            safe_roots: roots.map(parse_safe_roots).unwrap_or_default(),
        };
        Ok(Self::new(backend, rules, false, Kind::Machine(host)))
    }

    fn new(backend: Arc<RemoteBackend>, rules: WriteRules, is_isolated: bool, kind: Kind) -> Self {
        Self {
            filesystem: Filesystem::from(RemoteFiles::new(backend.clone(), rules)),
            backend,
            card: CardDirectories::default(),
            is_isolated,
            kind,
            is_released: AtomicBool::new(false),
        }
    }

    /// Name of the container in use.
    pub fn container_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Container { sandbox, .. } => Some(sandbox.container()?.name),
            Kind::Machine(_) => None,
        }
    }

    /// Whether the container engine or the machine is missing or down.
    pub fn is_down(&self) -> bool {
        match &self.kind {
            Kind::Container { host, .. } => {
                host.check().is_err_and(|error| error.is_missing_part())
            }
            Kind::Machine(host) => {
                use hermes_terminal::remote::Transport as _;
                host.ensure().is_err_and(|error| error.is_missing_part)
            }
        }
    }

    /// How long the backend may be unused before it is released; `None` for no limit.
    pub(super) fn idle_limit(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Container { host, .. } => Some(host.settings().lifetime),
            Kind::Machine(_) => None,
        }
    }

    /// Whether nothing has run there for so long, and nothing runs there now.
    pub(super) fn is_idle(&self, lifetime: Duration) -> bool {
        self.backend.idle_for().is_some_and(|idle| idle > lifetime)
    }

    /// Releases the backend until the next command: a container of this process alone is removed, a
    /// shared one keeps running.
    pub(super) fn release_idle(&self) {
        if let Kind::Container { sandbox, .. } = &self.kind
            && sandbox.container().is_some()
        {
            tracing::info!(host = Backend::describe(&*self.backend), "idle; released");
            self.backend.detach();
            sandbox.cleanup(Removal::AsConfigured);
        }
    }

    /// Releases the backend for good, once: a container of this process alone is removed, files
    /// that
    /// changed on another machine are fetched.
    pub(crate) fn release(&self, shutdown: Shutdown) {
        if self.is_released.swap(true, Ordering::AcqRel) {
            return;
        }
        self.backend.detach();
        match &self.kind {
            Kind::Container { host, sandbox } => {
                sandbox.cleanup(Removal::AsConfigured);
                let limit = match shutdown {
                    Shutdown::Orderly => ORDERLY_LIMIT,
                    Shutdown::Urgent => URGENT_LIMIT,
                };
                if !host.finish(limit) {
                    tracing::warn!("a container is still being removed");
                }
            }
            Kind::Machine(host) => match host.cleanup() {
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "files of the remote machine could not be fetched");
                }
            },
        }
    }
}

impl Drop for RemoteLease {
    fn drop(&mut self) {
        self.release(Shutdown::Orderly);
    }
}

/// Settings of commands elsewhere. The mark of an agent's shell goes along, as it does here.
fn channels(context: &Context, environment: &LiveEnvironment) -> RemoteSettings {
    let mark = context.env.os(&vars::HERMES_AGENT_SHELL);
    RemoteSettings {
        of_agent: environment.is_of_agent() || mark.is_some_and(|mark| !mark.is_empty()),
        ..RemoteSettings::configured(context.config())
    }
}
