//! Removing containers that nobody will come back to.
//!
//! One pass, bounded in time: it looks at what there is, then removes. Touches only what belongs to
//! this profile and home, has ended long ago, was never started, or was owned by a process that is
//! provably gone. Every doubt leaves a container alone. What a pass has no time for is written down,
//! and the next one begins with it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::background_sweep::PASS_LIMIT;
use super::host::DockerHost;
use super::inspect::ContainerFacts;
use super::labels;
use super::owner::{Owner, lives};

const LIST_LIMIT: Duration = Duration::from_secs(15);
const LOOK_LIMIT: Duration = Duration::from_secs(10);
const REMOVE_LIMIT: Duration = Duration::from_secs(30);
/// Shorter lifetimes would take a container between two uses.
const SHORTEST_LIFETIME: Duration = Duration::from_mins(1);
/// More than a pass could ever leave.
const MOST_RECORDED: usize = 64 * 1024;

/// Removes what nobody will come back to, when the host has nothing more urgent to do, and says how
/// much that was.
pub fn sweep(host: &DockerHost) -> usize {
    Pass::new(host).all()
}

/// How long ago a container must have ended.
pub fn threshold(lifetime: Duration) -> Duration {
    2 * lifetime.max(SHORTEST_LIFETIME)
}

/// Removes containers of this home whose process is provably gone, if sweeping is wanted; says how
/// many that were.
pub fn sweep_ownerless(host: &DockerHost) -> usize {
    if !host.settings.orphan_reaper {
        return 0;
    }
    let mut pass = Pass::new(host);
    pass.look_at_ownerless();
    pass.remove()
}

/// A container to remove.
struct Condemned {
    id: String,
    what: String,
    /// Whether it goes even if it runs.
    by_force: bool,
}

/// Which containers to look at, and what of them.
struct Question<'a> {
    /// Besides the label of all our containers.
    labels: &'a [(&'a str, &'a str)],
    status: &'static str,
    /// Template of the three fields for the engine's program.
    format: &'a str,
    /// The same three fields.
    fields: fn(&ContainerFacts) -> [String; 3],
    by_force: bool,
}

/// One pass over the containers of a home.
struct Pass<'a> {
    host: &'a DockerHost,
    deadline: Instant,
    /// What the pass before had no time for.
    recorded: BTreeSet<String>,
    condemned: Vec<Condemned>,
    /// What there was no time for.
    rest: Vec<String>,
}

impl<'a> Pass<'a> {
    fn new(host: &'a DockerHost) -> Self {
        Self {
            host,
            deadline: Instant::now() + PASS_LIMIT,
            recorded: read_record(host),
            condemned: Vec::new(),
            rest: Vec::new(),
        }
    }

    fn all(mut self) -> usize {
        // Quick questions can wait as well; slow ones are asked beside the first command.
        if self.host.engine.socket().is_some() {
            let waiting = Instant::now();
            if !self.host.sweep.may_remove() {
                return 0;
            }
            self.deadline += waiting.elapsed();
        }
        self.look_at_exited();
        self.look_at_unstarted();
        self.look_at_ownerless();
        self.remove()
    }

    /// Containers of this profile that ended long ago.
    fn look_at_exited(&mut self) {
        let host = self.host;
        let profile = labels::sanitize(&host.facts.profile);
        let home = labels::home_key(&host.facts.hermes_home);
        let format = format!(
            "{{{{.State.FinishedAt}}}}\t{{{{.State.Status}}}}\t{{{{index .Config.Labels \"{}\"}}}}",
            labels::HOME
        );
        let question = Question {
            labels: &[(labels::PROFILE, &profile)],
            status: "exited",
            format: &format,
            fields: |facts| {
                let home = facts.label(labels::HOME).unwrap_or_default();
                let finished = facts.finished_at.clone().unwrap_or_default();
                [finished, facts.state_word.clone(), home.to_owned()]
            },
            by_force: false,
        };
        self.look(&question, |id, [finished, state, of_home]| {
            // Started again since it was listed, or of another home.
            let is_ours = of_home.is_empty() || of_home == home;
            if !is_ours || !(state.is_empty() || state == "exited") {
                return None;
            }
            let seconds = old_age(host, &finished)?.as_secs();
            Some(format!(
                "orphan container {id} (exited {seconds} seconds ago)"
            ))
        });
    }

    /// Containers of this home that were made long ago and never started.
    fn look_at_unstarted(&mut self) {
        let host = self.host;
        let home = labels::home_key(&host.facts.hermes_home);
        let question = Question {
            labels: &[(labels::HOME, &home)],
            status: "created",
            format: "{{.Created}}\t{{.State.Status}}\t",
            fields: |facts| {
                let created = facts.created_at.clone().unwrap_or_default();
                [created, facts.state_word.clone(), String::new()]
            },
            by_force: false,
        };
        self.look(&question, |id, [created, state, _]| {
            old_age(host, &created).filter(|_| state == "created")?;
            Some(format!("container {id} that never started"))
        });
    }

    /// Containers of this home whose process is provably gone.
    fn look_at_ownerless(&mut self) {
        let Some(me) = &self.host.owner else { return };
        let home = labels::home_key(&self.host.facts.hermes_home);
        let format = format!("{{{{index .Config.Labels \"{}\"}}}}\t\t", labels::OWNER);
        let question = Question {
            labels: &[(labels::HOME, &home), (labels::OWNER, "")],
            status: "running",
            format: &format,
            fields: |facts| {
                let owner = facts.label(labels::OWNER).unwrap_or_default();
                [owner.to_owned(), String::new(), String::new()]
            },
            by_force: true,
        };
        self.look(&question, |id, [owner, _, _]| {
            let is_dead = Owner::parse(&owner)?.is_dead(me, lives);
            is_dead.then(|| format!("container {id}: its process is gone"))
        });
    }

    /// Condemns the containers that, by three of their fields, are told what they are.
    fn look(
        &mut self,
        question: &Question<'_>,
        describe: impl Fn(&str, [String; 3]) -> Option<String>,
    ) {
        let Some(limit) = self.left(LIST_LIMIT) else {
            return;
        };
        let mut ids = self
            .host
            .engine
            .ids(question.labels, question.status, limit);
        ids.retain(|id| is_id(id));
        // Stable: what waited longest comes first, the rest in the engine's order.
        ids.sort_by_key(|id| !self.recorded.contains(id));
        for id in ids {
            let Some(limit) = self.left(LOOK_LIMIT) else {
                self.rest.push(id);
                continue;
            };
            let fields = fields_of(self.host, &id, question, limit);
            let short: String = id.chars().take(12).collect();
            if let Some(what) = fields.and_then(|fields| describe(&short, fields)) {
                self.condemned.push(Condemned {
                    id,
                    what,
                    by_force: question.by_force,
                });
            }
        }
    }

    /// Removes what was condemned, as far as time allows, and says how many went.
    fn remove(mut self) -> usize {
        let mut reaped = 0;
        for condemned in std::mem::take(&mut self.condemned) {
            let Condemned { id, what, by_force } = condemned;
            let waiting = Instant::now();
            let may_remove = self.host.sweep.may_remove();
            self.deadline += waiting.elapsed();
            let Some(limit) = self.left(REMOVE_LIMIT).filter(|_| may_remove) else {
                self.rest.push(id);
                continue;
            };
            match self.host.engine.remove(&id, by_force, limit) {
                Ok(()) => {
                    tracing::info!("Reaped {what}");
                    reaped += 1;
                }
                Err(error) => tracing::debug!("{what} stays: {error}"),
            }
        }
        write_record(self.host, &self.rest, !self.recorded.is_empty());
        if reaped > 0 {
            tracing::info!(reaped, "old containers removed");
        }
        reaped
    }

    /// The time for one more call; `None` if there is none.
    fn left(&self, usual: Duration) -> Option<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| left.min(usual))
    }
}

/// Three fields of a container; `None` if they cannot be read.
fn fields_of(
    host: &DockerHost,
    id: &str,
    question: &Question<'_>,
    limit: Duration,
) -> Option<[String; 3]> {
    if let Some(shown) = host.engine.socket().and_then(|socket| socket.inspect(id)) {
        return ContainerFacts::read(&shown).map(|facts| (question.fields)(&facts));
    }
    let args = ["inspect", "--format", question.format, id];
    let printed = host.engine.demand("looking at it", &args, limit).ok()?;
    let line = printed.trim_end_matches(['\n', '\r']);
    let mut fields = line.split('\t').map(|field| {
        let field = field.trim();
        // What templates print for a label that is not there.
        if field == "<no value>" { "" } else { field }.to_owned()
    });
    let mut next = || fields.next().unwrap_or_default();
    Some([next(), next(), next()])
}

/// The list that one pass leaves to the next.
fn record(host: &DockerHost) -> PathBuf {
    host.sandboxes().join(".orphans")
}

fn read_record(host: &DockerHost) -> BTreeSet<String> {
    let most = u64::try_from(MOST_RECORDED).unwrap_or(u64::MAX);
    let text = hermes_fs::read_text_capped(&record(host), most).unwrap_or_default();
    let ids = text.lines().map(str::trim).filter(|id| is_id(id));
    ids.map(str::to_owned).collect()
}

fn write_record(host: &DockerHost, rest: &[String], was_there: bool) {
    let path = record(host);
    let written = if rest.is_empty() {
        if !was_there {
            return;
        }
        hermes_fs::remove_file(&path)
    } else {
        tracing::info!(
            left = rest.len(),
            "old containers are left to the next command"
        );
        let mut text = rest.join("\n");
        text.push('\n');
        hermes_fs::create_dir_all(&host.sandboxes(), 0o700)
            .and_then(|()| hermes_fs::write_atomic(&path, text.as_bytes(), 0o600))
    };
    if let Err(error) = written {
        tracing::debug!(%error, "could not record which old containers are left");
    }
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
