//! The programs of this machine that the backend needs.

use std::ffi::OsStr;
use std::path::PathBuf;

use hermes_proc::find_on_path;

use hermes_terminal::remote::TransportError;

/// `scp` is not called, but a machine that has only one of the two has half a client: the settings
/// that work here should work with it as well.
const NEEDED: [&str; 2] = ["ssh", "scp"];

/// Looks for the programs in a `PATH` value; the error names the one that is missing and the package
/// that brings it. Gives the path of `ssh`.
pub fn check_programs(path_value: Option<&OsStr>) -> Result<PathBuf, TransportError> {
    let mut found = Vec::new();
    for name in NEEDED {
        found.push(find_on_path(OsStr::new(name), path_value).ok_or_else(|| missing(name))?);
    }
    Ok(found.swap_remove(0))
}

fn missing(name: &str) -> TransportError {
    TransportError {
        message: format!("the ssh backend needs the program {name}, which is not on PATH"),
        hint: Some(
            "install OpenSSH's client: the package openssh-client on Debian and Ubuntu, \
             openssh-clients on Fedora, openssh on Arch and macOS"
                .to_owned(),
        ),
        is_missing_part: true,
    }
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
