//! The place where the commands of this process run if not on this machine, from its first use to the
//! end of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_config::vars;
use hermes_policy::parse_safe_roots;
use hermes_terminal::docker::keys::TaskOverrides;
use hermes_terminal::docker::{DockerHost, DockerSandbox, Removal, SandboxRequest};
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::remote::{InternalRun, RemoteSettings, RemoteTerminal};
use hermes_terminal::ssh::{SshHost, SshSettings, SshSurroundings, check_programs};
use hermes_tools::{Filesystem, Job, Place, PlaceFiles, Ran, WriteRules};

use super::containers::CardPlaces;
use super::{Backend, docker_host};
use crate::context::Context;
use crate::error::Result;

/// For everything that must be put away when the process ends.
const FAREWELL: Duration = Duration::from_secs(15);
/// The same for a process that was asked to end and must be gone soon: what is left after that goes
/// without it.
const SHORT_FAREWELL: Duration = Duration::from_secs(1);

/// How much time there is to put things away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Haste {
    /// The process ends because its work is done.
    None,
    /// It was asked to end.
    Asked,
}

/// Which place is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlaceRequest<'a> {
    /// The backend.
    pub(crate) backend: Backend,
    /// The task whose sandbox is meant; `None` for the one all tasks of a profile share.
    pub(crate) task: Option<&'a str>,
    /// The conversation, for those that have a sandbox each.
    pub(crate) session: &'a str,
}

/// A container or another machine.
pub(crate) struct Elsewhere {
    pub(crate) terminal: Arc<RemoteTerminal>,
    pub(crate) filesystem: Filesystem,
    /// What the directories of the card in hand are called there.
    card: CardPlaces,
    /// Whether commands there cannot reach this machine, so that nobody needs to approve them.
    pub(crate) is_isolated: bool,
    kind: Kind,
    has_left: AtomicBool,
}

enum Kind {
    Container {
        host: Arc<DockerHost>,
        sandbox: Arc<DockerSandbox>,
    },
    Machine(Arc<SshHost>),
}

impl Elsewhere {
    /// The place under the settings in effect; `None` for this machine. Starts nothing.
    pub(crate) fn prepare(
        context: &Context,
        environment: &Arc<LiveEnvironment>,
        request: PlaceRequest<'_>,
    ) -> Result<Option<Self>> {
        match request.backend {
            Backend::Local => Ok(None),
            Backend::Docker => Self::container(context, environment, request).map(Some),
            Backend::Ssh => Self::machine(context, environment).map(Some),
        }
    }

    fn container(
        context: &Context,
        environment: &Arc<LiveEnvironment>,
        request: PlaceRequest<'_>,
    ) -> Result<Self> {
        let host = docker_host(context, environment)?;
        let mut wanted = match request.task {
            Some(task) => SandboxRequest::of(task),
            None => TaskOverrides::default().request(
                request.session,
                Some(request.session),
                host.settings().isolation,
            ),
        };
        let card = CardPlaces::of(context);
        wanted.workspace.clone_from(&card.workspace);
        wanted.attachments.clone_from(&card.attachments);
        let sandbox = Arc::new(DockerSandbox::new(Arc::clone(&host), wanted));
        let paths = sandbox.path_map()?;
        let is_isolated = sandbox.host_access()?.is_empty();
        let settings = RemoteSettings::configured(context.config());
        let terminal = Arc::new(RemoteTerminal::new(sandbox.clone(), settings));
        let kind = Kind::Container { host, sandbox };
        let rules = WriteRules::Unrestricted;
        let mut place = Self::new(terminal, rules, is_isolated, kind);
        place.card = card.inside(&paths);
        Ok(place)
    }

    fn machine(context: &Context, environment: &Arc<LiveEnvironment>) -> Result<Self> {
        let config = context.config();
        let builder = environment.current();
        let settings = SshSettings::from_config(config, builder.policy().child_home.real_home())?;
        let surroundings = SshSurroundings::new(config, &builder);
        check_programs(context.env.os(&vars::PATH))?;
        let channels = RemoteSettings {
            persistent_shell: settings.persistent_shell,
            ..RemoteSettings::configured(config)
        };
        let host = Arc::new(SshHost::new(settings, surroundings));
        let terminal = Arc::new(RemoteTerminal::new(host.clone(), channels));
        let roots = context.env.text(&vars::HERMES_WRITE_SAFE_ROOT);
        let rules = WriteRules::Machine {
            safe_roots: roots.map(parse_safe_roots).unwrap_or_default(),
        };
        Ok(Self::new(terminal, rules, false, Kind::Machine(host)))
    }

    fn new(
        terminal: Arc<RemoteTerminal>,
        rules: WriteRules,
        is_isolated: bool,
        kind: Kind,
    ) -> Self {
        let place = Arc::new(ThroughTerminal(Arc::clone(&terminal)));
        Self {
            filesystem: Filesystem::in_place(PlaceFiles::new(place, rules)),
            terminal,
            card: CardPlaces::default(),
            is_isolated,
            kind,
            has_left: AtomicBool::new(false),
        }
    }

    /// What the directories of the card in hand are called there, as far as they have other names
    /// than here.
    pub(crate) fn card(&self) -> &CardPlaces {
        &self.card
    }

    /// Name of the container in use.
    pub(crate) fn container_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Container { sandbox, .. } => Some(sandbox.container()?.name),
            Kind::Machine(_) => None,
        }
    }

    /// Whether the part that runs the place is missing or down.
    pub(crate) fn is_down(&self) -> bool {
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

    /// How long nobody may use it before it is let go; `None` for a place without such a limit.
    pub(super) fn idle_limit(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Container { host, .. } => Some(host.settings().lifetime),
            Kind::Machine(_) => None,
        }
    }

    /// Whether nobody has used it for so long, and nothing of ours runs there.
    pub(super) fn is_idle(&self, lifetime: Duration) -> bool {
        let terminal = &self.terminal;
        !terminal.is_busy()
            && !terminal.has_live_background()
            && terminal.last_activity().elapsed() > lifetime
    }

    /// Lets go until the next command: a container of this process alone is removed, one that is
    /// shared goes on.
    pub(super) fn rest(&self) {
        if let Kind::Container { sandbox, .. } = &self.kind
            && sandbox.container().is_some()
        {
            tracing::info!(place = self.terminal.describe(), "idle; let go");
            self.terminal.detach();
            sandbox.cleanup(Removal::AsConfigured);
        }
    }

    /// Gives the place up, once: a container of this process alone is removed, files that changed on
    /// another machine are fetched.
    pub(crate) fn leave(&self, haste: Haste) {
        if self.has_left.swap(true, Ordering::AcqRel) {
            return;
        }
        self.terminal.detach();
        match &self.kind {
            Kind::Container { host, sandbox } => {
                sandbox.cleanup(Removal::AsConfigured);
                let limit = match haste {
                    Haste::None => FAREWELL,
                    Haste::Asked => SHORT_FAREWELL,
                };
                if !host.finish(limit) {
                    tracing::warn!("a container is still being removed");
                }
            }
            Kind::Machine(host) => match host.cleanup() {
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "files there were not fetched back"),
            },
        }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.leave(Haste::None);
    }
}

/// The place as the file tools see it.
struct ThroughTerminal(Arc<RemoteTerminal>);

impl Place for ThroughTerminal {
    fn run(&self, job: &Job<'_>) -> std::result::Result<Ran, String> {
        let output = self
            .0
            .run_internal(InternalRun {
                script: job.script,
                input: job.input,
                directory: None,
                limit: job.limit,
                most_bytes: job.most_output,
                interrupt: Some(job.interrupt),
            })
            .map_err(|error| match error.hint() {
                Some(hint) => format!("{error} ({hint})"),
                None => error.to_string(),
            })?;
        if output.is_cut {
            return Err(format!(
                "{} said more than {} bytes",
                self.0.describe(),
                job.most_output
            ));
        }
        Ok(Ran {
            stdout: output.stdout,
            exit_code: output.exit_code,
        })
    }

    fn describe(&self) -> String {
        self.0.describe()
    }
}
