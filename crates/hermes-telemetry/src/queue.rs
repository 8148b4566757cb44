//! A thread that writes, behind a queue bounded in records and bytes.
//!
//! Logging never waits: a record that finds no room is dropped and counted, and the count is logged
//! once there is room again. After the queue is closed, records are written directly, so that what
//! is logged at the very end is not lost.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::line::LogRecord;
use crate::{Level, LogWriter};

/// Bytes of messages that may wait: a few huge ones must not fill the memory.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// How long closing waits for the queue to empty.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
enum QueueMessage {
    Record(LogRecord),
    Close(mpsc::Sender<()>),
}

/// The sending side.
#[derive(Debug)]
pub(crate) struct LogQueue {
    sender: SyncSender<QueueMessage>,
    writer: LogWriter,
    counts: Arc<QueueCounts>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct QueueCounts {
    waiting_bytes: AtomicUsize,
    dropped: AtomicU64,
    /// Dropped and not yet logged.
    unreported: AtomicU64,
}

impl LogQueue {
    /// Starts the thread; `None` if the system gives none.
    pub(crate) fn start(writer: LogWriter, capacity: usize) -> Option<Self> {
        let (sender, receiver) = mpsc::sync_channel(capacity.max(1));
        let counts = Arc::new(QueueCounts::default());
        let thread = {
            let (writer, counts) = (writer.clone(), Arc::clone(&counts));
            thread::Builder::new()
                .name("log-writer".to_owned())
                .spawn(move || run(&receiver, &writer, &counts))
                .ok()?
        };
        Some(Self {
            sender,
            writer,
            counts,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(crate) fn send(&self, record: LogRecord) {
        let bytes = record.message.len();
        let waiting = self.counts.waiting_bytes.fetch_add(bytes, Ordering::AcqRel);
        if waiting.saturating_add(bytes) > MAX_BYTES {
            self.counts.waiting_bytes.fetch_sub(bytes, Ordering::AcqRel);
            self.count_dropped();
            return;
        }
        match self.sender.try_send(QueueMessage::Record(record)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.counts.waiting_bytes.fetch_sub(bytes, Ordering::AcqRel);
                self.count_dropped();
            }
            Err(TrySendError::Disconnected(message)) => {
                self.counts.waiting_bytes.fetch_sub(bytes, Ordering::AcqRel);
                if let QueueMessage::Record(record) = message {
                    self.writer.write(&record);
                }
            }
        }
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.counts.dropped.load(Ordering::Relaxed)
    }

    /// Writes the waiting records and ends the thread; gives up when the disk takes too long.
    pub(crate) fn close(&self) {
        let mut slot = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = slot.take() else {
            return;
        };
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        let (done, finished) = mpsc::channel();
        let mut message = QueueMessage::Close(done);
        loop {
            match self.sender.try_send(message) {
                Ok(()) => break,
                Err(TrySendError::Full(back)) if Instant::now() < deadline => {
                    message = back;
                    thread::sleep(Duration::from_millis(1));
                }
                Err(_) => return,
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if finished.recv_timeout(left).is_ok() {
            // The thread reported that it is done; the panic hook has reported a panic in it.
            drop(thread.join());
        }
    }

    fn count_dropped(&self) {
        self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        self.counts.unreported.fetch_add(1, Ordering::Relaxed);
    }
}

fn run(receiver: &Receiver<QueueMessage>, writer: &LogWriter, counts: &QueueCounts) {
    while let Ok(message) = receiver.recv() {
        match message {
            QueueMessage::Record(record) => {
                counts
                    .waiting_bytes
                    .fetch_sub(record.message.len(), Ordering::AcqRel);
                writer.write(&record);
                report_dropped(writer, counts);
            }
            QueueMessage::Close(done) => {
                report_dropped(writer, counts);
                // An error means that `close` has given up waiting.
                let _: Result<(), _> = done.send(());
                return;
            }
        }
    }
}

fn report_dropped(writer: &LogWriter, counts: &QueueCounts) {
    let dropped = counts.unreported.swap(0, Ordering::Relaxed);
    if dropped > 0 {
        writer.write(&LogRecord {
            time: Timestamp::now(),
            level: Level::Warning,
            logger: "telemetry".to_owned(),
            session: None,
            message: format!("log records dropped because the queue was full: {dropped}"),
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests look at files directly")]

    use hermes_secret::Redactor;

    use super::*;
    use crate::LogSettings;

    fn record(message: &str) -> LogRecord {
        LogRecord {
            time: Timestamp::now(),
            level: Level::Info,
            logger: "agent".to_owned(),
            session: None,
            message: message.to_owned(),
        }
    }

    fn queue(dir: &std::path::Path, capacity: usize) -> LogQueue {
        let settings = LogSettings::new(dir.join("logs"), Redactor::default());
        LogQueue::start(LogWriter::new(settings), capacity).unwrap()
    }

    fn log(dir: &std::path::Path) -> String {
        std::fs::read_to_string(dir.join("logs/agent.log")).unwrap_or_default()
    }

    #[test]
    fn closing_writes_everything_and_later_records_still_arrive() {
        let dir = tempfile::tempdir().unwrap();
        let queue = queue(dir.path(), 1000);
        for number in 0..500 {
            queue.send(record(&format!("n{number}")));
        }
        queue.close();
        queue.send(record("afterwards"));
        let text = log(dir.path());
        assert_eq!(text.lines().count(), 501);
        assert!(text.ends_with("agent: afterwards\n"));
        assert_eq!(queue.dropped(), 0);
        queue.close();
    }

    #[test]
    fn records_dropped_from_a_full_queue_are_counted_and_the_count_is_logged_once() {
        let dir = tempfile::tempdir().unwrap();
        let settings = LogSettings::new(dir.path().join("logs"), Redactor::default());
        // No thread yet: the queue fills as it would behind a stuck disk.
        let (sender, receiver) = mpsc::sync_channel(2);
        let writer = LogWriter::new(settings);
        let queue = LogQueue {
            sender,
            writer: writer.clone(),
            counts: Arc::default(),
            thread: Mutex::new(None),
        };
        for number in 0..5 {
            queue.send(record(&format!("n{number}")));
        }
        assert_eq!(queue.dropped(), 3);
        let counts = Arc::clone(&queue.counts);
        drop(queue);
        run(&receiver, &writer, &counts);
        let text = log(dir.path());
        let reported = text.matches("the queue was full: 3").count();
        assert_eq!((text.lines().count(), reported), (3, 1), "{text}");
        assert_eq!(counts.waiting_bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn huge_records_are_bounded_by_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let queue = queue(dir.path(), 1000);
        queue.send(record(&"x".repeat(MAX_BYTES + 1)));
        assert_eq!(queue.dropped(), 1);
        queue.send(record("small"));
        queue.close();
        let text = log(dir.path());
        assert!(text.contains("agent: small\n"), "{text}");
        assert!(text.contains("the queue was full: 1"), "{text}");
    }
}
