//! Conversations: the list of them, and what was said in them by words.

use askama::Template;
use serde::Deserialize;

use super::frame::{self, html, now};
use super::shell::{Shell, Trouble};
use super::shown::{nullable, plural, segment, short_count};
use super::source::Source;
use crate::call::{Answered, Call};

/// Conversations on a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    shell: Shell,
    trouble: Option<Trouble>,
    q: String,
    rows: Vec<SessionRow>,
    count_text: String,
    /// Where the next page begins.
    next: Option<usize>,
    now: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SessionsAnswer {
    sessions: Vec<SessionRow>,
    total: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SearchAnswer {
    results: Vec<SessionRow>,
}

/// A conversation in a list.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct SessionRow {
    #[serde(alias = "session_id")]
    pub(super) id: String,
    title: Option<String>,
    preview: Option<String>,
    source: Option<String>,
    model: Option<String>,
    #[serde(alias = "session_started", deserialize_with = "nullable")]
    started_at: f64,
    #[serde(deserialize_with = "nullable")]
    last_active: f64,
    #[serde(deserialize_with = "nullable")]
    message_count: u64,
    #[serde(deserialize_with = "nullable")]
    input_tokens: u64,
    #[serde(deserialize_with = "nullable")]
    output_tokens: u64,
    is_active: bool,
    snippet: Option<String>,
}

/// A piece of a found text.
struct Piece<'a> {
    text: &'a str,
    /// Whether it is what was searched for.
    hit: bool,
}

impl SessionRow {
    /// The id as a segment of a path.
    pub(super) fn href(&self) -> String {
        segment(&self.id)
    }

    pub(super) fn name(&self) -> &str {
        let named = self.title.as_deref().or(self.preview.as_deref());
        let named = named.map(str::trim).filter(|name| !name.is_empty());
        named.map_or(self.id.as_str(), |name| hermes_text::cut(name, 160))
    }

    pub(super) fn source_text(&self) -> &str {
        self.source.as_deref().unwrap_or("unknown")
    }

    pub(super) fn model_text(&self) -> &str {
        self.model.as_deref().unwrap_or_default()
    }

    fn tokens_text(&self) -> String {
        short_count(self.input_tokens + self.output_tokens)
    }

    pub(super) fn started(&self) -> i64 {
        whole(self.started_at)
    }

    /// When something was last said.
    pub(super) fn when(&self) -> i64 {
        whole(self.last_active.max(self.started_at))
    }

    fn shown_snippet(&self) -> Option<Vec<Piece<'_>>> {
        let snippet = self.snippet.as_deref().filter(|text| !text.is_empty())?;
        let mut pieces = Vec::new();
        let mut rest = snippet;
        while let Some((before, found)) = rest.split_once(">>>") {
            let (hit, after) = found.split_once("<<<").unwrap_or((found, ""));
            pieces.push(Piece {
                text: before,
                hit: false,
            });
            pieces.push(Piece {
                text: hit,
                hit: true,
            });
            rest = after;
        }
        pieces.push(Piece {
            text: rest,
            hit: false,
        });
        Some(pieces)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "seconds of a clock")]
fn whole(seconds: f64) -> i64 {
    seconds as i64
}

/// The latest conversations.
pub(super) async fn latest(source: &Source, most: usize) -> Vec<SessionRow> {
    let path = format!("/api/sessions?limit={most}");
    let answer: Result<SessionsAnswer, Trouble> = source.get(&path).await;
    answer.unwrap_or_default().sessions
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let q = call.query("q").unwrap_or_default();
    let offset = call
        .query("offset")
        .and_then(|text| text.parse::<usize>().ok());
    let offset = offset.unwrap_or_default();
    let found: Result<(Vec<SessionRow>, usize), Trouble> = if q.trim().is_empty() {
        let path = format!("/api/sessions?limit={PAGE}&offset={offset}");
        let answer: Result<SessionsAnswer, Trouble> = source.get(&path).await;
        answer.map(|answer| (answer.sessions, answer.total))
    } else {
        let path = format!("/api/sessions/search?q={}&limit=100", segment(&q));
        let answer: Result<SearchAnswer, Trouble> = source.get(&path).await;
        answer.map(|answer| {
            let count = answer.results.len();
            (answer.results, count)
        })
    };
    let (rows, total, trouble) = match found {
        Ok((rows, total)) => (rows, total, None),
        Err(trouble) => (Vec::new(), 0, Some(trouble)),
    };
    let mut shell = frame::shell(&call, "Sessions", "sessions");
    shell.refresh = q.is_empty().then_some(10);
    let next = offset + rows.len();
    let page = SessionsPage {
        shell,
        trouble,
        count_text: format!("{total} conversation{}", plural(total)),
        next: (q.is_empty() && next < total && !rows.is_empty()).then_some(next),
        rows,
        q,
        now: now(),
    };
    html(&page)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn hits_of_a_search_are_told_apart() {
        let row = SessionRow {
            snippet: Some("a >>>b<<< c >>>d".to_owned()),
            ..SessionRow::default()
        };
        let pieces = row.shown_snippet().unwrap_or_default();
        let pieces: Vec<(&str, bool)> = pieces.iter().map(|one| (one.text, one.hit)).collect();
        assert_eq!(
            pieces,
            [
                ("a ", false),
                ("b", true),
                (" c ", false),
                ("d", true),
                ("", false)
            ]
        );
    }
}
