//! What keys do.

use std::time::{Duration, Instant};

use super::state::{App, Wish};
use crate::cells::Handled;
use crate::composer::{Newer, Popup, PopupKind};
use crate::overlay::{Overlay, Picked, Picker, Transcript};
use crate::setup::Job;
use crate::terminal::{Input, Key, Mods};

/// Two presses within this time belong together.
const DOUBLE: Duration = Duration::from_millis(700);
/// The second Ctrl-C ends the program within this time.
const CONFIRM: Duration = Duration::from_secs(3);

impl App {
    pub(super) fn input(&mut self, input: Input) {
        self.hint = None;
        match input {
            Input::Paste(text) => self.paste(&text),
            Input::Key(key, mods) => self.key(key, mods),
            Input::Other => {}
        }
    }

    fn paste(&mut self, text: &str) {
        if let Some(view) = self.questions.front_mut()
            && view.paste(text)
        {
            return;
        }
        if let Some(search) = &mut self.search {
            search.query.push_str(&text.replace('\n', " "));
            self.search_again();
            return;
        }
        if self.overlay.is_some() {
            return;
        }
        let directory = self.facts.cwd.clone();
        self.composer.paste(text, self.setup.paste, &directory);
        self.changed();
    }

    fn key(&mut self, key: Key, mods: Mods) {
        let is_ctrl_c = key == Key::Char('c') && mods.ctrl;
        if self.overlay.is_some() {
            self.overlay_key(key, mods);
            return;
        }
        if let Some(view) = self.questions.front_mut()
            && !is_ctrl_c
        {
            match view.key(key, mods) {
                Handled::NotMine => {}
                Handled::Taken => return,
                Handled::Answered(line, is_yes) => {
                    self.questions.pop_front();
                    let (sign, style) = if is_yes {
                        (self.glyphs.done, self.palette.good())
                    } else {
                        (self.glyphs.failed, self.palette.warning())
                    };
                    self.notice(sign, &line, style);
                    return;
                }
            }
        }
        if self.search.is_some() {
            self.search_key(key, mods);
            return;
        }
        if key != Key::Escape {
            self.last_escape = None;
        }
        if std::mem::take(&mut self.after_ctrl_x) && key == Key::Char('e') && mods.ctrl {
            self.edit();
            return;
        }
        if mods.ctrl || mods.alt {
            self.combination(key, mods);
        } else {
            self.plain(key, mods);
        }
    }

    fn plain(&mut self, key: Key, mods: Mods) {
        match key {
            Key::Enter if mods.shift => self.insert("\n"),
            Key::Enter => self.enter(),
            Key::Tab => drop(self.accept()),
            Key::Escape => self.escape(),
            Key::Up | Key::Down => self.vertical(key == Key::Down),
            Key::Left => self.composer.left(),
            Key::Right => self.composer.right(),
            Key::Home => self.composer.home(),
            Key::End => self.composer.end(),
            Key::Backspace => {
                self.composer.backspace();
                self.changed();
            }
            Key::Delete => {
                self.composer.delete();
                self.changed();
            }
            Key::Char(character) => {
                let mut bytes = [0; 4];
                self.insert(character.encode_utf8(&mut bytes));
            }
            Key::BackTab | Key::PageUp | Key::PageDown => {}
        }
    }

    fn combination(&mut self, key: Key, mods: Mods) {
        match (key, mods.ctrl) {
            (Key::Enter, _) | (Key::Char('j'), true) => self.insert("\n"),
            (Key::Left, _) | (Key::Char('b'), false) => self.composer.word_left(),
            (Key::Right, _) | (Key::Char('f'), false) => self.composer.word_right(),
            (Key::Char('a'), true) => self.composer.home(),
            (Key::Char('e'), true) => self.composer.end(),
            (Key::Char('b'), true) => self.composer.left(),
            (Key::Char('f'), true) => self.composer.right(),
            (Key::Char('p'), true) | (Key::Up, _) => self.older(),
            (Key::Char('n'), true) | (Key::Down, _) => self.newer(),
            (Key::Char('c'), true) => self.ctrl_c(),
            (Key::Char('d'), true) if self.composer.is_empty() => self.leave(),
            (Key::Char('g'), true) => self.edit(),
            (Key::Char('x'), true) => self.after_ctrl_x = true,
            (Key::Char('l'), true) => self.wish = Some(Wish::Clear),
            (Key::Char('o'), true) => self.unfold(),
            (Key::Char('r'), true) => self.open_search(),
            (Key::Char('t'), true) => self.open_transcript(),
            (Key::Char('v'), true) => self.attach_image(),
            (Key::Char('z'), true) => self.wish = Some(Wish::Pause),
            (Key::Char('d' | 'k' | 'u' | 'w' | 'y' | 'h') | Key::Backspace, _) => {
                self.cutting(key, mods);
                self.changed();
            }
            _ => {}
        }
    }

    fn cutting(&mut self, key: Key, mods: Mods) {
        let composer = &mut self.composer;
        match (key, mods.ctrl) {
            (Key::Char('d'), true) => composer.delete(),
            (Key::Char('d'), false) => composer.cut_word_after(),
            (Key::Char('k'), true) => composer.cut_to_end(),
            (Key::Char('u'), true) => composer.cut_to_start(),
            (Key::Char('w'), true) => composer.cut_word_before(),
            (Key::Char('y'), true) => composer.put_back(),
            (Key::Char('h'), true) => composer.backspace(),
            (Key::Backspace, _) => composer.cut_part_before(),
            _ => {}
        }
    }

    fn insert(&mut self, text: &str) {
        self.composer.insert(text);
        self.changed();
    }

    /// The text was changed: another completion may fit, and it is no entry of the history.
    fn changed(&mut self) {
        self.history.leave();
        self.refresh_popup();
    }

    pub(super) fn refresh_popup(&mut self) {
        let exchange = std::sync::Arc::clone(&self.exchange);
        self.popup = Popup::open(
            self.composer.before(),
            &self.setup.commands,
            &self.files,
            &self.facts.cwd,
            move || exchange.send(crate::events::Event::FilesListed),
        )
        .filter(|_| self.composer.is_at_end());
    }

    fn accept(&mut self) -> Option<PopupKind> {
        let popup = self.popup.take()?;
        let (typed, text) = popup.choice()?;
        self.composer.complete(typed, text);
        let kind = popup.kind;
        self.refresh_popup();
        Some(kind)
    }

    fn enter(&mut self) {
        if self.composer.before().ends_with('\\') && self.composer.is_at_end() {
            self.composer.backspace();
            self.insert("\n");
            return;
        }
        // A command that was only begun is completed and run; a file is completed.
        match self.accept() {
            Some(PopupKind::Reference) => {}
            Some(PopupKind::Command) | None => self.submit(),
        }
    }

    fn escape(&mut self) {
        if self.popup.take().is_some() {
            return;
        }
        let now = Instant::now();
        let is_second = self
            .last_escape
            .take()
            .is_some_and(|last| now.duration_since(last) < DOUBLE);
        if is_second && !self.is_busy() {
            self.exchange.submit(Job::ListMessages);
        } else {
            self.last_escape = Some(now);
        }
    }

    fn vertical(&mut self, down: bool) {
        if let Some(popup) = &mut self.popup {
            popup.step(down);
            return;
        }
        let width = self.width().saturating_sub(2);
        if self.composer.vertical(down, width) {
            return;
        }
        if down {
            self.newer();
        } else {
            self.older();
        }
    }

    fn older(&mut self) {
        if let Some(entry) = self.history.older(&self.composer) {
            self.composer.set(&entry);
            self.popup = None;
        }
    }

    fn newer(&mut self) {
        match self.history.newer() {
            Some(Newer::Entry(entry)) => self.composer.set(&entry),
            Some(Newer::Draft(draft)) => self.composer.restore(draft),
            None => return,
        }
        self.popup = None;
    }

    /// Ends the turn, empties the text, or ends the program: the first that there is to do.
    pub(super) fn ctrl_c(&mut self) {
        let now = Instant::now();
        let is_second = self
            .last_ctrl_c
            .is_some_and(|last| now.duration_since(last) < CONFIRM);
        self.last_ctrl_c = Some(now);
        if let Some(turn) = &self.turn {
            if is_second || turn.is_interrupted {
                self.is_leaving = true;
                self.hint = Some("Ending".to_owned());
            }
            self.interrupt();
        } else if is_second {
            self.leave();
        } else if !self.composer.is_empty() {
            drop(self.composer.take());
            self.popup = None;
            self.last_ctrl_c = None;
        } else {
            self.hint = Some("Press Ctrl-C again to exit".to_owned());
        }
    }

    pub(super) fn leave(&mut self) {
        if self.turn.is_some() {
            self.is_leaving = true;
            self.interrupt();
        } else {
            self.exchange.submit(Job::Quit);
        }
    }

    fn edit(&mut self) {
        if self.is_busy() {
            self.hint = Some("The editor opens when the turn is over".to_owned());
            return;
        }
        let taken = self.composer.take();
        self.popup = None;
        // An editor has no place for images; they come back with the text.
        self.kept_images = taken.images;
        self.lend(Job::Edit(taken.text));
    }

    fn attach_image(&mut self) {
        let directory = self.facts.cwd.clone();
        self.popup = None;
        if self.composer.attach_path_before(&directory) {
            return;
        }
        if self.is_busy() {
            self.hint = Some("The clipboard is read when the turn is over".to_owned());
        } else {
            self.lend(Job::Command("/paste".to_owned()));
        }
    }

    /// Shows the whole output of the last call, and of those to come.
    fn unfold(&mut self) {
        self.is_unfolded = !self.is_unfolded;
        if self.is_unfolded {
            // A command that runs is what is meant, and unfolds in place.
            let is_running = self
                .turn
                .as_ref()
                .is_some_and(|turn| !turn.cells.is_empty());
            if !is_running && let Some(cell) = self.last_cell.take() {
                let rows = cell.whole(self.width(), self.palette, self.glyphs);
                self.group(super::state::Group::Calls);
                self.finished.extend(rows);
            }
            self.hint = Some("Output of tools is shown; Ctrl-O hides it".to_owned());
        } else {
            self.hint = Some("Output of tools is hidden".to_owned());
        }
    }

    fn open_transcript(&mut self) {
        self.overlay = Some(Overlay::Transcript(Transcript::default()));
    }

    /// A list of the messages so far, to change one of them.
    pub(super) fn choose_message(&mut self, messages: &[String]) {
        // Something else may have begun meanwhile.
        if self.is_busy() || self.overlay.is_some() {
            return;
        }
        if messages.is_empty() {
            self.hint = Some("There are no messages to edit yet".to_owned());
            return;
        }
        let lines = messages.iter();
        let mut picker = Picker::new(
            "Edit an earlier message in a fork",
            lines.map(|text| hermes_text::one_line(text, 300)).collect(),
        );
        picker.choose_last();
        self.overlay = Some(Overlay::Messages(picker));
    }

    fn overlay_key(&mut self, key: Key, mods: Mods) {
        let size = self.size;
        match &mut self.overlay {
            Some(Overlay::Transcript(transcript)) => {
                let is_closed = transcript.key(key, mods, size);
                self.overlay.take_if(|_| is_closed);
            }
            Some(Overlay::Messages(picker)) => match picker.key(key, mods, size) {
                Picked::Nothing => {}
                Picked::Cancelled => self.overlay = None,
                Picked::Chosen(index) => {
                    self.overlay = None;
                    self.exchange.submit(Job::Fork(index));
                }
            },
            None => {}
        }
    }
}
