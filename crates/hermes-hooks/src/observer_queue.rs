//! Events that a plugin is still to be told of. Nobody waits for it: a queue that is full loses its
//! oldest events, and says how many.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hermes_proc::Wake;

use crate::event::HookEvent;
use crate::listener::HookListener;

/// Most events that wait, and most bytes of them together.
const MOST_EVENTS: usize = 256;
const MOST_BYTES: usize = 32 << 20;
/// How long the end of a session waits for what is still to be told.
const DRAIN: Duration = Duration::from_secs(2);

/// The events of one plugin, told one after the other by a thread.
pub(crate) struct ObserverQueue {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    listener: Arc<dyn HookListener>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(HookEvent, Arc<str>)>,
    bytes: usize,
    dropped: u64,
    is_telling: bool,
    is_closed: bool,
    /// Ends what the plugin is doing; made with the thread.
    interrupt: Option<Arc<Wake>>,
}

impl ObserverQueue {
    /// An empty queue. The thread is started by the first event.
    pub(crate) fn new(listener: Arc<dyn HookListener>) -> Self {
        Self {
            shared: Arc::new(Shared {
                listener,
                state: Mutex::default(),
                changed: Condvar::new(),
            }),
            thread: Mutex::default(),
        }
    }

    /// Adds an event, and loses the oldest ones if there are too many.
    pub(crate) fn push(&self, event: HookEvent, payload: Arc<str>) {
        let mut state = self.shared.state();
        state.bytes += payload.len();
        state.waiting.push_back((event, payload));
        while state.waiting.len() > MOST_EVENTS || state.bytes > MOST_BYTES {
            let Some((_, lost)) = state.waiting.pop_front() else {
                break;
            };
            state.bytes -= lost.len();
            state.dropped += 1;
            if state.dropped.is_power_of_two() {
                let (plugin, count) = (self.shared.listener.name(), state.dropped);
                tracing::warn!("the plugin {plugin} is too slow: {count} events were dropped");
            }
        }
        drop(state);
        self.shared.changed.notify_all();
        self.start();
    }

    /// Waits until everything was told, but not for long.
    pub(crate) fn drain(&self) {
        let deadline = Instant::now() + DRAIN;
        let mut state = self.shared.state();
        while !state.waiting.is_empty() || state.is_telling {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How many events were lost.
    #[cfg(test)]
    fn dropped(&self) -> u64 {
        self.shared.state().dropped
    }

    fn start(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_some() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let started = Wake::new().and_then(|wake| {
            shared.state().interrupt = Some(Arc::new(wake));
            std::thread::Builder::new()
                .name("hermes-plugin".to_owned())
                .spawn(move || shared.tell_all())
        });
        match started {
            Ok(started) => *thread = Some(started),
            Err(error) => {
                let plugin = self.shared.listener.name();
                tracing::warn!(%error, "the plugin {plugin} is not told of events");
            }
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_all(&self) {
        while let Some((event, payload, interrupt)) = self.next() {
            // What an observer answers does not count.
            if let Err(problem) = self.listener.ask(event, &payload, interrupt.as_ref()) {
                let (plugin, event) = (self.listener.name(), event.name());
                tracing::warn!("the plugin {plugin} failed at {event}: {problem}");
            }
            self.state().is_telling = false;
            self.changed.notify_all();
        }
    }

    /// The next event; `None` when there will be no other.
    fn next(&self) -> Option<(HookEvent, Arc<str>, Option<Arc<Wake>>)> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some((event, payload)) = state.waiting.pop_front() {
                state.bytes -= payload.len();
                state.is_telling = true;
                return Some((event, payload, state.interrupt.clone()));
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for ObserverQueue {
    fn drop(&mut self) {
        self.drain();
        let mut state = self.shared.state();
        state.is_closed = true;
        if let Some(interrupt) = &state.interrupt {
            interrupt.raise();
        }
        drop(state);
        self.shared.changed.notify_all();
        let thread = self.thread.lock();
        let thread = thread.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // What it was telling was interrupted.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::listener::ListenerProfile;
    use crate::reply::HookReply;

    /// Tells what it hears, and waits for a sign after each event.
    struct Slow {
        profile: ListenerProfile,
        heard: Mutex<Sender<String>>,
        go_on: Mutex<Receiver<()>>,
    }

    impl Slow {
        fn new(heard: Sender<String>, go_on: Receiver<()>) -> Self {
            Self {
                profile: ListenerProfile {
                    name: "slow".to_owned(),
                    events: vec![HookEvent::PostToolCall],
                    timeout: Duration::from_secs(1),
                    fails_closed: true,
                },
                heard: Mutex::new(heard),
                go_on: Mutex::new(go_on),
            }
        }
    }

    impl HookListener for Slow {
        fn profile(&self) -> &ListenerProfile {
            &self.profile
        }

        fn ask(
            &self,
            _: HookEvent,
            payload: &str,
            _: Option<&Arc<Wake>>,
        ) -> Result<HookReply, String> {
            self.heard.lock().unwrap().send(payload.to_owned()).unwrap();
            // Fails at the end of the test, and goes on all the same.
            let _sign = self.go_on.lock().unwrap().recv();
            Err("it failed".to_owned())
        }
    }

    #[test]
    fn a_full_queue_loses_the_oldest_events_and_counts_them() {
        let (heard, hears) = channel();
        let (go_on, goes_on) = channel();
        let slow = Slow::new(heard, goes_on);
        let queue = ObserverQueue::new(Arc::new(slow));
        queue.push(HookEvent::PostToolCall, Arc::from("first"));
        assert_eq!(hears.recv().unwrap(), "first");
        for number in 0..300 {
            let begun = Instant::now();
            queue.push(HookEvent::PostToolCall, Arc::from(number.to_string()));
            assert!(
                begun.elapsed() < Duration::from_secs(1),
                "a push never waits"
            );
        }
        assert_eq!(queue.dropped(), 44);
        go_on.send(()).unwrap();
        assert_eq!(hears.recv().unwrap(), "44");
        drop(go_on);
        queue.drain();
        let rest: Vec<String> = hears.try_iter().collect();
        assert_eq!(rest.len(), 255);
        assert_eq!(rest.last().unwrap(), "299");
    }

    #[test]
    fn large_events_are_bounded_by_their_bytes() {
        let (heard, hears) = channel();
        let (go_on, goes_on) = channel();
        let slow = Slow::new(heard, goes_on);
        let queue = ObserverQueue::new(Arc::new(slow));
        queue.push(HookEvent::PostToolCall, Arc::from("first"));
        assert_eq!(hears.recv().unwrap(), "first");
        let large: Arc<str> = "x".repeat(10 << 20).into();
        for _ in 0..6 {
            queue.push(HookEvent::PostToolCall, Arc::clone(&large));
        }
        assert_eq!(queue.dropped(), 3);
        drop(go_on);
    }
}
