//! What the rules need to know about this installation and its operator.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::own_install::OwnInstall;
use crate::home::ChildHome;

/// Plain data; whoever reads settings fills it in. A name on a list that must not have it does no
/// harm: the builder asks the tiers first, and [`EnvPolicy::refusals`] tells about it.
#[derive(Debug, Clone, Default)]
pub struct EnvPolicy {
    pub hermes_home: PathBuf,
    pub hermes_program: PathBuf,
    pub child_home: ChildHome,
    /// Directories that hold the running Hermes or an older install.
    pub own_install: OwnInstall,
    /// Names the operator lets through: activation markers, and anything unlisted into scripts.
    pub passthrough: BTreeSet<String>,
    /// Credentials the operator entrusts to the agent's shells.
    pub trusted_passthrough: BTreeSet<String>,
    /// Credentials found in the settings, beyond the fixed list. Hundreds, which every copy shares.
    pub secret_names: Arc<BTreeSet<String>>,
}

impl EnvPolicy {
    /// Directory that holds nothing but a link to the running executable.
    pub fn link_dir(&self) -> PathBuf {
        self.hermes_home.join("cache").join("bin")
    }
}
