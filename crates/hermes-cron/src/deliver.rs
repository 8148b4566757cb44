//! Where results go: files, which are always written, and cards of the board. Chats come with their
//! platforms.

use crate::error::{Error, Result};
use crate::job::Job;

/// One target of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The output file alone.
    Local,
    /// The chat that the job was made in.
    Origin,
    /// A card on the board; a comment on a card if one is named.
    Board {
        board: Option<String>,
        card: Option<String>,
    },
    /// A chat platform.
    Platform(String),
}

/// What is posted on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardPost {
    pub board: Option<String>,
    /// The card to comment on; a new one if none is named.
    pub card: Option<String>,
    pub job: String,
    pub title: String,
    pub text: String,
    /// Whether the run failed.
    pub failed: bool,
}

impl Target {
    /// The targets of a list with commas, without repetitions.
    pub fn parse_list(text: &str) -> Vec<Self> {
        let mut targets = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let target = Self::parse(part);
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        targets
    }

    fn parse(text: &str) -> Self {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest.trim())),
            None => (text, None),
        };
        let rest = rest.filter(|rest| !rest.is_empty()).map(str::to_owned);
        match (name.trim().to_lowercase().as_str(), rest) {
            ("local", None) => Self::Local,
            ("origin", None) => Self::Origin,
            ("board" | "kanban", rest) => {
                let is_card = |rest: &String| rest.starts_with("t_");
                Self::Board {
                    card: rest.clone().filter(is_card),
                    board: rest.filter(|rest| !is_card(rest)),
                }
            }
            (platform, _) => Self::Platform(platform.to_owned()),
        }
    }

    /// Refuses targets that nothing here can reach.
    pub(crate) fn check_list(text: &str, has_origin: bool) -> Result<()> {
        let targets = Self::parse_list(text);
        if targets.is_empty() {
            return Err(Error::refused(
                "no target to deliver to was named",
                "name one, or `local` to keep results in files only",
            ));
        }
        for target in targets {
            match target {
                Self::Local | Self::Board { .. } => {}
                Self::Origin if has_origin => {}
                Self::Origin => {
                    return Err(Error::refused(
                        "'origin' means the chat a job was made in, and this one was made in none",
                        "use `local` (files only) or `board`",
                    ));
                }
                Self::Platform(name) => return Err(unreachable_platform(&name)),
            }
        }
        Ok(())
    }
}

fn unreachable_platform(name: &str) -> Error {
    Error::refused(
        format!(
            "results cannot be delivered to '{}': no such platform is connected",
            hermes_text::shown(name, 40)
        ),
        "use `local` (files only), `board` (a card with the result) or `board:t_<id>` (a comment on \
         that card)",
    )
}

/// Delivers a text to the targets of a job. Gives what went wrong.
pub(crate) fn deliver(
    job: &Job,
    text: &str,
    failed: bool,
    post: &dyn Fn(&BoardPost) -> std::result::Result<(), String>,
) -> Option<String> {
    let mut problems = Vec::new();
    for target in Target::parse_list(&job.deliver()) {
        match target {
            Target::Local => {}
            // Made at a terminal or by a program: the files are where it looks.
            Target::Origin
                if job
                    .record()
                    .get("origin")
                    .is_none_or(serde_json::Value::is_null) => {}
            Target::Origin => problems.push("the chat of the job is not connected".to_owned()),
            Target::Board { board, card } => {
                let posted = post(&BoardPost {
                    board,
                    card,
                    job: job.id().to_owned(),
                    title: job.name(),
                    text: text.to_owned(),
                    failed,
                });
                problems.extend(posted.err().map(|error| format!("board: {error}")));
            }
            Target::Platform(name) => problems.push(format!("{name} is not connected")),
        }
    }
    (!problems.is_empty()).then(|| problems.join("; "))
}

/// The text with the name of the job above and a way to it below.
pub(crate) fn wrapped(job: &Job, text: &str) -> String {
    let (name, id) = (job.name(), job.id());
    format!("Scheduled job: {name}\n\n{text}\n\n(`hermes cron runs {id}` has its history)")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn targets_are_listed_once() {
        let board = |board: Option<&str>, card: Option<&str>| Target::Board {
            board: board.map(str::to_owned),
            card: card.map(str::to_owned),
        };
        assert_eq!(
            Target::parse_list("local, Board,local,kanban:site,board:t_ab12,telegram:-100:7"),
            [
                Target::Local,
                board(None, None),
                board(Some("site"), None),
                board(None, Some("t_ab12")),
                Target::Platform("telegram".to_owned())
            ]
        );
    }

    #[test]
    fn what_cannot_be_reached_is_named() {
        for (text, part) in [
            ("telegram", "'telegram'"),
            ("local,all", "'all'"),
            ("discord:#news", "'discord'"),
            ("origin", "'origin'"),
            (" , ", "no target"),
        ] {
            let error = Target::check_list(text, false).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(Target::check_list("local,board,origin", true).is_ok());
    }
}
