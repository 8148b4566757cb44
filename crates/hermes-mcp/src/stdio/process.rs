//! The process of a server: started with its planned environment, ended with everything it started.
//!
//! The kernel kills the process when the thread that started it ends, and a guard ends what it has
//! started when Hermes is killed; a server need not listen to anything for that.

use std::any::Any;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use hermes_addons::Launch;
use hermes_proc::{
    Child, ChildSpec, Group, KillTiming, Streams, adopt_orphans, first_readable, reap_orphans,
};
use tokio::net::unix::pipe;
use tokio::runtime::Handle;

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
    /// `None` once the process is being ended.
    running: Option<Running>,
    last_words: LastWords,
}

/// What has to be ended.
struct Running {
    child: Child,
    /// Ends what the server started, should we be killed.
    _guard: Option<Box<dyn Any + Send + Sync>>,
    /// Keeps the package of an add-on while its program runs.
    _lease: Option<hermes_fs::SharedLock>,
}

/// Starts the program of a server, or of the add-on that it is. Must be called on the thread of the pool, whose end is the
/// server's.
pub(crate) fn start(
    server: &str,
    config: &StdioConfig,
    launch: Option<Launch>,
    host: &dyn ServerHost,
) -> Result<Started, Error> {
    let mark = hermes_fs::random_hex(16);
    let variables: Vec<(String, String)> = config.env.clone().into_iter().collect();
    let plan = host.environment(&variables, &mark);
    let user_home = host.user_home();
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
            running: Some(Running {
                child,
                _guard: guard,
                _lease: lease,
            }),
            last_words,
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
            let status = self.running.as_ref().and_then(|one| one.child.peek());
            if let Some(status) = status {
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
    pub(crate) async fn end(mut self) {
        if let Some(running) = self.running.take() {
            let ending = tokio::task::spawn_blocking(move || running.end());
            if let Err(error) = ending.await {
                tracing::error!(%error, "ending an MCP server failed");
            }
        }
    }
}

/// A call that is interrupted while its server starts is dropped, and the process with it.
impl Drop for ServerProcess {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        match Handle::try_current() {
            // Nobody waits for it; the end of the pool does.
            Ok(runtime) => drop(runtime.spawn_blocking(move || running.end())),
            Err(_) => running.end(),
        }
    }
}

impl Running {
    fn end(mut self) {
        let pid = self.child.pid();
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
        match ended {
            Ok(_) => tracing::debug!(pid, "ended an MCP server"),
            Err(error) => tracing::warn!(pid, %error, "an MCP server could not be ended"),
        }
    }
}
