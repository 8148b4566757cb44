//! The thread that watches one board.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use hermes_board::boards::{BoardHome, BoardSlug};
use hermes_board::{BoardEvent, BoardOptions, EventQuery, StoredBoard};
use hermes_proc::{FileWatch, WaitEnd, Wake};
use hermes_secret::Redactor;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::masking::redact;

/// Events of one batch.
pub(crate) const MOST_EVENTS: u32 = 200;
/// For a change that was not reported.
const FALLBACK: Duration = Duration::from_secs(5);
/// Pauses between looks after a change of the file.
const SETTLING: [Duration; 6] = [
    Duration::from_millis(2),
    Duration::from_millis(8),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(120),
    Duration::from_millis(300),
];
/// Pause after a failure to read the board.
const RETRY: Duration = Duration::from_secs(1);

/// Events in order, as clients get them.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The number of the last event.
    pub(crate) cursor: i64,
    pub(crate) events: Vec<Value>,
}

impl Batch {
    pub(super) fn new(events: &[BoardEvent], redactor: &Redactor) -> Option<Self> {
        let last = events.last()?;
        let shown = events.iter().map(|event| {
            let mut shown = json!({
                "id": event.id,
                "task_id": event.task_id,
                "run_id": event.run_id,
                "kind": event.kind,
                "payload": event.payload,
                "created_at": event.created_at,
            });
            redact(redactor, &mut shown);
            shown
        });
        Some(Self {
            cursor: last.id,
            events: shown.collect(),
        })
    }

    /// What a client gets that has seen events up to a number; `None` if that is all of them.
    pub(crate) fn after(&self, seen: i64) -> Option<Value> {
        let is_new = |event: &&Value| event["id"].as_i64().is_some_and(|id| id > seen);
        let events: Vec<&Value> = self.events.iter().filter(is_new).collect();
        (!events.is_empty()).then(|| json!({"events": events, "cursor": self.cursor}))
    }
}

/// What the watching thread works with.
pub(super) struct Watcher {
    pub(super) home: BoardHome,
    pub(super) slug: BoardSlug,
    pub(super) options: BoardOptions,
    pub(super) sender: broadcast::Sender<Arc<Batch>>,
    /// Raised when nobody watches any more.
    pub(super) stop: Arc<Wake>,
    pub(super) redactor: Box<dyn Fn() -> Arc<Redactor> + Send>,
}

impl Watcher {
    /// Passes on events until nobody watches any more.
    pub(super) fn run(self, mut cursor: i64) {
        let mut watch = FileWatch::default();
        let mut store: Option<StoredBoard> = None;
        let mut version = None;
        while !self.stop.is_raised() {
            // First the watch, then the look: what happens in between is not lost.
            if let Ok((files, directories)) = self.home.watched_files(Some(&self.slug)) {
                watch.watch(files, directories);
            }
            let mut look = || {
                let looked = self.pass_on(&mut store, &mut version, &mut cursor);
                if let Err(error) = &looked {
                    tracing::debug!(
                        board = self.slug.as_str(),
                        "the board cannot be read: {error}"
                    );
                    (store, version) = (None, None);
                }
                looked.is_ok()
            };
            if !look() {
                self.stop.wait(RETRY);
                continue;
            }
            match watch.wait(&[self.stop.as_fd()], Some(FALLBACK)) {
                // The file is written before what is in it can be seen, and nothing tells when.
                Ok(WaitEnd::Changed) => {
                    for pause in SETTLING {
                        if self.stop.wait(pause) || !look() {
                            break;
                        }
                    }
                }
                Ok(WaitEnd::Readable(_) | WaitEnd::TimedOut) => {}
                // For want of memory only; then the fallback is what is left.
                Err(_) => {
                    self.stop.wait(RETRY);
                }
            }
        }
    }

    fn pass_on(
        &self,
        store: &mut Option<StoredBoard>,
        version: &mut Option<i64>,
        cursor: &mut i64,
    ) -> hermes_board::Result<()> {
        let open = match store {
            Some(open) => open,
            None => store.insert(StoredBoard::open(
                &self.home.board(&self.slug),
                &self.options,
            )?),
        };
        let now = open.data_version()?;
        if *version == Some(now) {
            return Ok(());
        }
        loop {
            let events = open.events(&EventQuery {
                after: *cursor,
                limit: Some(MOST_EVENTS),
                ..EventQuery::default()
            })?;
            let Some(batch) = Batch::new(&events, &(self.redactor)()) else {
                break;
            };
            *cursor = batch.cursor;
            // Nobody listens: the flag is about to be raised.
            drop(self.sender.send(Arc::new(batch)));
        }
        *version = Some(now);
        Ok(())
    }
}
