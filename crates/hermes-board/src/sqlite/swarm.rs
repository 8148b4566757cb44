//! A swarm: parallel workers, a verifier and a synthesizer, created in one transaction.

use hermes_text::cut;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::{Assignee, SkillList, TaskId, object};
use crate::sqlite::StoredBoard;
use crate::sqlite::transaction::{Transaction, with};
use crate::store::{Completion, NewTask};
use crate::{Error, Result};

/// Before every fact on the blackboard.
const BLACKBOARD: &str = "[swarm:blackboard] ";
/// Longest part of a goal in a title.
const GOAL_IN_TITLE: usize = 80;

/// A swarm to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSwarm {
    pub goal: String,
    pub workers: Vec<SwarmWorker>,
    pub verifier: SwarmRole,
    pub synthesizer: SwarmRole,
    pub tenant: Option<String>,
    pub priority: i64,
    /// Who creates the swarm; the root card is assigned to them.
    pub created_by: Assignee,
    /// A second request with the same key returns the first swarm.
    pub idempotency_key: Option<String>,
}

/// One of the parallel workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwarmWorker {
    pub profile: Assignee,
    pub title: String,
    pub skills: SkillList,
}

/// A role after the workers. A skill must exist in the profile: a missing one would stop the worker
/// at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwarmRole {
    pub profile: Assignee,
    pub skills: SkillList,
}

/// The cards of a swarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swarm {
    /// The root card, with the blackboard.
    pub root_id: TaskId,
    pub worker_ids: Vec<TaskId>,
    pub verifier_id: TaskId,
    pub synthesizer_id: TaskId,
}

impl NewSwarm {
    fn part(&self, profile: &Assignee, title: &str) -> NewTask {
        NewTask {
            assignee: Some(profile.clone()),
            created_by: Some(self.created_by.as_str().to_owned()),
            tenant: self.tenant.clone(),
            priority: self.priority,
            ..NewTask::titled(title)
        }
    }
}

impl StoredBoard {
    /// Creates a swarm, or returns the one with the same key.
    pub fn create_swarm(&mut self, new: &NewSwarm) -> Result<Swarm> {
        let goal = new.goal.trim();
        if goal.is_empty() {
            return Err(Error::Blank {
                what: "the goal of a swarm",
            });
        }
        if new.workers.is_empty() {
            return Err(Error::BadRequest(
                "a swarm needs at least one worker".to_owned(),
            ));
        }
        if new
            .workers
            .iter()
            .any(|worker| worker.title.trim().is_empty())
        {
            return Err(Error::Blank {
                what: "the title of a worker's card",
            });
        }
        self.write(|tx| tx.create_swarm(new, goal))
    }
}

impl Transaction<'_> {
    fn create_swarm(&self, new: &NewSwarm, goal: &str) -> Result<Swarm> {
        let first_line = goal.lines().next().unwrap_or(goal);
        let root = self.create(
            &NewTask {
                body: Some(format!(
                    "The root card of a swarm. It is done from the start, so that its workers can \
                     begin, and remains as their blackboard.\n\nGoal:\n{goal}"
                )),
                idempotency_key: new.idempotency_key.clone(),
                ..new.part(
                    &new.created_by,
                    &format!("Swarm: {}", cut(first_line, GOAL_IN_TITLE)),
                )
            },
            None,
        )?;
        let root_id = root.task.id.clone();
        if root.existed {
            return self.known_swarm(&root_id);
        }
        let planned = Completion {
            summary: Some("The swarm is planned; this card remains as its blackboard.".to_owned()),
            metadata: Some(object(json!({
                "kind": "kanban_swarm_v1",
                "goal": goal,
                "worker_count": new.workers.len(),
            }))),
            ..Completion::default()
        };
        self.mark_done(root.task, &planned, &[])?;
        let swarm = self.create_roles(new, goal, root_id)?;
        let mut topology = json!(swarm);
        topology["goal"] = json!(goal);
        self.post(
            &swarm.root_id,
            new.created_by.as_str(),
            "topology",
            &topology,
        )?;
        Ok(swarm)
    }

    fn create_roles(&self, new: &NewSwarm, goal: &str, root_id: TaskId) -> Result<Swarm> {
        let protocol = protocol(&root_id, goal);
        let mut worker_ids = Vec::with_capacity(new.workers.len());
        for worker in &new.workers {
            let card = NewTask {
                body: Some(format!("{}{protocol}", worker.title.trim())),
                parents: vec![root_id.clone()],
                skills: Some(worker.skills.clone()).filter(|skills| !skills.names().is_empty()),
                ..new.part(&worker.profile, &worker.title)
            };
            worker_ids.push(self.create(&card, None)?.task.id);
        }
        let role = |role: &SwarmRole, title: &str, body: &str, parents: Vec<TaskId>| {
            let card = NewTask {
                body: Some(format!("{body}{protocol}")),
                parents,
                skills: Some(role.skills.clone()).filter(|skills| !skills.names().is_empty()),
                ..new.part(&role.profile, title)
            };
            self.create(&card, None).map(|created| created.task.id)
        };
        let verifier_id = role(
            &new.verifier,
            "Verify swarm outputs",
            "Review the results of every worker and the blackboard. Complete this card with \
             the metadata {\"gate\": \"pass\"} only if the evidence suffices; otherwise block it and \
             name exactly what is missing.",
            worker_ids.clone(),
        )?;
        let synthesizer_id = role(
            &new.synthesizer,
            "Synthesize swarm outputs",
            "Combine the verified results into the final deliverable. Do not begin before the \
             verification has passed.",
            vec![verifier_id.clone()],
        )?;
        Ok(Swarm {
            root_id,
            worker_ids,
            verifier_id,
            synthesizer_id,
        })
    }

    /// The swarm that was created before under the same key, as its blackboard has it.
    fn known_swarm(&self, root: &TaskId) -> Result<Swarm> {
        let mut topology = Value::Null;
        for comment in self.comments(root)? {
            let fact = comment.body.strip_prefix(BLACKBOARD);
            let fact: Option<Value> = fact.and_then(|text| serde_json::from_str(text).ok());
            if let Some(mut fact) = fact.filter(|fact| fact["key"] == "topology") {
                topology = fact["value"].take();
            }
        }
        let topology = with(topology, "root_id", Some(root.as_str()));
        match serde_json::from_value::<Swarm>(topology) {
            Ok(swarm) if !swarm.worker_ids.is_empty() => Ok(swarm),
            _ => Err(Error::BadRequest(format!(
                "the key belongs to {root}, which is not the card of a swarm"
            ))),
        }
    }

    /// Puts a fact on the blackboard.
    fn post(&self, root: &TaskId, author: &str, key: &str, value: &Value) -> Result<i64> {
        let fact = json!({"key": key, "value": value});
        self.comment(root, author, &format!("{BLACKBOARD}{fact}"))
    }
}

fn protocol(root: &TaskId, goal: &str) -> String {
    format!(
        "\n\n## Swarm protocol\n\
         - The root card of the swarm, with its blackboard: `{root}`.\n\
         - Before you begin, read the results of the cards before this one.\n\
         - Put facts for programs into the metadata of your completion.\n\
         - Put notes for the other workers on the root card, as comments of the form \
         `{BLACKBOARD}{{\"key\": …, \"value\": …}}`.\n\
         - Goal: {goal}\n"
    )
}
