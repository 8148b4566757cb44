//! Scheduled jobs: the file shared with the reference, when a job is due, and what running it means.
//!
//! Every decision is a pure function ([`plan`]); what it decides is on disk before anything starts.

mod claim;
mod create;
mod deliver;
mod error;
mod home;
mod job;
mod jobs_file;
mod ledger;
mod lifecycle;
mod model_snapshot;
mod output;
mod plan;
mod process;
mod prompt;
mod reference;
mod runner;
mod scheduler;
mod script;
mod script_path;
mod settings;
mod setup;
#[cfg(test)]
mod simulation_tests;
mod stamp;
mod store;

pub use claim::{ClaimedRun, TickOutcome, claim_due, claim_now};
pub use create::{Ends, JobChange, NewJob};
pub use deliver::{BoardPost, Target};
pub use error::{Error, Result};
pub use home::CronHome;
pub use job::{Job, JobState};
pub use jobs_file::JobList;
pub use ledger::{Execution, Ledger, MissedRun};
pub use model_snapshot::ModelSnapshot;
pub use output::latest_output;
pub use prompt::AgentRequest;
pub use reference::find_job;
pub use runner::{RunReport, Runner, run_claimed};
pub use scheduler::{Scheduler, SchedulerEvent, scheduler_is_running, ticker_age};
pub use settings::CronSettings;
pub use setup::RunSetup;
pub use store::{
    create_job, load_jobs, pause_job, remove_job, resume_job, trigger_job, update_job,
};
