//! Finding the engine's program.
//!
//! Pure over a lookup of variables and a look at the file system; starts nothing. A value that the
//! user gave and that leads nowhere is an error, never a reason to take another engine.

use std::ffi::OsStr;
use std::path::PathBuf;

use hermes_config::vars;
use hermes_proc::find_on_path;

use super::error::{DockerError, Result};

/// Where installers put docker, looked at on every platform: a service often has a bare PATH.
pub(crate) const WELL_KNOWN: [&str; 3] = [
    "/usr/local/bin/docker",
    "/opt/homebrew/bin/docker",
    "/Applications/Docker.app/Contents/Resources/bin/docker",
];

/// The engine to use: the override, docker on PATH, podman on PATH, or a well-known path.
pub(crate) fn find_engine<'v>(
    lookup: impl Fn(&str) -> Option<&'v OsStr>,
    well_known: &[&str],
) -> Result<PathBuf> {
    let path = lookup(vars::PATH.name);
    let named = lookup(vars::HERMES_DOCKER_BINARY.name)
        .map(|value| OsStr::new(value.to_str().map_or("", str::trim)))
        .filter(|value| !value.is_empty());
    if let Some(value) = named {
        return find_on_path(value, path)
            // It is started from another directory.
            .and_then(|program| std::path::absolute(program).ok())
            .ok_or_else(|| DockerError::BadOverride {
                value: value.to_string_lossy().into_owned(),
            });
    }
    ["docker", "podman"]
        .into_iter()
        .find_map(|name| find_on_path(OsStr::new(name), path))
        .or_else(|| {
            let mut paths = well_known.iter().map(OsStr::new);
            paths.find_map(|path| find_on_path(path, None))
        })
        .ok_or_else(|| DockerError::NoEngine {
            looked: well_known.join(", "),
        })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests access files directly")]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Bin(tempfile::TempDir);

    impl Bin {
        fn with(programs: &[&str]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for name in programs {
                let path = dir.path().join(name);
                std::fs::write(&path, "#!/bin/sh\n").unwrap();
                std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            }
            Self(dir)
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn find(&self, named: Option<&str>) -> Result<PathBuf> {
            let mut variables: BTreeMap<&str, OsString> = BTreeMap::new();
            variables.insert("PATH", self.0.path().into());
            if let Some(named) = named {
                variables.insert("HERMES_DOCKER_BINARY", named.into());
            }
            find_engine(|name| variables.get(name).map(OsString::as_os_str), &[])
        }
    }

    #[test]
    fn docker_comes_before_podman() {
        let both = Bin::with(&["docker", "podman"]);
        assert_eq!(both.find(None), Ok(both.at("docker")));
        let one = Bin::with(&["podman"]);
        assert_eq!(one.find(None), Ok(one.at("podman")));
    }

    #[test]
    fn the_override_is_a_path_or_a_name() {
        let bin = Bin::with(&["docker", "podman", "mine"]);
        assert_eq!(bin.find(Some("podman")), Ok(bin.at("podman")));
        assert_eq!(bin.find(Some(" mine ")), Ok(bin.at("mine")));
        let path = bin.at("mine");
        assert_eq!(bin.find(path.to_str()), Ok(path));
        assert_eq!(bin.find(Some("  ")), Ok(bin.at("docker")));
    }

    #[test]
    fn an_override_that_leads_nowhere_is_an_error() {
        let bin = Bin::with(&["docker"]);
        std::fs::write(bin.at("plain"), "").unwrap();
        let plain = bin.at("plain").display().to_string();
        let directory = bin.0.path().display().to_string();
        for bogus in ["nope", "/nope/docker", plain.as_str(), directory.as_str()] {
            let error = bin.find(Some(bogus)).unwrap_err();
            assert!(
                error.to_string().contains("HERMES_DOCKER_BINARY"),
                "{error}"
            );
            assert!(error.is_missing_part());
        }
    }

    #[test]
    fn without_any_the_message_says_where_it_looked() {
        let bin = Bin::with(&[]);
        let error = bin.find(None).unwrap_err();
        assert!(matches!(error, DockerError::NoEngine { .. }));
        let placed = Bin::with(&["docker"]);
        let place = placed.at("docker").display().to_string();
        let found = find_engine(|_| None, &[place.as_str()]);
        assert_eq!(found, Ok(placed.at("docker")));
        let missing = find_engine(|_| None, &WELL_KNOWN);
        if let Err(error) = missing {
            assert!(error.to_string().contains("/opt/homebrew/bin/docker"));
            assert!(error.hint().unwrap().contains("HERMES_DOCKER_BINARY"));
        }
    }
}
