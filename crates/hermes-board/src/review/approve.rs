//! Approving a card's work: its checks pass, it is merged or pushed, the card is done.

use std::cell::RefCell;

use serde::Serialize;

use crate::boards::load_info;
use crate::completion::{self, CompletionOutcome, CompletionSetup};
use crate::model::{Approval, CheckEvidence, OnApprove, Review, Status, Task, TaskId};
use crate::review::{Landed, ReviewedWork};
use crate::review_error::ReviewError;
use crate::store::{BoardStore, Completion, Release};
use crate::{Error, Result, StoredBoard};

/// An approval that is asked for.
#[derive(Debug, Clone)]
pub struct ApproveRequest<'a> {
    pub by: &'a str,
    /// What to do with the work; `None` is what the card or its board says.
    pub action: Option<OnApprove>,
    /// [`crate::review::Diff::fingerprint`] of what was reviewed: work that has changed since is not
    /// approved.
    pub reviewed: Option<&'a str>,
}

/// Outcome of [`approve`].
#[derive(Debug, Clone, PartialEq)]
pub enum ApproveOutcome {
    Approved(Box<Approved>),
    /// An acceptance check failed; nothing was merged or pushed.
    CheckFailed {
        evidence: CheckEvidence,
        release: Release,
    },
    /// Somebody changed the card meanwhile.
    LostRace,
}

/// Work that was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approved {
    pub task_id: TaskId,
    pub approval: Approval,
    pub landed: Landed,
    /// How many checks passed.
    pub checks: usize,
}

/// What becomes of a card's work if nothing else is asked for: what the card says, else its board.
pub fn chosen_action(store: &StoredBoard, review: &Review) -> OnApprove {
    let of_board = || load_info(store.board()).on_approve;
    let of_board = || of_board().and_then(|text| OnApprove::parse(&text));
    review
        .on_approve
        .clone()
        .or_else(of_board)
        .unwrap_or(OnApprove::Keep)
}

/// Approves the work of a card: runs its checks if it is not done, merges or pushes, and makes it
/// done. What is refused leaves the card as it was; what was not committed may be committed on its own
/// branch by then.
pub fn approve(
    store: &mut StoredBoard,
    id: &TaskId,
    request: &ApproveRequest<'_>,
    setup: &CompletionSetup<'_>,
) -> Result<ApproveOutcome> {
    let task = store.task(id)?.ok_or_else(|| Error::unknown(id))?;
    let is_done = may_approve(&task)?;
    let review = store.review(id)?;
    let action = match &request.action {
        Some(action) => action.clone(),
        None => chosen_action(store, &review),
    };
    let work = if action == OnApprove::Keep && request.reviewed.is_none() {
        None
    } else {
        Some(ReviewedWork::open(
            setup.board,
            &task,
            &review,
            setup.workers,
        )?)
    };
    let mut tip = None;
    if let Some(work) = &work {
        must_be_reviewed(work, request.reviewed)?;
        tip = work.prepare(&action)?;
    }
    let at = store.now();
    let outcome = RefCell::new(None);
    let land = || -> Result<Approval> {
        let landed = match &work {
            Some(work) => work.land(&action, tip.as_deref())?,
            None => Landed::Kept,
        };
        let approval = approval(request.by, at, &landed);
        outcome.replace(Some((approval.clone(), landed)));
        Ok(approval)
    };
    let mut checks = 0;
    if is_done {
        let approval = land()?;
        store.record_approval(id, &approval)?;
    } else {
        let summary = store.show(id, None)?.latest_summary;
        let by = request.by;
        let completion = Completion {
            summary: summary.or_else(|| Some(format!("Approved by {by}."))),
            is_approval: true,
            ..Completion::default()
        };
        let before_done = |completion: &mut Completion| {
            completion.approval = Some(land()?);
            Ok(())
        };
        let setup = CompletionSetup {
            // Whoever approves has judged.
            judge: None,
            before_done: Some(&before_done),
            ..*setup
        };
        match completion::complete(store, id, &completion, &setup)? {
            CompletionOutcome::Done { checks: passed, .. } => checks = passed,
            CompletionOutcome::CheckFailed { evidence, release } => {
                return Ok(ApproveOutcome::CheckFailed { evidence, release });
            }
            CompletionOutcome::GoalNotReached(_) | CompletionOutcome::LostRace => {
                return Ok(ApproveOutcome::LostRace);
            }
        }
    }
    let Some((approval, landed)) = outcome.into_inner() else {
        return Ok(ApproveOutcome::LostRace);
    };
    Ok(ApproveOutcome::Approved(Box::new(Approved {
        task_id: id.clone(),
        approval,
        landed,
        checks,
    })))
}

fn approval(by: &str, at: i64, landed: &Landed) -> Approval {
    let (action, commit, branch) = match landed {
        Landed::Kept => ("none".to_owned(), None, None),
        Landed::Merged { commit, branch, .. } => ("merge".to_owned(), Some(commit), Some(branch)),
        Landed::Pushed {
            remote,
            commit,
            branch,
        } => (format!("push:{remote}"), Some(commit), Some(branch)),
    };
    Approval {
        by: by.to_owned(),
        at,
        action,
        commit: commit.cloned(),
        branch: branch.cloned(),
    }
}

/// Whether the card is done already; refuses one that cannot be approved.
fn may_approve(task: &Task) -> Result<bool> {
    match task.status() {
        Status::Done => Ok(true),
        Status::Ready | Status::Blocked | Status::Review => Ok(false),
        Status::Running => Err(Error::InProgress {
            id: task.id.clone(),
            action: "approve",
            lock: task.claim_lock.clone(),
        }),
        Status::Triage | Status::Todo | Status::Scheduled | Status::Archived | Status::Unknown => {
            Err(Error::not_allowed(&task.id, "approve", task.status_word()))
        }
    }
}

fn must_be_reviewed(work: &ReviewedWork, reviewed: Option<&str>) -> Result<()> {
    match reviewed {
        Some(reviewed) if work.diff(&[])?.fingerprint != reviewed => {
            let id = work.task.id.clone();
            Err(ReviewError::ChangedSince { id }.into())
        }
        _ => Ok(()),
    }
}
