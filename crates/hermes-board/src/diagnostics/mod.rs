//! Diagnostics: what is wrong with a card, how severe it is, and what a person can do.
//!
//! A rule examines one card with its events and attempts and changes nothing; a diagnostic disappears
//! with its cause.

mod dispatch_rules;
mod failure_rules;
mod rules;
mod waiting_rules;

use std::collections::HashMap;

use serde::Serialize;
use serde_json::json;

use crate::model::text_enum::text_enum;
use crate::model::{Object, Run, RunId, Task, TaskId};
use crate::plan::{Plan, Verdict};
use crate::sqlite::{History, PastEvent, Suspicion};
use crate::{Result, StoredBoard};

text_enum! {
    /// Severity of a diagnostic.
    Severity {
        /// Worth attention.
        Warning = "warning",
        /// Needs a person.
        Error = "error",
        /// Needs a person now.
        Critical = "critical",
    }
}

text_enum! {
    /// Kind of a diagnostic.
    DiagnosticKind {
        /// A worker named cards that it did not create.
        HallucinatedCards = "hallucinated_cards",
        /// No model can take the card out of triage.
        TriageAuxUnavailable = "triage_aux_unavailable",
        /// A summary names cards that do not exist.
        ProsePhantomRefs = "prose_phantom_refs",
        RepeatedFailures = "repeated_failures",
        RepeatedCrashes = "repeated_crashes",
        StuckInBlocked = "stuck_in_blocked",
        BlockUnblockCycling = "block_unblock_cycling",
        StrandedInReady = "stranded_in_ready",
        /// Nobody is assigned, so that no worker starts.
        UnassignedInReady = "unassigned_in_ready",
        /// Its assignee cannot run as it is configured.
        CannotStart = "cannot_start",
    }
}

/// Something a person can do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Action {
    /// `reclaim`, `reassign`, `unblock`, `comment`, `cli_hint` or `open_docs`.
    pub kind: &'static str,
    pub label: String,
    pub payload: Object,
    /// Whether it is the first thing to try.
    pub suggested: bool,
}

/// One diagnostic.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnostic {
    pub kind: DiagnosticKind,
    pub severity: Severity,
    pub title: String,
    pub detail: String,
    pub actions: Vec<Action>,
    pub first_seen_at: i64,
    pub last_seen_at: i64,
    pub count: i64,
    pub run_id: Option<RunId>,
    pub data: Object,
}

/// Thresholds of the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    /// Failures in a row.
    pub failure_threshold: i64,
    /// Failures after which a card is blocked, for the text.
    pub failure_limit: i64,
    /// Crashes in a row.
    pub crash_threshold: i64,
    pub blocked_stale_hours: i64,
    pub stranded_threshold_seconds: i64,
    /// Blocks after an unblock.
    pub block_cycle_threshold: i64,
    /// Seconds in which those are counted.
    pub block_cycle_window_seconds: i64,
    /// Which models triage has; `None` if that is not known.
    pub triage: Option<TriageModels>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            failure_threshold: 2,
            failure_limit: 2,
            crash_threshold: 2,
            blocked_stale_hours: 24,
            stranded_threshold_seconds: 1800,
            block_cycle_threshold: 3,
            block_cycle_window_seconds: 86_400,
            triage: None,
        }
    }
}

/// Which models can take cards out of triage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent facts of the configuration"
)]
pub struct TriageModels {
    /// Whether cards are split without being asked for.
    pub auto_decompose: bool,
    /// Whether `auxiliary.kanban_decomposer` is configured.
    pub decomposer: bool,
    /// Whether `auxiliary.triage_specifier` is configured.
    pub specifier: bool,
    /// Whether there is a main model, which serves where nothing else is configured.
    pub main_model: bool,
}

/// A card with its history, as rules see it.
pub(crate) struct Case<'a> {
    pub(crate) task: &'a Task,
    /// In order.
    pub(crate) events: &'a [PastEvent],
    /// In order.
    pub(crate) runs: &'a [Run],
    pub(crate) now: i64,
    pub(crate) thresholds: &'a Thresholds,
    /// Why a dispatcher starts no worker now; `None` if it would, or has nothing to do with the card.
    pub(crate) verdict: Option<&'a Verdict>,
}

impl Case<'_> {
    /// A diagnostic of this moment, without text.
    fn diagnostic(&self, kind: DiagnosticKind, severity: Severity) -> Diagnostic {
        Diagnostic {
            kind,
            severity,
            title: String::new(),
            detail: String::new(),
            actions: Vec::new(),
            first_seen_at: self.now,
            last_seen_at: self.now,
            count: 1,
            run_id: None,
            data: Object::new(),
        }
    }
}

/// A card and what is wrong with it, the worst first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CardDiagnostics {
    pub task_id: TaskId,
    pub title: String,
    pub status: String,
    pub assignee: Option<String>,
    pub diagnostics: Vec<Diagnostic>,
}

/// What is wrong with one card, the worst first.
fn diagnose(case: &Case<'_>) -> Vec<Diagnostic> {
    let rules: [fn(&Case<'_>) -> Option<Diagnostic>; 10] = [
        rules::hallucinated_cards,
        rules::triage_aux_unavailable,
        rules::prose_phantom_refs,
        failure_rules::repeated_failures,
        failure_rules::repeated_crashes,
        waiting_rules::stuck_in_blocked,
        waiting_rules::block_unblock_cycling,
        waiting_rules::stranded_in_ready,
        dispatch_rules::unassigned_in_ready,
        dispatch_rules::cannot_start,
    ];
    let mut found: Vec<Diagnostic> = rules.iter().filter_map(|rule| rule(case)).collect();
    found.sort_by_key(|diagnostic| {
        std::cmp::Reverse((diagnostic.severity, diagnostic.last_seen_at))
    });
    found
}

/// What is wrong with the cards of a board, or with one of them; cards without anything are left
/// out, the worst come first. `plan` is what a dispatcher would do now, so that diagnostics and
/// `why` agree.
pub fn diagnose_board(
    board: &StoredBoard,
    only: Option<&TaskId>,
    thresholds: &Thresholds,
    plan: &Plan,
) -> Result<Vec<CardDiagnostics>> {
    let verdicts = Verdicts::of(plan);
    let (now, cases) = board.suspects(only, &verdicts.suspicion(thresholds))?;
    let mut found: Vec<CardDiagnostics> = cases
        .into_iter()
        .map(|(task, history)| CardDiagnostics {
            diagnostics: diagnose(&verdicts.case(&task, &history, now, thresholds)),
            task_id: task.id,
            title: task.title,
            status: task.state.word,
            assignee: task.assignee,
        })
        .filter(|card| !card.diagnostics.is_empty())
        .collect();
    let worst = |card: &CardDiagnostics| {
        card.diagnostics
            .first()
            .map(|diagnostic| (diagnostic.severity, diagnostic.last_seen_at))
    };
    found.sort_by_key(|card| (std::cmp::Reverse(worst(card)), card.task_id.clone()));
    Ok(found)
}

/// What is wrong with cards that were read already, as [`diagnose_board`] finds it; cards without
/// anything are left out.
pub fn diagnose_cards<'t>(
    board: &StoredBoard,
    cards: impl Iterator<Item = &'t Task>,
    thresholds: &Thresholds,
    plan: &Plan,
) -> Result<HashMap<&'t TaskId, Vec<Diagnostic>>> {
    let verdicts = Verdicts::of(plan);
    let (now, cases) = board.suspects_among(cards, &verdicts.suspicion(thresholds))?;
    let found = cases.into_iter().map(|(task, history)| {
        let found = diagnose(&verdicts.case(task, &history, now, thresholds));
        (&task.id, found)
    });
    Ok(found.filter(|(_, found)| !found.is_empty()).collect())
}

/// Why a dispatcher starts no worker, by card.
struct Verdicts<'p> {
    first: HashMap<&'p TaskId, Verdict>,
    in_vain: Vec<TaskId>,
}

impl<'p> Verdicts<'p> {
    fn of(plan: &'p Plan) -> Self {
        let mut first: HashMap<&TaskId, Verdict> = HashMap::new();
        for (id, verdict) in plan.reasons() {
            first.entry(id).or_insert(verdict);
        }
        let in_vain = first
            .iter()
            .filter(|(_, verdict)| {
                matches!(verdict, Verdict::Unassigned | Verdict::CannotStart { .. })
            })
            .map(|(id, _)| (*id).clone())
            .collect();
        Self { first, in_vain }
    }

    fn suspicion(&self, thresholds: &Thresholds) -> Suspicion<'_> {
        Suspicion {
            stranded_seconds: thresholds.stranded_threshold_seconds,
            in_vain: &self.in_vain,
        }
    }

    fn case<'a>(
        &'a self,
        task: &'a Task,
        history: &'a History,
        now: i64,
        thresholds: &'a Thresholds,
    ) -> Case<'a> {
        Case {
            task,
            events: &history.events,
            runs: &history.runs,
            now,
            thresholds,
            verdict: self.first.get(&task.id),
        }
    }
}

impl Action {
    fn plain(kind: &'static str, label: &str) -> Self {
        Self {
            kind,
            label: label.to_owned(),
            payload: Object::new(),
            suggested: false,
        }
    }

    fn command(label: &str, command: String) -> Self {
        let mut payload = Object::new();
        payload.insert("command".to_owned(), json!(command));
        Self {
            kind: "cli_hint",
            label: format!("{label}: {command}"),
            payload,
            suggested: false,
        }
    }

    fn suggested(self) -> Self {
        Self {
            suggested: true,
            ..self
        }
    }

    /// What can be done about any card.
    fn generic(case: &Case<'_>) -> Vec<Self> {
        let running = case.task.status() == crate::model::Status::Running;
        let mut actions = Vec::new();
        if running {
            actions.push(Self::plain("reclaim", "Reclaim the card from its worker"));
        }
        let mut reassign = Self::plain("reassign", "Assign it to another profile");
        reassign
            .payload
            .insert("reclaim_first".to_owned(), json!(running));
        actions.push(reassign);
        actions
    }
}
