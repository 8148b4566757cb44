//! The process beside the supervisor that waits for the main program: passes signals on to it, keeps
//! its exit code, and ends the container when it has ended.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use hermes_proc::stages::{leave_session, terminate_first_process};
use hermes_proc::{
    Child, ChildSpec, EndSignals, ExitStatus, Group, Streams, find_on_path, first_readable,
};

use super::scandir::{EXIT_CODE, SCANDIR};
use super::{Role, own_program, variables};
use crate::error::{CommandError, Result};

/// How long the supervisor has to begin listening.
const SUPERVISOR_START: Duration = Duration::from_secs(10);

/// Directories of root alone.
const OF_ROOT: &str = "/command:/usr/bin:/bin";

impl Role<'_> {
    /// Runs the main program, then ends the container with its code.
    pub(super) fn watch(&self, args: &[OsString]) -> Result<ExitCode> {
        let Some((ready, args)) = args.split_first() else {
            return Err(CommandError::usage("this role is for the first process"));
        };
        self.wait_for_supervisor(ready);
        let signals =
            EndSignals::listen().map_err(|error| CommandError::environment(error.to_string()))?;
        let words = ["internal", "main"].map(OsString::from);
        let spec = ChildSpec {
            streams: Streams::Inherited,
            group: Group::Shared,
            kill_on_drop: false,
            ..ChildSpec::new(
                own_program()?,
                words.into_iter().chain(args.iter().cloned()),
                variables(self.env),
            )
        };
        let code = match spec.spawn() {
            Ok(mut child) => {
                if let Err(error) = leave_session() {
                    self.say(&format!("warning: could not leave the terminal: {error}"));
                }
                wait(&mut child, &signals)
            }
            Err(error) => {
                self.say(&format!("the main program was not started: {error}"));
                126
            }
        };
        hermes_fs::write_atomic(Path::new(EXIT_CODE), code.to_string().as_bytes(), 0o644)?;
        self.end_supervision();
        Ok(ExitCode::from(code))
    }

    /// The main program may ask for a service at once, and may end at once: in both cases somebody has
    /// to listen.
    fn wait_for_supervisor(&self, ready: &OsString) {
        let ready = hermes_fs::open(&Path::new("/proc/self/fd").join(ready));
        let is_ready = ready.is_ok_and(|ready| {
            // Its first byte, or its end: in both cases there is nothing more to wait for.
            let waited = first_readable(&[ready.as_fd()], Some(SUPERVISOR_START));
            matches!(waited, Ok(Some(_)))
        });
        if !is_ready {
            self.say("warning: the supervisor does not say that it is ready");
        }
    }

    /// Tells the supervisor to end.
    fn end_supervision(&self) {
        if let Err(error) = self.call_svscanctl() {
            self.say(&format!("warning: {}", error.message));
            // Without its own answer to the signal the supervisor does what it was built to do: ends.
            let hook = Path::new(SCANDIR).join(".s6-svscan/SIGTERM");
            if let Err(error) = hermes_fs::remove_file_if_present(&hook) {
                self.say(&format!("warning: {error}"));
            }
            terminate_first_process();
        }
    }

    fn call_svscanctl(&self) -> Result<()> {
        // Not by the container's PATH, which has a directory of the user of the volume.
        let program = find_on_path("s6-svscanctl".as_ref(), Some(OF_ROOT.as_ref()))
            .unwrap_or_else(|| PathBuf::from("/usr/bin/s6-svscanctl"));
        let spec = ChildSpec {
            streams: Streams::Inherited,
            ..ChildSpec::new(program, ["-t", SCANDIR], variables(self.env))
        };
        let ended = spec.spawn().and_then(|mut child| child.wait());
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(CommandError::environment(format!(
                "s6-svscanctl ended with {status}"
            ))),
            Err(error) => Err(CommandError::environment(error.to_string())),
        }
    }
}

/// Waits for the end of the main program; signals that come meanwhile are for it.
fn wait(child: &mut Child, signals: &EndSignals) -> u8 {
    loop {
        let readable = first_readable(&[child.as_fd(), signals.as_fd()], None);
        if let Some(signal) = signals.take() {
            child.forward(signal);
        }
        if child.has_ended() || readable.is_err() {
            break;
        }
    }
    child.wait().map_or(1, exit_code)
}

/// As a shell tells it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = match status {
        ExitStatus::Exited(code) => code,
        ExitStatus::Signalled(signal) => 128 + signal,
    };
    u8::try_from(code).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(exit_code(ExitStatus::Exited(0)), 0);
        assert_eq!(exit_code(ExitStatus::Exited(42)), 42);
        assert_eq!(exit_code(ExitStatus::Signalled(15)), 143);
        assert_eq!(exit_code(ExitStatus::Signalled(9)), 137);
    }
}
