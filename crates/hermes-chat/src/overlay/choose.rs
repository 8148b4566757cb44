//! A list to pick from before there is a conversation.

use std::os::fd::AsFd;
use std::time::Duration;

use hermes_proc::{TerminalSignals, Wake, first_readable};
use rustix::stdio::stdin;

use super::picker::{Picked, Picker};
use super::screen::Alternate;
use crate::draw::{Glyphs, Palette};
use crate::look::Theme;
use crate::terminal::{Decoder, Input, Key, Pausing, RawMode, size};

/// How long a lone escape may be the beginning of something.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);

/// A list to pick from.
#[derive(Debug)]
pub struct Choice<'a> {
    pub title: &'a str,
    pub entries: Vec<String>,
    pub theme: Theme,
}

/// Lets the person pick an entry; `None` if they did not, or the program is to end.
pub fn choose(choice: Choice<'_>, interrupt: &Wake) -> std::io::Result<Option<usize>> {
    let palette = Palette::new(&choice.theme);
    let glyphs = Glyphs::new(choice.theme.utf8);
    let mut picker = Picker::new(choice.title, choice.entries);
    let signals = TerminalSignals::listen()?;
    let mut mode = RawMode::enter()?;
    mode.note_alternate(true);
    let mut screen = Alternate::enter()?;
    let mut is_paused = false;
    let mut decoder = Decoder::default();
    let mut inputs = Vec::new();
    let picked = 'picking: loop {
        if std::mem::take(&mut is_paused) {
            let _pausing = Pausing::begin();
            screen.leave()?;
            drop(mode);
            TerminalSignals::pause();
            mode = RawMode::enter()?;
            mode.note_alternate(true);
            screen = Alternate::enter()?;
        }
        let now = size();
        screen.draw(picker.rows(now, palette, glyphs), now)?;
        let limit = decoder.is_undecided().then_some(ESCAPE_WAIT);
        let sources = [interrupt.as_fd(), signals.as_fd(), stdin()];
        match first_readable(&sources, limit)? {
            Some(0) => break None,
            Some(1) => is_paused = signals.take(),
            Some(_) => {
                let mut bytes = [0; 4096];
                let count = rustix::io::read(stdin(), &mut bytes)?;
                if count == 0 {
                    break None;
                }
                decoder.feed(bytes.get(..count).unwrap_or_default(), &mut inputs);
            }
            None => decoder.settle(&mut inputs),
        }
        for input in inputs.drain(..) {
            let Input::Key(key, mods) = input else {
                continue;
            };
            if key == Key::Char('z') && mods.ctrl {
                is_paused = true;
                continue;
            }
            match picker.key(key, mods, now) {
                Picked::Nothing => {}
                Picked::Cancelled => break 'picking None,
                Picked::Chosen(index) => break 'picking Some(index),
            }
        }
    };
    screen.leave()?;
    mode.note_alternate(false);
    Ok(picked)
}
