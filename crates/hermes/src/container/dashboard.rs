//! The slot of the dashboard: down unless it is asked for. Then this process becomes the dashboard, as
//! the runtime user; one that may not start ends with the code that parks the slot.

use std::ffi::OsString;
use std::process::ExitCode;

use hermes_config::vars;
use hermes_proc::stages::become_program;

use super::exec_shim::{CANNOT_DROP, says_yes, take_on};
use super::{Role, own_program, variables};
use crate::error::{CommandError, Result};

/// The dashboard of the default profile; where it listens is up to its variables and settings.
const COMMAND: [&str; 5] = ["-p", "default", "dashboard", "--no-open", "--in-image"];

impl Role<'_> {
    pub(super) fn dashboard(&self) -> Result<ExitCode> {
        if !says_yes(self.env.text(&vars::HERMES_DASHBOARD)) {
            return Ok(ExitCode::SUCCESS);
        }
        let user = self
            .machine()
            .runtime_user()
            .map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))?;
        if self.uid == 0
            && let Err(error) = take_on(&user)
        {
            self.printer.report(&error);
            return Ok(ExitCode::from(CANNOT_DROP));
        }
        let env = self.env.with(&vars::HOME, &user.home);
        let program = own_program()?;
        let args = COMMAND.map(OsString::from);
        let error = become_program(&program, &args, &variables(&env), &[]);
        let message = format!("could not start {}: {error}", program.display());
        self.printer.report(&CommandError::environment(message));
        Ok(ExitCode::from(CANNOT_DROP))
    }
}
