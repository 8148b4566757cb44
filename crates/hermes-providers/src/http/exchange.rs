//! The queue between the thread that drives connections and the thread that waits for an answer.
//!
//! It is bounded: a reader that is slow makes the connection slow, not the memory large.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hermes_proc::{Wake, wait_for_any};
use reqwest::header::HeaderMap;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Bytes that may wait for the reader.
const MAX_WAITING: usize = 1 << 20;

/// How an answer begins.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether the end of the connection is the only end the body has.
    pub(crate) fn ends_with_connection(&self) -> bool {
        !self.headers.contains_key("content-length")
            && !self.headers.contains_key("transfer-encoding")
    }
}

/// What comes next of an answer.
#[derive(Debug)]
pub(crate) enum Next {
    Head(Head),
    Chunk(Bytes),
    End,
    /// The connection could not be made, or broke: one line without secrets.
    Failed(String),
    /// The server redirects to another host: one line without secrets.
    Redirected(String),
    Interrupted,
    /// Nothing came in time.
    Quiet,
}

/// How long reading the rest of a released answer may take.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// A request under way. Dropping it drops the connection, unless it was released.
pub(crate) struct Exchange {
    pub(super) queue: Arc<Queue>,
    /// What drives the connection, and on which runtime; `None` once released.
    pub(super) task: Option<(AbortHandle, Handle)>,
}

impl Exchange {
    /// Gives up the rest of the answer: it is read and thrown away, so that the connection can be used
    /// again.
    pub(crate) fn release(&mut self) {
        self.queue.closed.store(true, Ordering::Release);
        self.queue.room.notify_one();
        if let Some((task, on)) = self.task.take() {
            on.spawn(async move {
                tokio::time::sleep(RELEASE_TIMEOUT).await;
                task.abort();
            });
        }
    }

    /// Waits for the next piece, for `limit` at most.
    pub(crate) fn next(&self, interrupt: &Wake, limit: Duration) -> Next {
        let deadline = Instant::now().checked_add(limit);
        loop {
            if interrupt.is_raised() {
                return Next::Interrupted;
            }
            if let Some(next) = self.queue.take() {
                return next;
            }
            let left = deadline.map_or(limit, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Next::Quiet;
            }
            wait_for_any(&[interrupt, &self.queue.arrived], left);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some((task, _)) = &self.task {
            task.abort();
        }
    }
}

/// The shared part.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// Up while something waits; raised and cleared under the lock.
    arrived: Wake,
    room: Notify,
    /// Nobody reads any more.
    closed: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    pieces: VecDeque<Next>,
    bytes: usize,
}

impl Queue {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            waiting: Mutex::default(),
            arrived: Wake::new()?,
            room: Notify::new(),
            closed: AtomicBool::new(false),
        })
    }

    /// Adds a piece, after the reader has made room for it.
    pub(super) async fn put(&self, piece: Next) {
        loop {
            if self.closed.load(Ordering::Acquire) {
                return;
            }
            let room = self.room.notified();
            {
                let mut waiting = self.lock();
                if waiting.bytes < MAX_WAITING {
                    if let Next::Chunk(bytes) = &piece {
                        waiting.bytes += bytes.len();
                    }
                    waiting.pieces.push_back(piece);
                    self.arrived.raise();
                    return;
                }
            }
            room.await;
        }
    }

    fn take(&self) -> Option<Next> {
        let mut waiting = self.lock();
        let piece = waiting.pieces.pop_front();
        if let Some(Next::Chunk(bytes)) = &piece {
            waiting.bytes -= bytes.len();
            self.room.notify_one();
        }
        if waiting.pieces.is_empty() {
            self.arrived.clear();
        }
        piece
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
