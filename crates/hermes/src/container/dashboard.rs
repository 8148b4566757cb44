//! The slot of the dashboard: down unless it is asked for.

use std::process::ExitCode;

use hermes_config::vars;

use super::Role;
use super::exec_shim::says_yes;
use crate::error::Result;

/// Tells the supervisor not to try again.
const PARKED: u8 = 78;

impl Role<'_> {
    pub(super) fn dashboard(&self) -> Result<ExitCode> {
        if !says_yes(self.env.text(&vars::HERMES_DASHBOARD)) {
            return Ok(ExitCode::SUCCESS);
        }
        self.printer.err(&format!(
            "{} is set, but this version has no dashboard; its slot stays down\n",
            vars::HERMES_DASHBOARD.name
        ))?;
        Ok(ExitCode::from(PARKED))
    }
}
