//! Whether s6 supervises this machine, as an ordinary user can see it.

use std::path::Path;

/// A name has at most sixteen bytes.
const NAME_LIMIT: u64 = 64;

/// Whether the first process is `s6-svscan` and has left its mark below `/run`. What cannot be read
/// says no. `/proc/1/exe` would say it in one look, but only to root; marks of containers are not
/// asked for, because small virtual machines have none.
pub fn is_s6(file_system_root: &Path) -> bool {
    let name = hermes_fs::read_capped(&file_system_root.join("proc/1/comm"), NAME_LIMIT);
    let is_named = name.is_ok_and(|name| name == b"s6-svscan\n" || name == b"s6-svscan");
    let mark = hermes_fs::metadata(&file_system_root.join("run/s6/basedir"));
    is_named && mark.is_ok_and(|meta| meta.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: Option<&str>, has_mark: bool) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        if let Some(name) = name {
            let first = root.path().join("proc/1");
            hermes_fs::create_dir_all(&first, 0o755).unwrap();
            hermes_fs::write_atomic(&first.join("comm"), name.as_bytes(), 0o644).unwrap();
        }
        if has_mark {
            hermes_fs::create_dir_all(&root.path().join("run/s6/basedir"), 0o755).unwrap();
        }
        root
    }

    // check 23
    #[test]
    fn s6_is_told_by_the_first_process_and_its_mark() {
        assert!(is_s6(machine(Some("s6-svscan\n"), true).path()));
        for other in ["systemd\n", "s6-svscan2\n", "not s6-svscan\n", ""] {
            assert!(!is_s6(machine(Some(other), true).path()), "{other:?}");
        }
        assert!(!is_s6(machine(Some("s6-svscan\n"), false).path()));
        assert!(!is_s6(machine(None, true).path()));
    }

    #[test]
    fn a_mark_that_is_no_directory_is_none() {
        let root = machine(Some("s6-svscan\n"), false);
        hermes_fs::create_dir_all(&root.path().join("run/s6"), 0o755).unwrap();
        hermes_fs::write_atomic(&root.path().join("run/s6/basedir"), b"", 0o644).unwrap();
        assert!(!is_s6(root.path()));
    }

    // check 23
    #[test]
    fn what_may_not_be_read_says_no() {
        if hermes_testkit::ran_as_nobody("s6::presence::tests::what_may_not_be_read_says_no") {
            return;
        }
        for hidden in ["proc/1", "run/s6"] {
            let root = machine(Some("s6-svscan\n"), true);
            assert!(is_s6(root.path()));
            hermes_fs::set_mode(&root.path().join(hidden), 0o000).unwrap();
            assert!(!is_s6(root.path()), "{hidden}");
            hermes_fs::set_mode(&root.path().join(hidden), 0o700).unwrap();
        }
    }
}
