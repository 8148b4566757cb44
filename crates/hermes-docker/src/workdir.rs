//! Where commands start in a container, and whether the current directory is bound into it.
//!
//! A path of the host never becomes a path of the container by accident: the engine would make an
//! empty directory of that name, or refuse to start.

use std::path::{Path, PathBuf};

use hermes_policy::{ProtectedHomes, covered_home};

use super::error::{DockerError, Result};

/// Home in every container.
pub(crate) const CONTAINER_HOME: &str = "/root";
/// Where work is done.
pub(crate) const WORKSPACE: &str = "/workspace";

/// Beginnings that only paths of a host have.
const HOST_PREFIXES: [&str; 4] = ["/Users/", "/home/", "C:\\", "C:/"];
/// Values that mean "wherever the backend starts".
const PLACEHOLDERS: [&str; 4] = ["", ".", "auto", "cwd"];

/// What is known when a sandbox is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkdirFacts<'a> {
    /// The setting `terminal.cwd`.
    pub setting: &'a str,
    pub mount_current: bool,
    pub process_directory: Option<&'a Path>,
    pub user_home: &'a Path,
    /// Directories that are never bound.
    pub protected: &'a ProtectedHomes,
    /// The directory of the host that the work is about.
    pub workspace: Option<&'a Path>,
    /// Whether a volume of the user's is mounted at `/workspace`.
    pub workspace_is_taken: bool,
}

/// Where to start, and what to bind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workdir {
    /// A path of the container.
    pub directory: String,
    /// The directory of the host to bind at `/workspace`.
    pub bind: Option<PathBuf>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Workdir {
    /// Decides. Looks at the file system, changes nothing.
    pub(crate) fn resolve(facts: WorkdirFacts<'_>) -> Result<Self> {
        let mut workdir = Self {
            directory: CONTAINER_HOME.to_owned(),
            bind: None,
            warnings: Vec::new(),
        };
        let current = || facts.mount_current.then(|| current(facts)).flatten();
        let source = match facts.workspace {
            Some(workspace) => Some(workspace.to_owned()),
            None => current().filter(|path| is_of_host(path)),
        };
        match source {
            Some(source) => {
                WORKSPACE.clone_into(&mut workdir.directory);
                workdir.consider(&source, facts)?;
            }
            None => workdir.directory = container_path(facts.setting),
        }
        Ok(workdir)
    }

    fn consider(&mut self, source: &Path, facts: WorkdirFacts<'_>) -> Result<()> {
        let real = hermes_fs::resolved(source);
        let refusal = covered_home(&real, facts.protected);
        if facts.workspace_is_taken && facts.workspace.is_some() {
            self.warnings.push(format!(
                "{} is not in the sandbox, because docker_volumes mounts something else at \
                 {WORKSPACE}; changes made there do not reach the card's workspace",
                source.display()
            ));
        } else if facts.workspace_is_taken {
            tracing::debug!("a volume is mounted at {WORKSPACE}; the current directory is not");
        } else if !source.is_dir() {
            tracing::debug!(path = %source.display(), "not mounted: it is not a directory");
        } else if let Some(why) = refusal {
            // The work on a card must not go elsewhere in silence.
            if facts.workspace.is_some() {
                return Err(DockerError::never_mounted(source, why));
            }
            self.warnings.push(format!(
                "{} is not mounted at {WORKSPACE}: it {why}, and docker_mount_cwd_to_workspace \
                 would hand all of it to the sandbox; start in a project directory, or name one in \
                 docker_volumes",
                source.display()
            ));
        } else {
            self.bind = Some(real);
        }
        Ok(())
    }
}

/// The directory that the flag is about.
fn current(facts: WorkdirFacts<'_>) -> Option<PathBuf> {
    let setting = facts.setting.trim();
    if PLACEHOLDERS.contains(&setting) {
        return facts.process_directory.map(Path::to_owned);
    }
    if setting == "~" {
        return Some(facts.user_home.to_owned());
    }
    if let Some(rest) = setting.strip_prefix("~/") {
        return Some(facts.user_home.join(rest));
    }
    if Path::new(setting).is_absolute() {
        return Some(PathBuf::from(setting));
    }
    facts
        .process_directory
        .map(|directory| directory.join(setting))
}

/// Whether a path means a directory of the host, when the flag asks for one.
fn is_of_host(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let in_container = path.starts_with(WORKSPACE) || path.starts_with(CONTAINER_HOME);
    HOST_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) || (path.is_dir() && !in_container)
}

fn looks_like_host(text: &str) -> bool {
    let text = text.trim();
    let is_home = text == "~" || text.starts_with("~/");
    HOST_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
        || !(text.starts_with('/') || is_home)
}

/// The path of the container that a setting means.
fn container_path(setting: &str) -> String {
    let setting = setting.trim();
    if PLACEHOLDERS.contains(&setting) || setting == "~" {
        return CONTAINER_HOME.to_owned();
    }
    if let Some(rest) = setting.strip_prefix("~/") {
        return format!("{CONTAINER_HOME}/{rest}");
    }
    if looks_like_host(setting) {
        tracing::info!(
            directory = setting,
            "host directories do not exist in the container; using {CONTAINER_HOME}"
        );
        return CONTAINER_HOME.to_owned();
    }
    setting.to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const HOME: &str = "/nowhere/user";
    static NO_HOMES: ProtectedHomes = ProtectedHomes {
        account_homes: Vec::new(),
        hermes_homes: Vec::new(),
    };

    fn facts(setting: &str) -> WorkdirFacts<'_> {
        WorkdirFacts {
            setting,
            mount_current: false,
            process_directory: None,
            user_home: Path::new(HOME),
            protected: &NO_HOMES,
            workspace: None,
            workspace_is_taken: false,
        }
    }

    fn directory(setting: &str) -> String {
        Workdir::resolve(facts(setting)).unwrap().directory
    }

    #[test]
    fn without_the_flag_only_paths_of_the_container_count() {
        for placeholder in ["", ".", "auto", "cwd", " . "] {
            assert_eq!(directory(placeholder), "/root", "{placeholder}");
        }
        for host in [
            "/Users/me/x",
            "/home/me",
            "C:\\x",
            "C:/x",
            "relative/x",
            "./x",
            "../x",
        ] {
            assert_eq!(directory(host), "/root", "{host}");
        }
        assert_eq!(directory("/srv/app"), "/srv/app");
        assert_eq!(directory("/workspace/x"), "/workspace/x");
        assert_eq!(directory("~"), "/root");
        assert_eq!(directory("~/x"), "/root/x");
    }

    #[test]
    fn the_flag_binds_the_current_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        let flagged = WorkdirFacts {
            mount_current: true,
            process_directory: Some(path),
            ..facts(".")
        };
        let workdir = Workdir::resolve(flagged).unwrap();
        assert_eq!(workdir.directory, "/workspace");
        assert_eq!(workdir.bind.as_deref(), Some(path));

        let taken = Workdir::resolve(WorkdirFacts {
            workspace_is_taken: true,
            ..flagged
        })
        .unwrap();
        assert_eq!((taken.directory.as_str(), taken.bind), ("/workspace", None));
        let gone = Workdir::resolve(WorkdirFacts {
            setting: "/home/nobody-there/x",
            ..flagged
        })
        .unwrap();
        assert_eq!((gone.directory.as_str(), gone.bind), ("/workspace", None));
        let inside = Workdir::resolve(WorkdirFacts {
            setting: "/workspace/sub",
            ..flagged
        })
        .unwrap();
        assert_eq!(
            (inside.directory.as_str(), inside.bind),
            ("/workspace/sub", None)
        );
    }

    #[test]
    fn the_directory_of_a_card_is_bound_whatever_the_settings_say() {
        let dir = tempfile::tempdir().unwrap();
        let of_card = WorkdirFacts {
            workspace: Some(dir.path()),
            ..facts("/srv/app")
        };
        let workdir = Workdir::resolve(of_card).unwrap();
        assert_eq!(workdir.directory, "/workspace");
        assert_eq!(workdir.bind.as_deref(), Some(dir.path()));
        // Root's own home on the host has the name of the home in containers.
        let roots = Path::new("/root");
        if roots.is_dir() {
            let workdir = Workdir::resolve(WorkdirFacts {
                workspace: Some(roots),
                ..of_card
            })
            .unwrap();
            assert_eq!(workdir.bind.as_deref(), Some(roots));
        }
        let taken = Workdir::resolve(WorkdirFacts {
            workspace_is_taken: true,
            ..of_card
        })
        .unwrap();
        assert_eq!(taken.bind, None);
        assert!(
            taken.warnings[0].contains("docker_volumes"),
            "{:?}",
            taken.warnings
        );
    }

    #[test]
    fn a_whole_home_or_machine_is_not_handed_over() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("users/me");
        let hermes_home = home.join(".hermes");
        hermes_fs::create_dir_all(&hermes_home, 0o700).unwrap();
        let link = dir.path().join("link");
        hermes_fs::symlink(&home, &link).unwrap();
        let protected = ProtectedHomes {
            account_homes: vec![home.clone()],
            hermes_homes: vec![hermes_home.clone()],
        };
        let above = dir.path().join("users");
        let paths: [&Path; 5] = [&home, &hermes_home, &above, &link, Path::new("/")];
        for path in paths {
            let flagged = WorkdirFacts {
                mount_current: true,
                process_directory: Some(path),
                user_home: &home,
                protected: &protected,
                ..facts(".")
            };
            let workdir = Workdir::resolve(flagged).unwrap();
            assert_eq!(workdir.bind, None);
            assert_eq!(workdir.directory, "/workspace");
            let warning = &workdir.warnings[0];
            assert!(
                warning.contains("docker_mount_cwd_to_workspace"),
                "{warning}"
            );
            // A card's worker gets nothing instead of its workspace.
            let of_card = Workdir::resolve(WorkdirFacts {
                workspace: Some(path),
                ..flagged
            });
            let error = of_card.unwrap_err().to_string();
            assert!(error.contains("is not mounted at /workspace"), "{error}");
        }
    }
}
