//! When a conversation is reviewed in the background (`memory.nudge_interval`,
//! `skills.creation_nudge_interval`), and who is told what that has kept.

use std::sync::Arc;

use hermes_agent::{Agent, PendingReview, ReviewScope, TurnOutcome, TurnResult};
use hermes_config::Config;
use hermes_providers::{AuxiliaryModels, AuxiliaryTask, Provider};
use hermes_tools::CallContext;
use serde_json::Value;

use crate::context::Context;
use crate::person::Person;

/// Turns of the user without anything remembered, and requests without a change to a skill, after
/// which a conversation is reviewed, unless configured.
const INTERVAL: i64 = 10;

/// Counts towards the next review.
pub(crate) struct ReviewKeeper {
    /// 0: never.
    memory_interval: u64,
    skills_interval: u64,
    turns: u64,
    requests: u64,
    pending: Option<PendingReview>,
    person: Arc<dyn Person>,
}

impl ReviewKeeper {
    /// `is_wanted` says whether the conversation is reviewed at all; `earlier` is how many turns of
    /// the user a continued session has.
    pub(crate) fn new(
        is_wanted: bool,
        earlier: usize,
        person: Arc<dyn Person>,
        context: &Context,
    ) -> Self {
        let interval = |key: &str| {
            let interval = context.config().int(key).unwrap_or(INTERVAL);
            u64::try_from(interval).unwrap_or(0) * u64::from(is_wanted)
        };
        let memory_interval = interval("memory.nudge_interval");
        let earlier = u64::try_from(earlier).unwrap_or(0);
        Self {
            memory_interval,
            skills_interval: interval("skills.creation_nudge_interval"),
            turns: earlier.checked_rem(memory_interval).unwrap_or(0),
            requests: 0,
            pending: None,
            person,
        }
    }

    /// Counts a turn, and starts a review if one is due and none runs. `tools` is what a review may
    /// call.
    pub(crate) fn after_turn(
        &mut self,
        result: &TurnResult,
        agent: &Agent,
        models: Option<&AuxiliaryModels>,
        tools: impl FnOnce() -> CallContext,
        context: &Context,
    ) {
        if self.memory_interval == 0 && self.skills_interval == 0 {
            return;
        }
        let called = |tool: &str| {
            let mut calls = result.tool_trace.iter();
            calls.any(|call| call["tool"] == tool && call["status"] == "ok")
        };
        self.turns = if called("memory") { 0 } else { self.turns + 1 };
        self.requests = if called("skill_manage") {
            0
        } else {
            self.requests + result.api_calls
        };
        if result.outcome != TurnOutcome::Completed {
            return;
        }
        let names = agent.tool_names();
        let is_due = |count: u64, interval: u64, tool: &str| {
            interval > 0 && count >= interval && names.iter().any(|name| name == tool)
        };
        let scope = ReviewScope {
            memory: is_due(self.turns, self.memory_interval, "memory"),
            skills: is_due(self.requests, self.skills_interval, "skill_manage"),
        };
        if !scope.memory && !scope.skills {
            return;
        }
        if self
            .pending
            .as_ref()
            .is_some_and(|pending| !pending.is_finished())
        {
            return;
        }
        self.close();
        if scope.memory {
            self.turns = 0;
        }
        if scope.skills {
            self.requests = 0;
        }
        let provider = own_model(models, context.config());
        let home = context.location.home.clone();
        let job = agent.review(scope, tools(), provider, home);
        let person = Arc::clone(&self.person);
        let started = job.start(move |kept| {
            let lines = kept.join("\n- ");
            person.notify(&format!("Kept from this conversation:\n- {lines}"));
        });
        match started {
            Ok(pending) => self.pending = Some(pending),
            Err(error) => tracing::warn!(%error, "the conversation is not reviewed"),
        }
    }

    /// Ends a review that still runs.
    pub(crate) fn close(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.finish();
        }
    }
}

/// The model of `auxiliary.background_review`, if the settings name one.
fn own_model(models: Option<&AuxiliaryModels>, config: &Config) -> Option<Arc<dyn Provider>> {
    let settings = config.get("auxiliary.background_review")?;
    let is_named = ["provider", "model", "base_url"].iter().any(|key| {
        let text = settings.get(*key).and_then(Value::as_str);
        text.is_some_and(|text| !matches!(text.trim(), "" | "auto"))
    });
    if !is_named {
        return None;
    }
    let opened = models?.open(AuxiliaryTask::BackgroundReview);
    opened
        .inspect_err(|error| tracing::warn!(%error, "the model for reviews cannot be used"))
        .ok()
}
