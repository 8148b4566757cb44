//! The standing goal of a conversation: set by the person, judged after each turn, and pursued until
//! it is reached, paused or given up.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_agent::standing_goal::{
    GoalContract, GoalStep, GoalWait, Judge, Judgement, RunningProcess, StandingGoal, after_turn,
};
use hermes_agent::{TurnOutcome, TurnResult};
use hermes_proc::{identity_of, is_zombie};
use hermes_terminal::SessionKey;

use super::Conversation;
use crate::error::Result;

/// How often is looked whether what a goal waits for has happened.
const LOOK: Duration = Duration::from_millis(500);
/// Longest answer of the judge unless `auxiliary.goal_judge.max_tokens` says otherwise; models that
/// think need the room.
const JUDGE_TOKENS: u32 = 4_096;

/// What became of a goal after a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalNews {
    /// For the person.
    pub notice: String,
    /// The message that the next turn begins with, if one follows.
    pub next: Option<String>,
}

impl GoalNews {
    fn stop(notice: impl Into<String>) -> Self {
        Self {
            notice: notice.into(),
            next: None,
        }
    }
}

impl Conversation {
    /// The standing goal.
    pub fn goal(&mut self) -> Result<Option<StandingGoal>> {
        Ok(self.agent.goal()?)
    }

    /// Stores the standing goal as it is now.
    pub fn set_goal(&mut self, goal: &StandingGoal) -> Result<()> {
        Ok(self.agent.set_goal(goal)?)
    }

    /// Sets a goal, with the budget of the settings.
    pub fn begin_goal(&mut self, text: &str, contract: GoalContract) -> Result<StandingGoal> {
        let most = self.context.config().int("goals.max_turns");
        let most = most.and_then(|turns| u64::try_from(turns).ok());
        let most = most.filter(|turns| *turns > 0);
        let most = most.unwrap_or(StandingGoal::USUAL_TURNS);
        let goal = StandingGoal::new(text, contract, most);
        self.set_goal(&goal)?;
        Ok(goal)
    }

    /// What a goal means in detail, as a side model sees it; why there is nothing otherwise.
    pub fn draft_goal(&mut self, text: &str) -> std::result::Result<GoalContract, String> {
        self.person.progress("Making the goal precise");
        let drafted = self.with_judge(|judge, this| judge.draft(text, this.tools.interrupt()));
        drafted?.ok_or_else(|| "the model gave no details".to_owned())
    }

    /// Judges the goal after a turn. `is_preempted` says whether the person has sent something that
    /// comes first. `None` without an active goal.
    pub fn goal_after_turn(
        &mut self,
        result: &TurnResult,
        is_preempted: &dyn Fn() -> bool,
    ) -> Result<Option<GoalNews>> {
        let Some(mut goal) = self.goal()?.filter(StandingGoal::is_active) else {
            return Ok(None);
        };
        match result.outcome {
            TurnOutcome::Interrupted if is_preempted() => return Ok(None),
            TurnOutcome::Interrupted => return self.pause_goal(&mut goal, "it was interrupted"),
            TurnOutcome::Failed => return self.pause_goal(&mut goal, "the turn failed"),
            TurnOutcome::Completed | TurnOutcome::Partial => {}
        }
        if goal.wait().is_none() {
            let answer = result.final_response.as_deref().unwrap_or_default();
            let judgement = self.judge_goal(&goal, answer);
            if judgement == Judgement::Interrupted {
                if is_preempted() {
                    return Ok(None);
                }
                return self.pause_goal(&mut goal, "it was interrupted");
            }
            let step = after_turn(&mut goal, &judgement, hermes_session::now());
            self.set_goal(&goal)?;
            return match step {
                GoalStep::Stop(notice) => Ok(Some(GoalNews::stop(notice))),
                GoalStep::GoOn(notice) => self.goal_goes_on(goal, notice, is_preempted),
            };
        }
        let notice = "The goal goes on".to_owned();
        self.goal_goes_on(goal, notice, is_preempted)
    }

    /// Pauses the goal because the person interrupted. `None` without an active goal.
    pub fn interrupt_goal(&mut self) -> Result<Option<GoalNews>> {
        match self.goal()?.filter(StandingGoal::is_active) {
            Some(mut goal) => self.pause_goal(&mut goal, "it was interrupted"),
            None => Ok(None),
        }
    }

    /// Goes on with a goal now, or when what it waits for has happened. `None` without an active goal.
    pub fn resume_goal(&mut self, is_preempted: &dyn Fn() -> bool) -> Result<Option<GoalNews>> {
        let Some(goal) = self.goal()?.filter(StandingGoal::is_active) else {
            return Ok(None);
        };
        self.goal_goes_on(goal, "The goal goes on".to_owned(), is_preempted)
    }

    fn goal_goes_on(
        &mut self,
        mut goal: StandingGoal,
        notice: String,
        is_preempted: &dyn Fn() -> bool,
    ) -> Result<Option<GoalNews>> {
        if let Some(wait) = goal.wait() {
            let reason = goal.waiting_reason.clone().unwrap_or_default();
            let what = described(&wait);
            self.person
                .progress(format!("The goal waits for {what}. {reason}").trim());
            if !self.wait_for(&wait) {
                if is_preempted() {
                    return Ok(None);
                }
                return self.pause_goal(&mut goal, "it was interrupted");
            }
            goal.stop_waiting();
            self.set_goal(&goal)?;
        }
        Ok(Some(GoalNews {
            notice,
            next: Some(goal.continuation()),
        }))
    }

    fn pause_goal(&mut self, goal: &mut StandingGoal, why: &str) -> Result<Option<GoalNews>> {
        goal.pause(why);
        self.set_goal(goal)?;
        let notice =
            format!("The goal is paused: {why}. /goal resume goes on, /goal clear gives it up");
        Ok(Some(GoalNews::stop(notice)))
    }

    fn judge_goal(&mut self, goal: &StandingGoal, answer: &str) -> Judgement {
        if answer.trim().is_empty() {
            return Judgement::Continue("the turn had no answer".to_owned());
        }
        self.person.progress("Judging the goal");
        let processes = self.running_processes();
        let judged = self.with_judge(|judge, this| {
            Ok(judge.judge(goal, answer, &processes, this.tools.interrupt()))
        });
        judged.unwrap_or_else(Judgement::Unreachable)
    }

    fn with_judge<T>(
        &mut self,
        ask: impl FnOnce(&Judge<'_>, &Self) -> std::result::Result<T, String>,
    ) -> std::result::Result<T, String> {
        let side = self.children.auxiliary.clone();
        let side = side.ok_or_else(|| "there are no side models".to_owned())?;
        let home = self.context.location.home.clone();
        let id = self.agent.session_id().clone();
        let limit = self.context.config().get("auxiliary");
        let limit = limit.and_then(|all| all["goal_judge"]["max_tokens"].as_u64());
        let limit = limit.and_then(|most| u32::try_from(most).ok());
        let judge = Judge {
            auxiliary: &side,
            account: self.agent.is_stored().then_some((home, id)),
            max_tokens: limit.filter(|most| *most > 0).unwrap_or(JUDGE_TOKENS),
        };
        ask(&judge, self)
    }

    fn running_processes(&mut self) -> Vec<RunningProcess> {
        let key = SessionKey::new(&self.agent.context().session_key);
        let all = self.tools.terminal().processes_of(&key).list(0);
        let running = all.into_iter().filter(|process| process.ending.is_none());
        running
            .map(|process| RunningProcess {
                seconds: process.uptime.as_secs(),
                id: process.id,
                command: process.command,
            })
            .collect()
    }

    /// Waits; gives whether it has happened, and nobody interrupted.
    fn wait_for(&mut self, wait: &GoalWait) -> bool {
        let pid = match wait {
            GoalWait::Pid(pid) => identity_of(*pid),
            GoalWait::Process(_) | GoalWait::Until(_) => None,
        };
        loop {
            let has_happened = match wait {
                GoalWait::Pid(number) => {
                    pid.is_none() || identity_of(*number) != pid || is_zombie(*number)
                }
                GoalWait::Process(id) => {
                    let key = SessionKey::new(&self.agent.context().session_key);
                    let all = self.tools.terminal().processes_of(&key).list(0);
                    let found = all.iter().find(|process| process.id == *id);
                    found.is_none_or(|process| process.ending.is_some() || process.watch_hit)
                }
                GoalWait::Until(at) => {
                    let now = SystemTime::now().duration_since(UNIX_EPOCH);
                    now.map_or(0, |since| since.as_secs()) >= *at
                }
            };
            if has_happened {
                return true;
            }
            if self.tools.interrupt().wait(LOOK) {
                return false;
            }
        }
    }
}

fn described(wait: &GoalWait) -> String {
    match wait {
        GoalWait::Pid(pid) => format!("the end of process {pid}"),
        GoalWait::Process(id) => format!("the background process {id}"),
        GoalWait::Until(at) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let left = at.saturating_sub(now.map_or(0, |since| since.as_secs()));
            format!("{left} s to pass")
        }
    }
}
