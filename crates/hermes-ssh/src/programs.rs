//! The programs of this machine that the backend needs.

use std::ffi::OsStr;
use std::path::PathBuf;

use hermes_proc::find_on_path;

use super::diagnosis::down;
use hermes_terminal::remote::TransportError;

/// Looks for the programs in a `PATH` value; the error names the one that is missing and the package
/// that brings it. Gives the path of `ssh`.
///
/// `scp` is not called, but a machine that has only one of the two has half a client: the settings
/// that work here should work with it as well.
pub fn check_programs(path_value: Option<&OsStr>) -> Result<PathBuf, TransportError> {
    let find = |name: &str| {
        find_on_path(OsStr::new(name), path_value).ok_or_else(|| {
            let hint = "install OpenSSH's client: the package openssh-client on Debian and Ubuntu, \
                        openssh-clients on Fedora, openssh on Arch and macOS";
            down(
                format!("the ssh backend needs the program {name}, which is not on PATH"),
                Some(hint.to_owned()),
            )
        })
    };
    let ssh = find("ssh")?;
    find("scp")?;
    Ok(ssh)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let place = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            hermes_fs::write_atomic(&place.path().join(name), b"#!/bin/sh\n", 0o755).unwrap();
        };
        let path_value = Some(place.path().as_os_str());
        for (name, next) in [("program ssh,", "ssh"), ("program scp,", "scp")] {
            let error = check_programs(path_value).unwrap_err();
            assert!(error.message.contains(name), "{error}");
            assert!(error.hint.unwrap().contains("openssh-client "));
            assert!(error.is_missing_part);
            put(next);
        }
        assert_eq!(
            check_programs(path_value).unwrap(),
            place.path().join("ssh")
        );
    }
}
