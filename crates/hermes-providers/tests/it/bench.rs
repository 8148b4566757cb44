//! What every test against a server needs: a home, its settings, and a question.

use std::path::Path;
use std::sync::Arc;

use hermes_config::{Config, Environment, Sources};
use hermes_proc::Wake;
use hermes_providers::{
    Message, ModelOverrides, ModelRequest, ModelResponse, OpenError, Provider, ProviderError,
    StreamEvent, open,
};

/// A home with settings.
pub(crate) struct Bench {
    home: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Bench {
    pub(crate) fn new(config: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.yaml"), config).unwrap();
        Self {
            home,
            env: Vec::new(),
        }
    }

    /// A home whose model is at this address.
    pub(crate) fn custom(base_url: &str, more: &str) -> Self {
        Self::new(&format!(
            "model:\n  provider: custom\n  default: test-model\n  base_url: {base_url}\n{more}"
        ))
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn config(&self) -> Config {
        let env = Environment::from_pairs(self.env.clone());
        Config::load_read_only(&Sources::new(&env, self.home.path()))
    }

    pub(crate) fn open(&self) -> Arc<dyn Provider> {
        self.try_open(&ModelOverrides::default()).unwrap()
    }

    pub(crate) fn try_open(&self, wanted: &ModelOverrides) -> Result<Arc<dyn Provider>, OpenError> {
        open(&self.config(), wanted)
    }
}

/// A question without tools.
pub(crate) fn question(text: &str) -> ModelRequest {
    ModelRequest {
        session_id: Some("20260101_000000_abcdef".to_owned()),
        ..ModelRequest::new("You are brief.", vec![Message::user(text)])
    }
}

/// Asks and hears nothing on the way.
pub(crate) fn ask(
    provider: &dyn Provider,
    request: &ModelRequest,
) -> Result<ModelResponse, ProviderError> {
    hear(provider, request).0
}

/// Asks, and tells what was heard on the way.
pub(crate) fn hear(
    provider: &dyn Provider,
    request: &ModelRequest,
) -> (Result<ModelResponse, ProviderError>, Vec<StreamEvent>) {
    let mut events = Vec::new();
    let interrupt = Wake::new().unwrap();
    let result = provider.complete(request, &mut |event| events.push(event), &interrupt);
    (result, events)
}
