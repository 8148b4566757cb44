//! The thread that listens to all supervisors.

use std::sync::{Arc, Weak};
use std::time::Instant;

use rustix::event::{Timespec, epoll};

use super::files::Files;
use super::frame::Frame;
use super::notice::EndReason;
use super::process::Connection;
use super::recover::{connect, kill_lost};
use super::registry::{Processes, Shared, State, WAKE_KEY};

impl Processes {
    /// Starts the listening thread, once.
    pub(super) fn ensure_monitor(&self) -> std::io::Result<()> {
        let mut state = self.shared.lock();
        if state.has_monitor {
            return Ok(());
        }
        let shared = Arc::downgrade(&self.shared);
        let epoll = Arc::clone(&self.shared.epoll);
        std::thread::Builder::new()
            .name("background-processes".to_owned())
            .spawn(move || listen(&shared, &epoll))?;
        state.has_monitor = true;
        Ok(())
    }
}

fn listen(shared: &Weak<Shared>, epoll: &std::os::fd::OwnedFd) {
    let mut events: Vec<epoll::Event> = Vec::with_capacity(64);
    loop {
        let deadline = match shared.upgrade() {
            // The registry is gone, and the last reference to its state with it.
            None => return,
            Some(shared) => shared.lock().breaker.release_at(),
        };
        let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let wait = wait.and_then(|left| Timespec::try_from(left).ok());
        events.clear();
        let waited = epoll::wait(
            epoll,
            rustix::buffer::spare_capacity(&mut events),
            wait.as_ref(),
        );
        let Some(shared) = shared.upgrade() else {
            return;
        };
        match waited {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                tracing::error!(%error, "background processes can no longer be monitored");
                return;
            }
        }
        shared.update(|state| state.release_breaker(Instant::now()));
        for event in &events {
            let key = event.data;
            match key.u64() {
                WAKE_KEY => shared.wake.clear(),
                key => shared.hear(key),
            }
        }
    }
}

impl Shared {
    fn hear(&self, key: u64) {
        self.update(|state| {
            let Some(process) = state.by_key(key) else {
                return;
            };
            let id = process.id.clone();
            let mut frames = Vec::new();
            let is_open = match &mut process.connection {
                Connection::Polled(_) | Connection::None => return,
                Connection::Seen(_) => {
                    state.finish(&id, None);
                    return self.save_best_effort(state);
                }
                Connection::Supervisor(link) => {
                    let is_open = link.exchange();
                    while let Ok(Some(frame)) = link.next_frame() {
                        frames.push(frame);
                    }
                    is_open
                }
            };
            let mut has_ended = false;
            for frame in frames {
                match frame {
                    Frame::Output(bytes) => {
                        state.output(&id, &bytes, Instant::now());
                    }
                    Frame::History(bytes) => state.history(&id, &bytes),
                    Frame::Exited(code) => {
                        state.finish(&id, Some(code));
                        has_ended = true;
                    }
                    // The first is told again after a reconnection, and known; the others are ours
                    // to say.
                    Frame::Started(_)
                    | Frame::Start(_)
                    | Frame::Guard(_)
                    | Frame::Go
                    | Frame::Type(_)
                    | Frame::Failed(_) => {}
                }
            }
            if !is_open && !has_ended {
                has_ended = self.lost_supervisor(state, &id);
            }
            if has_ended {
                self.save_best_effort(state);
            }
        });
    }

    /// The supervisor hung up without a last word; says whether the process counts as ended.
    fn lost_supervisor(&self, state: &mut State, id: &str) -> bool {
        if let Some(end) = Files::of(&self.directory, id).read_exit() {
            self.finish_from_files(state, id, Some(end));
            return true;
        }
        // It may have let us go because we were too slow: then it takes us back.
        if let Ok(link) = connect(&self.directory, id)
            && let Some(process) = state.processes.get_mut(id)
        {
            process.connection = Connection::Supervisor(link);
            if self.listen(process).is_ok() {
                return false;
            }
        }
        if let Some(process) = state.processes.get(id) {
            kill_lost(process);
        }
        state.finish_as(id, Some(-1), EndReason::Lost);
        true
    }
}
