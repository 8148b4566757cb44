//! A goal as it is stored: the names are those of the Python runtime.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contract::GoalContract;

/// Where a goal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GoalStatus {
    Active,
    Paused,
    Done,
    Cleared,
}

/// What the next turn waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalWait {
    /// The end of a process, by its number.
    Pid(u32),
    /// The end of a background process of the session, or a line that it watches for.
    Process(String),
    /// A moment, in seconds since 1970.
    Until(u64),
}

/// The standing goal of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StandingGoal {
    pub goal: String,
    #[serde(default = "active")]
    pub status: GoalStatus,
    #[serde(default)]
    pub turns_used: u64,
    #[serde(default = "usual_turns")]
    pub max_turns: u64,
    #[serde(default)]
    pub created_at: f64,
    #[serde(default)]
    pub last_turn_at: f64,
    #[serde(default)]
    pub last_verdict: Option<String>,
    #[serde(default)]
    pub last_reason: Option<String>,
    #[serde(default)]
    pub paused_reason: Option<String>,
    #[serde(default)]
    pub consecutive_parse_failures: u64,
    #[serde(default)]
    pub consecutive_transport_failures: u64,
    #[serde(default)]
    pub subgoals: Vec<String>,
    #[serde(default)]
    pub waiting_on_pid: Option<u32>,
    #[serde(default)]
    pub waiting_on_session: Option<String>,
    #[serde(default)]
    pub waiting_until: f64,
    #[serde(default)]
    pub waiting_reason: Option<String>,
    #[serde(default)]
    pub waiting_since: f64,
    #[serde(default)]
    pub contract: GoalContract,
    /// What other versions have written.
    #[serde(flatten)]
    more: Map<String, Value>,
}

fn active() -> GoalStatus {
    GoalStatus::Active
}

fn usual_turns() -> u64 {
    StandingGoal::USUAL_TURNS
}

impl StandingGoal {
    /// Most turns unless the settings say otherwise.
    pub const USUAL_TURNS: u64 = 20;

    /// A goal that is pursued from now on.
    pub fn new(goal: &str, contract: GoalContract, max_turns: u64) -> Self {
        Self {
            goal: goal.to_owned(),
            status: GoalStatus::Active,
            turns_used: 0,
            max_turns: max_turns.max(1),
            created_at: hermes_session::now(),
            last_turn_at: 0.0,
            last_verdict: None,
            last_reason: None,
            paused_reason: None,
            consecutive_parse_failures: 0,
            consecutive_transport_failures: 0,
            subgoals: Vec::new(),
            waiting_on_pid: None,
            waiting_on_session: None,
            waiting_until: 0.0,
            waiting_reason: None,
            waiting_since: 0.0,
            contract,
            more: Map::new(),
        }
    }

    /// Whether turns follow one another.
    pub fn is_active(&self) -> bool {
        self.status == GoalStatus::Active
    }

    /// Whether the goal may still be pursued.
    pub fn is_open(&self) -> bool {
        matches!(self.status, GoalStatus::Active | GoalStatus::Paused)
    }

    /// Rests until it is resumed.
    pub fn pause(&mut self, reason: &str) {
        self.status = GoalStatus::Paused;
        self.paused_reason = Some(reason.to_owned());
        self.stop_waiting();
    }

    /// Goes on with the whole budget.
    pub fn resume(&mut self) {
        self.status = GoalStatus::Active;
        self.paused_reason = None;
        self.turns_used = 0;
        self.consecutive_parse_failures = 0;
        self.consecutive_transport_failures = 0;
        self.stop_waiting();
    }

    /// What the next turn waits for, if anything.
    pub fn wait(&self) -> Option<GoalWait> {
        if let Some(id) = &self.waiting_on_session {
            return Some(GoalWait::Process(id.clone()));
        }
        if let Some(pid) = self.waiting_on_pid.filter(|pid| *pid > 0) {
            return Some(GoalWait::Pid(pid));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive number of seconds"
        )]
        (self.waiting_until > 0.0).then(|| GoalWait::Until(self.waiting_until.ceil() as u64))
    }

    /// Lets the next turn wait for something.
    pub fn wait_for(&mut self, wait: &GoalWait, reason: &str) {
        self.stop_waiting();
        match wait {
            GoalWait::Pid(pid) => self.waiting_on_pid = Some(*pid),
            GoalWait::Process(id) => self.waiting_on_session = Some(id.clone()),
            #[expect(clippy::cast_precision_loss, reason = "a time of this millennium")]
            GoalWait::Until(at) => self.waiting_until = *at as f64,
        }
        self.waiting_reason = Some(reason.trim().to_owned()).filter(|text| !text.is_empty());
        self.waiting_since = hermes_session::now();
    }

    /// Gives whether anything was waited for.
    pub fn stop_waiting(&mut self) -> bool {
        let was = self.wait().is_some();
        self.waiting_on_pid = None;
        self.waiting_on_session = None;
        self.waiting_until = 0.0;
        self.waiting_reason = None;
        self.waiting_since = 0.0;
        was
    }

    /// The message that the next turn begins with.
    pub fn continuation(&self) -> String {
        let mut text = format!("[The standing goal goes on]\nGoal: {}\n", self.goal);
        if !self.contract.is_empty() {
            text.push_str(&format!(
                "\nIt is reached when this holds:\n{}\n",
                self.contract.lines()
            ));
        }
        if !self.subgoals.is_empty() {
            text.push_str(&format!(
                "\nThis is asked for as well:\n{}\n",
                self.numbered()
            ));
        }
        text.push_str(
            "\nDo the next step towards it. If all of it is reached, say so and show what proves it: \
             output, files, results of tests. If you cannot go on without a person, say what you need \
             and stop.",
        );
        text
    }

    /// The subgoals with their numbers.
    pub fn numbered(&self) -> String {
        let lines: Vec<String> = self
            .subgoals
            .iter()
            .enumerate()
            .map(|(index, text)| format!("{}. {text}", index + 1))
            .collect();
        lines.join("\n")
    }

    /// One line about where the goal stands.
    pub fn summary(&self) -> String {
        let turns = format!("{} of {} turns", self.turns_used, self.max_turns);
        let state = match self.status {
            GoalStatus::Active if self.wait().is_some() => "waiting",
            GoalStatus::Active => "active",
            GoalStatus::Paused => "paused",
            GoalStatus::Done => "reached",
            GoalStatus::Cleared => "given up",
        };
        let why = self.paused_reason.as_ref();
        let why = why.filter(|_| self.status == GoalStatus::Paused);
        let why = why.map_or_else(String::new, |why| format!(", {why}"));
        format!("Goal ({state}, {turns}{why}): {}", self.goal)
    }

    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn goal_of_the_python_runtime_is_read_and_its_fields_are_kept() {
        let text = r#"{"goal": "g", "status": "paused", "turns_used": 3, "max_turns": 20,
            "created_at": 1.5, "last_turn_at": 0.0, "last_verdict": null, "last_reason": null,
            "paused_reason": "p", "consecutive_parse_failures": 0,
            "consecutive_transport_failures": 0, "subgoals": ["a"], "waiting_on_pid": null,
            "waiting_on_session": null, "waiting_until": 0.0, "waiting_reason": null,
            "waiting_since": 0.0, "contract": {"outcome": "", "verification": "v",
            "constraints": "", "boundaries": "", "stop_when": ""}, "later": [1]}"#;
        let goal = StandingGoal::from_json(text).unwrap();
        assert_eq!(goal.status, GoalStatus::Paused);
        assert_eq!(goal.contract.verification, "v");
        let before: Value = serde_json::from_str(text).unwrap();
        let after: Value = serde_json::from_str(&goal.to_json()).unwrap();
        assert_eq!(after, before);
        assert_eq!(goal.summary(), "Goal (paused, 3 of 20 turns, p): g");
        let bare = StandingGoal::from_json(r#"{"goal": "g"}"#).unwrap();
        assert!(bare.is_active());
        assert_eq!(StandingGoal::from_json("{"), None);
    }

    #[test]
    fn continuation_names_all_that_is_asked_for() {
        let (goal, contract) = GoalContract::parse("Port it\nverify: tests pass");
        let mut goal = StandingGoal::new(&goal, contract, 0);
        assert_eq!(goal.max_turns, 1);
        goal.subgoals = vec!["docs".to_owned(), "changelog".to_owned()];
        let text = goal.continuation();
        for part in [
            "Port it",
            "Verification: tests pass",
            "1. docs\n2. changelog",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
