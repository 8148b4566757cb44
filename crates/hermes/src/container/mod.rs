//! What this program is in the container image besides a command: its first and last process, the
//! boot hook, the wrapper of the main program, the slot of the dashboard, and the way from root to the
//! runtime user.
//!
//! The image wires these roles and holds no logic of its own (`docker/`). They run before a profile is
//! chosen and before anything of a home is touched: root must not write there.

mod boot;
mod dashboard;
mod end;
mod exec_shim;
mod init;
mod main_program;
mod scandir;
mod watch;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use hermes_boot::{Machine, without_entry_points, without_tini_flags};
use hermes_config::Environment;
use hermes_home::SystemFacts;

use crate::error::{CommandError, Result};
use crate::ui::Printer;

pub(crate) use exec_shim::{CANNOT_DROP, drop_root};

/// Where the image keeps the program; root's, and not to be written by anybody else.
const INSTALL_TREE: &str = "/opt/hermes";

/// What a container role works with.
#[derive(Debug)]
struct Role<'a> {
    env: &'a Environment,
    printer: Printer,
    uid: u32,
}

/// Runs the container role that the arguments name; `None` if they name none.
pub(crate) fn run_role(
    args: &[OsString],
    env: &Environment,
    printer: Printer,
) -> Option<Result<ExitCode>> {
    let (verb, rest) = match args {
        [internal, verb, rest @ ..] if internal == "internal" => (verb.to_str()?, rest),
        _ => return None,
    };
    let role = Role {
        env,
        printer,
        uid: SystemFacts::of_process().uid,
    };
    Some(match verb {
        "init" => role.init(without_entry_points(rest)),
        "tini" => role.init(without_entry_points(without_tini_flags(rest))),
        "boot" => role.boot().map(|()| ExitCode::SUCCESS),
        "watch" => role.watch(rest),
        "main" => role.main_program(rest),
        "finish" => Ok(end::finish()),
        "dashboard" => role.dashboard(),
        _ => return None,
    })
}

impl Role<'_> {
    fn machine(&self) -> Machine<'_> {
        Machine {
            env: self.env,
            uid: self.uid,
            root: Path::new("/"),
        }
    }

    /// A line of the boot hook.
    fn say(&self, line: &str) {
        // Standard error may be closed; the start goes on.
        drop(self.printer.err(&format!("{STAGE} {line}\n")));
    }
}

/// What lines of the boot hook begin with.
const STAGE: &str = "[stage2]";

/// This program, as it is started.
fn own_program() -> Result<std::path::PathBuf> {
    std::env::current_exe().map_err(|error| {
        CommandError::environment(format!("could not find this program on the disk: {error}"))
    })
}

/// All variables, as a child gets them.
fn variables(env: &Environment) -> Vec<(OsString, OsString)> {
    let owned = |(name, value): (&OsStr, &OsStr)| (name.to_owned(), value.to_owned());
    env.iter().map(owned).collect()
}
