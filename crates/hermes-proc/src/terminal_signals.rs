//! Signals about the terminal: its size has changed, the shell wants the program to pause.
//!
//! As with [`crate::EndSignals`], the handler only writes a byte; the owner of the screen decides what
//! to do, and pauses the process after it has given the terminal back.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Signal, getpgrp, kill_process_group};
use signal_hook::consts::{SIGTSTP, SIGWINCH};
use signal_hook::low_level::{emulate_default_handler, pipe};

/// Hears the signals from now on, until the end of the process.
#[derive(Debug)]
pub struct TerminalSignals {
    reader: UnixStream,
    stop: Arc<AtomicBool>,
}

impl TerminalSignals {
    /// Starts to listen.
    pub fn listen() -> io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        let stop = Arc::<AtomicBool>::default();
        // In this order: when the byte arrives the flag is there.
        signal_hook::flag::register(SIGTSTP, Arc::clone(&stop))?;
        pipe::register(SIGTSTP, writer.try_clone()?)?;
        pipe::register(SIGWINCH, writer)?;
        Ok(Self { reader, stop })
    }

    /// Takes note of what has come; gives whether the process is to pause.
    pub fn take(&self) -> bool {
        let mut bytes = [0; 64];
        while (&self.reader).read(&mut bytes).is_ok_and(|count| count > 0) {}
        self.stop.swap(false, Ordering::SeqCst)
    }

    /// Asks the whole job to pause, as the terminal does at Ctrl-Z.
    pub fn request_pause() -> io::Result<()> {
        Ok(kill_process_group(getpgrp(), Signal::TSTP)?)
    }

    /// Pauses the process; returns when the shell lets it go on.
    pub fn pause() {
        // Fails for signals without a default only, and this one has one.
        drop(emulate_default_handler(SIGTSTP));
    }
}

impl AsFd for TerminalSignals {
    /// Readable when a signal has come.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}
