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
        tracing::debug!(%error, "could not sweep old containers");
    }
}

/// Removes what nobody will come back to, and says how much that was.
pub fn sweep(host: &DockerHost) -> usize {
    let reaped = sweep_exited(host) + sweep_unstarted(host) + sweep_ownerless(host);
    if reaped > 0 {
        tracing::info!(reaped, "old containers removed");
    }
    reaped
}

/// How long ago a container must have ended.
pub fn threshold(lifetime: Duration) -> Duration {
    2 * lifetime.max(SHORTEST_LIFETIME)
}

/// Removes containers of this profile that ended long ago.
fn sweep_exited(host: &DockerHost) -> usize {
    let profile = labels::sanitize(&host.facts.profile);
    let profile = format!("label={}={profile}", labels::PROFILE);
    let format = format!(
        "{{{{.State.FinishedAt}}}}\t{{{{.State.Status}}}}\t{{{{index .Config.Labels \"{}\"}}}}",
        labels::HOME
    );
    let home = labels::home_key(&host.facts.hermes_home);
    let filters = ["status=exited", &profile];
    reap(host, &filters, &format, |id, [finished, state, of_home]| {
        // Started again since it was listed, or of another home.
        let is_ours = of_home.is_empty() || of_home == home;
        if !is_ours || !(state.is_empty() || state == "exited") {
            return None;
        }
        let seconds = old_age(host, &finished)?.as_secs();
        Some(format!(
            "orphan container {id} (exited {seconds} seconds ago)"
        ))
    })
}

/// Removes containers of this home that were made long ago and never started.
fn sweep_unstarted(host: &DockerHost) -> usize {
    let format = "{{.Created}}\t{{.State.Status}}\t";
    let filters = [&of_home(host), "status=created"];
    reap(host, &filters, format, |id, [created, state, _]| {
        old_age(host, &created).filter(|_| state == "created")?;
        Some(format!("container {id} that never started"))
    })
}

/// Removes containers of this home whose process is provably gone, if sweeping is wanted; says how
/// many that were.
pub fn sweep_ownerless(host: &DockerHost) -> usize {
    if !host.settings.orphan_reaper {
        return 0;
    }
    let Some(me) = &host.owner else { return 0 };
    let format = format!("{{{{index .Config.Labels \"{}\"}}}}\t\t", labels::OWNER);
    let owned = format!("label={}", labels::OWNER);
    let filters = [&of_home(host), "status=running", &owned];
    reap(host, &filters, &format, |id, [owner, _, _]| {
        let is_dead = Owner::parse(&owner)?.is_dead(me, lives);
        is_dead.then(|| format!("container {id}: its process is gone"))
    })
}

fn of_home(host: &DockerHost) -> String {
    let home = labels::home_key(&host.facts.hermes_home);
    format!("label={}={home}", labels::HOME)
}

/// Removes the containers that pass the filters and, by three of their fields, are told what they
/// are; says how many went.
fn reap(
    host: &DockerHost,
    filters: &[&str],
    format: &str,
    describe: impl Fn(&str, [String; 3]) -> Option<String>,
) -> usize {
    let agent = format!("label={}=1", labels::AGENT);
    let mut args = vec!["ps", "-a", "--filter", &agent];
    args.extend(filters.iter().flat_map(|filter| ["--filter", filter]));
    args.extend(["--format", "{{.ID}}"]);
    let listed = host
        .engine
        .demand("listing old containers", &args, LIST_LIMIT);
    let listed = listed.unwrap_or_else(|error| {
        tracing::debug!("{error}");
        String::new()
    });
    let mut reaped = 0;
    for id in listed.lines().map(str::trim).filter(|id| is_id(id)) {
        let short: String = id.chars().take(12).collect();
        let fields = look(host, id, format);
        let Some(what) = fields.and_then(|fields| describe(&short, fields)) else {
            continue;
        };
        let removal = ["rm", "-f", id];
        match host.engine.demand("removing it", &removal, REMOVE_LIMIT) {
            Ok(_) => {
                tracing::info!("Reaped {what}");
                reaped += 1;
            }
            Err(error) => tracing::debug!("{what} stays: {error}"),
        }
    }
    reaped
}

/// Three fields of a container; `None` if they cannot be read.
fn look(host: &DockerHost, id: &str, format: &str) -> Option<[String; 3]> {
    let args = ["inspect", "--format", format, id];
    let printed = host
        .engine
        .demand("looking at it", &args, LOOK_LIMIT)
        .ok()?;
    let line = printed.trim_end_matches(['\n', '\r']);
    let mut fields = line.split('\t').map(|field| {
        let field = field.trim();
        // What templates print for a label that is not there.
        if field == "<no value>" { "" } else { field }.to_owned()
    });
    let mut next = || fields.next().unwrap_or_default();
    Some([next(), next(), next()])
}

/// How long ago, if that is long enough.
fn old_age(host: &DockerHost, text: &str) -> Option<Duration> {
    let age = age(text, Timestamp::now())?;
    (age >= threshold(host.settings.lifetime)).then_some(age)
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
