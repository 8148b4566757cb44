//! Which Python runs a script: the first of a list that is 3.8 or newer.
//!
//! Hermes brings none, and one that belongs to an install of Hermes is never used. Nor is one that a
//! project brings along, unless the setting names it or the session has activated it: whoever wrote
//! the project would decide what an approved script does. Before a script has been approved
//! interpreters are only looked at, never started.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hermes_proc::{ChildSpec, EnvPlan, SpawnClass, find_on_path};

use super::settings::{CodeSettings, ScriptMode, lies_in};
use crate::tool::CallContext;

/// How long an interpreter may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
/// Oldest version that runs scripts.
const MIN_VERSION: (u32, u32) = (3, 8);
/// Interpreters whose versions are remembered; beyond that all are forgotten.
const MAX_KNOWN: usize = 256;

/// How programs begin that are no scripts: ELF, Mach-O of one and of several processors.
const BINARIES: [[u8; 4]; 3] = [*b"\x7fELF", *b"\xcf\xfa\xed\xfe", *b"\xca\xfe\xba\xbe"];

/// Why no script can run, as a sentence. `rejected` are programs that were there and could not be used.
pub(super) fn no_interpreter(rejected: &[PathBuf]) -> String {
    let paths: Vec<String> = rejected
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let rejected = match paths.as_slice() {
        [] => String::new(),
        paths => format!(" (not usable: {})", paths.join(", ")),
    };
    format!(
        "execute_code needs Python 3.8 or newer and none was found{rejected}. Install python3, or set \
         code_execution.python to its path."
    )
}

/// Finds interpreters and remembers their versions.
#[derive(Debug, Default)]
pub struct Interpreters {
    known: Mutex<HashMap<(PathBuf, SystemTime), bool>>,
}

impl Interpreters {
    /// Whether scripts can be offered: an interpreter is configured or on the path. Nothing is
    /// started. The error is a sentence.
    pub fn look(settings: &CodeSettings, context: &CallContext) -> Result<(), String> {
        let candidates = settings.python.iter().cloned();
        let candidates = candidates.chain(on_path(settings, context));
        let may_be =
            |path: &Path, _| named_version(path).is_none_or(|version| version >= MIN_VERSION);
        first_usable(candidates, settings, may_be).map(drop)
    }

    /// The interpreter for a script of this session that has been approved: interpreters whose names
    /// do not tell their version are started to ask.
    pub fn find(&self, settings: &CodeSettings, context: &CallContext) -> Result<PathBuf, String> {
        let candidates = preferred(settings, context).into_iter();
        let candidates = candidates.chain(on_path(settings, context));
        first_usable(candidates, settings, |path, modified| {
            self.is_usable(path, modified, context)
        })
    }

    fn is_usable(&self, path: &Path, modified: SystemTime, context: &CallContext) -> bool {
        let key = (path.to_owned(), modified);
        if let Some(&answer) = self.lock().get(&key) {
            return answer;
        }
        // Not under the lock: a slow one must not hold up sessions that need another.
        let version = named_version(path).or_else(|| version_of(path, context));
        let answer = version.is_some_and(|version| version >= MIN_VERSION);
        let mut known = self.lock();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(key, answer);
        answer
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(PathBuf, SystemTime), bool>> {
        // Each entry stands for itself, so a panic elsewhere cannot have left half of one.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first of these that may be used.
fn first_usable(
    candidates: impl Iterator<Item = PathBuf>,
    settings: &CodeSettings,
    is_usable: impl Fn(&Path, SystemTime) -> bool,
) -> Result<PathBuf, String> {
    let mut rejected = Vec::new();
    for candidate in candidates {
        if !candidate.is_absolute() || lies_in(&candidate, &settings.own_install_roots) {
            continue;
        }
        let Some(modified) = executable_since(&candidate) else {
            continue;
        };
        if is_usable(&candidate, modified) {
            return Ok(candidate);
        }
        rejected.push(candidate);
    }
    Err(no_interpreter(&rejected))
}

/// Interpreters that come before those of the path: that of the setting, and in project mode that of
/// the environment the session has activated.
pub(super) fn preferred(settings: &CodeSettings, context: &CallContext) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = settings.python.iter().cloned().collect();
    if settings.mode == ScriptMode::Project {
        let activated = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter();
        let activated = activated.filter_map(|marker| context.session.variable(marker));
        found.extend(activated.map(|prefix| PathBuf::from(prefix).join("bin/python")));
    }
    found.retain(|path| path.is_absolute());
    found
}

/// Those on the path. Each is looked for when it is asked for: most often the first will do.
fn on_path(
    settings: &CodeSettings,
    context: &CallContext,
) -> impl Iterator<Item = PathBuf> + use<> {
    let path = context.session.variable("PATH");
    let mut refused = settings.own_install_roots.clone();
    refused.extend(project(&context.session.cwd(), &context.child_home));
    let first = move |name| first_on_path(name, path.as_deref(), &refused);
    ["python3", "python"].into_iter().filter_map(first)
}

/// The project that a session works in: the repository, or the directory where there is none. A
/// directory that holds the programs of the machine or of the user is no project.
fn project(cwd: &Path, home: &Path) -> Option<PathBuf> {
    let repository = cwd.ancestors().find(|dir| dir.join(".git").exists());
    let top = repository.unwrap_or(cwd);
    let holds = |place: &Path| place.starts_with(top);
    let is_project = !holds(home) && !holds(Path::new("/usr/local/bin"));
    (is_project && !top.starts_with("/usr")).then(|| top.to_owned())
}

/// The first on the path that lies in none of these: behind one that does the user's own may follow.
fn first_on_path(name: &str, path: Option<&OsStr>, refused: &[PathBuf]) -> Option<PathBuf> {
    std::env::split_paths(path?)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        // Most directories have none, and where one lies takes longer to find out.
        .find(|found| find_on_path(found.as_os_str(), None).is_some() && !lies_in(found, refused))
}

fn executable_since(path: &Path) -> Option<SystemTime> {
    find_on_path(path.as_os_str(), None)?;
    hermes_fs::metadata(path).ok()?.modified().ok()
}

/// The version in the name of the program that `path` leads to, `python3.11`. Only a script, as
/// version managers put in its place, has to be started to know what it leads to; starting one takes
/// longer than everything else before a first request.
fn named_version(path: &Path) -> Option<(u32, u32)> {
    let program = hermes_fs::canonicalize(path).ok()?;
    let name = program.file_name()?.to_str()?;
    let (major, minor) = name.strip_prefix("python")?.split_once('.')?;
    let version = (major.parse().ok()?, minor.parse().ok()?);
    let mut magic = [0; 4];
    hermes_fs::open(&program)
        .ok()?
        .read_exact(&mut magic)
        .ok()?;
    BINARIES.contains(&magic).then_some(version)
}

fn version_of(path: &Path, context: &CallContext) -> Option<(u32, u32)> {
    let search_path = context.session.variable("PATH").unwrap_or_default();
    let code = "import sys; print('%d %d' % sys.version_info[:2])";
    let env = EnvPlan::empty(SpawnClass::Helper)
        .with("PATH", search_path)
        .with("HOME", context.child_home.as_os_str());
    let spec = ChildSpec {
        cwd: Some(PathBuf::from("/")),
        ..ChildSpec::new(path, ["-E", "-S", "-c", code], env)
    };
    let answer = match spec.run_captured(VERSION_TIMEOUT, 1024) {
        Ok(captured) if captured.status.success() => captured.stdout,
        Ok(_) => return None,
        Err(error) => {
            tracing::debug!("an interpreter did not print its version: {error}");
            return None;
        }
    };
    let text = String::from_utf8(answer).ok()?;
    let (major, minor) = text.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
