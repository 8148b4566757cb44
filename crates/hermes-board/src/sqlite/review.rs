//! Reviews in the database: where work began, comments on its lines, verdicts.
//!
//! Nothing here looks at files or repositories.

use std::path::PathBuf;

use serde_json::json;

use crate::model::{
    Approval, DiffSide, LineRange, OnApprove, RepoPath, Review, ReviewComment, ReviewReply, Status,
    TaskId, WorkBase,
};
use crate::sqlite::StoredBoard;
use crate::sqlite::block::filled;
use crate::sqlite::cells::Cells;
use crate::sqlite::statements::{AsParam, params};
use crate::sqlite::transaction::{Transaction, with};
use crate::{Error, Result};

/// Longest comment or reply, in bytes.
const BODY: usize = 16 * 1024;
/// Most comments on a card, and most replies to one.
const MOST_COMMENTS: u32 = 1000;
const MOST_REPLIES: u32 = 100;

/// A comment to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReviewComment {
    pub lines: LineRange,
    /// The lines as they are.
    pub quote: String,
    /// The commit that is checked out.
    pub commit: Option<String>,
    pub author: String,
    pub body: String,
}

impl StoredBoard {
    /// The review of a card.
    pub fn review(&self, id: &TaskId) -> Result<Review> {
        self.read(|tx| {
            tx.must_exist(id)?;
            tx.review(id)
        })
    }

    /// Says what becomes of a card's work once that is approved; `None` leaves it to the board.
    pub fn set_on_approve(&mut self, id: &TaskId, action: Option<&OnApprove>) -> Result<()> {
        self.write(|tx| {
            tx.must_exist(id)?;
            tx.set_on_approve(id, action)?;
            let action = action.map(ToString::to_string);
            tx.append(
                id,
                None,
                "edited",
                json!({"fields": ["on_approve"], "on_approve": action}),
            )
        })
    }

    /// Makes a comment on lines of a card's work; gives its number.
    pub fn add_review_comment(&mut self, id: &TaskId, new: &NewReviewComment) -> Result<u32> {
        let body = checked(&new.author, &new.body)?;
        self.write(|tx| {
            let state = tx.card_state(id)?;
            if state.status == Status::Archived {
                return Err(Error::not_allowed(id, "review", &state.word));
            }
            let number = tx.next_number(
                "SELECT COALESCE(max(number), 0) + 1 FROM task_review_comments WHERE task_id = ?1",
                params![id.as_str()],
            )?;
            if number > MOST_COMMENTS {
                return Err(Error::BadRequest(format!(
                    "{id} has {MOST_COMMENTS} review comments already"
                )));
            }
            let lines = &new.lines;
            tx.execute(
                "INSERT INTO task_review_comments (task_id, number, file, side, first_line,
                     last_line, quote, commit_id, author, body, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    id.as_str(),
                    number,
                    lines.file.to_string(),
                    lines.side.as_str(),
                    lines.first_line,
                    lines.last_line,
                    new.quote,
                    new.commit,
                    new.author.trim(),
                    body,
                    tx.now
                ],
            )?;
            let payload = json!({
                "by": new.author.trim(),
                "comment": number,
                "file": lines.file,
                "side": lines.side,
                "lines": [lines.first_line, lines.last_line],
            });
            tx.append(id, None, "review_commented", payload)?;
            Ok(number)
        })
    }

    /// Answers a comment.
    pub fn reply_to_review(
        &mut self,
        id: &TaskId,
        number: u32,
        author: &str,
        body: &str,
    ) -> Result<()> {
        let body = checked(author, body)?;
        self.write(|tx| {
            tx.known_comment(id, number)?;
            let position = tx.next_number(
                "SELECT COALESCE(max(position), 0) + 1 FROM task_review_replies
                 WHERE task_id = ?1 AND number = ?2",
                params![id.as_str(), number],
            )?;
            if position > MOST_REPLIES {
                return Err(Error::BadRequest(format!(
                    "review comment {number} of {id} has {MOST_REPLIES} replies already"
                )));
            }
            tx.execute(
                "INSERT INTO task_review_replies (task_id, number, position, author, body,
                     created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![id.as_str(), number, position, author.trim(), body, tx.now],
            )?;
            tx.append(
                id,
                None,
                "review_replied",
                json!({"by": author.trim(), "comment": number}),
            )
        })
    }

    /// Resolves a comment; gives whether it was open.
    pub fn resolve_review(&mut self, id: &TaskId, number: u32, by: &str) -> Result<bool> {
        self.write(|tx| {
            tx.known_comment(id, number)?;
            let changed = tx.execute(
                "UPDATE task_review_comments SET resolved_by = ?3, resolved_at = ?4
                 WHERE task_id = ?1 AND number = ?2 AND resolved_at IS NULL",
                params![id.as_str(), number, by, tx.now],
            )?;
            if changed > 0 {
                let payload = json!({"by": by, "comment": number});
                tx.append(id, None, "review_resolved", payload)?;
            }
            Ok(changed > 0)
        })
    }

    /// Records where the lines of comments are now: their first and last line, or nothing if they
    /// cannot be found.
    pub fn move_review_comments(
        &mut self,
        id: &TaskId,
        found: &[(u32, Option<(u32, u32)>)],
    ) -> Result<()> {
        if found.is_empty() {
            return Ok(());
        }
        self.write(|tx| {
            for (number, lines) in found {
                let (first, last) = lines.unzip();
                tx.execute(
                    "UPDATE task_review_comments SET outdated = ?3,
                         first_line = COALESCE(?4, first_line), last_line = COALESCE(?5, last_line)
                     WHERE task_id = ?1 AND number = ?2",
                    params![id.as_str(), number, lines.is_none(), first, last],
                )?;
            }
            Ok(())
        })
    }

    /// Sends a card back: it is ready again, or waits for its parents, with the open comments and a
    /// text for its next worker. Gives the new status and the number of open comments.
    pub fn request_changes(
        &mut self,
        id: &TaskId,
        by: &str,
        text: Option<&str>,
    ) -> Result<(Status, usize)> {
        let text = filled(text);
        if let Some(text) = text {
            checked(by, text)?;
        }
        self.write(|tx| tx.request_changes(id, by, text))
    }

    /// Records that the work of a card that is done was approved.
    pub fn record_approval(&mut self, id: &TaskId, approval: &Approval) -> Result<()> {
        self.write(|tx| {
            let state = tx.card_state(id)?;
            state.require_status(id, "approve", &[Status::Done])?;
            tx.write_approval(id, approval)
        })
    }
}

impl Transaction<'_> {
    /// Keeps where the work on a card began. What is known already stays.
    pub(super) fn record_base(&self, id: &TaskId, base: &WorkBase) -> Result<()> {
        self.execute(
            "INSERT INTO task_reviews (task_id, repository, base_commit, base_branch)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (task_id) DO UPDATE SET repository = ?2, base_commit = ?3, base_branch = ?4
             WHERE task_reviews.base_commit IS NULL",
            params![
                id.as_str(),
                base.repository.to_string_lossy(),
                base.commit,
                base.branch
            ],
        )?;
        Ok(())
    }

    /// Records an approval.
    pub(super) fn write_approval(&self, id: &TaskId, approval: &Approval) -> Result<()> {
        self.execute(
            "INSERT INTO task_reviews (task_id, approved_by, approved_at, approved_action,
                 approved_commit, approved_branch) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (task_id) DO UPDATE SET approved_by = ?2, approved_at = ?3,
                 approved_action = ?4, approved_commit = ?5, approved_branch = ?6",
            params![
                id.as_str(),
                approval.by,
                approval.at,
                approval.action,
                approval.commit,
                approval.branch
            ],
        )?;
        let payload = json!({"by": approval.by, "action": approval.action});
        let payload = with(payload, "commit", approval.commit.clone());
        let payload = with(payload, "branch", approval.branch.clone());
        self.append(id, None, "approved", payload)
    }

    pub(super) fn set_on_approve(&self, id: &TaskId, action: Option<&OnApprove>) -> Result<()> {
        self.execute(
            "INSERT INTO task_reviews (task_id, on_approve) VALUES (?1, ?2)
             ON CONFLICT (task_id) DO UPDATE SET on_approve = ?2",
            params![id.as_str(), action.map(ToString::to_string)],
        )?;
        Ok(())
    }

    pub(super) fn review(&self, id: &TaskId) -> Result<Review> {
        let found = self.one(
            "SELECT repository, base_commit, base_branch, on_approve, approved_by, approved_at,
                 approved_action, approved_commit, approved_branch
             FROM task_reviews WHERE task_id = ?1",
            [id.as_str()],
            |row| {
                let mut cells = Cells::new(row);
                let (repository, commit) = (cells.filled_text()?, cells.filled_text()?);
                let branch = cells.filled_text()?;
                let on_approve = cells.filled_text()?;
                let (by, at) = (cells.filled_text()?, cells.int_or_none()?);
                let action = cells.filled_text()?.unwrap_or_default();
                let (landed, target) = (cells.filled_text()?, cells.filled_text()?);
                Ok(Review {
                    base: repository.zip(commit).map(|(repository, commit)| WorkBase {
                        repository: PathBuf::from(repository),
                        commit,
                        branch,
                    }),
                    on_approve: on_approve.and_then(|text| OnApprove::parse(&text)),
                    approval: by.zip(at).map(|(by, at)| Approval {
                        by,
                        at,
                        action,
                        commit: landed,
                        branch: target,
                    }),
                    comments: Vec::new(),
                })
            },
        )?;
        let mut comments = self.review_comments(id)?;
        if !comments.is_empty() {
            self.add_replies(id, &mut comments)?;
        }
        Ok(Review {
            comments,
            ..found.unwrap_or_default()
        })
    }

    /// Comments that are not resolved, with their replies.
    pub(super) fn open_review_comments(&self, id: &TaskId) -> Result<Vec<ReviewComment>> {
        let mut comments = self.review_comments(id)?;
        comments.retain(ReviewComment::is_open);
        if !comments.is_empty() {
            self.add_replies(id, &mut comments)?;
        }
        Ok(comments)
    }

    fn review_comments(&self, id: &TaskId) -> Result<Vec<ReviewComment>> {
        self.all(
            "SELECT number, file, side, first_line, last_line, quote, commit_id, author, body,
                 created_at, outdated, resolved_by, resolved_at
             FROM task_review_comments WHERE task_id = ?1 ORDER BY number",
            [id.as_str()],
            |row| {
                let file: String = row.get(1)?;
                let side: String = row.get(2)?;
                Ok(ReviewComment {
                    number: row.get(0)?,
                    lines: LineRange {
                        file: RepoPath::parse(file.as_ref()),
                        side: DiffSide::parse(&side).unwrap_or(DiffSide::New),
                        first_line: row.get(3)?,
                        last_line: row.get(4)?,
                    },
                    quote: row.get(5)?,
                    commit: row.get(6)?,
                    author: row.get(7)?,
                    body: row.get(8)?,
                    created_at: row.get(9)?,
                    outdated: row.get(10)?,
                    resolved_by: row.get(11)?,
                    resolved_at: row.get(12)?,
                    replies: Vec::new(),
                })
            },
        )
    }

    fn add_replies(&self, id: &TaskId, comments: &mut [ReviewComment]) -> Result<()> {
        let replies = self.all(
            "SELECT number, author, body, created_at FROM task_review_replies
             WHERE task_id = ?1 ORDER BY number, position",
            [id.as_str()],
            |row| {
                let reply = ReviewReply {
                    author: row.get(1)?,
                    body: row.get(2)?,
                    created_at: row.get(3)?,
                };
                Ok((row.get::<u32>(0)?, reply))
            },
        )?;
        for (number, reply) in replies {
            if let Some(comment) = comments.iter_mut().find(|one| one.number == number) {
                comment.replies.push(reply);
            }
        }
        Ok(())
    }

    fn request_changes(
        &self,
        id: &TaskId,
        by: &str,
        text: Option<&str>,
    ) -> Result<(Status, usize)> {
        let state = self.card_state(id)?;
        if state.status == Status::Running {
            return Err(Error::InProgress {
                id: id.clone(),
                action: "send back",
                lock: state.lock,
            });
        }
        let allowed = [
            Status::Ready,
            Status::Scheduled,
            Status::Blocked,
            Status::Review,
            Status::Done,
        ];
        state.require_status(id, "send back", &allowed)?;
        let open = self.review_comments(id)?;
        let open = open.iter().filter(|comment| comment.is_open()).count();
        if open == 0 && text.is_none() {
            return Err(Error::NothingToChange { id: id.clone() });
        }
        if let Some(text) = text {
            // Where every worker reads it, also one of the reference.
            self.insert_comment(id, by, &format!("CHANGES REQUESTED: {text}"))?;
        }
        self.forget_approval(id)?;
        let status = match state.status {
            // Both programs hold a card blocked until this event.
            Status::Blocked | Status::Scheduled => self.release(id, Some("changes_requested"))?,
            _ => self.reopen(id, state.status == Status::Done)?,
        };
        self.append(
            id,
            None,
            "changes_requested",
            with(json!({"by": by, "comments": open}), "text", text),
        )?;
        Ok((status, open))
    }

    /// Makes a card ready that is done or in review. Children that were ready wait for it again.
    fn reopen(&self, id: &TaskId, was_done: bool) -> Result<Status> {
        let waits = self.has_open_parent(id)?;
        let status = if waits { Status::Todo } else { Status::Ready };
        self.free_claim(id)?;
        self.execute(
            "UPDATE tasks SET status = ?2, consecutive_failures = 0, last_failure_error = NULL
             WHERE id = ?1",
            params![id.as_str(), status.as_str()],
        )?;
        self.append(
            id,
            None,
            "status",
            json!({"status": status, "reason": "changes_requested"}),
        )?;
        if was_done {
            self.make_children_wait(id)?;
        }
        Ok(status)
    }

    fn known_comment(&self, id: &TaskId, number: u32) -> Result<()> {
        self.must_exist(id)?;
        let exists = self.holds(
            "SELECT EXISTS (SELECT 1 FROM task_review_comments WHERE task_id = ?1 AND number = ?2)",
            params![id.as_str(), number],
        )?;
        if exists {
            return Ok(());
        }
        Err(Error::UnknownReviewComment {
            id: id.clone(),
            number,
        })
    }

    fn next_number<const N: usize>(&self, sql: &str, params: [impl AsParam; N]) -> Result<u32> {
        let number = self.one(sql, params, |row| row.get(0))?;
        Ok(number.unwrap_or(1))
    }
}

/// The text of a comment, which is neither blank nor endless.
fn checked<'t>(author: &str, body: &'t str) -> Result<&'t str> {
    for (what, text) in [("a comment", body), ("the author of a comment", author)] {
        if text.trim().is_empty() {
            return Err(Error::Blank { what });
        }
    }
    let body = body.trim();
    if body.len() > BODY {
        return Err(Error::BadRequest(format!(
            "a review comment has at most {} KiB, this one has {}",
            BODY / 1024,
            body.len().div_ceil(1024)
        )));
    }
    Ok(body)
}
