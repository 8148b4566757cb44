//! Signals that steer a process which serves others for months, delivered as events.
//!
//! As for [`crate::EndSignals`], handlers only set a flag and write a byte; but a lost terminal
//! (SIGHUP) means "read your settings again" here, and SIGUSR1 asks for a restart.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::low_level::pipe;

/// One of the signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceSignal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGUSR1: finish the work, then let the supervisor start a new process.
    Restart,
    /// SIGHUP: read the settings again.
    Reload,
}

impl ServiceSignal {
    const ALL: [Self; 4] = [
        Self::Interrupt,
        Self::Terminate,
        Self::Restart,
        Self::Reload,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Restart => "SIGUSR1",
            Self::Reload => "SIGHUP",
        }
    }

    fn number(self) -> i32 {
        match self {
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
            Self::Restart => SIGUSR1,
            Self::Reload => SIGHUP,
        }
    }
}

/// Hears the signals from now on, for the rest of the process. Also those that were ignored when the
/// process started: whoever starts a server with `nohup` still wants to stop it.
#[derive(Debug)]
pub struct ServiceSignals {
    reader: UnixStream,
    came: [Arc<AtomicBool>; 4],
}

impl ServiceSignals {
    /// Starts to listen.
    pub fn listen() -> io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        let signals = Self {
            reader,
            came: Default::default(),
        };
        for (signal, came) in ServiceSignal::ALL.into_iter().zip(&signals.came) {
            // In this order: when the byte arrives the flag is set.
            signal_hook::flag::register(signal.number(), Arc::clone(came))?;
            pipe::register(signal.number(), writer.try_clone()?)?;
        }
        Ok(signals)
    }

    /// The signals that came since the last call, each once.
    pub fn take(&self) -> Vec<ServiceSignal> {
        let mut bytes = [0; 64];
        while (&self.reader).read(&mut bytes).is_ok_and(|count| count > 0) {}
        // A child that has not become another program yet shares the socket, but not these flags:
        // what it hears is not for us.
        let all = ServiceSignal::ALL.into_iter().zip(&self.came);
        all.filter(|(_, came)| came.swap(false, Ordering::SeqCst))
            .map(|(signal, _)| signal)
            .collect()
    }
}

impl AsFd for ServiceSignals {
    /// Readable when a signal has come.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}
