//! The snapshots of one conversation: one of each directory before the changes of a step, and a line
//! for the person when one could not be taken.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::history::{Snapshot, SnapshotDiff};
use crate::restore::Restored;
use crate::{Boundaries, Error, Limits, Project, Result, Store};

/// Shows a sentence, perhaps with advice.
pub type Notify = dyn Fn(&str, Option<&str>) + Send + Sync;

/// The snapshots of a conversation.
pub struct Checkpoints {
    shared: Arc<Shared>,
    /// Directories that need no further snapshot in this step.
    done: Mutex<HashSet<PathBuf>>,
}

struct Shared {
    store: Store,
    limits: Limits,
    boundaries: Boundaries,
    /// The directory of this machine that all changes are made in, if they are made through a container.
    mounted: Option<PathBuf>,
    notify: Box<Notify>,
    /// Projects of this conversation.
    touched: Mutex<Vec<Project>>,
    /// What the person was told already.
    told: Mutex<HashSet<String>>,
}

impl Checkpoints {
    /// Those of a new conversation. `mounted` is the directory of this machine that a container works
    /// in: paths of calls are its own then.
    pub fn new(
        store: Store,
        limits: Limits,
        boundaries: Boundaries,
        mounted: Option<PathBuf>,
        notify: Box<Notify>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                limits,
                boundaries,
                mounted,
                notify,
                touched: Mutex::default(),
                told: Mutex::default(),
            }),
            done: Mutex::default(),
        }
    }

    /// For a sub-agent, whose steps are its own.
    #[must_use]
    pub fn of_child(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            done: Mutex::default(),
        }
    }

    /// Lets the next change be preceded by a snapshot again.
    pub fn begin_step(&self) {
        locked(&self.done).clear();
    }

    /// Takes a snapshot of the project around a path, unless this step has one. What goes wrong is told
    /// the person once, and stops nothing.
    pub fn before_change(&self, path: &Path, reason: &str) {
        let shared = &self.shared;
        let path = shared.mounted.as_deref().unwrap_or(path);
        let project = match shared.boundaries.project_around(path) {
            Ok(project) => project,
            Err(error) => return shared.tell(&error),
        };
        // Held while the snapshot is taken: a call beside this one must not go ahead of it.
        let mut done = locked(&self.done);
        if !done.insert(project.directory().to_owned()) {
            return;
        }
        if let Err(error) = shared.store.take(&project, reason, &shared.limits) {
            return shared.tell(&error);
        }
        let mut touched = locked(&shared.touched);
        if !touched.contains(&project) {
            touched.push(project);
        }
    }

    /// The snapshots that can be gone back to from a directory, newest first: those of the project
    /// around it, of the directory itself, and of other projects of this conversation.
    pub fn list(&self, cwd: &Path) -> Result<Vec<Snapshot>> {
        let shared = &self.shared;
        let cwd = shared.mounted.as_deref().unwrap_or(cwd);
        let around = shared.boundaries.project_around(cwd);
        let itself = shared.boundaries.project(cwd);
        let mut projects: Vec<Project> = [around, itself].into_iter().flatten().collect();
        projects.extend(locked(&shared.touched).iter().cloned());
        let mut seen = HashSet::new();
        projects.retain(|project| seen.insert(project.id().to_owned()));
        let mut snapshots = Vec::new();
        for project in &projects {
            snapshots.extend(shared.store.list(project, shared.limits.max_snapshots)?);
        }
        // Stable: those of one second stay in the order of their project.
        snapshots.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.time));
        Ok(snapshots)
    }

    /// What has changed since a snapshot.
    pub fn diff(&self, snapshot: &Snapshot) -> Result<SnapshotDiff> {
        let project = Project::of(&snapshot.directory);
        let shared = &self.shared;
        shared.store.diff(&project, &snapshot.id, &shared.limits)
    }

    /// Restores a snapshot, or one path of it. A relative path starts at `cwd`.
    pub fn restore(&self, snapshot: &Snapshot, path: Option<&str>, cwd: &Path) -> Result<Restored> {
        let project = Project::of(&snapshot.directory);
        let shared = &self.shared;
        let cwd = shared.mounted.as_deref().unwrap_or(cwd);
        let path = path.map(|path| (path, cwd));
        let store = &shared.store;
        store.restore(&project, &snapshot.id, path, &shared.limits)
    }
}

impl Shared {
    fn tell(&self, error: &Error) {
        let message = format!("No snapshot before this change: {error}");
        if locked(&self.told).insert(message.clone()) {
            (self.notify)(&message, error.hint().as_deref());
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
