//! What runs of a profile's jobs need.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_proc::EnvPolicy;
use hermes_secret::Redactor;

use crate::deliver::BoardPost;
use crate::home::CronHome;
use crate::job::Job;
use crate::model_snapshot::ModelSnapshot;
use crate::settings::CronSettings;

/// Posts a result on the board.
pub(crate) type PostOnBoard =
    Arc<dyn Fn(&BoardPost) -> std::result::Result<(), String> + Send + Sync>;

/// The home of a profile, by its name.
pub(crate) type HomeOfProfile =
    Arc<dyn Fn(&str) -> std::result::Result<PathBuf, String> + Send + Sync>;

/// The model that is configured.
pub(crate) type ConfiguredModel = Arc<dyn Fn() -> ModelSnapshot + Send + Sync>;

/// What runs need.
#[derive(Clone)]
pub struct RunSetup {
    pub home: CronHome,
    pub settings: CronSettings,
    /// This program.
    pub program: PathBuf,
    /// Variables of this process, without those of any `.env`.
    pub base: Vec<(OsString, OsString)>,
    pub policy: EnvPolicy,
    pub redactor: Arc<Redactor>,
    pub post: PostOnBoard,
    /// The model that is configured now.
    pub configured: ConfiguredModel,
    pub home_of_profile: HomeOfProfile,
}

impl RunSetup {
    /// The rules for variables of this job's processes.
    pub(crate) fn policy_of(&self, job: &Job) -> std::result::Result<EnvPolicy, String> {
        let mut policy = self.policy.clone();
        if let Some(profile) = job.profile() {
            policy.hermes_home = (self.home_of_profile)(profile)?;
        }
        Ok(policy)
    }
}
