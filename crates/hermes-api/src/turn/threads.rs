//! The threads of turns. One whose turn is over waits a moment for the next: what its allocator and its
//! stack hold is of use there, and nobody waits for a thread to be made.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Threads that wait at once; further ones end with their turns.
const MOST_WAITING: usize = 4;
/// How long one waits.
const WAIT: Duration = Duration::from_secs(2);

/// One turn.
type Work = Box<dyn FnOnce() + Send>;

/// The threads that wait for a turn.
#[derive(Clone)]
pub(super) struct TurnThreads {
    waiting: Arc<Mutex<Waiting>>,
    wait: Duration,
}

#[derive(Default)]
struct Waiting {
    threads: Vec<(u64, Sender<Work>)>,
    last: u64,
}

impl Default for TurnThreads {
    fn default() -> Self {
        Self::that_wait(WAIT)
    }
}

impl TurnThreads {
    fn that_wait(wait: Duration) -> Self {
        Self {
            waiting: Arc::default(),
            wait,
        }
    }

    /// Runs a turn on a thread that has nothing else to do.
    pub(super) fn run(&self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut work: Work = Box::new(work);
        while let Some((_, thread)) = self.pop() {
            match thread.send(work) {
                Ok(()) => return Ok(()),
                Err(unsent) => work = unsent.0,
            }
        }
        let threads = self.clone();
        let thread = Builder::new().name("turn".to_owned());
        thread.spawn(move || threads.serve(work)).map(drop)
    }

    fn pop(&self) -> Option<(u64, Sender<Work>)> {
        self.waiting().threads.pop()
    }

    fn serve(&self, first: Work) {
        first();
        while let Some(work) = self.next() {
            work();
        }
    }

    /// The next turn of this thread; `None` if there is none for a while.
    fn next(&self) -> Option<Work> {
        let (sender, given) = channel();
        let own = {
            let mut waiting = self.waiting();
            if waiting.threads.len() >= MOST_WAITING {
                return None;
            }
            waiting.last += 1;
            let own = waiting.last;
            waiting.threads.push((own, sender));
            own
        };
        if let Ok(work) = given.recv_timeout(self.wait) {
            return Some(work);
        }
        self.waiting().threads.retain(|(number, _)| *number != own);
        // Whoever took this thread off the list before that sends a turn, or has sent it.
        given.recv().ok()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::ThreadId;

    use pretty_assertions::{assert_eq, assert_ne};

    use super::*;

    /// The thread that a turn runs on.
    fn thread_of_turn(threads: &TurnThreads) -> ThreadId {
        let (sender, told) = channel();
        threads
            .run(move || sender.send(std::thread::current().id()).unwrap())
            .unwrap();
        told.recv().unwrap()
    }

    fn wait_until(threads: &TurnThreads, is_so: impl Fn(usize) -> bool) {
        while !is_so(threads.waiting().threads.len()) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_next_turn_takes_a_thread_that_waits() {
        let threads = TurnThreads::that_wait(Duration::from_mins(1));
        let first = thread_of_turn(&threads);
        wait_until(&threads, |count| count == 1);
        assert_eq!(thread_of_turn(&threads), first);
        wait_until(&threads, |count| count == 1);
        let (release, held) = channel::<()>();
        threads.run(move || held.recv().unwrap()).unwrap();
        // That one is busy.
        assert_ne!(thread_of_turn(&threads), first);
        release.send(()).unwrap();
        wait_until(&threads, |count| count == 2);
    }

    #[test]
    fn threads_end_when_nothing_comes() {
        let threads = TurnThreads::that_wait(Duration::from_millis(1));
        for _ in 0..200 {
            // Whether it finds the one before or not, no turn is lost between the two.
            thread_of_turn(&threads);
        }
        wait_until(&threads, |count| count == 0);
    }

    #[test]
    fn no_more_than_a_few_threads_wait() {
        let threads = TurnThreads::that_wait(Duration::from_mins(1));
        let (sender, told) = channel();
        let (release, held) = channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..MOST_WAITING + 3 {
            let (sender, held) = (sender.clone(), Arc::clone(&held));
            let work = move || {
                sender.send(()).unwrap();
                held.lock().unwrap().recv().unwrap();
            };
            threads.run(work).unwrap();
            told.recv().unwrap();
        }
        for _ in 0..MOST_WAITING + 3 {
            release.send(()).unwrap();
        }
        // Each of them holds a copy until it has ended.
        while Arc::strong_count(&threads.waiting) > 1 + MOST_WAITING {
            std::thread::yield_now();
        }
        assert_eq!(threads.waiting().threads.len(), MOST_WAITING);
    }

    #[test]
    fn a_turn_that_panics_takes_no_other_with_it() {
        let threads = TurnThreads::that_wait(Duration::from_mins(1));
        threads.run(|| panic!("on purpose")).unwrap();
        thread_of_turn(&threads);
    }
}
