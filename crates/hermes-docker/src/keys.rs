//! Which sandbox a conversation uses.
//!
//! Nearly all share one. A task with an image or backend of its own is apart; so is each conversation
//! where the settings say so. A directory of its own is no reason: directories are kept per session.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::plan::SandboxRequest;
use super::settings::Isolation;
use super::workdir::RequestedDirectory;

/// The sandbox that is shared.
pub const SHARED: &str = "default";

/// What a task has of its own. Set by code, never by a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskOverride {
    /// `docker_image`.
    pub docker_image: Option<String>,
    /// `modal_image`.
    pub modal_image: Option<String>,
    /// `singularity_image`.
    pub singularity_image: Option<String>,
    /// `daytona_image`.
    pub daytona_image: Option<String>,
    /// `env_type`.
    pub env_type: Option<String>,
    /// Where it starts.
    pub cwd: Option<RequestedDirectory>,
}

impl TaskOverride {
    fn isolates(&self) -> bool {
        let Self {
            docker_image,
            modal_image,
            singularity_image,
            daytona_image,
            env_type,
            cwd: _,
        } = self;
        [
            docker_image,
            modal_image,
            singularity_image,
            daytona_image,
            env_type,
        ]
        .iter()
        .any(|value| value.is_some())
    }
}

/// The overrides of this process.
#[derive(Debug, Default)]
pub struct TaskOverrides {
    of: Mutex<BTreeMap<String, TaskOverride>>,
}

impl TaskOverrides {
    /// Gives a task something of its own.
    pub fn register(&self, task: &str, own: TaskOverride) {
        self.lock().insert(task.to_owned(), own);
    }

    /// Takes it away again.
    pub fn clear(&self, task: &str) {
        self.lock().remove(task);
    }

    /// The key of the sandbox of a task. `top_session` is the conversation it belongs to, that of the
    /// parent for a sub-agent.
    pub fn key(&self, task: &str, top_session: Option<&str>, isolation: Isolation) -> String {
        if self.lock().get(task).is_some_and(TaskOverride::isolates) {
            return task.to_owned();
        }
        match (isolation, top_session) {
            (Isolation::Session, Some(session)) => format!("session-{session}"),
            _ => SHARED.to_owned(),
        }
    }

    /// What to ask for: the sandbox of a task, with what the task, or else its key, has of its own.
    pub fn request(
        &self,
        task: &str,
        top_session: Option<&str>,
        isolation: Isolation,
    ) -> SandboxRequest {
        let key = self.key(task, top_session, isolation);
        let of = self.lock();
        let own = of
            .get(task)
            .or_else(|| of.get(&key))
            .cloned()
            .unwrap_or_default();
        SandboxRequest {
            image: own.docker_image,
            directory: own.cwd,
            ..SandboxRequest::of(key)
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, TaskOverride>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_an_image_or_a_backend_sets_a_task_apart() {
        let overrides = TaskOverrides::default();
        let key = |task: &str| overrides.key(task, Some("s1"), Isolation::Shared);
        assert_eq!(key("any"), "default");
        overrides.register(
            "cwd-only",
            TaskOverride {
                cwd: Some(RequestedDirectory::Recorded("/srv".to_owned())),
                ..TaskOverride::default()
            },
        );
        assert_eq!(key("cwd-only"), "default");
        let request = overrides.request("cwd-only", None, Isolation::Shared);
        assert_eq!(request.task, "default");
        assert!(request.directory.is_some());
        for own in [
            TaskOverride {
                docker_image: Some("x".to_owned()),
                ..TaskOverride::default()
            },
            TaskOverride {
                env_type: Some("docker".to_owned()),
                ..TaskOverride::default()
            },
        ] {
            overrides.register("apart", own);
            assert_eq!(key("apart"), "apart");
        }
        overrides.clear("apart");
        assert_eq!(key("apart"), "default");
    }

    #[test]
    fn conversations_can_be_kept_apart() {
        let overrides = TaskOverrides::default();
        let key = |session| overrides.key("t", session, Isolation::Session);
        assert_eq!(key(Some("abc")), "session-abc");
        assert_eq!(key(None), "default");
        overrides.register(
            "t",
            TaskOverride {
                docker_image: Some("img".to_owned()),
                ..TaskOverride::default()
            },
        );
        let request = overrides.request("t", Some("abc"), Isolation::Session);
        assert_eq!(
            (request.task.as_str(), request.image.as_deref()),
            ("t", Some("img"))
        );
    }
}
