//! What happens while something typed earlier is looked for.

use std::sync::Arc;

use super::search::{RESULTS, Search};
use super::state::App;
use crate::composer::{has_words, words};
use crate::setup::Typed;
use crate::terminal::{Key, Mods};

/// Bytes of a query; nobody remembers more.
const MAX_QUERY: usize = 200;

impl App {
    pub(super) fn open_search(&mut self) {
        self.popup = None;
        let find = Arc::clone(&self.setup.typed_before);
        self.search = Some(Search::open(find, Arc::clone(&self.exchange)));
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
