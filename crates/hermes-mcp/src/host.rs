//! What servers need of the program around them.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_addons::{AddonError, Launch};
use hermes_http::{HttpSettings, MalwareList};
use hermes_proc::EnvPlan;
use hermes_secret::Redactor;

use crate::config::ServerConfig;
use crate::sampling::Sampler;
use crate::token_source::TokenSource;

/// The surroundings of the servers of one profile.
pub trait ServerHost: Send + Sync {
    /// The home whose catalogs and logs are used.
    fn home(&self) -> &Path;

    /// The home of the user, which `~` means.
    fn user_home(&self) -> PathBuf;

    /// The environment of a server that is a program: class D, with these variables of its
    /// settings, and known by `mark`.
    fn environment(&self, variables: &[(String, String)], mark: &str) -> EnvPlan;

    /// The program of an add-on that is a server.
    fn addon(&self, name: &str) -> Result<Launch, AddonError>;

    /// Has whatever carries `mark` ended when this process is killed, for as long as the answer lives.
    fn guard_processes(&self, mark: &str) -> Option<Box<dyn Any + Send + Sync>>;

    /// Masks secrets in what servers print and in errors.
    fn redactor(&self) -> Arc<Redactor>;

    /// Certificates and proxies.
    fn http(&self) -> HttpSettings;

    /// By which packages are refused that are known as malware.
    fn malware(&self) -> MalwareList;

    /// Who answers requests of servers to the model.
    fn sampler(&self) -> Arc<dyn Sampler>;

    /// Where the tokens of a server come from, if it takes any.
    fn tokens(&self, server: &ServerConfig) -> Option<Arc<dyn TokenSource>>;
}
