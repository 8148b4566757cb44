//! The variables by which a dispatcher tells a worker about its card. `dispatch::local::launch` sets
//! them, [`WorkerVariables::read`] is the one reader.

use std::path::PathBuf;

use hermes_config::{Environment, vars};

use crate::model::{RunId, TaskId};

/// What a process knows about the card it works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerVariables {
    pub task: TaskId,
    /// The attempt; `None` for a worker of a program that names none.
    pub run: Option<RunId>,
    pub claim_lock: Option<String>,
    pub workspace: Option<PathBuf>,
    /// Whether the worker goes on until a judge finds the goal reached.
    pub goal_mode: bool,
    pub goal_max_turns: Option<u64>,
    /// Whether the worker is reminded of a card that it leaves open.
    pub reminders: bool,
}

impl WorkerVariables {
    /// The card of this process; `None` if the process is no worker.
    pub fn read(env: &Environment) -> Option<Self> {
        let text = |var| env.text(var).map(str::trim);
        let off = ["0", "false", "no", "off"];
        let is_off = |word: &str| off.iter().any(|off| word.eq_ignore_ascii_case(off));
        Some(Self {
            task: TaskId::from(text(&vars::HERMES_KANBAN_TASK)?),
            run: text(&vars::HERMES_KANBAN_RUN_ID)
                .and_then(|run| run.parse().ok())
                .map(RunId),
            claim_lock: text(&vars::HERMES_KANBAN_CLAIM_LOCK).map(str::to_owned),
            workspace: env.os(&vars::HERMES_KANBAN_WORKSPACE).map(PathBuf::from),
            goal_mode: env.flag(&vars::HERMES_KANBAN_GOAL_MODE),
            goal_max_turns: text(&vars::HERMES_KANBAN_GOAL_MAX_TURNS)
                .and_then(|turns| turns.parse().ok())
                .filter(|turns| *turns > 0),
            reminders: !text(&vars::HERMES_KANBAN_STOP_NUDGE).is_some_and(is_off),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn read(pairs: &[(&str, &str)]) -> Option<WorkerVariables> {
        WorkerVariables::read(&Environment::from_pairs(pairs.iter().copied()))
    }

    #[test]
    fn only_a_process_with_a_card_is_a_worker() {
        assert_eq!(read(&[("HERMES_KANBAN_RUN_ID", "7")]), None);
        assert_eq!(read(&[("HERMES_KANBAN_TASK", "  ")]), None);
        let worker = read(&[("HERMES_KANBAN_TASK", "t_1"), ("HERMES_KANBAN_RUN_ID", "7")]).unwrap();
        assert_eq!((worker.task.as_str(), worker.run), ("t_1", Some(RunId(7))));
        assert!(worker.reminders && !worker.goal_mode);
    }

    #[test]
    fn malformed_numbers_count_as_unset() {
        let worker = read(&[
            ("HERMES_KANBAN_TASK", "t_1"),
            ("HERMES_KANBAN_RUN_ID", "seven"),
            ("HERMES_KANBAN_GOAL_MODE", "1"),
            ("HERMES_KANBAN_GOAL_MAX_TURNS", "0"),
            ("HERMES_KANBAN_STOP_NUDGE", "OFF"),
        ])
        .unwrap();
        assert_eq!((worker.run, worker.goal_max_turns), (None, None));
        assert!(worker.goal_mode && !worker.reminders);
    }
}
