//! This program started again, to look after processes while Hermes comes and goes.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use hermes_proc::{SessionChild, SessionSpec, StandardStreams};

use super::link::Link;
use super::start::StartError;

/// Starts it as a supervisor or a guard; the first frame tells it which. It gets no variable, and of
/// our descriptors only these.
pub(super) fn start(
    command: &[OsString],
    inherited: Vec<OwnedFd>,
) -> Result<(SessionChild, Link), StartError> {
    let (program, args) = command.split_first().ok_or(StartError::NoSupervisor)?;
    let (ours, theirs) = UnixStream::pair()?;
    let spec = SessionSpec {
        program: Path::new(program),
        args: args.to_vec(),
        cwd: Path::new("/"),
        variables: &[],
        streams: StandardStreams {
            input: Some(theirs.into()),
            output: None,
            is_terminal: false,
        },
        inherited,
        ends_with_us: false,
    };
    Ok((spec.start()?, Link::new(ours)))
}
