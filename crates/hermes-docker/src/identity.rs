//! Which sandbox is meant: a task of a profile in a home.
//!
//! Decides whether a container found by its labels is that sandbox. A container of another home is
//! never ours, whatever its task and profile are called.

use std::path::{Path, PathBuf};

use super::inspect::ContainerFacts;
use super::labels;

/// What a sandbox is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxIdentity {
    pub task: String,
    /// Name of the profile: `default`, its name, or `custom`.
    pub profile: String,
    /// Which home, as in the label.
    pub home_key: String,
    /// The directory bound at `/workspace` because it is the current one. Each such directory has a
    /// sandbox of its own: whoever starts Hermes in one project must not work in another.
    pub bound_directory: Option<PathBuf>,
}

/// Whose container it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HomeOf {
    This,
    Other,
    /// Nothing about it tells.
    Unknown,
}

impl SandboxIdentity {
    /// The sanitized task id: label and directory name.
    pub fn task_label(&self) -> String {
        labels::sanitize(&self.task)
    }

    /// The sanitized profile.
    pub fn profile_label(&self) -> String {
        labels::sanitize(&self.profile)
    }

    /// The name of the container that several processes share: the same for all of them, so that
    /// only one can make it.
    pub fn shared_name(&self) -> String {
        let mut text = format!("{}\0{}\0{}", self.home_key, self.profile, self.task).into_bytes();
        if let Some(directory) = &self.bound_directory {
            text.push(0);
            text.extend_from_slice(directory.as_os_str().as_encoded_bytes());
        }
        format!("hermes-{}", labels::short_hash(&text, 8))
    }

    /// A name that nobody else has.
    pub fn random_name() -> String {
        format!("hermes-{}", hermes_fs::random_hex(8))
    }

    /// Whether this container is the sandbox meant. `sandbox_dir` is where the engine sees this
    /// home's sandboxes.
    pub fn is_meant_by(&self, facts: &ContainerFacts, sandbox_dir: &Path) -> bool {
        let same_task = match facts.label(labels::TASK_KEY) {
            Some(key) => key == labels::task_key(&self.task),
            None => true,
        };
        // One that a process keeps to itself goes with that process.
        let is_shared = facts.label(labels::OWNER).is_none();
        same_task
            && is_shared
            && home_of(facts, &self.home_key, sandbox_dir) == HomeOf::This
            && self.has_same_workspace(facts)
    }

    fn has_same_workspace(&self, facts: &ContainerFacts) -> bool {
        match &self.bound_directory {
            Some(directory) => facts.bind_source("/workspace") == Some(directory.as_path()),
            None => true,
        }
    }
}

/// Whose home a container belongs to. Those of the reference carry no label; the path of their
/// files tells.
pub(crate) fn home_of(facts: &ContainerFacts, home_key: &str, sandbox_dir: &Path) -> HomeOf {
    match facts.label(labels::HOME) {
        Some(label) if label == home_key => HomeOf::This,
        Some(_) => HomeOf::Other,
        None => match facts.bind_source("/root") {
            Some(source) if lies_in(source, sandbox_dir) => HomeOf::This,
            Some(_) => HomeOf::Other,
            None => HomeOf::Unknown,
        },
    }
}

/// Whether a path is below another, as written or with all links followed.
fn lies_in(path: &Path, directory: &Path) -> bool {
    let real = |path: &Path| hermes_fs::canonicalize(path);
    path.starts_with(directory)
        || matches!((real(path), real(directory)), (Ok(path), Ok(directory)) if path.starts_with(&directory))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn identity(task: &str) -> SandboxIdentity {
        SandboxIdentity {
            task: task.to_owned(),
            profile: "default".to_owned(),
            home_key: "aaaaaaaaaaaa".to_owned(),
            bound_directory: None,
        }
    }

    fn facts(labels: &serde_json::Value, root: Option<&str>) -> ContainerFacts {
        let mounts = root.map_or_else(
            || json!([]),
            |root| json!([{"Type": "bind", "Source": root, "Destination": "/root", "RW": true}]),
        );
        ContainerFacts::read(&json!({"Id": "x", "Config": {"Labels": labels}, "Mounts": mounts}))
            .unwrap()
    }

    #[test]
    fn names_are_shared_by_the_same_sandbox_and_by_no_other() {
        let name = identity("t").shared_name();
        assert_eq!(name, identity("t").shared_name());
        assert_eq!(name.len(), "hermes-".len() + 8);
        assert!(
            name.trim_start_matches("hermes-")
                .chars()
                .all(|c| c.is_ascii_hexdigit())
        );
        let mut others = vec![identity("u").shared_name()];
        for change in [
            |i: &mut SandboxIdentity| i.profile = "p".to_owned(),
            |i: &mut SandboxIdentity| i.home_key = "b".to_owned(),
            |i: &mut SandboxIdentity| i.bound_directory = Some("/p".into()),
        ] {
            let mut other = identity("t");
            change(&mut other);
            others.push(other.shared_name());
        }
        assert!(!others.contains(&name));
        assert_ne!(
            SandboxIdentity::random_name(),
            SandboxIdentity::random_name()
        );
    }

    #[test]
    fn labels_of_this_home_and_task_make_it_ours() {
        let sandboxes = Path::new("/h/sandboxes/docker");
        let mine =
            json!({"hermes-home": "aaaaaaaaaaaa", "hermes-task-key": labels::task_key("a/b")});
        assert!(identity("a/b").is_meant_by(&facts(&mine, None), sandboxes));
        assert!(!identity("a:b").is_meant_by(&facts(&mine, None), sandboxes));
        let owned = json!({"hermes-home": "aaaaaaaaaaaa", "hermes-owner": "m.b.n.1.2"});
        assert!(!identity("t").is_meant_by(&facts(&owned, None), sandboxes));
        let foreign = json!({"hermes-home": "bbbbbbbbbbbb"});
        let in_ours = Some("/h/sandboxes/docker/t/home");
        assert!(!identity("t").is_meant_by(&facts(&foreign, in_ours), sandboxes));
    }

    #[test]
    fn a_container_of_the_reference_is_known_by_its_files() {
        let sandboxes = Path::new("/h/sandboxes/docker");
        let none = json!({});
        let of = |root| home_of(&facts(&none, root), "aaaaaaaaaaaa", sandboxes);
        assert_eq!(of(Some("/h/sandboxes/docker/default/home")), HomeOf::This);
        assert_eq!(of(Some("/h/sandboxes/dockerX/default/home")), HomeOf::Other);
        assert_eq!(of(Some("/other/home")), HomeOf::Other);
        assert_eq!(of(None), HomeOf::Unknown);
        assert!(!identity("t").is_meant_by(&facts(&none, None), sandboxes));
    }

    #[test]
    fn links_do_not_hide_whose_files_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real/docker");
        hermes_fs::create_dir_all(&real.join("t/home"), 0o700).unwrap();
        let link = dir.path().join("link");
        hermes_fs::symlink(&dir.path().join("real"), &link).unwrap();
        let root = real.join("t/home").display().to_string();
        let found = facts(&json!({}), Some(&root));
        assert_eq!(home_of(&found, "x", &link.join("docker")), HomeOf::This);
        assert_eq!(home_of(&found, "x", &link.join("other")), HomeOf::Other);
    }

    #[test]
    fn a_sandbox_of_another_directory_is_another_sandbox() {
        let mut wanted = identity("t");
        wanted.bound_directory = Some("/projects/a".into());
        let with = |source: &str| {
            ContainerFacts::read(&json!({
                "Id": "x",
                "Config": {"Labels": {"hermes-home": "aaaaaaaaaaaa"}},
                "Mounts": [{"Type": "bind", "Source": source, "Destination": "/workspace"}],
            }))
            .unwrap()
        };
        assert!(wanted.is_meant_by(&with("/projects/a"), Path::new("/s")));
        assert!(!wanted.is_meant_by(&with("/projects/b"), Path::new("/s")));
    }
}
