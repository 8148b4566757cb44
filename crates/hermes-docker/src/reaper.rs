//! Removing containers that nobody will come back to.
//!
//! Runs once per process, after the sandbox in use was found, beside the first command and never in
//! its way. Touches only what belongs to this profile and home, has ended long ago, was never
//! started, or was owned by a process that is provably gone. Every doubt leaves a container alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;

use super::host::DockerHost;
use super::labels;
use super::owner::{Owner, lives};

const LIST_LIMIT: Duration = Duration::from_secs(15);
const LOOK_LIMIT: Duration = Duration::from_secs(10);
const REMOVE_LIMIT: Duration = Duration::from_secs(30);
/// Shorter lifetimes would take a container between two uses.
const SHORTEST_LIFETIME: Duration = Duration::from_mins(1);

/// Begins the sweep if it is wanted and has not been made by this process.
pub(crate) fn sweep_in_background(host: &Arc<DockerHost>) {
    if !host.settings.orphan_reaper || host.has_swept.swap(true, Ordering::SeqCst) {
        return;
    }
    let worker = Arc::clone(host);
    let started = std::thread::Builder::new()
        .name("sandbox-reaper".to_owned())
        .spawn(move || sweep(&worker));
    if let Err(error) = started {
        tracing::debug!(%error, "no sweep of old containers");
    }
}

/// Removes what nobody will come back to, and says how much that was.
pub fn sweep(host: &DockerHost) -> usize {
    let threshold = threshold(host.settings.lifetime);
    let now = Timestamp::now();
    let reaped = sweep_exited(host, threshold, now) + sweep_abandoned(host, threshold, now);
    if reaped > 0 {
        tracing::info!(reaped, "old containers removed");
    }
    reaped
}

/// How long ago a container must have ended.
pub fn threshold(lifetime: Duration) -> Duration {
    2 * lifetime.max(SHORTEST_LIFETIME)
}

/// Containers that have ended.
fn sweep_exited(host: &DockerHost, threshold: Duration, now: Timestamp) -> usize {
    let profile = format!(
        "label={}={}",
        labels::PROFILE,
        labels::sanitize(&host.facts.profile)
    );
    let agent = format!("label={}=1", labels::AGENT);
    let candidates = list(
        host,
        &[
            "--filter",
            &agent,
            "--filter",
            "status=exited",
            "--filter",
            &profile,
        ],
    );
    let format = format!(
        "{{{{.State.FinishedAt}}}}\t{{{{.State.Status}}}}\t{{{{index .Config.Labels \"{}\"}}}}",
        labels::HOME
    );
    let home = labels::home_key(&host.facts.hermes_home);
    let reap = |id: &String| {
        let [finished, state, of_home] = look(host, id, &format)?;
        // Started again since it was listed, or of another home.
        let is_ours = of_home.is_empty() || of_home == home;
        if !is_ours || !(state.is_empty() || state == "exited") {
            return None;
        }
        let age = age(&finished, now)?;
        (age >= threshold).then_some(age)
    };
    let mut reaped = 0;
    for id in &candidates {
        if let Some(age) = reap(id)
            && remove(host, id)
        {
            let (short, seconds) = (short(id), age.as_secs());
            tracing::info!("Reaped orphan container {short} (exited {seconds} seconds ago)");
            reaped += 1;
        }
    }
    reaped
}

/// Removes containers of this home whose process is provably gone, if sweeping is wanted; says how
/// many that were.
pub fn sweep_ownerless(host: &DockerHost) -> usize {
    if !host.settings.orphan_reaper {
        return 0;
    }
    let Some(me) = &host.owner else { return 0 };
    let owned = format!("label={}", labels::OWNER);
    let mut reaped = 0;
    for id in list_of_home(host, &["--filter", "status=running", "--filter", &owned]) {
        let format = format!("{{{{index .Config.Labels \"{}\"}}}}\t\t", labels::OWNER);
        let owner = look(host, &id, &format).and_then(|[label, _, _]| Owner::parse(&label));
        if owner.is_some_and(|owner| owner.is_dead(me, lives)) && remove(host, &id) {
            tracing::info!("Reaped container {}: its process is gone", short(&id));
            reaped += 1;
        }
    }
    reaped
}

fn list_of_home(host: &DockerHost, filters: &[&str]) -> Vec<String> {
    let home = format!(
        "label={}={}",
        labels::HOME,
        labels::home_key(&host.facts.hermes_home)
    );
    let agent = format!("label={}=1", labels::AGENT);
    let ours = ["--filter", agent.as_str(), "--filter", home.as_str()];
    let all: Vec<&str> = ours.iter().chain(filters).copied().collect();
    list(host, &all)
}

/// Containers of this home that never started, and those whose owner is dead.
fn sweep_abandoned(host: &DockerHost, threshold: Duration, now: Timestamp) -> usize {
    let mut reaped = 0;
    for id in list_of_home(host, &["--filter", "status=created"]) {
        let format = "{{.Created}}\t{{.State.Status}}\t";
        let created = look(host, &id, format)
            .filter(|[_, state, _]| state == "created")
            .and_then(|[created, _, _]| age(&created, now));
        if created.is_some_and(|age| age >= threshold) && remove(host, &id) {
            tracing::info!("Reaped container {} that never started", short(&id));
            reaped += 1;
        }
    }
    reaped + sweep_ownerless(host)
}

fn list(host: &DockerHost, filters: &[&str]) -> Vec<String> {
    let mut args = vec!["ps", "-a"];
    args.extend_from_slice(filters);
    args.extend(["--format", "{{.ID}}"]);
    match host.engine.ask(&args, LIST_LIMIT) {
        Ok(answer) if answer.is_success() => {
            let ids = answer.stdout.lines().map(str::trim);
            ids.filter(|id| is_id(id)).map(str::to_owned).collect()
        }
        Ok(answer) => {
            tracing::debug!(words = %answer.words, "no list of old containers");
            Vec::new()
        }
        Err(error) => {
            tracing::debug!(%error, "no list of old containers");
            Vec::new()
        }
    }
}

/// Three fields of a container; `None` if they cannot be read.
fn look(host: &DockerHost, id: &str, format: &str) -> Option<[String; 3]> {
    let args = ["inspect", "--format", format, id];
    let answer = host.engine.ask(&args, LOOK_LIMIT).ok()?;
    if !answer.is_success() {
        return None;
    }
    let line = answer.stdout.trim_end_matches(['\n', '\r']);
    let mut fields = line.split('\t').map(|field| {
        let field = field.trim();
        // What templates print for a label that is not there.
        if field == "<no value>" { "" } else { field }.to_owned()
    });
    let mut next = || fields.next().unwrap_or_default();
    Some([next(), next(), next()])
}

/// How long ago; `None` for what is no time, and for the zero date of what never happened.
fn age(text: &str, now: Timestamp) -> Option<Duration> {
    if text.starts_with("0001-01-01") {
        return None;
    }
    let then = parse_time(text)?;
    Duration::try_from(now.duration_since(then)).ok()
}

/// RFC 3339 as Docker prints it, and what Podman's templates make of a time.
pub(crate) fn parse_time(text: &str) -> Option<Timestamp> {
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    // `2026-11-15 23:17:39.458751129 +0000 UTC`
    let mut words = text.split_whitespace();
    let (date, time, offset) = (words.next()?, words.next()?, words.next()?);
    format!("{date}T{time}{offset}").parse().ok()
}

fn remove(host: &DockerHost, id: &str) -> bool {
    match host.engine.ask(&["rm", "-f", id], REMOVE_LIMIT) {
        Ok(answer) if answer.is_success() => true,
        Ok(answer) => {
            tracing::debug!(words = %answer.words, "an old container stays");
            false
        }
        Err(error) => {
            tracing::debug!(%error, "an old container stays");
            false
        }
    }
}

fn short(id: &str) -> String {
    id.chars().take(12).collect()
}

/// What an engine prints besides ids is not removed.
fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_threshold_has_a_floor() {
        assert_eq!(threshold(Duration::from_mins(5)), Duration::from_mins(10));
        assert_eq!(threshold(Duration::ZERO), Duration::from_mins(2));
        assert_eq!(threshold(Duration::from_secs(61)), Duration::from_secs(122));
    }

    #[test]
    fn times_of_engines_are_read_and_nothing_else() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let minutes = |text: &str| age(text, now).map(|age| age.as_secs() / 60);
        assert_eq!(minutes("2026-11-15T11:40:00Z"), Some(20));
        assert_eq!(minutes("2026-11-15T11:40:00.123456789Z"), Some(19));
        assert_eq!(minutes("2026-11-15T12:40:00+01:00"), Some(20));
        assert_eq!(minutes("2026-11-15 11:40:00.458751129 +0000 UTC"), Some(19));
        for no in [
            "",
            "garbage",
            "0001-01-01T00:00:00Z",
            "yesterday at noon",
            "2026-13-45T99:00:00Z",
        ] {
            assert_eq!(age(no, now), None, "{no}");
        }
        assert_eq!(
            age("2026-11-15T13:00:00Z", now),
            None,
            "the future is no age"
        );
    }
}
