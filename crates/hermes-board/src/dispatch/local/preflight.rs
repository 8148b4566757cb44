//! Whether workers could run at all: asked before one is started, so that a card does not find out by
//! losing its workers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;

use hermes_home::ProfileName;
use hermes_home::profiles::existing;

use crate::Result;
use crate::dispatch::local::launch::{profile_environment, skills_of_worker};
use crate::dispatch::local::{LocalWorkerHost, WorkerSetup};
use crate::model::{Assignee, Obstacle, Status, Task, TaskId};
use crate::plan::Limits;
use crate::store::{BoardStore, Candidate, Snapshot, WaitNote, WaitReason};

/// What a worker is started with, as far as it decides whether the worker can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerNeeds {
    pub profile: ProfileName,
    /// Home of the profile.
    pub home: PathBuf,
    /// Variables of the worker, without those about its card.
    pub environment: Vec<(OsString, OsString)>,
    /// Model instead of the configured one.
    pub model: Option<String>,
    pub skills: Vec<String>,
}

/// What distinguishes workers of one installation.
type Kind<'a> = (&'a str, Option<&'a str>, Vec<&'a str>);

impl LocalWorkerHost<'_> {
    /// What stands in the way of workers of the cards that could get one. Workers that are started
    /// alike are looked at once.
    pub(super) fn obstacles(
        &self,
        board: &Snapshot,
        profiles: &BTreeSet<String>,
        limits: &Limits,
    ) -> HashMap<TaskId, Obstacle> {
        let mut found = HashMap::new();
        if self.setup.preflight.is_none() {
            return found;
        }
        let mut known: BTreeMap<Kind<'_>, Option<Obstacle>> = BTreeMap::new();
        let default = limits.default_assignee.as_ref().map(Assignee::as_str);
        let work = board
            .ready
            .iter()
            .chain(&board.promotable)
            .chain(&board.due);
        let work = work.map(|card| (card, false));
        for (card, review) in work.chain(board.review.iter().map(|card| (card, true))) {
            let Some(kind) = kind_of(card, review, default) else {
                continue;
            };
            if card.has_open_parent || !profiles.contains(kind.0) {
                continue;
            }
            let look = || {
                let (name, model, skills) = &kind;
                self.setup.obstacle(name, *model, skills)
            };
            let obstacle = match known.get(&kind) {
                Some(obstacle) => obstacle,
                None => known.entry(kind.clone()).or_insert_with(look),
            };
            if let Some(obstacle) = obstacle {
                found.insert(card.id.clone(), obstacle.clone());
            }
        }
        found
    }
}

fn kind_of<'a>(card: &'a Candidate, review: bool, default: Option<&'a str>) -> Option<Kind<'a>> {
    let given = card.assignee.as_deref().filter(|name| !name.is_empty());
    // Reviews are not assigned by default.
    let name = given.or(default.filter(|_| !review))?;
    Some((
        name,
        card.model.as_deref(),
        skills_of_worker(&card.skills, review),
    ))
}

impl WorkerSetup {
    /// What stands in the way of a worker of this card; noted on the card. `None` as well for cards
    /// that no worker is started for.
    pub fn check_card(
        &self,
        store: &mut impl BoardStore,
        task: &Task,
        default_assignee: Option<&Assignee>,
    ) -> Result<Option<Obstacle>> {
        let given = task.assignee.as_deref().filter(|name| !name.is_empty());
        let Some(assignee) = given.or(default_assignee.map(Assignee::as_str)) else {
            return Ok(None);
        };
        let profile = ProfileName::parse(assignee).ok();
        if profile.is_none_or(|name| existing(&self.location, &name).is_err()) {
            return Ok(None);
        }
        let skills = task.skills.as_deref().unwrap_or_default();
        let skills = skills_of_worker(skills, task.status() == Status::Review);
        let obstacle = self.obstacle(assignee, task.model_override.as_deref(), &skills);
        if let Some(obstacle) = &obstacle {
            store.note_waiting(&[WaitNote {
                task: task.id.clone(),
                reason: WaitReason::Obstacle {
                    assignee: assignee.to_owned(),
                    obstacle: obstacle.clone(),
                },
            }])?;
        }
        Ok(obstacle)
    }

    fn obstacle(&self, name: &str, model: Option<&str>, skills: &[&str]) -> Option<Obstacle> {
        let preflight = self.preflight.as_ref()?;
        let profile = ProfileName::parse(name).ok()?;
        let environment = profile_environment(self, &profile).into_variables();
        preflight(&WorkerNeeds {
            home: self.location.profile_home(&profile),
            environment: environment.into_iter().collect(),
            model: model.map(str::to_owned),
            skills: skills.iter().map(|skill| (*skill).to_owned()).collect(),
            profile,
        })
    }
}
