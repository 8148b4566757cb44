//! The boards that somebody watches.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_board::boards::{Board, BoardHome};
use hermes_board::{BoardOptions, EventQuery, StoredBoard};
use hermes_proc::Wake;
use hermes_secret::Redactor;
use tokio::sync::broadcast;

use super::board_feed::{Batch, MOST_EVENTS, Watcher};
use crate::http::ApiError;

/// Batches that may wait for a client; a slower one is let go.
const MOST_WAITING: usize = 64;

/// All feeds, by the file of their board.
#[derive(Default)]
pub(crate) struct BoardFeeds {
    feeds: Mutex<HashMap<PathBuf, Feed>>,
}

struct Feed {
    sender: broadcast::Sender<Arc<Batch>>,
    stop: Arc<Wake>,
    watching: usize,
}

/// A client's share in a feed. The last one to be dropped ends it.
pub(crate) struct Subscription {
    feeds: Arc<BoardFeeds>,
    database: PathBuf,
    receiver: broadcast::Receiver<Arc<Batch>>,
}

/// What a feed needs to begin.
pub(crate) struct FeedRequest<'r> {
    pub(crate) home: &'r BoardHome,
    pub(crate) board: &'r Board,
    pub(crate) options: BoardOptions,
    /// Masks secrets in events, as they are known then.
    pub(crate) redactor: Box<dyn Fn() -> Arc<Redactor> + Send>,
}

/// What a client gets next.
pub(crate) enum Next {
    Batch(Arc<Batch>),
    /// The client reads too slowly, or the dashboard stops.
    End,
}

impl Subscription {
    /// Joins the feed of a board, which begins with the first client.
    pub(crate) fn join(all: &Arc<BoardFeeds>, request: FeedRequest<'_>) -> Result<Self, ApiError> {
        let FeedRequest {
            home,
            board,
            options,
            redactor,
        } = request;
        let mut feeds = all.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        let database = board.database.clone();
        let share = |receiver| Self {
            feeds: Arc::clone(all),
            database: database.clone(),
            receiver,
        };
        if let Some(feed) = feeds.get_mut(&database) {
            feed.watching += 1;
            return Ok(share(feed.sender.subscribe()));
        }
        // From here on; what was before is each client's own question.
        let cursor = StoredBoard::open(board, &options)?.latest_event_id()?;
        let (sender, receiver) = broadcast::channel(MOST_WAITING);
        let failed = |error: std::io::Error| ApiError::unavailable(error.to_string());
        let stop = Arc::new(Wake::new().map_err(failed)?);
        let watcher = Watcher {
            home: home.clone(),
            slug: board.slug.clone(),
            options,
            sender: sender.clone(),
            stop: Arc::clone(&stop),
            redactor,
        };
        std::thread::Builder::new()
            .name("board-feed".to_owned())
            .spawn(move || watcher.run(cursor))
            .map_err(failed)?;
        let feed = Feed {
            sender,
            stop,
            watching: 1,
        };
        feeds.insert(database.clone(), feed);
        Ok(share(receiver))
    }

    /// Waits for what happens next.
    pub(crate) async fn next(&mut self) -> Next {
        match self.receiver.recv().await {
            Ok(batch) => Next::Batch(batch),
            Err(_) => Next::End,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let feeds = &self.feeds.feeds;
        let mut feeds = feeds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = feeds.get_mut(&self.database) {
            feed.watching -= 1;
            if feed.watching == 0 {
                feed.stop.raise();
                feeds.remove(&self.database);
            }
        }
    }
}

/// Events that a client has missed, oldest first, in batches.
pub(crate) fn missed(
    board: &Board,
    options: &BoardOptions,
    redactor: &Redactor,
    since: i64,
) -> Result<Vec<Batch>, ApiError> {
    let store = StoredBoard::open(board, options)?;
    let mut batches: Vec<Batch> = Vec::new();
    let mut after = since;
    loop {
        let events = store.events(&EventQuery {
            after,
            limit: Some(MOST_EVENTS),
            ..EventQuery::default()
        })?;
        let Some(batch) = Batch::new(&events, redactor) else {
            return Ok(batches);
        };
        after = batch.cursor;
        batches.push(batch);
    }
}
