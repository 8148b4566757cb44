//! The link that makes bare `hermes` mean the running executable.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::policy::EnvPolicy;
use crate::home::LinkOutcome;

/// Makes `{HERMES_HOME}/cache/bin/hermes`, a link to the running executable in a directory nobody
/// else can write. Safe to call from several processes at once.
pub fn ensure_hermes_link(policy: &EnvPolicy) -> hermes_fs::Result<LinkOutcome> {
    let directory = policy.link_dir();
    hermes_fs::create_dir_all(&directory, 0o700)?;
    let mode = hermes_fs::metadata(&directory)?.permissions().mode() & 0o777;
    if mode != 0o700 {
        hermes_fs::set_mode(&directory, 0o700)?;
    }
    link(&policy.hermes_program, &directory.join("hermes"))
}

fn link(program: &Path, link: &Path) -> hermes_fs::Result<LinkOutcome> {
    match hermes_fs::read_link(link) {
        Ok(target) if target == program => Ok(LinkOutcome::Present),
        Err(error) if !error.is_not_found() => Ok(LinkOutcome::Occupied),
        Ok(_) | Err(_) => {
            hermes_fs::replace_symlink(program, link)?;
            Ok(LinkOutcome::Made)
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests access files directly")]
mod tests {
    use super::*;
    use crate::home::ChildHome;
    use std::fs;

    #[test]
    fn the_link_is_made_once_renewed_and_never_put_over_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let policy = |program: &str| {
            EnvPolicy::new(
                dir.path().join("hh"),
                dir.path().join(program),
                ChildHome::default(),
            )
        };
        fs::create_dir_all(dir.path().join("hh/cache/bin")).unwrap();
        let ensure = |program: &str| ensure_hermes_link(&policy(program)).unwrap();
        assert_eq!(ensure("one"), LinkOutcome::Made);
        assert_eq!(ensure("one"), LinkOutcome::Present);
        assert_eq!(ensure("two"), LinkOutcome::Made);
        let bin = dir.path().join("hh/cache/bin");
        let link = bin.join("hermes");
        assert_eq!(fs::read_link(&link).unwrap(), dir.path().join("two"));
        assert_eq!(
            fs::metadata(&bin).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert_eq!(
            fs::read_dir(&bin).unwrap().count(),
            1,
            "nothing else remains in the directory"
        );
        fs::remove_file(&link).unwrap();
        fs::write(&link, "mine").unwrap();
        assert_eq!(ensure("two"), LinkOutcome::Occupied);
        assert_eq!(fs::read_to_string(&link).unwrap(), "mine");
    }
}
