//! What servers get of this program: their environment, a guard, certificates.

use std::any::Any;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hermes_addons::{AddonError, Addons, NodeLaunch};
use hermes_config::Config;
use hermes_http::HttpSettings;
use hermes_mcp::oauth::OAuthTokens;
use hermes_mcp::{ServerConfig, ServerHost, TokenSource};
use hermes_proc::{EnvPlan, EnvRequest, SpawnClass};
use hermes_secret::Redactor;
use hermes_terminal::environment::LiveEnvironment;

use crate::addons::addons_of;
use crate::context::Context;
use crate::mcp_shared::McpShared;

/// A profile, as its servers see it.
pub(super) struct ProfileHost {
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
    pub(super) fn new(context: &Context, redactor: Arc<Redactor>) -> Self {
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

    fn addon(&self, name: &str) -> Result<NodeLaunch, AddonError> {
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

    fn tokens(&self, server: &ServerConfig) -> Option<Arc<dyn TokenSource>> {
        let tokens = OAuthTokens::of_server(server, &self.config)?;
        Some(Arc::new(tokens))
    }
}
