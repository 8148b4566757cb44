//! Who asks the board for something, and what an agent may ask for: one rule for the tools of agents
//! and for the command line, which agents can call from their shells.
//!
//! A shell can set, change and empty its variables, so the board's own records come first: a process
//! below a recorded worker is that worker's, whatever its environment says.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hermes_config::{Environment, vars};
use hermes_proc::{agent_shell, ancestors_of_self, command_line, is_same_live_process};

use crate::dispatch::local::{ProcessSpace, WORK_REQUEST, names_card};
use crate::model::{RunId, TaskId};
use crate::sqlite::RecordedWorker;
use crate::store::BoardStore;
use crate::{Error, Result, StoredBoard, WorkerVariables, WorkspaceRules};

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A person, or a program that a person started.
    Person,
    /// An agent that works on no card.
    Agent,
    /// The worker of a card, or something that it started.
    Worker(OwnCard),
}

/// The card of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCard {
    pub task: TaskId,
    /// The attempt, if it is known.
    pub run: Option<RunId>,
}

/// What the environment of a process says about who called it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallerFacts {
    /// The card that variables name.
    pub worker: Option<WorkerVariables>,
    /// Whether an agent asks: it calls a tool, or its shell has started this process.
    pub is_agent: bool,
}

impl CallerFacts {
    /// The facts of a command.
    pub fn of_command(env: &Environment) -> Self {
        Self {
            worker: WorkerVariables::read(env),
            is_agent: agent_shell::caller(env.os(&vars::HERMES_AGENT_SHELL)).is_agent(),
        }
    }

    /// The facts of an agent's tool.
    pub fn of_tool(env: &Environment) -> Self {
        Self {
            worker: WorkerVariables::read(env),
            is_agent: true,
        }
    }
}

impl Caller {
    /// Finds out who asks this process for something on a board, or on none in particular.
    pub fn find(facts: &CallerFacts, board: Option<&StoredBoard>) -> Result<Self> {
        let above = processes_above();
        let found = match board {
            Some(board) => recorded(&above, board.recorded_workers(&above)?),
            None => None,
        };
        let found = found.or_else(|| above.iter().find_map(|pid| worker_by_arguments(*pid)));
        let stated = facts.worker.as_ref().map(|worker| OwnCard {
            task: worker.task.clone(),
            run: worker.run,
        });
        Ok(match (found, stated) {
            // The variables name the attempt that the worker was started for.
            (Some(found), Some(stated)) if found.task == stated.task && stated.run.is_some() => {
                Self::Worker(stated)
            }
            (Some(own), _) | (None, Some(own)) => Self::Worker(own),
            (None, None) if facts.is_agent => Self::Agent,
            (None, None) => Self::Person,
        })
    }

    /// Whether an agent asks.
    pub fn is_agent(&self) -> bool {
        *self != Self::Person
    }

    /// The attempt of a worker at its card.
    pub fn run_of(&self, task: &TaskId) -> Option<RunId> {
        match self {
            Self::Worker(own) if own.task == *task => own.run,
            _ => None,
        }
    }

    /// Refuses a worker that changes another card than its own.
    pub fn may_change(&self, task: &TaskId, action: &'static str) -> Result<()> {
        match self {
            Self::Worker(own) if own.task != *task => Err(Error::ForeignCard {
                own: own.task.clone(),
                asked: task.clone(),
                action,
            }),
            _ => Ok(()),
        }
    }

    /// Refuses a worker that makes cards wait, or wait no longer, which are neither its own nor made
    /// by it.
    pub fn may_link(&self, board: &StoredBoard, child: &TaskId) -> Result<()> {
        match self {
            Self::Worker(own) if !board.is_created_by_worker(&own.task, child)? => {
                self.may_change(child, "change the links of")
            }
            _ => Ok(()),
        }
    }

    /// Refuses workers.
    pub fn may_manage(&self, action: &'static str) -> Result<()> {
        match self {
            Self::Worker(own) => Err(Error::NotForWorkers {
                own: own.task.clone(),
                action,
            }),
            Self::Person | Self::Agent => Ok(()),
        }
    }

    /// Checks the directory that is chosen for the work on a new card. For a card that an agent
    /// creates, gives the one that its workspace must lie in, empty if the agent chose none; see
    /// [`crate::model::Task::filed_within`]. `here` is where an agent without a card works.
    pub fn filed_within(
        &self,
        board: &StoredBoard,
        rules: &WorkspaceRules,
        chosen: Option<&Path>,
        here: Option<&Path>,
    ) -> Result<Option<String>> {
        let own = match self {
            Self::Person => {
                if let Some(chosen) = chosen {
                    rules.check(chosen)?;
                }
                return Ok(None);
            }
            Self::Agent => here.map(Path::to_owned),
            Self::Worker(own) => {
                let card = board.task(&own.task)?;
                card.and_then(|card| card.workspace_path).map(PathBuf::from)
            }
        };
        let Some(chosen) = chosen else {
            return Ok(Some(String::new()));
        };
        let root = rules.root_for_agent(chosen, own.as_deref())?;
        Ok(Some(root.to_string_lossy().into_owned()))
    }

    /// Refuses agents.
    pub fn must_be_person(&self, action: impl Into<String>) -> Result<()> {
        if self.is_agent() {
            return Err(Error::NotForAgents {
                action: action.into(),
            });
        }
        Ok(())
    }
}

/// This process and those it descends from, the nearest first.
fn processes_above() -> Vec<u32> {
    let mut above = vec![std::process::id()];
    above.extend(ancestors_of_self());
    above
}

/// The card of the nearest process that the board has recorded as a worker.
fn recorded(above: &[u32], workers: Vec<RecordedWorker>) -> Option<OwnCard> {
    let space = ProcessSpace::own();
    let is_alive = |worker: &RecordedWorker| match &worker.identity {
        Some(identity) => space
            .process(worker.pid, identity)
            .is_some_and(|process| is_same_live_process(&process)),
        // Another program recorded only the number, which may belong to somebody else by now.
        None => names_card(worker.pid, &worker.task),
    };
    let place = |worker: &RecordedWorker| above.iter().position(|pid| *pid == worker.pid);
    let alive = workers.into_iter().filter(is_alive);
    alive.min_by_key(place).map(|worker| OwnCard {
        task: worker.task,
        run: worker.run,
    })
}

/// The card of a worker, as its arguments name it. Those of a worker stay when its card is done, and
/// no child can change them.
fn worker_by_arguments(pid: u32) -> Option<OwnCard> {
    card_in_arguments(&command_line(pid)?)
}

fn card_in_arguments(words: &[OsString]) -> Option<OwnCard> {
    let asked = words
        .iter()
        .zip(words.iter().skip(1))
        .filter(|(option, _)| *option == "-q")
        .find_map(|(_, text)| text.to_str()?.strip_prefix(WORK_REQUEST))?;
    Some(OwnCard {
        task: TaskId::from(asked.trim()),
        run: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BoardOptions;
    use crate::boards::{Board, BoardSlug};
    use crate::model::WorkerIdentity;
    use crate::store::{Applied, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, NewTask};
    use pretty_assertions::assert_eq;

    fn worker(task: &str) -> Caller {
        Caller::Worker(OwnCard {
            task: TaskId::new(task),
            run: Some(RunId(7)),
        })
    }

    #[test]
    fn worker_changes_only_its_own_card() {
        let own = TaskId::new("t_own");
        let other = TaskId::new("t_other");
        let caller = worker("t_own");
        assert!(caller.may_change(&own, "complete").is_ok());
        let refused = caller.may_change(&other, "complete").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "this worker belongs to card t_own and cannot complete card t_other"
        );
        assert!(refused.hint().is_some());
        assert_eq!(caller.run_of(&own), Some(RunId(7)));
        assert_eq!(caller.run_of(&other), None);
        assert!(caller.may_manage("archive cards").is_err());
        assert!(caller.must_be_person("remove checks").is_err());
        for other_caller in [Caller::Person, Caller::Agent] {
            assert!(other_caller.may_change(&other, "complete").is_ok());
            assert!(other_caller.may_manage("archive cards").is_ok());
        }
        assert!(Caller::Agent.must_be_person("remove checks").is_err());
        assert!(Caller::Person.must_be_person("remove checks").is_ok());
    }

    /// A worker of a program that takes its card another way has no arguments that name it, and its
    /// shell can state any card or none: what the board has recorded counts.
    #[test]
    fn recorded_worker_is_known_whatever_its_variables_say() {
        let dir = tempfile::tempdir().unwrap();
        let board = Board::below(dir.path(), &BoardSlug::default_board());
        let mut board = StoredBoard::open(&board, &BoardOptions::default()).unwrap();
        let mut claimed = |title: &str| {
            let task = board.create(&NewTask::titled(title)).unwrap().task.id;
            let request = ClaimRequest {
                task: task.clone(),
                lock: "h:1".to_owned(),
                ttl_seconds: 900,
                from: ClaimFrom::Ready,
                dispatcher: None,
                host: None,
                caps: ClaimCaps::default(),
            };
            match board.claim(&request).unwrap() {
                ClaimOutcome::Claimed(claimed) => (task, claimed.run),
                other => panic!("{other:?}"),
            }
        };
        let ((own, run), (other, _)) = (claimed("own"), claimed("other"));
        let variables = [("HERMES_KANBAN_TASK", other.as_str())];
        let forged = CallerFacts::of_command(&Environment::from_pairs(variables));
        let space = ProcessSpace::own();
        let this = hermes_proc::identity_of(std::process::id()).unwrap();
        let mut recorded = space.record(&this);
        let record = |board: &mut StoredBoard, identity: &WorkerIdentity| {
            let applied = board.record_spawned(&own, run, this.pid, Some(identity));
            assert_eq!(applied.unwrap(), Applied::Yes);
        };
        record(&mut board, &recorded);
        let worker = Caller::Worker(OwnCard {
            task: own.clone(),
            run: Some(run),
        });
        for facts in [CallerFacts::default(), forged] {
            assert_eq!(Caller::find(&facts, Some(&board)).unwrap(), worker);
        }
        // A process that has the number of a worker that ended.
        recorded.start += 1;
        record(&mut board, &recorded);
        let found = Caller::find(&CallerFacts::default(), Some(&board)).unwrap();
        assert_eq!(found, Caller::Person);
    }

    #[test]
    fn arguments_of_a_worker_name_its_card() {
        let words = |text: &[&str]| text.iter().map(OsString::from).collect::<Vec<_>>();
        let task = |text: &[&str]| card_in_arguments(&words(text)).map(|own| own.task);
        let worker = ["hermes", "-p", "a", "chat", "-q", "work kanban task t_1"];
        assert_eq!(task(&worker), Some(TaskId::new("t_1")));
        assert_eq!(task(&["grep", "work kanban task t_1"]), None);
        assert_eq!(task(&["hermes", "chat", "-q", "hello"]), None);
    }

    #[test]
    fn mark_makes_an_agent_and_variables_a_worker() {
        let facts = |pairs: &[(&str, &str)]| {
            CallerFacts::of_command(&Environment::from_pairs(pairs.iter().copied()))
        };
        let find = |facts: &CallerFacts| Caller::find(facts, None).unwrap();
        assert_eq!(find(&facts(&[])), Caller::Person);
        let marked = facts(&[("HERMES_AGENT_SHELL", "1")]);
        assert_eq!(find(&marked), Caller::Agent);
        let of_worker = facts(&[
            ("HERMES_AGENT_SHELL", "1"),
            ("HERMES_KANBAN_TASK", "t_own"),
            ("HERMES_KANBAN_RUN_ID", "7"),
        ]);
        assert_eq!(find(&of_worker), worker("t_own"));
        let tool = CallerFacts::of_tool(&Environment::from_pairs([("A", "b")]));
        assert_eq!(find(&tool), Caller::Agent);
    }
}
