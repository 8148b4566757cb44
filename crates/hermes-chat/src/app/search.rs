//! Looking for something typed earlier, in any session of the profile: what was typed here is found at
//! once, what the store of sessions knows a moment later.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use crate::composer::words;
use crate::draw::{Cursor, Glyphs, Line, Palette, Span, clip};
use crate::events::{Event, Exchange};
use crate::setup::{FindTyped, Typed};

/// Results that are shown.
pub(super) const RESULTS: usize = 8;

/// A search that is open.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) query: String,
    pub(super) results: Vec<String>,
    pub(super) chosen: usize,
    /// What the store has found for this query or a shorter one.
    pub(super) stored: Vec<Typed>,
    pub(super) queries: Sender<String>,
}

/// A thread that searches for the newest of the queries it is sent.
fn search_in_background(find: Arc<FindTyped>, exchange: Arc<Exchange>) -> Sender<String> {
    let (queries, received) = channel::<String>();
    let search = move || {
        while let Ok(query) = received.recv() {
            let query = received.try_iter().last().unwrap_or(query);
            let messages = find(&words(&query), RESULTS);
            exchange.send(Event::Found { query, messages });
        }
    };
    let thread = std::thread::Builder::new().name("typed-before".to_owned());
    if let Err(error) = thread.spawn(search) {
        tracing::debug!(%error, "earlier sessions are not searched");
    }
    queries
}

impl Search {
    /// An empty search; what `find` finds is sent to the screen.
    pub(super) fn open(find: Arc<FindTyped>, exchange: Arc<Exchange>) -> Self {
        Self {
            query: String::new(),
            results: Vec::new(),
            chosen: 0,
            stored: Vec::new(),
            queries: search_in_background(find, exchange),
        }
    }

    pub(super) fn step(&mut self, by: isize) {
        let last = self.results.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }

    pub(super) fn choice(&self) -> Option<&str> {
        self.results.get(self.chosen).map(String::as_str)
    }

    /// The rows, and where the cursor is.
    pub(super) fn rows(
        &self,
        width: usize,
        palette: Palette,
        glyphs: Glyphs,
    ) -> (Vec<Line>, Cursor) {
        let label = "search: ";
        let query = hermes_text::steady(&self.query);
        let column = label.len() + crate::draw::display_width(&query);
        let mut rows = vec![Line::from(vec![
            Span::styled(label.to_owned(), palette.accent()),
            Span::from(query),
        ])];
        for (index, result) in self.results.iter().enumerate() {
            let is_chosen = index == self.chosen;
            let sign = if is_chosen { glyphs.prompt } else { " " };
            let style = if is_chosen {
                palette.strong()
            } else {
                palette.plain()
            };
            let text = hermes_text::steady(&hermes_text::one_line(result, 500));
            rows.push(Line::from(vec![
                Span::styled(format!("{sign} "), palette.accent()),
                Span::styled(clip(&text, width.saturating_sub(3), glyphs.ellipsis), style),
            ]));
        }
        if self.results.is_empty() {
            rows.push(Line::from(Span::styled(
                "  nothing found".to_owned(),
                palette.faint(),
            )));
        }
        let column = u16::try_from(column).unwrap_or(u16::MAX);
        (rows, Cursor { row: 0, column })
    }
}
