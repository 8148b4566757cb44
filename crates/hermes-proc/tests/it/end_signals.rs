//! Signals to this very process.

use std::os::fd::AsFd;

use hermes_proc::{EndSignal, EndSignals};
use pretty_assertions::assert_eq;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpid, kill_process};

use super::shell;

fn has_news(signals: &EndSignals) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
    poll(&mut watched, Some(&rustix::event::Timespec::default())).unwrap() > 0
}

#[test]
fn a_signal_is_heard_once_and_ends_nothing() {
    let signals = EndSignals::listen().unwrap();
    assert!(!has_news(&signals));
    assert_eq!(signals.take(), None);
    for (sent, heard, code) in [
        (Signal::HUP, EndSignal::HangUp, 129),
        (Signal::INT, EndSignal::Interrupt, 130),
        (Signal::TERM, EndSignal::Terminate, 143),
    ] {
        kill_process(getpid(), sent).unwrap();
        // Delivered to some thread before the call returns, or right after.
        super::eventually("it is heard", || has_news(&signals));
        assert_eq!(signals.take(), Some(heard));
        assert_eq!(heard.exit_code(), code);
        assert_eq!((signals.take(), has_news(&signals)), (None, false));
    }
    // A child is another program: it ends as it always would.
    let child = shell("kill -TERM $$; echo alive");
    let ended = child
        .run_captured(std::time::Duration::from_secs(20), 100)
        .unwrap();
    assert_eq!((ended.status.code(), ended.stdout), (None, Vec::new()));
}
