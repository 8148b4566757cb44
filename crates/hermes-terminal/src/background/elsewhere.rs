//! Background processes in other places: how they come into the registry, and news of them.
//!
//! A place is asked for all its processes at once: every two seconds, more often after a start and
//! while someone waits, and whenever someone wants to know now. The thread that asks ends with the
//! last process of its place.

use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use hermes_proc::Wake;

use super::notice::EndReason;
use super::process::{Connection, Process};
use super::registry::{Registry, Shared, State};
use super::start::{NewRecord, StartError};
use crate::local::ToolContext;
use crate::remote::{NewState, NotStarted, Question, RemoteError, RemoteTerminal};
use crate::session::SessionKey;
use hermes_fs::random_hex;

/// Pauses after a start, and then the last one for ever.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(2),
];
/// The pause while someone waits for an end.
const HURRIED: Duration = Duration::from_millis(200);

/// A thread that asks one place.
#[derive(Debug)]
pub(super) struct Poller {
    place: Weak<RemoteTerminal>,
    /// Raised to ask at once.
    pub(super) wake: Arc<Wake>,
}

/// A process to start elsewhere.
pub(super) struct NewElsewhere<'a> {
    pub(super) place: &'a Arc<RemoteTerminal>,
    pub(super) session: SessionKey,
    /// What runs.
    pub(super) command: &'a str,
    /// What is written down and shown.
    pub(super) shown_command: &'a str,
    pub(super) workdir: Option<&'a str>,
    pub(super) notify: bool,
    pub(super) watch_patterns: &'a [String],
}

/// One that was started.
#[derive(Debug)]
pub(super) struct StartedElsewhere {
    pub(super) id: String,
    pub(super) pid: u32,
    pub(super) cwd_note: Option<String>,
}

impl Registry {
    pub(super) fn start_elsewhere(
        &self,
        new: &NewElsewhere<'_>,
        context: &ToolContext<'_>,
    ) -> Result<StartedElsewhere, StartError> {
        self.counted(|| self.start_there(new, context))
    }

    fn start_there(
        &self,
        new: &NewElsewhere<'_>,
        context: &ToolContext<'_>,
    ) -> Result<StartedElsewhere, StartError> {
        let id = format!("proc_{}", random_hex(12));
        let started = new
            .place
            .start_background(&id, new.command, new.workdir, context)
            .map_err(|error| match error {
                NotStarted::Directory(text) => StartError::Directory(text),
                NotStarted::Other(text) => StartError::Elsewhere(text),
            })?;
        let record = NewRecord {
            id: &id,
            command: new.shown_command,
            pid: started.pid,
            start_time: 0,
            is_host: false,
            cwd: &started.cwd,
            task_id: context.session.as_str(),
            session: &new.session,
            watcher: &context.watcher,
            notify: new.notify,
            watch_patterns: new.watch_patterns,
            mark: "",
            pty: false,
        }
        .record();
        let Some(mut process) = Process::from_record(record) else {
            return Err(StartError::Elsewhere("its entry made no sense".to_owned()));
        };
        let seeds = started.process.seeds().to_owned();
        process.connection = Connection::Elsewhere(started.process);
        let recorded = self.shared.update(|state| {
            state.insert(process);
            let saved = self.shared.save(state);
            if saved.is_err() {
                state.processes.remove(&id);
            }
            saved
        });
        if let Err(error) = recorded {
            // What nobody knows of must not run.
            new.place
                .kill_background(&seeds, Duration::from_secs(1), true);
            return Err(error.into());
        }
        self.listen_to(new.place)?;
        Ok(StartedElsewhere {
            id,
            pid: started.pid,
            cwd_note: started.note,
        })
    }

    /// Makes sure that someone asks the place for news, and does so soon.
    fn listen_to(&self, place: &Arc<RemoteTerminal>) -> std::io::Result<()> {
        let mut state = self.shared.lock();
        if let Some(poller) = state.poller(place) {
            poller.wake.raise();
            return Ok(());
        }
        let wake = Arc::new(Wake::new()?);
        let thread = PollThread {
            shared: Arc::downgrade(&self.shared),
            place: Arc::downgrade(place),
            wake: Arc::clone(&wake),
        };
        std::thread::Builder::new()
            .name("remote-processes".to_owned())
            .spawn(move || thread.run())?;
        state.pollers.push(Poller {
            place: Arc::downgrade(place),
            wake,
        });
        Ok(())
    }

    /// Fetches the news of a process that runs elsewhere, and of all others there.
    pub(super) fn refresh(&self, id: &str) {
        let place = self.shared.lock().place_of(id);
        if let Some(place) = place {
            self.shared.ask(&place);
        }
    }

    /// Fetches the news of all processes that run elsewhere.
    pub(super) fn refresh_all(&self) {
        let places: Vec<_> = {
            let state = self.shared.lock();
            let places = state.pollers.iter();
            places.filter_map(|poller| poller.place.upgrade()).collect()
        };
        for place in places {
            self.shared.ask(&place);
        }
    }

    /// Someone waits for a process: its place is asked more often.
    pub(super) fn hurry(&self, id: &str) {
        let state = self.shared.lock();
        if let Some(place) = state.place_of(id)
            && let Some(poller) = state.poller(&place)
        {
            poller.wake.raise();
        }
    }
}

impl State {
    /// Where a running process is, if elsewhere.
    fn place_of(&self, id: &str) -> Option<Arc<RemoteTerminal>> {
        match &self.processes.get(id)?.connection {
            Connection::Elsewhere(process) => Some(Arc::clone(process.place())),
            Connection::Supervisor(_) | Connection::Seen(_) | Connection::None => None,
        }
    }

    fn poller(&self, place: &Arc<RemoteTerminal>) -> Option<&Poller> {
        self.pollers
            .iter()
            .find(|poller| std::ptr::eq(poller.place.as_ptr(), Arc::as_ptr(place)))
    }

    /// What is to be asked about the processes of a place.
    fn questions(&self, place: &Arc<RemoteTerminal>) -> Vec<Question> {
        let processes = self.processes.values();
        processes
            .filter_map(|process| match &process.connection {
                Connection::Elsewhere(there) if Arc::ptr_eq(there.place(), place) => {
                    Some(there.question(&process.id))
                }
                _ => None,
            })
            .collect()
    }

    fn is_awaited(&self, place: &Weak<RemoteTerminal>) -> bool {
        self.processes.values().any(|process| {
            matches!(&process.connection, Connection::Elsewhere(there)
                if std::ptr::eq(Arc::as_ptr(there.place()), place.as_ptr()))
                && process.waiters > 0
        })
    }
}

impl Shared {
    /// Asks a place for all its processes, one caller at a time.
    fn ask(&self, place: &Arc<RemoteTerminal>) {
        let _turn = place
            .polling()
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let questions = self.lock().questions(place);
        if questions.is_empty() {
            return;
        }
        match place.ask(&questions) {
            Ok(answers) => self.update(|state| {
                let mut has_ended = false;
                for (id, answer) in &answers {
                    has_ended |= self.hear_from(state, id, answer);
                }
                if has_ended {
                    self.save_best_effort(state);
                }
            }),
            Err(error @ RemoteError::Gone { .. }) => {
                tracing::warn!(%error, "its background processes are lost");
                self.update(|state| {
                    for Question { id, .. } in &questions {
                        state.finish_as(id, Some(-1), EndReason::Lost, &self.redactor);
                    }
                    self.save_best_effort(state);
                });
            }
            Err(error) => tracing::debug!(%error, "no news of background processes"),
        }
    }

    /// Takes an answer about one process; says whether it has ended.
    fn hear_from(&self, state: &mut State, id: &str, answer: &crate::remote::Answer) -> bool {
        let Some(process) = state.processes.get_mut(id) else {
            return false;
        };
        let is_being_killed = process.kill_source.is_some();
        let Connection::Elsewhere(there) = &mut process.connection else {
            return false;
        };
        let news = there.take(answer);
        state.output(id, &news.output, Instant::now(), &self.redactor);
        // Whoever kills it says how it ended.
        match news.state {
            _ if is_being_killed => return false,
            NewState::Running => return false,
            NewState::Exited(code) => state.finish(id, Some(code), &self.redactor),
            NewState::Lost => state.finish_as(id, Some(-1), EndReason::Lost, &self.redactor),
        }
        true
    }
}

/// Asks one place until nothing runs there any more.
struct PollThread {
    shared: Weak<Shared>,
    place: Weak<RemoteTerminal>,
    wake: Arc<Wake>,
}

impl PollThread {
    fn run(self) {
        let mut pauses = PAUSES.iter();
        let mut pause = PAUSES[0];
        loop {
            pause = pauses.next().copied().unwrap_or(pause);
            let is_awaited = match self.shared.upgrade() {
                None => return,
                Some(shared) => shared.lock().is_awaited(&self.place),
            };
            let wait = if is_awaited {
                pause.min(HURRIED)
            } else {
                pause
            };
            if self.wake.wait(wait) {
                self.wake.clear();
                pauses = PAUSES.iter();
            }
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let Some(place) = self.place.upgrade() else {
                return;
            };
            shared.ask(&place);
            let mut state = shared.lock();
            if state.questions(&place).is_empty() {
                // Under the lock: a process that is started now starts another thread.
                let mine = &self.place;
                state.pollers.retain(|poller| !poller.place.ptr_eq(mine));
                return;
            }
        }
    }
}
