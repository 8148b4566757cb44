//! `hermes kanban comment`.

use hermes_board::model::TaskId;

use super::session::Kanban;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Text of the comment
    #[arg(required = true)]
    text: Vec<String>,
    /// Author
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Maximum length of the comment, in characters
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_len: Option<u32>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let mut body = args.text.join(" ").trim().to_owned();
    if let Some(most) = args.max_len.and_then(|most| usize::try_from(most).ok()) {
        body = trimmed(body, most);
    }
    let mut session = kanban.open()?;
    let author = session.author(args.author.as_ref())?;
    session.store.add_comment(&args.id, &author, &body)?;
    kanban.line(format!("Comment added to {}", args.id))
}

/// At most `most` characters, with a note about the cut where it fits.
fn trimmed(body: String, most: usize) -> String {
    if body.chars().count() <= most {
        return body;
    }
    let note = format!("\n\n[trimmed to {most} characters by --max-len]");
    let room = most.saturating_sub(note.chars().count());
    if room == 0 {
        return body.chars().take(most).collect();
    }
    let kept: String = body.chars().take(room).collect();
    format!("{}{note}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimming_counts_characters_and_says_so() {
        assert_eq!(trimmed("äöü".to_owned(), 3), "äöü");
        assert_eq!(trimmed("äöüß".to_owned(), 3), "äöü");
        let long = trimmed("ä".repeat(300), 100);
        assert_eq!(long.chars().count(), 100);
        assert!(
            long.ends_with("ä\n\n[trimmed to 100 characters by --max-len]"),
            "{long}"
        );
    }
}
