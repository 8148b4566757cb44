//! A home with the settings of a service.

use hermes_config::settings::Sources;
use hermes_config::{Config, Environment};

use crate::MemoryBackend;
use crate::open::open;
use crate::settings::{HostedService, Identity, NotUsable};

pub(crate) struct TestHome {
    directory: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl TestHome {
    pub(crate) fn new(variables: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self {
            directory: tempfile::tempdir().unwrap(),
            variables: variables.iter().map(owned).collect(),
        }
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.directory.path().join(name);
        hermes_fs::create_dir_all(path.parent().unwrap(), 0o700).unwrap();
        hermes_fs::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
    }

    pub(crate) fn open(&self, service: &str) -> Result<Box<dyn MemoryBackend>, NotUsable> {
        let home = self.directory.path();
        let env = Environment::from_pairs(self.variables.clone());
        let config = Config::load_read_only(&Sources::new(&env, home));
        let identity = Identity {
            profile: "work".to_owned(),
            platform: "cli".to_owned(),
            user: None,
        };
        open(
            HostedService::named(service).unwrap(),
            &identity,
            &config,
            home,
        )
    }
}
