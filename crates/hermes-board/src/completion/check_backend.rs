//! Where acceptance checks run, and what confines them. Backends of terminals are above this crate,
//! behind [`CheckBackend`].

use std::any::Any;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::Wake;
use hermes_proc::sandbox::Sandbox;

use crate::boards::Board;
use crate::model::Task;

/// Runs acceptance checks where the work on their card is done, and confines those that run on this
/// machine: they come from whoever filed the card. An error is why checks cannot be run.
pub trait CheckBackend: std::fmt::Debug + Send + Sync {
    /// The container or machine in which the work on a card is done; `None` for this machine.
    fn remote(
        &self,
        board: &Board,
        task: &Task,
        workspace: &Path,
    ) -> std::result::Result<Option<Box<dyn RemoteChecks>>, String>;

    /// What confines the checks of a card on this machine, if anything is to.
    fn confine(
        &self,
        board: &Board,
        task: &Task,
        workspace: &Path,
    ) -> std::result::Result<Option<ConfinedCheck>, String>;
}

/// What confines a check, for as long as the value lives.
pub struct ConfinedCheck {
    pub sandbox: Arc<Sandbox>,
    /// Where temporary files go.
    pub variables: Vec<(OsString, OsString)>,
    /// Whatever must not go before the check has ended.
    pub keep: Box<dyn Any + Send>,
}

/// A container or another machine in which the checks of a card are run.
pub trait RemoteChecks {
    /// Runs a check in the workspace of its card. The interrupt ends it.
    fn run(
        &self,
        command: &str,
        timeout: Duration,
        interrupt: &Wake,
    ) -> std::result::Result<RemoteResult, String>;
}

/// How a check elsewhere ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteResult {
    /// Its exit code; `None` if a signal or the time limit ended it.
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    /// Its output, or the end of it.
    pub output: Vec<u8>,
}
