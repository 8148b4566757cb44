//! Read-only questions to the engine: which containers there are, and what they are.
//!
//! An engine that does not answer, or answers garbage, knows of none: callers go on to make one and
//! learn the reason there.

use std::time::Duration;

use super::engine::Engine;
use super::inspect::{ContainerFacts, State};

/// How long a list or a look may take.
pub(crate) const LOOK_LIMIT: Duration = Duration::from_secs(10);

/// A line of `ps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Short or full id.
    pub id: String,
    pub state: State,
}

impl Engine {
    /// The containers with all these labels, in the engine's order.
    pub fn list(&self, filters: &[(&str, &str)]) -> Option<Vec<Listed>> {
        let quick = self.socket().and_then(|socket| socket.list(filters));
        quick
            .map(|found| found.into_iter().map(listed).collect())
            .or_else(|| self.list_by_program(filters))
    }

    fn list_by_program(&self, filters: &[(&str, &str)]) -> Option<Vec<Listed>> {
        let mut args = vec!["ps".to_owned(), "-a".to_owned()];
        for (name, value) in filters {
            let filter = if value.is_empty() {
                format!("label={name}")
            } else {
                format!("label={name}={value}")
            };
            args.extend(["--filter".to_owned(), filter]);
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

    fn inspect_by_program<S: AsRef<str>>(&self, references: &[S]) -> Option<Vec<ContainerFacts>> {
        let mut args = vec!["inspect".to_owned()];
        args.extend(references.iter().map(|one| one.as_ref().to_owned()));
        // With some of them gone the call fails and still prints the others.
        let answer = self.ask(&args, LOOK_LIMIT).ok()?;
        ContainerFacts::read_all(&answer.stdout)
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
