//! What all sandboxes of one process share: the engine, the settings, what was found out about both,
//! what the user was told, and the containers that are going away.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::background_sweep::Sweep;
use super::engine::{Engine, EngineInfo};
use super::error::Result;
use super::extra_args::ExtraArgs;
use super::host_paths::HostPaths;
use super::image;
use super::owner::Owner;
use super::plan::{HostFacts, SandboxPlan, SandboxRequest};
use super::settings::DockerSettings;
use super::teardown::Teardown;
use hermes_terminal::environment::LiveEnvironment;

/// Whoever shows people what happens to their containers. Everything is logged besides.
pub trait Observer: Send + Sync {
    /// Something takes long and goes on.
    fn progress(&self, line: &str);
    /// Something the user should know; said once per process.
    fn notice(&self, text: &str);
}

/// The containers of this process.
pub struct DockerHost {
    pub(crate) settings: DockerSettings,
    pub(crate) facts: HostFacts,
    pub(crate) environment: Arc<LiveEnvironment>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) owner: Option<Owner>,
    pub(crate) teardown: Arc<Teardown>,
    observer: Arc<dyn Observer>,
    host_paths: OnceLock<HostPaths>,
    told: Mutex<BTreeSet<String>>,
    /// Set once the engine has said that it cannot limit containers.
    pub(crate) is_without_limits: AtomicBool,
    pub(crate) is_without_init: AtomicBool,
    /// Whether the engine's disk can be limited, once asked.
    pub(crate) quota: OnceLock<bool>,
    pub(crate) sweep: Arc<Sweep>,
}

impl std::fmt::Debug for DockerHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DockerHost")
            .field("engine", &self.engine.program())
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl DockerHost {
    /// Finds the engine. Starts nothing.
    pub fn new(
        settings: DockerSettings,
        environment: Arc<LiveEnvironment>,
        facts: HostFacts,
        observer: Arc<dyn Observer>,
    ) -> Result<Arc<Self>> {
        let engine = Arc::new(Engine::find(Arc::clone(&environment))?);
        Ok(Arc::new(Self {
            teardown: Teardown::new(Arc::clone(&engine)),
            engine,
            settings,
            facts,
            environment,
            owner: Owner::this_process(),
            observer,
            host_paths: OnceLock::new(),
            told: Mutex::default(),
            is_without_limits: AtomicBool::new(false),
            is_without_init: AtomicBool::new(false),
            quota: OnceLock::new(),
            sweep: Arc::default(),
        }))
    }

    /// Whether the engine answers, and which it is. Asked once.
    pub fn check(&self) -> Result<&EngineInfo> {
        self.engine.info()
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The settings.
    pub fn settings(&self) -> &DockerSettings {
        &self.settings
    }

    /// Whether the image of sandboxes is on this machine. Fetches nothing.
    pub fn has_image(&self) -> Result<bool> {
        image::is_here(&self.engine, &self.settings.image)
    }

    /// What a sandbox should be. Asks the engine only if this process is itself in a container.
    pub fn plan(&self, request: &SandboxRequest) -> Result<SandboxPlan> {
        SandboxPlan::new(&self.settings, request, &self.facts, self.host_paths())
    }

    /// Waits until every container that this process gave up is gone. After `limit` what is left is
    /// handed to detached calls of the engine, and the answer is `false`. The sweep of old
    /// containers comes to its end as well, or leaves the rest to the next command.
    pub fn finish(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let all_gone = self.teardown.finish(limit);
        let left = deadline.saturating_duration_since(Instant::now());
        self.sweep.finish(left);
        all_gone
    }

    /// Arguments of the settings that weaken sandboxes, as the user wrote them.
    pub fn weakenings(&self) -> Vec<String> {
        ExtraArgs(&self.settings.extra_args).weakenings()
    }

    /// Variables of containers whose values look like secrets: everyone who may use the engine can
    /// read them.
    pub fn visible_secrets(&self) -> Vec<String> {
        let redactor = hermes_secret::Redactor::default();
        let is_secret = |name: &str, value: &str| {
            !value.is_empty()
                && (hermes_secret::is_secret_name(name) || redactor.redact(value) != value)
        };
        let env = self.settings.env.iter();
        env.filter(|(name, value)| is_secret(name, value))
            .map(|(name, _)| name.clone())
            .collect()
    }

    pub(crate) fn host_paths(&self) -> &HostPaths {
        self.host_paths.get_or_init(|| {
            let given = &self.settings.host_path_map;
            if self.facts.is_container {
                HostPaths::in_container(given, &self.engine, &self.facts.file_system_root)
            } else {
                HostPaths::same(given)
            }
        })
    }

    pub(crate) fn progress(&self, line: &str) {
        tracing::debug!("{line}");
        self.observer.progress(line);
    }

    /// Logs a warning that this process has not given yet.
    pub(crate) fn warn_once(&self, text: &str) {
        if self.is_news(text) {
            tracing::warn!("{text}");
        }
    }

    /// Logs and shows something that this process has not said yet.
    pub(crate) fn notice_once(&self, text: &str) {
        if self.is_news(text) {
            tracing::warn!("{text}");
            self.observer.notice(text);
        }
    }

    fn is_news(&self, text: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(text.to_owned())
    }

    /// Tells what a plan has to say.
    pub(crate) fn tell(&self, plan: &SandboxPlan) {
        for warning in &plan.warnings {
            self.warn_once(warning);
        }
        for notice in &self.settings.notices {
            self.notice_once(notice);
        }
        let weakenings = self.weakenings();
        if !weakenings.is_empty() {
            self.notice_once(&format!(
                "terminal.docker_extra_args weakens the sandbox: {}",
                weakenings.join(", ")
            ));
        }
    }

    pub(crate) fn can_limit(&self) -> bool {
        !self.is_without_limits.load(Ordering::Relaxed)
    }

    /// The directory of all sandboxes of this home.
    pub(crate) fn sandboxes(&self) -> PathBuf {
        self.settings.sandbox_dir.join("docker")
    }
}
