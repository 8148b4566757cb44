//! What servers get of this program: their environment, a guard, certificates.

use std::any::Any;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hermes_addons::{AddonError, Addons, Launch, PluginPackages};
use hermes_agent::answer_server;
use hermes_config::Config;
use hermes_http::{HttpSettings, MalwareList};
use hermes_mcp::oauth::OAuthTokens;
use hermes_mcp::{SampleRequest, Sampler, ServerConfig, ServerHost, TokenSource};
use hermes_proc::{EnvPlan, EnvRequest, SpawnClass, Wake};
use hermes_providers::{AuxiliaryModels, ModelOverrides, ModelResponse};
use hermes_secret::Redactor;
use hermes_session::SessionId;
use hermes_terminal::environment::LiveEnvironment;

use crate::addons::addons_of;
use crate::context::Context;
use crate::mcp_shared::McpShared;

/// A profile, as its servers see it.
struct ProfileHost {
    home: PathBuf,
    user_home: PathBuf,
    environment: Arc<LiveEnvironment>,
    redactor: Arc<Redactor>,
    http: HttpSettings,
    config: Config,
    shared: std::sync::Weak<McpShared>,
    supervisor: Vec<OsString>,
    addons: Addons,
}

impl ProfileHost {
    fn new(context: &Context, redactor: Arc<Redactor>) -> Self {
        Self {
            home: context.location.home.clone(),
            user_home: context.location.user_home.clone(),
            environment: context.live_environment(),
            redactor,
            http: HttpSettings::resolve(context.config()),
            config: context.config().clone(),
            shared: Arc::downgrade(context.mcp_shared()),
            supervisor: context.program.supervisor.clone(),
            addons: addons_of(context),
        }
    }
}

/// What servers of a profile need of this program.
pub(crate) fn server_host(context: &Context, redactor: &Arc<Redactor>) -> Arc<dyn ServerHost> {
    Arc::new(ProfileHost::new(context, Arc::clone(redactor)))
}

impl ServerHost for ProfileHost {
    fn home(&self) -> &Path {
        &self.home
    }

    fn user_home(&self) -> PathBuf {
        self.user_home.clone()
    }

    fn environment(&self, variables: &[(String, String)], mark: &str) -> EnvPlan {
        let builder = self.environment.ready(Instant::now());
        let extra: Vec<(OsString, OsString)> = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        EnvPlan::build(&EnvRequest {
            extra: &extra,
            exec_id: Some(mark),
            ..builder.request(SpawnClass::McpServer)
        })
    }

    fn addon(&self, name: &str) -> Result<Launch, AddonError> {
        if PluginPackages::is_meant(name) {
            return self.addons.launch(name, &[]);
        }
        self.addons.launch_node(name)
    }

    fn guard_processes(&self, mark: &str) -> Option<Box<dyn Any + Send + Sync>> {
        let shared = self.shared.upgrade()?;
        let guarded = shared.guard(&self.supervisor)?.guard_for_long(mark)?;
        Some(Box::new(guarded))
    }

    fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    fn http(&self) -> HttpSettings {
        self.http.clone()
    }

    fn malware(&self) -> MalwareList {
        MalwareList::resolve(&self.config)
    }

    fn sampler(&self) -> Arc<dyn Sampler> {
        let models = AuxiliaryModels::new(&self.config, ModelOverrides::default());
        Arc::new(ProfileSampler {
            models,
            home: self.home.clone(),
            redactor: Arc::clone(&self.redactor),
        })
    }

    fn tokens(&self, server: &ServerConfig) -> Option<Arc<dyn TokenSource>> {
        let tokens = OAuthTokens::of_server(server, &self.config)?;
        Some(Arc::new(tokens))
    }
}

/// The models of a profile, for its servers.
struct ProfileSampler {
    models: AuxiliaryModels,
    home: PathBuf,
    redactor: Arc<Redactor>,
}

impl Sampler for ProfileSampler {
    fn sample(&self, sample: SampleRequest, interrupt: &Wake) -> Result<ModelResponse, String> {
        let session = sample.session.and_then(|id| SessionId::parse(&id).ok());
        let account = session.map(|session| (self.home.clone(), session));
        let answered = answer_server(
            &self.models,
            sample.model.as_deref(),
            sample.timeout,
            &sample.request,
            interrupt,
            &account,
        );
        answered.map_err(|error| self.redactor.redact(&error).into_owned())
    }
}
