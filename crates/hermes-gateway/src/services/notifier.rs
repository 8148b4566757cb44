//! Tells those who follow cards what became of them, in the one gateway of an installation that holds
//! the lock for it.
//!
//! Files and cards are told at once. Chats stay subscribed, and what they have not been told stays
//! unseen, until their platform is connected.

use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_board::boards::{Board, BoardHome, Listed, lock_notifier};
use hermes_board::model::{Follower, TaskId};
use hermes_board::store::Applied;
use hermes_board::{ChatAddress, Error, StoredBoard, Unseen};
use hermes_home::ProfileName;
use hermes_home::profiles::existing;
use hermes_proc::{FileWatch, WaitEnd};
use hermes_runtime::{Context, board_home, kanban_settings};

use crate::notice::notice;
use crate::reports::Reports;
use crate::service::{HostedService, ServiceError, ServiceHost};

/// How often a notifier that stands by looks whether the other one is gone: nothing tells.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// Changes that come together are looked at once.
const SETTLE: Duration = Duration::from_millis(200);
/// For changes that give no sign.
const FALLBACK: Duration = Duration::from_mins(1);
/// After a follower could not be told.
const RETRY: Duration = Duration::from_secs(5);
/// Bytes after which a file of notices is begun anew; the one before is kept.
const MOST_BYTES: u64 = 1 << 20;
/// Author of comments.
const AUTHOR: &str = "notifier";

/// Tells the followers of cards of every board.
#[derive(Debug, Default)]
pub struct BoardNotifier {
    watch: FileWatch,
    reports: Reports,
}

impl HostedService for BoardNotifier {
    fn name(&self) -> &'static str {
        "notifier"
    }

    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError> {
        while !host.is_stopping() {
            host.wake().clear();
            let context = host.context();
            if !kanban_settings(&context).dispatch_in_gateway {
                host.standing_by("kanban.dispatch_in_gateway is off");
                host.wake().wait(Duration::from_mins(10));
                continue;
            }
            let home = board_home(&context);
            match lock_notifier(&home) {
                Ok(Some(_lock)) => self.serve(host, &home)?,
                Ok(None) => {
                    host.standing_by("another gateway of this installation does it");
                    host.wake().wait(LOOK_AGAIN);
                }
                Err(error) => {
                    self.reports.complain("the lock of the notifier", &error);
                    host.standing_by("its lock cannot be taken");
                    host.wake().wait(RETRY);
                }
            }
        }
        Ok(())
    }
}

impl BoardNotifier {
    /// Tells followers until the gateway stops or is told not to.
    fn serve(&mut self, host: &ServiceHost, home: &BoardHome) -> Result<(), ServiceError> {
        self.reports.settled("the lock of the notifier");
        host.serving();
        while !host.is_stopping() {
            host.wake().clear();
            let context = host.context();
            if !kanban_settings(&context).dispatch_in_gateway {
                break;
            }
            // Before the boards are read: what changes from here on is looked at again.
            if let Ok((files, directories)) = home.watched_files(None) {
                self.watch.watch(files, directories);
            }
            let limit = if self.tell_all(&context, home) {
                FALLBACK
            } else {
                RETRY
            };
            let end = self.watch.wait(&[host.wake().as_fd()], Some(limit))?;
            if end == WaitEnd::Changed && host.pause(SETTLE) {
                break;
            }
        }
        Ok(())
    }

    /// Whether everybody was told who can be told.
    fn tell_all(&mut self, context: &Context, home: &BoardHome) -> bool {
        let boards = match home.list(Listed::Active) {
            Ok(boards) => boards,
            Err(error) => {
                self.reports.complain("the list of boards", &error);
                return false;
            }
        };
        self.reports.settled("the list of boards");
        let mut all_told = true;
        for info in boards {
            let board = home.board(&info.slug);
            if !board.has_database() {
                continue;
            }
            let what = format!("followers of board {}", board.slug);
            match tell_board(context, &board) {
                Ok(()) => self.reports.settled(&what),
                Err(error) => {
                    all_told = false;
                    self.reports.complain(&what, &error);
                }
            }
        }
        all_told
    }
}

/// Tells the followers of one board. One that cannot be told does not keep the others from it.
fn tell_board(context: &Context, board: &Board) -> hermes_board::Result<()> {
    let options = kanban_settings(context).board_options(&context.env);
    let mut store = StoredBoard::open(board, &options)?;
    let mut outcome = Ok(());
    for unseen in store.unseen()? {
        let told = tell_one(context, board, &mut store, &unseen);
        outcome = outcome.and(told);
    }
    outcome
}

fn tell_one(
    context: &Context,
    board: &Board,
    store: &mut StoredBoard,
    unseen: &Unseen,
) -> hermes_board::Result<()> {
    let subscription = &unseen.subscription;
    let follower = match Follower::of(&subscription.platform, &subscription.chat_id) {
        Ok(Follower::Chat) => return Ok(()),
        Ok(follower) => follower,
        Err(error) => return give_up_on(store, unseen, &error),
    };
    let slug = board.slug.as_str();
    let notices: Vec<(i64, String)> = unseen
        .events
        .iter()
        .filter_map(|event| Some((event.created_at, notice(slug, &unseen.task, event)?)))
        .collect();
    let marked = match follower {
        _ if notices.is_empty() => store.mark_seen(unseen)?,
        Follower::Card(card) => match comment(store, unseen, &card, &notices) {
            Err(error @ Error::UnknownTask { .. }) => {
                return give_up_on(store, unseen, &error);
            }
            other => other?,
        },
        Follower::File(name) => {
            let owner = subscription.notifier_profile.as_deref();
            append(&home_of(context, owner), &name, &notices)?;
            store.mark_seen(unseen)?
        }
        Follower::Chat => Applied::Yes,
    };
    if marked == Applied::LostRace {
        tracing::debug!(
            card = subscription.task_id.as_str(),
            "a follower was told by somebody else as well"
        );
    }
    Ok(())
}

fn comment(
    store: &mut StoredBoard,
    unseen: &Unseen,
    card: &TaskId,
    notices: &[(i64, String)],
) -> hermes_board::Result<Applied> {
    let text: Vec<&str> = notices.iter().map(|(_, text)| text.as_str()).collect();
    store.comment_seen(unseen, card, AUTHOR, &text.join("\n"))
}

/// Ends a subscription that nobody can ever be told by.
fn give_up_on(store: &mut StoredBoard, unseen: &Unseen, why: &Error) -> hermes_board::Result<()> {
    let one = &unseen.subscription;
    tracing::warn!(
        card = one.task_id.as_str(),
        platform = one.platform,
        chat = one.chat_id,
        "a subscription was ended, for nobody can be told: {why}"
    );
    store.unsubscribe(
        &one.task_id,
        &ChatAddress {
            platform: one.platform.clone(),
            chat_id: one.chat_id.clone(),
            thread_id: one.thread_id.clone(),
        },
    )
}

/// The home of the profile that delivers; that of this gateway if there is no such profile.
fn home_of(context: &Context, owner: Option<&str>) -> std::path::PathBuf {
    let location = &context.location;
    let owner = owner.and_then(|name| ProfileName::parse(name).ok());
    let owner = owner.filter(|name| existing(location, name).is_ok());
    owner.map_or_else(
        || location.home.clone(),
        |name| location.profile_home(&name),
    )
}

/// Adds notices to a file, each with its time.
fn append(home: &Path, name: &str, notices: &[(i64, String)]) -> hermes_fs::Result<()> {
    let directory = home.join("notifications");
    if !directory.is_dir() {
        // Not the home as well: one that was removed stays away.
        hermes_fs::create_dir(&directory, 0o700)?;
    }
    let path = directory.join(format!("{name}.log"));
    if hermes_fs::metadata(&path).is_ok_and(|meta| meta.len() > MOST_BYTES) {
        hermes_fs::rename(&path, &directory.join(format!("{name}.log.1")))?;
    }
    let mut text = String::new();
    for (at, notice) in notices {
        let at = jiff::Timestamp::from_second(*at).unwrap_or_default();
        text.push_str(&format!("{at} {}\n", notice.replace('\n', "\n  ")));
    }
    let mut file = hermes_fs::open_append(&path, 0o600)?;
    let written = file.write_all(text.as_bytes());
    written.map_err(hermes_fs::Error::io("write", &path))
}
