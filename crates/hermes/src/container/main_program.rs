//! The main program of the container: which one it is, and becoming it as the runtime user.

use std::ffi::OsString;
use std::process::ExitCode;

use hermes_boot::MainProgram;
use hermes_config::vars;
use hermes_proc::find_on_path;
use hermes_proc::stages::{become_program, take_terminal};

use super::exec_shim::{CANNOT_DROP, take_on};
use super::{Role, own_program, variables};
use crate::cli;
use crate::error::{CommandError, Result};

/// Variables of the container that are for its start only.
const OF_THE_START: [vars::Var; 1] = [vars::HERMES_AUTH_JSON_BOOTSTRAP];

/// Exit code of a program that is not there.
const NOT_FOUND: u8 = 127;

impl Role<'_> {
    /// Becomes the main program, in the directory and with the variables the container was given.
    pub(super) fn main_program(&self, args: &[OsString]) -> Result<ExitCode> {
        let path = self.env.os(&vars::PATH);
        let find = |name: &std::ffi::OsStr| find_on_path(name, path);
        let (program, args) = match MainProgram::resolve(args, cli::is_subcommand, find) {
            MainProgram::Hermes(args) => (own_program()?, args),
            MainProgram::Program { path, args } => (path, args),
        };
        let user = self
            .machine()
            .runtime_user()
            .map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))?;
        if let Err(error) = take_terminal() {
            self.say(&format!(
                "warning: the terminal was not handed over: {error}"
            ));
        }
        if self.uid == 0
            && let Err(error) = take_on(&user)
        {
            self.printer.report(&error);
            return Ok(ExitCode::from(CANNOT_DROP));
        }
        let env = self
            .env
            .without(&OF_THE_START)
            .with(&vars::HOME, &user.home);
        let error = become_program(&program, &args, &variables(&env), &[]);
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => NOT_FOUND,
            _ => CANNOT_DROP,
        };
        let message = format!("could not start {}: {error}", program.display());
        self.printer.report(&CommandError::environment(message));
        Ok(ExitCode::from(code))
    }
}
