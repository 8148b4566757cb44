//! The process of a server: started with its planned environment, ended with everything it started.
//!
//! The kernel kills the process when the thread that started it ends, and a guard ends what it has
//! started when Hermes is killed; a server need not listen to anything for that.

use std::any::Any;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use hermes_proc::{
    Child, ChildSpec, Group, KillTiming, Streams, adopt_orphans, first_readable, reap_orphans,
};
use tokio::net::unix::pipe;

use super::stderr_log::{LastWords, StderrLog};
use super::transport::StdioTransport;
use crate::command;
use crate::config::StdioConfig;
use crate::error::Error;
use crate::host::ServerHost;

/// For a server that ends by itself when its input does.
const FAREWELL: Duration = Duration::from_millis(300);
/// From SIGTERM to SIGKILL, and from there to giving up.
const GRACE: Duration = Duration::from_secs(2);

/// A server that was started: how to speak with it, and what has to be ended.
pub(crate) struct Started {
    pub(crate) transport: StdioTransport,
    pub(crate) process: ServerProcess,
}

/// The process behind a connection.
pub(crate) struct ServerProcess {
    child: Child,
    last_words: LastWords,
    /// Ends what the server started, should we be killed.
    _guard: Option<Box<dyn Any + Send + Sync>>,
    /// Keeps the package of an add-on while its program runs.
    _lease: Option<hermes_fs::SharedLock>,
}

/// Starts the program of a server. Must be called on the thread of the pool, whose end is the
/// server's.
pub(crate) fn start(
    server: &str,
    config: &StdioConfig,
    host: &dyn ServerHost,
) -> Result<Started, Error> {
    let mark = hermes_fs::random_hex(16);
    let variables: Vec<(String, String)> = config.env.clone().into_iter().collect();
    let plan = host.environment(&variables, &mark);
    let user_home = host.user_home();
    let launch = match &config.addon {
        Some(addon) => Some(host.addon(addon).map_err(|error| Error::AddonMissing {
            reason: error.to_string(),
            hint: error.hint,
        })?),
        None => None,
    };
    let command = match &launch {
        Some(launch) => launch.program.to_string_lossy().into_owned(),
        None => config.command.clone(),
    };
    let found = command::find(&command, &plan, host.home(), &user_home)?;
    let plan = plan.with("PATH", found.path);
    let (first, lease) = launch.map_or_else(Default::default, |launch| (launch.args, launch.lease));
    let args = first.into_iter().chain(config.args.iter().map(Into::into));
    let cwd = config.cwd.as_ref();
    let cwd = cwd.map(|cwd| command::expand_home(&cwd.to_string_lossy(), &user_home));
    // What a server leaves behind stays below us, where its end finds it.
    if let Err(error) = adopt_orphans() {
        tracing::debug!(%error, "orphans of MCP servers are not found by their parent");
    }
    let guard = host.guard_processes(&mark);
    let spec = ChildSpec {
        cwd,
        streams: Streams::Pipes { input: true },
        group: Group::Session,
        ends_with_thread: true,
        ..ChildSpec::new(&found.program, args, plan)
    };
    let not_started = |error: &dyn std::fmt::Display| Error::NotStarted(error.to_string());
    let mut child = spec.spawn().map_err(|error| not_started(&error))?;
    let pipes = (child.take_stdin(), child.take_stdout(), child.take_stderr());
    let (Some(input), Some(output), Some(errors)) = pipes else {
        return Err(Error::NotStarted("it has no pipes".to_owned()));
    };
    let input = sender(input).map_err(|error| not_started(&error))?;
    let output = receiver(output).map_err(|error| not_started(&error))?;
    let errors = receiver(errors).map_err(|error| not_started(&error))?;
    let log = StderrLog::open(server, host);
    let last_words = log.last_words();
    tokio::spawn(log.copy(errors));
    tracing::info!(server, pid = child.pid(), "started an MCP server");
    Ok(Started {
        transport: StdioTransport::new(input, output),
        process: ServerProcess {
            child,
            last_words,
            _guard: guard,
            _lease: lease,
        },
    })
}

fn sender(pipe: OwnedFd) -> io::Result<pipe::Sender> {
    without_blocking(&pipe)?;
    pipe::Sender::from_owned_fd(pipe)
}

fn receiver(pipe: OwnedFd) -> io::Result<pipe::Receiver> {
    without_blocking(&pipe)?;
    pipe::Receiver::from_owned_fd(pipe)
}

/// Our end only: the other end of a pipe has flags of its own.
fn without_blocking(pipe: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(pipe)?;
    rustix::fs::fcntl_setfl(pipe, flags | rustix::fs::OFlags::NONBLOCK)?;
    Ok(())
}

impl ServerProcess {
    /// How the process ended and what it said last, if it ends within a moment.
    pub(crate) async fn ended(&self) -> Option<Error> {
        let deadline = tokio::time::Instant::now() + FAREWELL;
        while tokio::time::Instant::now() < deadline {
            if let Some(status) = self.child.peek() {
                // What it said may still be on its way from the pipe to us.
                tokio::time::sleep(Duration::from_millis(20)).await;
                return Some(Error::Ended {
                    status: status.to_string(),
                    said_last: self.last_words.get(),
                });
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }

    /// Ends the server and everything it started. Its input was closed before.
    pub(crate) async fn end(self) {
        let pid = self.child.pid();
        let ending = tokio::task::spawn_blocking(move || self.end_now());
        match ending.await {
            Ok(Ok(())) => tracing::debug!(pid, "ended an MCP server"),
            Ok(Err(error)) => tracing::warn!(pid, %error, "an MCP server could not be ended"),
            Err(error) => tracing::error!(pid, %error, "ending an MCP server failed"),
        }
    }

    fn end_now(mut self) -> Result<(), hermes_proc::Error> {
        // An error here costs the server its farewell.
        drop(first_readable(
            &[std::os::fd::AsFd::as_fd(&self.child)],
            Some(FAREWELL),
        ));
        let timing = KillTiming {
            grace: GRACE,
            timeout: GRACE,
            force: true,
        };
        let ended = self.child.kill_tree(timing);
        reap_orphans();
        ended.map(|_| ())
    }
}
