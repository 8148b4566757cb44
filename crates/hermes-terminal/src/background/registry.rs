//! All background processes of this Hermes: what is known of them, and who waits for news.
//!
//! One thread listens to all supervisors. Leaving the state "running" happens in one place and once
//! per process; only that may queue a completion.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use hermes_proc::{Child, Wake};
use hermes_secret::Redactor;
use rustix::event::epoll;

use super::files::Files;
use super::host::Poller;
use super::notice::{EndReason, Ending, Notice, NoticeKind, NoticeQueues};
use super::process::{Connection, Process, REMEMBERED};
use super::record::ProcessFile;
use super::tail::OutputTail;
use super::watch::{Admission, Breaker, WatchEvent};
use crate::lock::lock;
use crate::output::tail_from_line_start;
use crate::settings::TerminalSettings;
use crate::shell::SessionKey;

/// Processes that may run at once, and that are remembered in total.
pub(super) const MOST: usize = 64;
/// Characters of output in a notice.
const NOTICE_OUTPUT: usize = 2_000;
/// The key of [`Shared::wake`] among the descriptors that are waited for.
pub(super) const WAKE_KEY: u64 = 0;

/// Background processes. Shared by all sessions of a process.
pub struct Processes {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) file: ProcessFile,
    pub(super) directory: PathBuf,
    pub(super) redactor: Arc<Redactor>,
    pub(super) epoll: Arc<OwnedFd>,
    pub(super) wake: Wake,
}

#[derive(Default)]
pub(super) struct State {
    redactor: Arc<Redactor>,
    pub(super) processes: BTreeMap<String, Process>,
    pub(super) starting: usize,
    pub(super) notices: NoticeQueues,
    pub(super) breaker: Breaker,
    /// The session that heard of the flood, and will hear of its end.
    flooded: Option<SessionKey>,
    pub(super) has_monitor: bool,
    next_key: u64,
    /// Every id that was ever ours: their entries in the file are ours to remove.
    ours: BTreeSet<String>,
    waiters: Vec<Arc<Wake>>,
    /// Supervisors about to end.
    done: Vec<Child>,
    pub(super) pollers: Vec<Poller>,
}

impl Processes {
    /// No processes yet, for the home of these settings.
    pub fn new(settings: &TerminalSettings, redactor: Arc<Redactor>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = Wake::new()?;
        epoll::add(
            &epoll,
            wake.as_fd(),
            epoll::EventData::new_u64(WAKE_KEY),
            epoll::EventFlags::IN,
        )?;
        Ok(Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    redactor: Arc::clone(&redactor),
                    ..State::default()
                }),
                file: ProcessFile::of(&settings.home),
                directory: settings.process_directory(),
                redactor,
                epoll: Arc::new(epoll),
                wake,
            }),
        })
    }

    /// Takes the notices of a session.
    pub fn drain_notices(&self, session: &SessionKey) -> Vec<Notice> {
        let mut state = self.shared.lock();
        state.release_breaker(Instant::now());
        state.notices.drain(session)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // The listening threads see that nobody needs them and end.
        self.shared.wake.raise();
        for poller in &self.shared.lock().pollers {
            poller.wake.raise();
        }
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Changes the state, then tells everyone concerned.
    pub(super) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let answer = change(&mut state);
        // A supervisor that has said its last word may take its time to end; the next change buries
        // it.
        let done: Vec<Child> = state
            .done
            .extract_if(.., |supervisor| supervisor.has_ended())
            .collect();
        for waiter in &state.waiters {
            waiter.raise();
        }
        drop(state);
        for mut supervisor in done {
            // It has ended; its last word was its answer.
            drop(supervisor.wait());
        }
        answer
    }

    /// Registers a waiter that is raised at every change.
    pub(super) fn add_waiter(&self) -> io::Result<Arc<Wake>> {
        let waiter = Arc::new(Wake::new()?);
        self.lock().waiters.push(Arc::clone(&waiter));
        Ok(waiter)
    }

    pub(super) fn remove_waiter(&self, waiter: &Arc<Wake>) {
        self.lock()
            .waiters
            .retain(|other| !Arc::ptr_eq(other, waiter));
    }

    /// Writes the running processes down.
    pub(super) fn save(&self, state: &State) -> hermes_fs::Result<()> {
        let running = state
            .processes
            .values()
            .filter(|process| process.is_running())
            .map(Process::to_record)
            .collect();
        self.file.save(&state.ours, running)
    }

    /// As [`Shared::save`], where nothing can be done about a failure.
    pub(super) fn save_best_effort(&self, state: &State) {
        if let Err(error) = self.save(state) {
            tracing::warn!(%error, "processes.json is not up to date");
        }
    }

    /// Forgets what ended long ago, and the oldest ended ones when there are too many.
    pub(super) fn forget_old(&self, state: &mut State) {
        let mut ended: Vec<(Instant, String)> = state
            .processes
            .values()
            .filter_map(|process| Some((process.ended.as_ref()?.1, process.id.clone())))
            .collect();
        ended.sort();
        let excess = (state.processes.len() + state.starting).saturating_sub(MOST);
        for (index, (at, id)) in ended.into_iter().enumerate() {
            if index < excess || at.elapsed() > REMEMBERED {
                state.processes.remove(&id);
                Files::of(&self.directory, &id).remove();
            }
        }
    }

    /// Starts to listen to a process that is in the state.
    pub(super) fn listen(&self, process: &Process) -> io::Result<()> {
        let descriptor = match &process.connection {
            Connection::Supervisor(link) => link.as_fd(),
            Connection::Seen(handle) => handle.as_fd(),
            Connection::Polled(_) | Connection::None => return Ok(()),
        };
        epoll::add(
            &*self.epoll,
            descriptor,
            epoll::EventData::new_u64(process.key),
            epoll::EventFlags::IN,
        )?;
        Ok(())
    }
}

impl State {
    /// Adds a process under a key of its own.
    pub(super) fn insert(&mut self, mut process: Process) -> u64 {
        self.next_key += 1;
        process.key = self.next_key;
        self.ours.insert(process.id.clone());
        self.processes.insert(process.id.clone(), process);
        self.next_key
    }

    pub(super) fn by_key(&mut self, key: u64) -> Option<&mut Process> {
        self.processes
            .values_mut()
            .find(|process| process.key == key)
    }

    pub(super) fn running(&self) -> usize {
        let running = self
            .processes
            .values()
            .filter(|process| process.is_running());
        running.count() + self.starting
    }

    /// Output of a process: kept, and compared with its patterns.
    pub(super) fn output(&mut self, id: &str, bytes: &[u8], now: Instant) {
        self.release_breaker(now);
        let Some(process) = self.processes.get_mut(id) else {
            return;
        };
        let is_watched = process.watch.is_active() && process.is_running();
        let mut lines = Vec::new();
        process.output.push(bytes, &mut |line| {
            if is_watched {
                lines.push(line.to_owned());
            }
        });
        if !is_watched {
            return;
        }
        match process.watch.look_at(&lines, now) {
            None => {}
            Some(WatchEvent::Match { pattern, lines }) => {
                let kind = NoticeKind::WatchMatch { pattern };
                let notice = notice(process, kind, &lines, &self.redactor);
                self.admit(notice, now);
            }
            Some(WatchEvent::Disabled { dropped }) => {
                process.notify = true;
                let notice = notice(
                    process,
                    NoticeKind::WatchDisabled { dropped },
                    "",
                    &self.redactor,
                );
                self.notices.push(notice);
            }
        }
    }

    /// What a process printed before we listened, instead of what we heard. Its lines are not
    /// compared with the patterns: those that matched have been told.
    pub(super) fn history(&mut self, id: &str, bytes: &[u8]) {
        if let Some(process) = self.processes.get_mut(id) {
            process.output = OutputTail::default();
            process.output.push(bytes, &mut |_| {});
        }
    }

    fn admit(&mut self, mut notice: Notice, now: Instant) {
        match self.breaker.admit(now) {
            Admission::Pass => self.notices.push(notice),
            Admission::Suppressed => {}
            Admission::Tripped => {
                self.flooded = Some(notice.session.clone());
                notice.kind = NoticeKind::WatchOverflowTripped;
                notice.output.clear();
                self.notices.push(notice);
            }
        }
    }

    /// Tells how much was not told, once the pause is over.
    pub(super) fn release_breaker(&mut self, now: Instant) {
        let Some(suppressed) = self.breaker.release(now) else {
            return;
        };
        if let Some(session) = self.flooded.take() {
            self.notices.push(Notice {
                process_id: String::new(),
                session,
                kind: NoticeKind::WatchOverflowReleased { suppressed },
                command: String::new(),
                output: String::new(),
            });
        }
    }

    /// The one way out of "running".
    pub(super) fn finish(&mut self, id: &str, exit_code: Option<i32>) {
        let Some(process) = self.processes.get_mut(id) else {
            return;
        };
        let reason = match process.kill_source {
            Some(_) => EndReason::Killed,
            None => EndReason::Exited,
        };
        self.finish_as(id, exit_code, reason);
    }

    pub(super) fn finish_as(&mut self, id: &str, exit_code: Option<i32>, reason: EndReason) {
        let Some(process) = self
            .processes
            .get_mut(id)
            .filter(|process| process.is_running())
        else {
            return;
        };
        let ending = Ending {
            exit_code,
            reason,
            source: process.kill_source.clone(),
        };
        process.ended = Some((ending.clone(), Instant::now()));
        process.connection = Connection::None;
        self.done.extend(process.supervisor.take());
        // Whoever waits or kills shows the end in its own result.
        if process.waiters > 0 {
            process.end_was_shown = true;
        }
        if process.notify && !process.end_was_shown {
            let output = tail_from_line_start(process.output.text().trim_end(), NOTICE_OUTPUT);
            let kind = NoticeKind::Completion(ending);
            let notice = notice(process, kind, output, &self.redactor);
            self.notices.push(notice);
        }
    }

    /// The session has been shown the end of a process: no notice about it.
    pub(super) fn end_was_shown(&mut self, id: &str) {
        let Some(process) = self.processes.get_mut(id) else {
            return;
        };
        if !process.is_running() {
            process.end_was_shown = true;
            self.notices.withdraw_completion(&process.session, id);
        }
    }
}

fn notice(process: &Process, kind: NoticeKind, output: &str, redactor: &Redactor) -> Notice {
    Notice {
        process_id: process.id.clone(),
        session: process.session.clone(),
        kind,
        command: redactor.redact(&process.command).into_owned(),
        output: redactor.redact(output).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use std::time::Duration;

    use super::*;
    use crate::background::record::Record;

    #[test]
    fn a_flood_of_matches_ends_in_one_word_and_one_completion() {
        // check 24
        let mut record = Record::default();
        record.set("session_id", "proc_0123456789ab");
        record.set("session_key", "main");
        record.set("pid", 4711);
        record.set("watch_patterns", vec!["READY"]);
        let mut state = State::default();
        state.insert(Process::from_record(record).unwrap());
        let start = Instant::now();
        for second in 0..60 {
            let now = start + Duration::from_secs(second);
            state.output("proc_0123456789ab", b"READY again\n", now);
        }
        state.finish("proc_0123456789ab", Some(0));
        state.finish("proc_0123456789ab", Some(0));
        let notices = state.notices.drain(&SessionKey::new("main"));
        let count = |is_kind: fn(&NoticeKind) -> bool| {
            notices
                .iter()
                .filter(|notice| is_kind(&notice.kind))
                .count()
        };
        assert_eq!(notices.len(), 5);
        assert_eq!(
            count(|kind| matches!(kind, NoticeKind::WatchMatch { .. })),
            3
        );
        assert!(matches!(notices[3].kind, NoticeKind::WatchDisabled { .. }));
        assert!(matches!(notices[4].kind, NoticeKind::Completion(_)));
    }
}
