//! What people do to cards; a refusal is all right.

use crate::Subject;
use crate::op::{Form, Hold, Op};
use crate::world::World;
use hermes_board::dispatch::reclaim;
use hermes_board::model::{Assignee, HostRef};
use hermes_board::store::{
    BlockRequest, ClaimCaps, ClaimFrom, ClaimRequest, CompleteOutcome, Completion, NewTask,
    PromoteRequest, ScheduleRequest, StartIn,
};

/// Names that cards are given to; the last is no profile.
const ASSIGNEES: &[&str] = &["alpha", "beta", "lane"];
/// Most cards of one world.
const CARDS: usize = 12;

impl<B: Subject> World<B> {
    pub(crate) fn create(&mut self, form: Form) {
        if self.cards.len() >= CARDS {
            return;
        }
        self.by_clock_of(0);
        let assignee = ASSIGNEES.get(usize::from(form.assignee));
        let parent = form.parent.and_then(|parent| self.card(parent));
        let new = NewTask {
            assignee: assignee.and_then(|name| Assignee::parse(name).ok()),
            parents: parent.into_iter().collect(),
            max_retries: form.retries.map(i64::from),
            max_runtime_seconds: form.minutes.map(|minutes| i64::from(minutes) * 60),
            checks: vec!["true".into(); form.checks.into()],
            priority: form.priority.into(),
            start: match form.held {
                Hold::No => StartIn::Work,
                Hold::Blocked => StartIn::Blocked,
                Hold::Parked(seconds) => StartIn::Scheduled(self.time + i64::from(seconds)),
            },
            ..NewTask::titled("card")
        };
        if let Ok(created) = self.board.create(&new) {
            self.cards.push(created.task.id);
            self.completions.push(0);
        }
    }

    /// What people do; that they are refused is all right.
    pub(crate) fn done_by_hand(&mut self, op: Op) {
        let host = match op {
            Op::Reclaim(host, _) | Op::Claim(host, _) => self.machine(host).unwrap_or(0),
            _ => 0,
        };
        self.by_clock_of(host);
        match op {
            Op::Link(parent, child) => {
                if let (Some(parent), Some(child)) = (self.card(parent), self.card(child)) {
                    self.board.link(&parent, &child).ok();
                }
            }
            Op::Reclaim(_, card) => self.reclaim(host, card),
            Op::Claim(_, card) => {
                let name = self.machines.get(host).map(|machine| machine.name.clone());
                if let (Some(task), Some(name)) = (self.card(card), name) {
                    let request = ClaimRequest {
                        task,
                        lock: format!("{name}:77"),
                        ttl_seconds: self.setting.limits.claim_ttl_seconds,
                        from: ClaimFrom::Ready,
                        dispatcher: None,
                        host: self.host_of(host),
                        caps: ClaimCaps::default(),
                    };
                    self.board.claim(&request).ok();
                }
            }
            Op::Complete(card) => {
                if let Some(task) = self.card(card) {
                    let done = self.board.complete(&task, &Completion::default());
                    if let Ok(CompleteOutcome::Done(_)) = done {
                        self.count_completion(&task);
                    }
                }
            }
            Op::Block(card, kind) => {
                if let Some(task) = self.card(card) {
                    let request = BlockRequest {
                        task,
                        reason: None,
                        kind,
                        expected_run: None,
                    };
                    self.board.block(&request).ok();
                }
            }
            Op::Unblock(card) => {
                if let Some(task) = self.card(card) {
                    self.board.unblock(&task).ok();
                }
            }
            Op::Park(card, seconds) => {
                if let Some(task) = self.card(card) {
                    let request = ScheduleRequest {
                        task,
                        reason: None,
                        at: seconds.map(|seconds| self.time + i64::from(seconds)),
                        expected_run: None,
                    };
                    self.board.schedule(&request).ok();
                }
            }
            Op::Promote(card) => {
                if let Some(task) = self.card(card) {
                    let request = PromoteRequest {
                        task,
                        actor: "somebody".to_owned(),
                        reason: None,
                        force: true,
                        dry_run: false,
                    };
                    self.board.promote(&request).ok();
                }
            }
            Op::Archive(card) => {
                if let Some(task) = self.card(card) {
                    self.board.archive(&task).ok();
                }
            }
            Op::Assign(card, to) => {
                let name = ASSIGNEES.get(usize::from(to));
                let assignee = name.and_then(|name| Assignee::parse(name).ok());
                if let Some(task) = self.card(card) {
                    self.board.assign(&task, assignee.as_ref()).ok();
                }
            }
            Op::Spoil(card) => {
                if let Some(task) = self.card(card) {
                    self.spoil(task);
                }
            }
            _ => {}
        }
    }

    /// A machine as attempts record it.
    fn host_of(&self, host: usize) -> Option<HostRef> {
        let machine = self.machines.get(host).filter(|_| self.setting.is_shared)?;
        Some(HostRef {
            id: machine.id.clone(),
            name: machine.name.clone(),
        })
    }

    fn reclaim(&mut self, host: usize, card: u8) {
        let Some(task) = self.card(card) else {
            return;
        };
        self.as_another_process(host, |board, host| {
            reclaim(board, host, &task, None).ok();
        });
    }
}
