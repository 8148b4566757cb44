//! The one thread that moves the bytes of all connections of this process.
//!
//! Boards are used from plain threads, with and without an asynchronous runtime around them. So the
//! connections live on a runtime of their own, which begins with the first one, and whoever asks
//! something waits for the answer as for a lock.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle};

/// The runtime of this process, once there is one.
static RUNTIME: Mutex<Option<Handle>> = Mutex::new(None);

/// The runtime, started if need be.
pub(crate) fn handle() -> std::io::Result<Handle> {
    let mut kept = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*kept {
        return Ok(handle.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("board-server".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    *kept = Some(handle.clone());
    Ok(handle)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread; `None` once the time is over.
pub(crate) fn wait<F: Future>(future: F, limit: Duration) -> Option<F::Output> {
    let deadline = Instant::now() + limit;
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        let left = deadline.checked_duration_since(Instant::now())?;
        thread::park_timeout(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_waits_until_the_answer_or_the_limit() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(wait(receiver, Duration::from_secs(30)), Some(Ok(7)));
        let never = wait(std::future::pending::<()>(), Duration::from_millis(5));
        assert_eq!(never, None);
    }

    /// Tools of agents run inside a runtime; a wait must not take it for its own.
    #[test]
    fn it_works_inside_another_runtime() {
        let outer = Builder::new_current_thread().build().unwrap();
        outer.block_on(async {
            let inner = handle().unwrap();
            let (sender, receiver) = tokio::sync::oneshot::channel();
            inner.spawn(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                sender.send(1).unwrap();
            });
            assert_eq!(wait(receiver, Duration::from_secs(30)), Some(Ok(1)));
        });
    }
}
