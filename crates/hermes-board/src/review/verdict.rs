//! Comments on lines, and sending a card back with them.

use crate::dispatch::WorkerSetup;
use crate::model::{DiffSide, LineRange, RepoPath, Review, Status, TaskId};
use crate::review::{ReviewedWork, anchor};
use crate::review_error::ReviewError;
use crate::store::BoardStore;
use crate::{Error, NewReviewComment, Result, StoredBoard};

/// Most lines that one comment is about.
const MOST_LINES: u32 = 2000;

/// A comment that a reviewer makes.
#[derive(Debug, Clone, Copy)]
pub struct CommentRequest<'a> {
    pub file: &'a RepoPath,
    pub side: DiffSide,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    pub author: &'a str,
    pub body: &'a str,
}

/// Comments on lines of a file that the card changed; gives the number of the comment.
pub fn comment(
    store: &mut StoredBoard,
    id: &TaskId,
    work: &ReviewedWork,
    request: &CommentRequest<'_>,
) -> Result<u32> {
    let diff = work.diff(&[])?;
    let Some(file) = diff.file(request.file) else {
        return Err(ReviewError::NotChanged {
            id: id.clone(),
            file: request.file.to_string(),
        }
        .into());
    };
    let lines = work.lines(file, request.side)?;
    let (first, last) = request.lines;
    let count = lines.len();
    let beyond = |line: u32| line == 0 || usize::try_from(line).is_ok_and(|line| line > count);
    if let Some(line) = [first, last].into_iter().find(|line| beyond(*line)) {
        return Err(ReviewError::NoSuchLine {
            file: file.path.to_string(),
            side: request.side.as_str(),
            count,
            line,
        }
        .into());
    }
    if last < first || last - first >= MOST_LINES {
        return Err(Error::BadRequest(format!(
            "a comment is about 1 to {MOST_LINES} lines in order, not {first}-{last}"
        )));
    }
    let skipped = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let taken = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
    let chosen = lines.iter().skip(skipped).take(taken);
    let old = file
        .old_path
        .as_ref()
        .filter(|_| request.side == DiffSide::Old);
    store.add_review_comment(
        id,
        &NewReviewComment {
            lines: LineRange {
                file: old.unwrap_or(&file.path).clone(),
                side: request.side,
                first_line: first,
                last_line: last,
            },
            quote: anchor::quote(chosen.map(String::as_str)),
            commit: diff.head,
            author: request.author.to_owned(),
            body: request.body.to_owned(),
        },
    )
}

/// Looks for the lines of open comments in the work as it is now: they get their numbers of today, or
/// are outdated.
pub fn locate(review: &mut Review, work: &ReviewedWork) -> Result<()> {
    if review.open().next().is_none() {
        return Ok(());
    }
    let diff = work.diff(&[])?;
    for comment in review.comments.iter_mut().filter(|one| one.is_open()) {
        let at = &mut comment.lines;
        let lines = diff
            .file(&at.file)
            .and_then(|file| work.lines(file, at.side).ok());
        let first = lines.and_then(|lines| anchor::find(&lines, &comment.quote, at.first_line));
        comment.outdated = first.is_none();
        if let Some(first) = first {
            at.last_line = first + (at.last_line - at.first_line);
            at.first_line = first;
        }
    }
    Ok(())
}

/// As [`locate`], and records what was found.
fn find_again(
    store: &mut StoredBoard,
    id: &TaskId,
    mut review: Review,
    work: &ReviewedWork,
) -> Result<()> {
    let before = review.clone();
    locate(&mut review, work)?;
    let pairs = review.comments.iter().zip(&before.comments);
    let changed = pairs.filter(|(now, before)| now != before);
    let moved: Vec<_> = changed
        .map(|(now, _)| {
            let lines = (now.lines.first_line, now.lines.last_line);
            (now.number, (!now.outdated).then_some(lines))
        })
        .collect();
    store.move_review_comments(id, &moved)
}

/// Sends a card back with its open comments and a text; gives its new status and the number of open
/// comments. The comments say where their lines are now, if the work can still be looked at.
pub fn request_changes(
    store: &mut StoredBoard,
    id: &TaskId,
    by: &str,
    text: Option<&str>,
    setup: &WorkerSetup,
) -> Result<(Status, usize)> {
    let task = store.task(id)?.ok_or_else(|| Error::unknown(id))?;
    let review = store.review(id)?;
    if review.open().next().is_some() {
        let board = store.board().clone();
        let work = ReviewedWork::open(&board, &task, &review, setup);
        if let Err(error) = work.and_then(|work| find_again(store, id, review, &work)) {
            // The next worker gets the lines as they were quoted.
            tracing::warn!(%error, task = id.as_str(), "could not look for commented lines");
        }
    }
    store.request_changes(id, by, text)
}
