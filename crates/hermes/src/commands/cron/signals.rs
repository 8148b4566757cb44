//! End signals while jobs run: the first one asks for an end in good order, the second ends the runs.

use std::os::fd::AsFd;

use hermes_proc::{Wake, first_readable};

use crate::error::{CommandError, Result};
use crate::signal_watch::listen_for_signals;

/// What signals raise.
pub(super) struct Stops {
    /// No more runs begin.
    pub(super) stop: Wake,
    /// Runs are ended.
    pub(super) abort: Wake,
}

/// Calls `work` while signals are listened for. `is_patient`: the first signal lets runs end.
pub(super) fn with_signals<T>(is_patient: bool, work: impl FnOnce(&Stops) -> T) -> Result<T> {
    let wake = || {
        Wake::new().map_err(|error| {
            CommandError::environment(format!("no file descriptors left: {error}"))
        })
    };
    let stops = Stops {
        stop: wake()?,
        abort: wake()?,
    };
    let finished = wake()?;
    let signals = listen_for_signals()?;
    let done = std::thread::scope(|scope| {
        let (stops, finished) = (&stops, &finished);
        scope.spawn(move || {
            // Without the listener a signal ends the program, as it would otherwise.
            while let Ok(Some(0)) = first_readable(&[signals.as_fd(), finished.as_fd()], None) {
                if signals.take().is_none() {
                    continue;
                }
                if stops.stop.is_raised() || !is_patient {
                    stops.abort.raise();
                }
                stops.stop.raise();
            }
        });
        let done = work(stops);
        finished.raise();
        done
    });
    Ok(done)
}
