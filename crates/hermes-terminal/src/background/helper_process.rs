//! This program started again as a helper: the supervisor of a background process or the crash guard.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use hermes_proc::{Child, ChildEnv, ChildSpec, Group, Streams};

use super::link::Link;
use super::start::StartError;

/// Starts the helper; the first frame tells it which of the two it is. It gets no variable, and of our
/// descriptors only `inherited`.
pub(super) fn start(
    command: &[OsString],
    inherited: Vec<OwnedFd>,
) -> Result<(Child, Link), StartError> {
    let (program, args) = command.split_first().ok_or(StartError::NoSupervisor)?;
    let (ours, theirs) = UnixStream::pair()?;
    let spec = ChildSpec {
        cwd: Some(PathBuf::from("/")),
        streams: Streams::Given {
            input: Some(theirs.into()),
            output: None,
        },
        group: Group::Session,
        inherited,
        kill_on_drop: false,
        ..ChildSpec::new(program, args, ChildEnv::default())
    };
    Ok((spec.spawn()?, Link::new(ours)))
}
