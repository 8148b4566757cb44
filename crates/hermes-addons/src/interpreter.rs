//! The Python that add-ons are installed for and run with. Never downloaded, never changed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{ChildSpec, EnvPlan, SpawnClass, find_on_path};
use serde::Deserialize;

use crate::catalog::{NEWEST_PYTHON, OLDEST_PYTHON};
use crate::error::{AddonError, Code, Result};
use crate::marker::MarkerValues;
use crate::settings::AddonSettings;

/// How long an interpreter may take to say what it is.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ANSWER: usize = 16 * 1024;
/// Directories of programs that every machine has.
pub(crate) const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Prints what an interpreter is, as JSON.
const PROBE: &str = "\
import json, os, platform, sys, sysconfig
print(json.dumps({
    'executable': sys.executable,
    'version': platform.python_version(),
    'major': sys.version_info[0],
    'minor': sys.version_info[1],
    'suffix': sysconfig.get_config_var('EXT_SUFFIX') or '',
    'markers': {
        'implementation_name': sys.implementation.name,
        'implementation_version': platform.python_version(),
        'os_name': os.name,
        'platform_machine': platform.machine(),
        'platform_python_implementation': platform.python_implementation(),
        'platform_release': platform.release(),
        'platform_system': platform.system(),
        'platform_version': platform.version(),
        'python_full_version': platform.python_version(),
        'python_version': '%d.%d' % sys.version_info[:2],
        'sys_platform': sys.platform,
    },
}))
";

/// An interpreter that answered.
#[derive(Debug, Clone)]
pub struct Interpreter {
    /// The program itself, not a link or a script that leads to it.
    pub path: PathBuf,
    pub version: String,
    /// What compiled code has to match: `3.11:.cpython-311-x86_64-linux-gnu.so`.
    pub abi: String,
    pub(crate) markers: MarkerValues,
}

#[derive(Deserialize)]
struct Answer {
    executable: PathBuf,
    version: String,
    major: u32,
    minor: u32,
    suffix: String,
    markers: MarkerValues,
}

impl Interpreter {
    /// The interpreter to use: the one that was named, or the first that fits.
    pub(crate) fn find(settings: &AddonSettings, named: Option<&Path>) -> Result<Self> {
        let mut rejected = Vec::new();
        for candidate in candidates(settings, named) {
            match Self::probe(&candidate) {
                Ok(found) => return Ok(found),
                Err(why) => rejected.push(format!("{} ({why})", candidate.display())),
            }
        }
        let found = if rejected.is_empty() {
            "none".to_owned()
        } else {
            rejected.join(", ")
        };
        let hint = if named.is_some() {
            "name another one with --python"
        } else if settings.python.is_some() {
            "change addons.python, or HERMES_ADDON_PYTHON"
        } else {
            "install one, for example with `uv python install 3.12`, or name one: \
             hermes config set addons.python PATH"
        };
        let ((_, oldest), (_, newest)) = (OLDEST_PYTHON, NEWEST_PYTHON);
        let reason = format!("needs CPython 3.{oldest} to 3.{newest}; found: {found}");
        Err(AddonError::new(Code::NoInterpreter, reason).hint(hint))
    }

    /// Asks an interpreter what it is; the reason if it is of no use.
    pub(crate) fn probe(path: &Path) -> std::result::Result<Self, String> {
        if find_on_path(path.as_os_str(), None).is_none() {
            return Err("no such program".to_owned());
        }
        let env = EnvPlan::empty(SpawnClass::Helper).with("PATH", search_path(path));
        let spec = ChildSpec {
            cwd: Some(PathBuf::from("/")),
            ends_with_thread: true,
            ..ChildSpec::new(path, ["-I", "-S", "-c", PROBE], env)
        };
        let answer = spec
            .run_captured(PROBE_TIMEOUT, MAX_ANSWER)
            .map_err(|error| error.to_string())?;
        let answer: Answer = serde_json::from_slice(&answer.stdout)
            .map_err(|_| "does not answer as Python does".to_owned())?;
        let version = (answer.major, answer.minor);
        if answer
            .markers
            .get("implementation_name")
            .map(String::as_str)
            != Some("cpython")
        {
            return Err("not CPython".to_owned());
        }
        if version < OLDEST_PYTHON || version > NEWEST_PYTHON {
            return Err(answer.version);
        }
        Ok(Self {
            abi: format!("{}.{}:{}", answer.major, answer.minor, answer.suffix),
            path: answer.executable,
            version: answer.version,
            markers: answer.markers,
        })
    }
}

/// The one that was named, alone; else the one that uv keeps, which need not be on the path, then those
/// of the usual names on the path.
fn candidates(settings: &AddonSettings, named: Option<&Path>) -> Vec<PathBuf> {
    if let Some(named) = named.or(settings.python.as_deref()) {
        return vec![named.to_owned()];
    }
    let mut found: Vec<PathBuf> = of_uv(settings).into_iter().collect();
    for name in ["python3.13", "python3.12", "python3.11", "python3"] {
        let path = find_on_path(name.as_ref(), Some(&settings.search_path));
        found.extend(path.filter(|path| path.is_absolute() && !found.contains(path)));
    }
    found
}

/// The interpreter that uv would use. It downloads none, and looks into no project.
fn of_uv(settings: &AddonSettings) -> Option<PathBuf> {
    let uv = find_on_path("uv".as_ref(), Some(&settings.search_path))?;
    let env = EnvPlan::empty(SpawnClass::Helper)
        .with("PATH", settings.search_path.clone())
        .with("HOME", settings.places.user_home.clone())
        .with("UV_PYTHON_DOWNLOADS", "never")
        .with("UV_NO_CONFIG", "1");
    let ((_, oldest), (_, newest)) = (OLDEST_PYTHON, NEWEST_PYTHON);
    let range = format!(">=3.{oldest},<3.{}", newest + 1);
    let spec = ChildSpec {
        cwd: Some(PathBuf::from("/")),
        ends_with_thread: true,
        ..ChildSpec::new(uv, ["python", "find", "--no-project", &range], env)
    };
    let answer = spec.run_captured(PROBE_TIMEOUT, MAX_ANSWER).ok()?;
    let path = String::from_utf8(answer.stdout).ok()?;
    let path = PathBuf::from(path.trim());
    (answer.status.success() && path.is_absolute()).then_some(path)
}

/// The directory of a program, then those of the system.
pub(crate) fn search_path(program: &Path) -> OsString {
    let mut path = program
        .parent()
        .map(Path::as_os_str)
        .unwrap_or_default()
        .to_owned();
    path.push(":");
    path.push(SYSTEM_PATH);
    path
}
