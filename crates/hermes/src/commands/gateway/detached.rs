//! Starting a gateway that outlives the command, and waiting until it is ready.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_config::vars;
use hermes_home::{ProfileName, Sticky, gateway_pid, sticky_profile};
use hermes_proc::{
    Child, ChildSpec, EnvPlan, EnvRequest, FileWatch, Group, ProcessHandle, SpawnClass, Streams,
    identity_of,
};
use hermes_supervise::{GatewayState, StateFile};

use crate::context::Context;
use crate::error::{CommandError, Result};

/// How long a start may take.
pub(super) const START_LIMIT: Duration = Duration::from_mins(1);

/// How much of what a failed start said is shown.
const SAID_LIMIT: u64 = 64 * 1024;

/// Starts a gateway for the home in use and waits until it runs; returns its pid.
pub(super) fn start(context: &Context) -> Result<u32> {
    let said = output_file(context)?;
    let pid = spawn(context, &said)?.pid();
    let failure = match wait_until_running(&context.location.home, pid, START_LIMIT)? {
        Waited::Running => return Ok(pid),
        Waited::Ended => match gateway_pid(&context.location.home) {
            // Another start was faster.
            Some(other) => return Ok(other),
            None => "the gateway did not start",
        },
        Waited::TimedOut => "the gateway is not ready yet, but its process is running",
    };
    let reason = recorded_reason(&context.location.home, pid).or_else(|| printed_reason(&said));
    let message = reason.map_or_else(
        || failure.to_owned(),
        |reason| format!("{failure}: {}", hermes_text::shown(&reason, 300)),
    );
    let hint = if context.config_is_usable() {
        "`hermes logs gateway` shows its log"
    } else {
        "`hermes config check` shows the line"
    };
    Err(CommandError::user(message).hint(hint))
}

/// What a gateway printed that could not say it in the state file.
fn printed_reason(said: &Path) -> Option<String> {
    let text = hermes_fs::read_text_capped(said, SAID_LIMIT).ok()?;
    let reason = text.lines().find_map(|line| line.strip_prefix("Error: "));
    reason.map(str::to_owned)
}

/// What the state file says about the end of this process.
fn recorded_reason(home: &Path, pid: u32) -> Option<String> {
    let state = StateFile::of_home(home).read()?;
    let is_own = state.get("pid")?.as_u64() == Some(u64::from(pid));
    let reason = state.get("exit_reason")?.as_str()?;
    is_own.then(|| reason.to_owned())
}

fn spawn(context: &Context, said: &Path) -> Result<Child> {
    let environment = context.environment();
    // Without `.env`: the gateway reads that file itself, and again when it changes.
    let base: Vec<(OsString, OsString)> = context
        .env
        .without(&vars::OF_SUPERVISOR)
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let request = EnvRequest::new(SpawnClass::Hermes, &base, environment.policy());
    let spec = ChildSpec {
        cwd: Some(context.location.home.clone()),
        streams: Streams::Given {
            input: None,
            output: Some(hermes_fs::open_append(said, 0o600)?.into()),
        },
        group: Group::Session,
        kill_on_drop: false,
        ..ChildSpec::new(
            &context.program.path,
            arguments(context),
            EnvPlan::build(&request),
        )
    };
    spec.spawn()
        .map_err(|error| CommandError::environment(format!("could not start the gateway: {error}")))
}

/// The command line that finds this profile again, whichever is active then.
fn arguments(context: &Context) -> Vec<OsString> {
    let is_sticky = |name: &ProfileName| match sticky_profile(&context.location) {
        Sticky::Named(sticky) => sticky == *name,
        _ => name.is_default(),
    };
    let named = context
        .current
        .as_ref()
        .filter(|name| !name.is_default() || !is_sticky(name));
    let profile = named.map(|name| ["-p".to_owned(), name.to_string()]);
    let words = ["gateway", "run", "--quiet"].map(str::to_owned);
    let all = profile.into_iter().flatten().chain(words);
    all.map(OsString::from).collect()
}

/// Where a gateway without a terminal says what the log does not have. Emptied by every start.
fn output_file(context: &Context) -> Result<PathBuf> {
    let directory = context.location.home.join("logs");
    hermes_fs::create_dir_all(&directory, 0o700)?;
    let path = directory.join("gateway.error.log");
    hermes_fs::write_atomic(&path, b"", 0o600)?;
    Ok(path)
}

/// What became of a start.
pub(super) enum Waited {
    Running,
    Ended,
    TimedOut,
}

/// Waits until the state file says that this process runs as a gateway.
pub(super) fn wait_until_running(home: &Path, pid: u32, limit: Duration) -> Result<Waited> {
    let file = StateFile::of_home(home);
    let Some(identity) = identity_of(pid) else {
        return Ok(Waited::Ended);
    };
    let handle = ProcessHandle::open(&identity).map_err(unwaitable)?;
    let Some(handle) = handle else {
        return Ok(Waited::Ended);
    };
    let deadline = Instant::now() + limit;
    let mut watch = FileWatch::default();
    loop {
        watch.watch([file.path().to_owned()].into(), [].into());
        let state = file.read().unwrap_or_default();
        let is_own = state.get("pid").and_then(serde_json::Value::as_u64) == Some(u64::from(pid));
        let name = state
            .get("gateway_state")
            .and_then(serde_json::Value::as_str);
        let serves = [GatewayState::Running, GatewayState::Draining];
        if is_own && serves.iter().any(|state| name == Some(state.name())) {
            return Ok(Waited::Running);
        }
        if handle.wait_for_exit(Duration::ZERO).map_err(unwaitable)? {
            return Ok(Waited::Ended);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Waited::TimedOut);
        }
        watch.wait(&[handle.as_fd()], Some(left))?;
    }
}

fn unwaitable(error: hermes_proc::Error) -> CommandError {
    CommandError::environment(format!("could not wait for the gateway: {error}"))
}
