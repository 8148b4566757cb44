//! Where may be written on a remote host, and what is not read there: by the text of paths, since
//! only the host itself can follow its links.

use std::path::{Path, PathBuf};

use hermes_policy::{PrivateHomes, ReadGuard, WriteContext, check_write_by_text};

use crate::filesystem::operations::CrossProfile;

/// Which paths of a remote host are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteRules {
    /// None: the host is a sandbox, what is in it is there to be changed, and the files of Hermes it
    /// shows are mounted read-only.
    Unrestricted,
    /// Those of a machine that people and services use: system settings, keys and credentials of the
    /// account, start-up files of its shell, and what Hermes keeps in a home there.
    Machine {
        /// Directories there outside which nothing is written; empty for no such limit.
        safe_roots: Vec<PathBuf>,
    },
}

/// The home of the account on a remote host.
#[derive(Debug, Clone)]
pub(super) struct Home {
    /// As the shell there says.
    pub(super) written: PathBuf,
    /// Without links.
    pub(super) real: PathBuf,
}

impl WriteRules {
    /// Why nothing is written to a path, if so: as a sentence.
    pub(super) fn refusal(&self, write: &JudgedWrite<'_>) -> Option<String> {
        let Self::Machine { safe_roots } = self else {
            return None;
        };
        // The home has two names if it is reached through a link, and a path may begin with either.
        let judged = [&write.home.written, &write.home.real].map(|home| {
            let hermes = home.join(".hermes");
            let context = WriteContext {
                real_home: home.clone(),
                child_home: home.clone(),
                hermes_home: hermes.clone(),
                hermes_root: hermes,
                cwd: write.cwd.to_owned(),
                safe_roots: safe_roots.clone(),
                cross_profile: write.cross_profile == CrossProfile::Allowed,
            };
            check_write_by_text(&context, write.written, write.real).err()
        });
        let refusal = judged.into_iter().flatten().next();
        refusal.map(|why| format!("Write denied: {why}."))
    }

    /// Which files are shown.
    pub(super) fn read_guard(&self, home: Option<&Home>) -> ReadGuard {
        let accounts = match (self, home) {
            (Self::Machine { .. }, Some(home)) => vec![home.written.clone(), home.real.clone()],
            _ => Vec::new(),
        };
        let hermes = accounts.iter().map(|home| home.join(".hermes")).collect();
        ReadGuard::by_text(PrivateHomes { accounts, hermes })
    }
}

pub(super) struct JudgedWrite<'a> {
    /// The path as the call means it.
    pub(super) written: &'a Path,
    /// The same without links, as the host says.
    pub(super) real: &'a Path,
    pub(super) home: &'a Home,
    pub(super) cwd: &'a Path,
    pub(super) cross_profile: CrossProfile,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(rules: &WriteRules, written: &str, real: &str) -> Option<String> {
        rules.refusal(&JudgedWrite {
            written: Path::new(written),
            real: Path::new(real),
            home: &Home {
                written: PathBuf::from("/home/me"),
                real: PathBuf::from("/data/me"),
            },
            cwd: Path::new("/home/me/project"),
            cross_profile: CrossProfile::Refused,
        })
    }

    #[test]
    fn a_machine_is_protected_as_this_one_is() {
        let machine = WriteRules::Machine {
            safe_roots: Vec::new(),
        };
        for (written, real) in [
            ("/home/me/.ssh/x", "/data/me/.ssh/x"),
            ("/home/me/project/link", "/data/me/.aws/credentials"),
            ("/home/me/.hermes/.env", "/elsewhere/.env"),
            ("/x", "/data/me/.hermes/auth.json"),
            ("/home/me/.bashrc", "/data/me/.bashrc"),
            ("/etc/hosts", "/etc/hosts"),
            ("/x", "/run/docker.sock"),
            ("/x", "/data/me/.hermes/profiles/other/skills/x"),
            ("/home/me/x/../.netrc", "/data/me/.netrc"),
        ] {
            let refused = refusal(&machine, written, real);
            assert!(refused.unwrap().starts_with("Write denied"), "{written}");
        }
        for path in ["/home/me/project/x", "/home/me/.sshx", "/srv/etc/x"] {
            assert_eq!(refusal(&machine, path, path), None);
        }
        let skill = refusal(
            &machine,
            "/home/me/.hermes/skills/x",
            "/data/me/.hermes/skills/x",
        );
        assert_eq!(skill, None);
    }

    #[test]
    fn safe_roots_are_whole_components() {
        let machine = WriteRules::Machine {
            safe_roots: vec![PathBuf::from("/a"), PathBuf::from("/b/c/..")],
        };
        assert_eq!(refusal(&machine, "/a/x", "/a/x"), None);
        assert_eq!(refusal(&machine, "/b/x", "/b/x"), None);
        for real in ["/ab/x", "/c"] {
            let refused = refusal(&machine, "/a/x", real).unwrap();
            assert!(refused.contains("HERMES_WRITE_SAFE_ROOT"), "{refused}");
        }
    }

    #[test]
    fn a_sandbox_has_no_forbidden_paths() {
        for path in ["/etc/passwd", "/root/.ssh/x", "/root/.hermes/.env"] {
            assert_eq!(refusal(&WriteRules::Unrestricted, path, path), None);
        }
    }
}
