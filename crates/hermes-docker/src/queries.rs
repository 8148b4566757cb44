//! Questions to the engine: which containers there are, what they are and what they printed; and the
//! removal of one. Over its socket where there is one, by its program otherwise.
//!
//! An engine that does not answer, or answers garbage, knows of none: callers go on to make one and
//! learn the reason there.

use std::time::Duration;

use super::engine::Engine;
use super::engine_words::engine_words;
use super::error::Result;
use super::inspect::{ContainerFacts, Presence, State};
use super::labels;

/// How long a list or a look may take.
pub(crate) const LOOK_LIMIT: Duration = Duration::from_secs(10);

/// How many lines tell why a container ended.
const LAST_LINES: usize = 5;

/// A line of `ps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Short or full id.
    pub id: String,
    pub state: State,
}

impl Engine {
    /// Whether a container is there, and in which state; `None` if the engine does not say.
    pub(crate) fn presence(&self, id: &str) -> Option<Presence> {
        if let Some(known) = self.socket().and_then(|socket| socket.presence(id)) {
            return Some(known);
        }
        let args = ["inspect", "--format", "{{.State.Status}}", id];
        let answer = self.ask(&args, LOOK_LIMIT).ok()?;
        let words = answer.words.to_ascii_lowercase();
        if answer.is_success() {
            Some(Presence::There(State::parse(&answer.stdout)))
        } else if words.contains("no such") {
            Some(Presence::Missing)
        } else {
            None
        }
    }

    /// The containers with all these labels, in the engine's order.
    pub fn list(&self, filters: &[(&str, &str)]) -> Option<Vec<Listed>> {
        let quick = self.socket().and_then(|socket| socket.list(filters, None));
        quick
            .map(|found| found.into_iter().map(listed).collect())
            .or_else(|| self.list_by_program(filters))
    }

    /// Ids of our containers in this state with all these labels besides; none if the engine does
    /// not say.
    pub(crate) fn ids(
        &self,
        labels: &[(&str, &str)],
        status: &str,
        limit: Duration,
    ) -> Vec<String> {
        let quick = self.socket().and_then(|socket| {
            let ours = [&[(labels::AGENT, "1")], labels].concat();
            socket.list(&ours, Some(status))
        });
        if let Some(found) = quick {
            return found.into_iter().map(|(id, _)| id).collect();
        }
        let mut args = vec!["ps".to_owned(), "-a".to_owned()];
        let labels = labels.iter().map(|(name, value)| label_filter(name, value));
        let filters = [label_filter(labels::AGENT, "1"), format!("status={status}")];
        for filter in filters.into_iter().chain(labels) {
            args.extend(["--filter".to_owned(), filter]);
        }
        args.extend(["--format".to_owned(), "{{.ID}}".to_owned()]);
        let listed = self.demand("listing old containers", &args, limit);
        let listed = listed.unwrap_or_else(|error| {
            tracing::debug!("{error}");
            String::new()
        });
        listed.lines().map(|id| id.trim().to_owned()).collect()
    }

    /// Removes a container; one that runs only by force.
    pub(crate) fn remove(&self, id: &str, by_force: bool, limit: Duration) -> Result<()> {
        if let Some(done) = self
            .socket()
            .and_then(|socket| socket.remove(id, by_force, limit))
        {
            return done;
        }
        let args: &[&str] = if by_force {
            &["rm", "-f", id]
        } else {
            &["rm", id]
        };
        self.demand("removing it", args, limit).map(drop)
    }

    fn list_by_program(&self, filters: &[(&str, &str)]) -> Option<Vec<Listed>> {
        let mut args = vec!["ps".to_owned(), "-a".to_owned()];
        for (name, value) in filters {
            args.extend(["--filter".to_owned(), label_filter(name, value)]);
        }
        args.extend(["--format".to_owned(), "{{.ID}}\t{{.State}}".to_owned()]);
        let listed = self.demand("listing containers", &args, LOOK_LIMIT);
        let listed = listed.inspect_err(|error| tracing::debug!("{error}"));
        Some(read_list(&listed.ok()?))
    }

    /// What these containers are; those that are gone are left out. `None` if nothing can be read.
    pub fn inspect<S: AsRef<str>>(&self, references: &[S]) -> Option<Vec<ContainerFacts>> {
        let quick = self.socket().and_then(|socket| {
            let look = |one: &S| ContainerFacts::read(&socket.inspect(one.as_ref())?);
            references.iter().map(look).collect::<Option<Vec<_>>>()
        });
        quick.or_else(|| self.inspect_by_program(references))
    }

    /// The last lines that a container printed, masked; none if they are not kept.
    pub(crate) fn last_lines(&self, id: &str) -> Vec<String> {
        let count = LAST_LINES.to_string();
        let Ok(answer) = self.ask(&["logs", "--tail", &count, id], LOOK_LIMIT) else {
            return Vec::new();
        };
        if !answer.is_success() {
            tracing::debug!(words = %answer.words, "no output of the container");
            return Vec::new();
        }
        let printed = engine_words(answer.stdout.as_bytes());
        let redactor = hermes_secret::Redactor::default();
        let printed = redactor
            .redact(&format!("{printed}\n{}", answer.words))
            .into_owned();
        let lines = printed.lines();
        let mut lines: Vec<String> = lines
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        let more = lines.len().saturating_sub(LAST_LINES);
        lines.drain(..more);
        lines
    }

    fn inspect_by_program<S: AsRef<str>>(&self, references: &[S]) -> Option<Vec<ContainerFacts>> {
        let mut args = vec!["inspect".to_owned()];
        args.extend(references.iter().map(|one| one.as_ref().to_owned()));
        // With some of them gone the call fails and still prints the others.
        let answer = self.ask(&args, LOOK_LIMIT).ok()?;
        ContainerFacts::read_all(&answer.stdout)
    }
}

/// A filter for a label; with an empty value, for any.
fn label_filter(name: &str, value: &str) -> String {
    match value {
        "" => format!("label={name}"),
        value => format!("label={name}={value}"),
    }
}

fn listed((id, state): (String, String)) -> Listed {
    let state = State::parse(&state);
    Listed { id, state }
}

/// Lines without a tab are something else the engine had to say.
fn read_list(printed: &str) -> Vec<Listed> {
    let lines = printed.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(id, state)| Listed {
            id: id.trim().to_owned(),
            state: State::parse(state.split('\t').next().unwrap_or_default()),
        })
        .filter(|listed| !listed.id.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn lines_are_read_and_noise_is_not() {
        let listed = |id: &str, state| Listed {
            id: id.to_owned(),
            state,
        };
        assert_eq!(
            read_list("WARNING: noise\nabc\tRunning\n\tx\ndef\texited\tmore\nghi\t\n"),
            [
                listed("abc", State::Running),
                listed("def", State::Exited),
                listed("ghi", State::Other)
            ]
        );
        let podman = "a\tUp Less than a second ago\nb\tExited (0) 3 minutes ago\nc\tPaused\n";
        assert_eq!(
            read_list(podman),
            [
                listed("a", State::Running),
                listed("b", State::Exited),
                listed("c", State::Paused)
            ]
        );
        assert_eq!(read_list(""), []);
    }
}
