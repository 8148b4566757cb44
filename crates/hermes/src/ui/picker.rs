//! Choosing one of several: with arrow keys and a filter at a terminal that can, by number at others.
//!
//! The terminal is asked nothing. Only the lines of the picker are drawn again, and they are gone when
//! it is.

use std::io::{IsTerminal, Stderr, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use crossterm::cursor::{Hide, MoveToColumn, MoveUp, Show};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{Clear, ClearType, disable_raw_mode, enable_raw_mode};
use crossterm::{execute, queue};
use hermes_config::{Environment, vars};
use hermes_proc::{TerminalSignals, Wake, first_readable};
use rustix::io::Errno;
use rustix::stdio::stdin;

use super::pick_list::{Choice, Move, PickList};
use super::prompt::ask_line;
use super::terminal_guard::{Guarded, Signalled};
use super::{Printer, cut, visible};
use crate::error::Result;

/// Most rows that are shown at once.
const ROWS: usize = 12;
/// Lines around the rows: the title, the filter, the count, the keys, one to spare.
const AROUND: usize = 5;
/// How long the rest of a key's sequence may take after its first byte.
const SEQUENCE: Duration = Duration::from_millis(50);
const KEYS: &str = "Arrows move, typing filters, Enter chooses, Esc goes back.";

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Picked {
    /// The row with this number.
    Chosen(usize),
    /// One step back.
    Back,
    /// Away from all questions.
    Leave,
}

/// Whether somebody can be asked at this terminal.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Lets the person choose a row.
pub(crate) fn pick(
    printer: Printer,
    env: &Environment,
    title: &str,
    choices: &[Choice],
    initial: usize,
) -> Result<Picked> {
    let choices: Vec<Choice> = choices
        .iter()
        .map(|choice| Choice::new(visible(&choice.label), visible(&choice.detail)))
        .collect();
    let kind = env.text(&vars::TERM).unwrap_or("dumb");
    if kind == "dumb" || !can_ask() {
        return by_number(printer, title, &choices, initial);
    }
    let picked = by_keys(title, &choices, initial)?;
    if let Picked::Chosen(at) = picked
        && let Some(choice) = choices.get(at)
    {
        printer.note(format!("{title}: {}", choice.label))?;
    }
    Ok(picked)
}

fn by_number(printer: Printer, title: &str, choices: &[Choice], initial: usize) -> Result<Picked> {
    printer.note(format!("{title}:"))?;
    for (at, choice) in choices.iter().enumerate() {
        let line = format!("  {:>2}. {}  {}", at + 1, choice.label, choice.detail);
        printer.note(line.trim_end())?;
    }
    let question = format!("Number (Enter for {}, b for back): ", initial + 1);
    loop {
        let Some(answer) = ask_line(printer, &question)? else {
            return Ok(Picked::Leave);
        };
        match answer.as_str() {
            "" => return Ok(Picked::Chosen(initial)),
            "b" => return Ok(Picked::Back),
            "q" => return Ok(Picked::Leave),
            _ => {}
        }
        let number = answer
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let named = || {
            let mut labels = choices.iter();
            labels.position(|choice| choice.label.eq_ignore_ascii_case(&answer))
        };
        match number.filter(|at| *at < choices.len()).or_else(named) {
            Some(at) => return Ok(Picked::Chosen(at)),
            None => printer.note(format!("There is no '{}' in the list.", visible(&answer)))?,
        }
    }
}

fn by_keys(title: &str, choices: &[Choice], initial: usize) -> Result<Picked> {
    let mut list = PickList::new(choices, initial);
    let mut region = Region::begin()?;
    let mut typed = Vec::new();
    loop {
        region.draw(title, &mut list)?;
        match region.guarded.take() {
            Some(Signalled::Leave) => return Ok(Picked::Leave),
            Some(Signalled::Pause) => {
                region.pause()?;
                continue;
            }
            None => {}
        }
        if !more_bytes(&mut typed, &region.guarded.signalled) {
            return Ok(Picked::Leave);
        }
        while let Some((key, used)) = next_key(&typed) {
            typed.drain(..used);
            match key {
                Key::Move(way) => list.go(way, Region::rows()),
                Key::Letter(letter) => list.add(letter),
                Key::Backspace => list.remove_last(),
                Key::Enter => {
                    if let Some(at) = list.marked() {
                        return Ok(Picked::Chosen(at));
                    }
                }
                // The first one takes the filter away.
                Key::Escape if list.clear() => {}
                Key::Escape => return Ok(Picked::Back),
                Key::Leave => return Ok(Picked::Leave),
                Key::ClearFilter => drop(list.clear()),
                Key::Pause => region.pause()?,
                Key::Other => {}
            }
        }
    }
}

/// The lines at the bottom of the terminal that are drawn again.
struct Region {
    out: Stderr,
    height: u16,
    guarded: Arc<Guarded>,
}

impl Region {
    fn begin() -> Result<Self> {
        let guarded = Guarded::begin()?;
        // From here on dropping it gives the terminal back.
        let mut region = Self {
            out: std::io::stderr(),
            height: 0,
            guarded,
        };
        enable_raw_mode()?;
        execute!(region.out, Hide)?;
        Ok(region)
    }

    /// Gives the terminal back, pauses the program, and takes the terminal again when it goes on.
    fn pause(&mut self) -> std::io::Result<()> {
        self.erase()?;
        execute!(self.out, Show)?;
        disable_raw_mode()?;
        TerminalSignals::pause();
        enable_raw_mode()?;
        execute!(self.out, Hide)
    }

    fn size() -> (usize, usize) {
        match crossterm::terminal::size() {
            Ok((width, height)) if width > 0 && height > 0 => (width.into(), height.into()),
            Ok(_) | Err(_) => (80, 24),
        }
    }

    fn rows() -> usize {
        Self::size().1.saturating_sub(AROUND).clamp(1, ROWS)
    }

    fn draw(&mut self, title: &str, list: &mut PickList<'_>) -> Result<()> {
        // The last column stays empty: writing it makes some terminals begin a new line.
        let width = Self::size().0.saturating_sub(1);
        let lines = list.lines(width, Self::rows());
        self.erase()?;
        queue!(
            self.out,
            SetAttribute(Attribute::Bold),
            Print(cut(title, width)),
            SetAttribute(Attribute::Reset),
            Print("\r\n")
        )?;
        for (line, is_marked) in &lines {
            if *is_marked {
                queue!(self.out, SetAttribute(Attribute::Bold))?;
            }
            queue!(
                self.out,
                Print(line),
                SetAttribute(Attribute::Reset),
                Print("\r\n")
            )?;
        }
        queue!(self.out, Print(cut(KEYS, width)), Print("\r\n"))?;
        self.height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
        self.out.flush()?;
        Ok(())
    }

    fn erase(&mut self) -> std::io::Result<()> {
        if self.height > 0 {
            queue!(self.out, MoveUp(self.height))?;
        }
        queue!(self.out, MoveToColumn(0), Clear(ClearType::FromCursorDown))?;
        self.height = 0;
        Ok(())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        drop(self.erase());
        drop(execute!(self.out, Show));
        drop(disable_raw_mode());
        Guarded::end();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Move(Move),
    Letter(char),
    Backspace,
    Enter,
    Escape,
    Leave,
    ClearFilter,
    Pause,
    /// A key that means nothing here.
    Other,
}

const SEQUENCES: [(&[u8], Move); 12] = [
    (b"\x1b[A", Move::Up),
    (b"\x1b[B", Move::Down),
    (b"\x1bOA", Move::Up),
    (b"\x1bOB", Move::Down),
    (b"\x1b[5~", Move::PageUp),
    (b"\x1b[6~", Move::PageDown),
    (b"\x1b[H", Move::First),
    (b"\x1b[F", Move::Last),
    (b"\x1b[1~", Move::First),
    (b"\x1b[4~", Move::Last),
    (b"\x1bOH", Move::First),
    (b"\x1bOF", Move::Last),
];

/// Waits for keys or a signal; `false` if no key will ever come again.
fn more_bytes(typed: &mut Vec<u8>, signalled: &Wake) -> bool {
    let mut bytes = [0; 256];
    loop {
        if let Ok(Some(0)) = first_readable(&[signalled.as_fd(), stdin()], None) {
            return true;
        }
        match rustix::io::read(stdin(), &mut bytes) {
            // The end of input, or a terminal that is gone.
            Ok(0) | Err(Errno::IO) => return false,
            Ok(count) => typed.extend_from_slice(bytes.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(_) => return false,
        }
        // A slow line may deliver a sequence in pieces; an escape by itself is the key of that name.
        let may_go_on = typed.last() == Some(&0x1b) || typed.ends_with(b"\x1b[");
        if !may_go_on || !matches!(first_readable(&[stdin()], Some(SEQUENCE)), Ok(Some(_))) {
            return true;
        }
    }
}

/// The first key of what was typed, and how many bytes it has; `None` for an unfinished character.
fn next_key(typed: &[u8]) -> Option<(Key, usize)> {
    let first = *typed.first()?;
    if first == 0x1b {
        return Some(sequence(typed));
    }
    let plain = match first {
        b'\r' | b'\n' => Key::Enter,
        0x7f | 0x08 => Key::Backspace,
        // Ctrl-C and Ctrl-D arrive as characters here.
        0x03 | 0x04 => Key::Leave,
        0x0e | b'\t' => Key::Move(Move::Down),
        0x10 => Key::Move(Move::Up),
        0x15 => Key::ClearFilter,
        0x1a => Key::Pause,
        0x00..0x20 => Key::Other,
        0x20..0x7f => Key::Letter(char::from(first)),
        _ => {
            let width = match first {
                0xc0..0xe0 => 2,
                0xe0..0xf0 => 3,
                0xf0..=0xf7 => 4,
                _ => return Some((Key::Other, 1)),
            };
            let bytes = typed.get(..width)?;
            let letter = std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| text.chars().next());
            return Some((letter.map_or(Key::Other, Key::Letter), width));
        }
    };
    Some((plain, 1))
}

fn sequence(typed: &[u8]) -> (Key, usize) {
    let known = SEQUENCES.iter().find(|(bytes, _)| typed.starts_with(bytes));
    if let Some((bytes, way)) = known {
        return (Key::Move(*way), bytes.len());
    }
    match typed.get(1) {
        // A key nobody asked for: its sequence ends with a letter or a tilde.
        Some(b'[' | b'O') => {
            let rest = typed.get(2..).unwrap_or_default();
            let end = rest.iter().position(|byte| (0x40..0x7f).contains(byte));
            (Key::Other, end.map_or(typed.len(), |end| end + 3))
        }
        _ => (Key::Escape, 1),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn keys(mut typed: &[u8]) -> Vec<Key> {
        let mut found = Vec::new();
        while let Some((key, used)) = next_key(typed) {
            found.push(key);
            typed = &typed[used..];
        }
        found
    }

    #[test]
    fn bytes_of_a_terminal_are_keys() {
        assert_eq!(
            keys(b"a\x1b[A\x1bOB\r"),
            [
                Key::Letter('a'),
                Key::Move(Move::Up),
                Key::Move(Move::Down),
                Key::Enter
            ]
        );
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1b[1;5C\x03"), [Key::Other, Key::Leave]);
        assert_eq!(keys("ä".as_bytes()), [Key::Letter('ä')]);
        assert_eq!(keys(&"ä".as_bytes()[..1]), []);
        assert_eq!(keys(b"\xff\x7f"), [Key::Other, Key::Backspace]);
    }
}
