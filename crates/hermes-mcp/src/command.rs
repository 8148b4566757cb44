//! Finding the program of a server: as a shell would in the environment the server gets, and where
//! Node.js usually is when that environment does not say.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hermes_proc::{EnvPlan, find_on_path};

use crate::error::Error;

/// Programs that are looked for in the usual directories as well.
const NODE_PROGRAMS: [&str; 3] = ["npx", "npm", "node"];

/// A program, and the search path its server gets: npx starts `env node`, so the directory of the
/// program comes first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FoundCommand {
    pub(crate) program: PathBuf,
    pub(crate) path: OsString,
}

pub(crate) fn find(
    command: &str,
    plan: &EnvPlan,
    home: &Path,
    user_home: &Path,
) -> Result<FoundCommand, Error> {
    let path = plan.get("PATH");
    let expanded = expand_home(command, user_home);
    let found = find_on_path(expanded.as_os_str(), path).or_else(|| {
        if !NODE_PROGRAMS.contains(&command) {
            return None;
        }
        let places = [
            home.join("node/bin"),
            user_home.join(".local/bin"),
            PathBuf::from("/usr/local/bin"),
        ];
        places
            .iter()
            .find_map(|place| find_on_path(place.join(command).as_os_str(), None))
    });
    let Some(program) = found else {
        let is_bare = !command.contains('/');
        let path = path.filter(|_| is_bare).map(OsStr::to_string_lossy);
        return Err(Error::CommandNotFound {
            command: command.to_owned(),
            path: path.map(std::borrow::Cow::into_owned),
        });
    };
    let path = with_first(program.parent(), path);
    Ok(FoundCommand { program, path })
}

/// `~` and `~/…` as the user's home.
pub(crate) fn expand_home(path: &str, user_home: &Path) -> PathBuf {
    match path.strip_prefix('~') {
        Some("") => user_home.to_owned(),
        Some(rest) if rest.starts_with('/') => user_home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

fn with_first(first: Option<&Path>, path: Option<&OsStr>) -> OsString {
    let first = first.filter(|directory| directory.is_absolute());
    let rest = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>());
    let rest = rest.unwrap_or_default().into_iter();
    let rest = rest.filter(|directory| Some(directory.as_path()) != first);
    let all = first.map(Path::to_owned).into_iter().chain(rest);
    std::env::join_paths(all).unwrap_or_else(|_| path.unwrap_or_default().to_owned())
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
