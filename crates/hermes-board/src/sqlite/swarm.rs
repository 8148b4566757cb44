//! A swarm: workers in parallel, one who verifies, one who puts it together, made in one go.

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::{Assignee, Object, SkillList, TaskId};
use crate::shown::cut;
use crate::sqlite::SqliteBoard;
use crate::sqlite::session::Session;
use crate::store::{Completion, NewTask};
use crate::{Error, Result};

/// Before every fact on the blackboard.
const BLACKBOARD: &str = "[swarm:blackboard] ";
/// Longest part of a goal in a title.
const GOAL_IN_TITLE: usize = 80;

/// A swarm to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSwarm {
    /// What is to be reached.
    pub goal: String,
    /// Who works in parallel.
    pub workers: Vec<SwarmWorker>,
    /// Who verifies.
    pub verifier: SwarmRole,
    /// Who puts it together.
    pub synthesizer: SwarmRole,
    /// Namespace inside the board.
    pub tenant: Option<String>,
    /// Higher goes first.
    pub priority: i64,
    /// Who makes it; the card of the whole is given to them.
    pub created_by: Assignee,
    /// The same key again gives the swarm that has it.
    pub idempotency_key: Option<String>,
}

/// One of the parallel workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwarmWorker {
    /// Profile.
    pub profile: Assignee,
    /// One line.
    pub title: String,
    /// Skills.
    pub skills: SkillList,
}

/// A role behind the workers. A skill belongs here only if the profile has it: a missing one would
/// stop the worker at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwarmRole {
    /// Profile.
    pub profile: Assignee,
    /// Skills.
    pub skills: SkillList,
}

/// The cards of a swarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Swarm {
    /// The whole, and the blackboard.
    pub root_id: TaskId,
    /// The parallel workers.
    pub worker_ids: Vec<TaskId>,
    /// Who verifies.
    pub verifier_id: TaskId,
    /// Who puts it together.
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

impl SqliteBoard {
    /// Makes a swarm, or gives the one with the same key.
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
        self.write(|session| session.create_swarm(new, goal))
    }

    /// What the comments of a swarm's card have put on its blackboard; later ones win.
    pub fn blackboard(&self, root: &TaskId) -> Result<Object> {
        self.read(|session| session.blackboard(root))
    }

    /// Puts a fact on the blackboard of a swarm.
    pub fn post_blackboard(
        &mut self,
        root: &TaskId,
        author: &str,
        key: &str,
        value: &Value,
    ) -> Result<i64> {
        for (what, text) in [("the author", author), ("the key", key)] {
            if text.trim().is_empty() {
                return Err(Error::Blank { what });
            }
        }
        self.write(|session| {
            session.must_exist(root)?;
            session.post(root, author.trim(), key.trim(), value)
        })
    }
}

impl Session<'_> {
    fn create_swarm(&self, new: &NewSwarm, goal: &str) -> Result<Swarm> {
        let first_line = goal.lines().next().unwrap_or(goal);
        let root = self.file(
            &NewTask {
                body: Some(format!(
                    "The card of a whole swarm. It is done from the start, so that its workers can \
                     begin, and stays as their blackboard.\n\nGoal:\n{goal}"
                )),
                idempotency_key: new.idempotency_key.clone(),
                ..new.part(
                    &new.created_by,
                    &format!("Swarm: {}", cut(first_line, GOAL_IN_TITLE)),
                )
            },
            None,
        )?;
        let root_id = root.task.id;
        if root.existed {
            return self.known_swarm(&root_id);
        }
        let planned = Completion {
            summary: Some("The swarm is planned; this card remains as its blackboard.".to_owned()),
            metadata: Some(super::failure::object(json!({
                "kind": "kanban_swarm_v1",
                "goal": goal,
                "worker_count": new.workers.len(),
            }))),
            ..Completion::default()
        };
        self.complete(&root_id, None, &planned, &[])?;
        let swarm = self.file_roles(new, goal, root_id)?;
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

    fn file_roles(&self, new: &NewSwarm, goal: &str, root_id: TaskId) -> Result<Swarm> {
        let protocol = protocol(&root_id, goal);
        let mut worker_ids = Vec::with_capacity(new.workers.len());
        for worker in &new.workers {
            let card = NewTask {
                body: Some(format!("{}{protocol}", worker.title.trim())),
                parents: vec![root_id.clone()],
                skills: Some(worker.skills.clone()).filter(|skills| !skills.names().is_empty()),
                ..new.part(&worker.profile, &worker.title)
            };
            worker_ids.push(self.file(&card, None)?.task.id);
        }
        let role = |role: &SwarmRole, title: &str, body: &str, parents: Vec<TaskId>| {
            let card = NewTask {
                body: Some(format!("{body}{protocol}")),
                parents,
                skills: Some(role.skills.clone()).filter(|skills| !skills.names().is_empty()),
                ..new.part(&role.profile, title)
            };
            self.file(&card, None).map(|filed| filed.task.id)
        };
        let verifier_id = role(
            &new.verifier,
            "Verify swarm outputs",
            "Look at what every worker handed over and at the blackboard. Complete this card with \
             the metadata {\"gate\": \"pass\"} only if the evidence is enough; otherwise block it \
             and name exactly what is missing.",
            worker_ids.clone(),
        )?;
        let synthesizer_id = role(
            &new.synthesizer,
            "Synthesize swarm outputs",
            "Put the verified results together into the final deliverable. Do not begin before the \
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

    /// The swarm of a card that was filed before under the same key.
    fn known_swarm(&self, root: &TaskId) -> Result<Swarm> {
        let board = self.blackboard(root)?;
        let topology = board.get("topology");
        let id = |key: &str| {
            topology
                .and_then(|topology| topology[key].as_str())
                .map(TaskId::from)
        };
        let workers: Vec<TaskId> = topology
            .and_then(|topology| topology["worker_ids"].as_array())
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(TaskId::from)
            .collect();
        match (id("verifier_id"), id("synthesizer_id")) {
            (Some(verifier_id), Some(synthesizer_id)) if !workers.is_empty() => Ok(Swarm {
                root_id: root.clone(),
                worker_ids: workers,
                verifier_id,
                synthesizer_id,
            }),
            _ => Err(Error::BadRequest(format!(
                "the key belongs to {root}, which is not the card of a swarm"
            ))),
        }
    }

    fn blackboard(&self, root: &TaskId) -> Result<Object> {
        let mut merged = Object::new();
        let mut authors = Object::new();
        for comment in self.comments(root)? {
            let Some(text) = comment.body.strip_prefix(BLACKBOARD) else {
                continue;
            };
            let Ok(Value::Object(mut fact)) = serde_json::from_str(text) else {
                continue;
            };
            let Some(Value::String(key)) = fact.remove("key").filter(|key| *key != "") else {
                continue;
            };
            authors.insert(key.clone(), Value::from(comment.author));
            merged.insert(key, fact.remove("value").unwrap_or_default());
        }
        if !authors.is_empty() {
            merged.insert("_authors".to_owned(), Value::Object(authors));
        }
        Ok(merged)
    }

    fn post(&self, root: &TaskId, author: &str, key: &str, value: &Value) -> Result<i64> {
        let fact = json!({"key": key, "value": value});
        self.comment(root, author, &format!("{BLACKBOARD}{fact}"))
    }
}

fn protocol(root: &TaskId, goal: &str) -> String {
    format!(
        "\n\n## Swarm protocol\n\
         - The card of the swarm and its blackboard: `{root}`.\n\
         - Read what cards before this one handed over before you begin.\n\
         - Put facts for machines into the metadata of your completion.\n\
         - Put notes for the others on the swarm's card, as comments of the form \
         `{BLACKBOARD}{{\"key\": …, \"value\": …}}`.\n\
         - Goal: {goal}\n"
    )
}
