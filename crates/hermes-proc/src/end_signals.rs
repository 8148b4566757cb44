//! Signals that ask this process to end, delivered as events.
//!
//! The handler only writes a byte into a socket; the reader decides what to do first. A signal
//! that was ignored when the process started (`nohup`, a job in the background of a script) stays
//! ignored. Children are not affected: a program that is executed starts without handlers.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};

/// One of the signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

impl EndSignal {
    const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::HangUp];

    /// Its number.
    pub fn number(self) -> i32 {
        match self {
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
            Self::HangUp => SIGHUP,
        }
    }

    /// The exit code by which a shell tells of a program that ended because of it.
    pub fn exit_code(self) -> u8 {
        // All three are below 16.
        128 + u8::try_from(self.number()).unwrap_or(0)
    }

    /// Ends the process the way it would have ended without anybody listening.
    pub fn obey(self) {
        // Fails for signals without a default only, and these have one.
        drop(emulate_default_handler(self.number()));
    }
}

/// Hears the signals from now on. Made once, for the rest of the process: dropped, it leaves a
/// process that no signal of these ends.
#[derive(Debug)]
pub struct EndSignals {
    reader: UnixStream,
    /// Number of the last signal; zero before the first.
    last: Arc<AtomicUsize>,
}

impl EndSignals {
    /// Starts to listen.
    pub fn listen() -> io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        let signals = Self {
            reader,
            last: Arc::default(),
        };
        for signal in EndSignal::ALL {
            let number = signal.number();
            if is_ignored(number) {
                continue;
            }
            let last = Arc::clone(&signals.last);
            let value = usize::try_from(number).unwrap_or(0);
            // In this order: when the byte arrives the number is there.
            signal_hook::flag::register_usize(number, last, value)?;
            pipe::register(number, writer.try_clone()?)?;
        }
        Ok(signals)
    }

    /// The signal that came since the last call, the latest if there were several.
    pub fn take(&self) -> Option<EndSignal> {
        let mut bytes = [0; 64];
        while (&self.reader).read(&mut bytes).is_ok_and(|count| count > 0) {}
        // A child that was forked and has not become another program yet shares the socket, but not
        // this number: what it hears is not for us.
        let number = self.last.swap(0, Ordering::SeqCst);
        EndSignal::ALL
            .into_iter()
            .find(|signal| usize::try_from(signal.number()) == Ok(number))
    }
}

impl AsFd for EndSignals {
    /// Readable when a signal has come.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

#[expect(
    unsafe_code,
    reason = "there is no safe interface for reading a signal's handler"
)]
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks for the present action only and writes it to memory of that type, which is valid
    // when zeroed.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
