//! Looking for something typed earlier, in any session of the profile: what was typed here is found at
//! once, what the store of sessions knows a moment later.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::state::App;
use crate::composer::{has_words, words};
use crate::draw::{Cursor, Glyphs, Line, Palette, Span, clip};
use crate::events::{Event, Exchange};
use crate::setup::{FindTyped, Typed};
use crate::terminal::{Key, Mods};

/// Results that are shown.
const RESULTS: usize = 8;
/// Bytes of a query; nobody remembers more.
const MAX_QUERY: usize = 200;

/// A search that is open.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) query: String,
    results: Vec<String>,
    chosen: usize,
    /// What the store has found for this query or a shorter one.
    stored: Vec<Typed>,
    queries: Sender<String>,
}

impl App {
    pub(super) fn open_search(&mut self) {
        self.popup = None;
        let find = Arc::clone(&self.setup.typed_before);
        let queries = search_in_background(find, Arc::clone(&self.exchange));
        self.search = Some(Search {
            query: String::new(),
            results: Vec::new(),
            chosen: 0,
            stored: Vec::new(),
            queries,
        });
        self.search_again();
    }

    /// The query has changed.
    pub(super) fn search_again(&mut self) {
        let Some(search) = &mut self.search else {
            return;
        };
        let end = search.query.floor_char_boundary(MAX_QUERY);
        search.query.truncate(end);
        let words = words(&search.query);
        search.stored.retain(|typed| has_words(&typed.text, &words));
        search.chosen = 0;
        // The thread has ended only if it failed; what is known here is found all the same.
        drop(search.queries.send(search.query.clone()));
        self.show_found();
    }

    /// The store has found something.
    pub(super) fn found(&mut self, query: &str, messages: Vec<Typed>) {
        if let Some(search) = &mut self.search
            && search.query == query
        {
            search.stored = messages;
            self.show_found();
        }
    }

    /// Joins what both know: newest first, each once.
    fn show_found(&mut self) {
        let Some(search) = &mut self.search else {
            return;
        };
        let mut all = self.history.search(&search.query, RESULTS);
        all.extend(search.stored.iter().cloned());
        all.sort_by(|one, other| other.at.total_cmp(&one.at));
        let chosen = search.choice().map(str::to_owned);
        let mut results: Vec<String> = Vec::new();
        for typed in all {
            if results.len() < RESULTS && !results.contains(&typed.text) {
                results.push(typed.text);
            }
        }
        // What is chosen stays chosen when more is found.
        if search.chosen > 0 {
            let same = results
                .iter()
                .position(|text| Some(text) == chosen.as_ref());
            search.chosen = same.unwrap_or(0);
        }
        search.results = results;
    }

    pub(super) fn search_key(&mut self, key: Key, mods: Mods) {
        let Some(search) = &mut self.search else {
            return;
        };
        match (key, mods.ctrl) {
            (Key::Escape, _) | (Key::Char('c' | 'g'), true) => self.search = None,
            (Key::Enter | Key::Tab, _) => {
                if let Some(text) = search.choice().map(str::to_owned) {
                    self.composer.set(&text);
                }
                self.search = None;
            }
            (Key::Down, _) | (Key::Char('r' | 'n'), true) => search.step(1),
            (Key::Up, _) | (Key::Char('s' | 'p'), true) => search.step(-1),
            (Key::Backspace, _) => {
                search.query.pop();
                self.search_again();
            }
            (Key::Char('u'), true) => {
                search.query.clear();
                self.search_again();
            }
            (Key::Char(character), false) => {
                search.query.push(character);
                self.search_again();
            }
            _ => {}
        }
    }
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
    fn step(&mut self, by: isize) {
        let last = self.results.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }

    fn choice(&self) -> Option<&str> {
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
