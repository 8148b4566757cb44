//! Scripts of jobs: only those below `scripts` of the profile, links followed, with the variables of
//! a user's script and nothing else.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hermes_proc::{ChildSpec, EnvPlan, EnvRequest, Group, SpawnClass, Wake, find_on_path};

use crate::job::Job;
use crate::process::{Ended, Limit, Supervised, mark, supervise};
use crate::script_path::contained_script;
use crate::setup::RunSetup;

/// Most output that is kept.
const MOST_OUTPUT: usize = 1024 * 1024;

/// What a script printed; the error says why it failed, with its output.
pub(crate) fn run_script(
    setup: &RunSetup,
    job: &Job,
    execution: &str,
    cancel: &Wake,
) -> std::result::Result<String, String> {
    let script = job.script().unwrap_or_default();
    let path = contained_script(&setup.home, script).map_err(|error| error.to_string())?;
    if !path.is_file() {
        return Err(format!("there is no script {}", path.display()));
    }
    let policy = setup.policy_of(job)?;
    let mut request = EnvRequest::new(SpawnClass::UserScript, &setup.base, &policy);
    request.exec_id = Some(mark(execution));
    let env = EnvPlan::build(&request);
    let program = interpreter(&path, env.get("PATH"))?;
    let directory = job.workdir().map(PathBuf::from);
    let directory = directory.filter(|directory| directory.is_dir());
    let spec = ChildSpec {
        cwd: directory.or_else(|| path.parent().map(Path::to_owned)),
        group: Group::Session,
        ends_with_thread: true,
        ..ChildSpec::new(program, [path.into_os_string()], env)
    };
    let timeout = setup.settings.script_timeout;
    let done = supervise(
        spec,
        Vec::new(),
        Supervised {
            cancel,
            limit: Limit::Total(timeout),
            most_output: MOST_OUTPUT,
        },
        &mut |_| (),
    )?;
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        setup.redactor.redact(text.trim()).into_owned()
    };
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    let failure = match done.ended {
        Ended::Exited(status) if status.success() => return Ok(stdout),
        Ended::Exited(status) => format!("the script {script} ended with {status}"),
        Ended::TimedOut => format!(
            "the script {script} was ended after {} s (cron.script_timeout_seconds)",
            timeout.as_secs()
        ),
        Ended::Cancelled => "the scheduler was stopped before the script had ended".to_owned(),
    };
    let mut parts = vec![failure];
    for (name, text) in [("stderr", stderr), ("stdout", stdout)] {
        if !text.is_empty() {
            parts.push(format!("{name}:\n{text}"));
        }
    }
    Err(parts.join("\n\n"))
}

/// What runs a file of this name: bash for `.sh` and `.bash`, else Python.
fn interpreter(path: &Path, search: Option<&OsStr>) -> std::result::Result<PathBuf, String> {
    let ending = path.extension().map(OsStr::to_ascii_lowercase);
    let is_shell = ending.is_some_and(|ending| ending == "sh" || ending == "bash");
    let name = if is_shell { "bash" } else { "python3" };
    find_on_path(OsStr::new(name), search)
        .ok_or_else(|| format!("{name} was not found, and {} needs it", path.display()))
}
