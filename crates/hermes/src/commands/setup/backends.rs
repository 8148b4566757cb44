//! Where commands can run on this machine.

use std::ffi::OsStr;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hermes_config::vars;
use hermes_proc::find_on_path;
use hermes_runtime::{docker_host, live_environment};

use crate::context::Context;
use crate::ui::{Choice, Printer, TerminalPerson};

/// How long the container engine may take to answer.
const ENGINE_LIMIT: Duration = Duration::from_secs(3);

/// A backend that works here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkingBackend {
    /// The value of `terminal.backend`.
    pub(super) name: &'static str,
    /// Where commands run, in the middle of a sentence.
    pub(super) place: String,
}

/// The backends, looked for while other questions are asked.
pub(super) struct BackendSearch {
    engine: Option<Receiver<Option<String>>>,
    ssh: Option<String>,
}

impl BackendSearch {
    pub(super) fn start(context: &Context) -> Self {
        let path = context.env.os(&vars::PATH);
        let mut programs = ["docker", "podman"].into_iter();
        let has_engine = context.env.text(&vars::HERMES_DOCKER_BINARY).is_some()
            || programs.any(|name| find_on_path(OsStr::new(name), path).is_some());
        let engine = has_engine.then(|| {
            let (answer, received) = channel();
            let runtime = (**context).clone();
            let printer = context.printer;
            std::thread::spawn(move || {
                // Nobody waits any more if it took too long.
                drop(answer.send(engine_version(&runtime, printer)));
            });
            received
        });
        let host = context.config().text("terminal.ssh_host").trim();
        Self {
            engine,
            ssh: (!host.is_empty()).then(|| host.to_owned()),
        }
    }

    /// What works.
    pub(super) fn finish(self) -> Vec<WorkingBackend> {
        let mut found = vec![WorkingBackend {
            name: "local",
            place: "on this machine".to_owned(),
        }];
        let engine = self
            .engine
            .and_then(|engine| engine.recv_timeout(ENGINE_LIMIT).ok()?);
        found.extend(engine.map(|version| WorkingBackend {
            name: "docker",
            place: format!("in a container ({version})"),
        }));
        found.extend(self.ssh.map(|host| WorkingBackend {
            name: "ssh",
            place: format!("on {host} over SSH"),
        }));
        found
    }
}

fn engine_version(context: &hermes_runtime::Context, printer: Printer) -> Option<String> {
    let environment = live_environment(context);
    let person = TerminalPerson::shown_only(printer);
    let host = docker_host(context, &environment, &person).ok()?;
    let info = host.check().ok()?;
    let program = info.binary.file_name()?.to_string_lossy().into_owned();
    Some(format!("{program} {}", info.version))
}

/// The rows of a picker, the backend in use first.
pub(super) fn rows(backends: &[WorkingBackend], verb: &str) -> Vec<Choice> {
    backends
        .iter()
        .map(|backend| Choice::new(verb, format!("commands run {}", backend.place)))
        .collect()
}
