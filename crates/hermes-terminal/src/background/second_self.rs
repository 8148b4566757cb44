//! This program started again, to look after processes while Hermes comes and goes.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use hermes_proc::{Child, ChildEnv, ChildSpec, Group, Streams};

use super::link::Link;
use super::start::StartError;

/// Starts it as a supervisor or a guard; the first frame tells it which. It gets no variable, and of
/// our descriptors only these.
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
