//! Keys out of the bytes of a terminal: plain text, control keys, escape sequences of all common
//! terminals, and pastes between their marks.
//!
//! Bytes arrive in any pieces. A lone escape is the key of that name only when nothing follows it,
//! which the caller knows: [`Decoder::is_undecided`] and [`Decoder::settle`].

/// Marks around a paste.
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";
/// A longer sequence is none that a key sends.
const MAX_SEQUENCE: usize = 64;
/// Bytes of one paste that are kept.
const MAX_PASTE: usize = 16 * 1024 * 1024;

/// A key without the ones held with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Enter,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Escape,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

/// Keys held together with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mods {
    pub(crate) shift: bool,
    pub(crate) alt: bool,
    pub(crate) ctrl: bool,
}

impl Mods {
    pub(crate) const NONE: Self = Self {
        shift: false,
        alt: false,
        ctrl: false,
    };
    #[cfg(test)]
    pub(crate) const CTRL: Self = Self {
        ctrl: true,
        ..Self::NONE
    };
    pub(crate) const ALT: Self = Self {
        alt: true,
        ..Self::NONE
    };

    /// The number that terminals put into sequences, which is one more than the bits.
    fn of_number(number: u32) -> Self {
        let bits = number.saturating_sub(1);
        Self {
            shift: bits & 1 != 0,
            alt: bits & 2 != 0,
            ctrl: bits & 4 != 0,
        }
    }
}

/// What came from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Key(Key, Mods),
    /// Text that was pasted, with plain line ends.
    Paste(String),
    /// The terminal got or lost the focus; of no interest, and no key.
    Other,
}

/// Turns bytes into keys.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    pending: Vec<u8>,
    /// The paste so far, while one arrives.
    paste: Option<Vec<u8>>,
}

/// What the first bytes of the input are.
enum Step {
    /// A key of so many bytes.
    Done(usize, Input),
    /// The rest has not arrived.
    More,
}

impl Decoder {
    /// Takes bytes in and gives what they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<Input>) {
        let mut rest = bytes;
        while !rest.is_empty() || !self.pending.is_empty() {
            if let Some(paste) = &mut self.paste {
                paste.extend_from_slice(rest);
                rest = &[];
                let from = paste.len().saturating_sub(bytes.len() + PASTE_END.len());
                let Some(end) = find(paste, PASTE_END, from) else {
                    return;
                };
                let after = paste.split_off(end);
                let text = self.paste.take().unwrap_or_default();
                out.push(Input::Paste(pasted_text(&text)));
                self.pending = after.get(PASTE_END.len()..).unwrap_or_default().to_vec();
                continue;
            }
            self.pending.extend_from_slice(rest);
            rest = &[];
            if self.pending.starts_with(PASTE_START) {
                self.paste = Some(self.pending.split_off(PASTE_START.len()));
                self.pending.clear();
                // The mark may have come together with the paste.
                let begun = self.paste.take().unwrap_or_default();
                self.paste = Some(Vec::new());
                if begun.is_empty() {
                    return;
                }
                self.feed(&begun, out);
                return;
            }
            match step(&self.pending) {
                Step::More => return,
                Step::Done(count, input) => {
                    self.pending.drain(..count.min(self.pending.len()));
                    if input != Input::Other {
                        out.push(input);
                    }
                }
            }
        }
    }

    /// Whether bytes wait for others that may never come.
    pub(crate) fn is_undecided(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes what waits as it is: nothing follows it.
    pub(crate) fn settle(&mut self, out: &mut Vec<Input>) {
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_slice();
        while let Some((first, after)) = rest.split_first() {
            match first {
                0x1b if after.is_empty() => {
                    out.push(Input::Key(Key::Escape, Mods::NONE));
                    return;
                }
                // The beginning of a sequence that broke off is no text.
                0x1b => return,
                _ => rest = after,
            }
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let place = rest
        .windows(wanted.len())
        .position(|window| window == wanted);
    place.map(|place| place + from)
}

fn pasted_text(bytes: &[u8]) -> String {
    let bytes = bytes.get(..MAX_PASTE).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn step(bytes: &[u8]) -> Step {
    let Some(first) = bytes.first().copied() else {
        return Step::More;
    };
    if first != 0x1b {
        return plain(bytes, Mods::NONE);
    }
    match bytes.get(1).copied() {
        None => Step::More,
        Some(b'[') => control_sequence(bytes),
        Some(b'O') => match bytes.get(2).copied() {
            None => Step::More,
            Some(last) => Step::Done(3, letter(last, Mods::NONE)),
        },
        // Two escapes are the key twice.
        Some(0x1b) => Step::Done(1, Input::Key(Key::Escape, Mods::NONE)),
        Some(_) => match plain(bytes.get(1..).unwrap_or_default(), Mods::ALT) {
            Step::Done(count, input) => Step::Done(count + 1, input),
            Step::More => Step::More,
        },
    }
}

/// A character or a control key.
fn plain(bytes: &[u8], mods: Mods) -> Step {
    let Some(first) = bytes.first().copied() else {
        return Step::More;
    };
    let key = match first {
        b'\r' => Key::Enter,
        // Ctrl-J; terminals send it for Enter only in pastes without marks.
        b'\n' => return Step::Done(1, Input::Key(Key::Char('j'), with_ctrl(mods))),
        b'\t' => Key::Tab,
        0x7f => Key::Backspace,
        0x08 => return Step::Done(1, Input::Key(Key::Backspace, with_ctrl(mods))),
        0 => return Step::Done(1, Input::Key(Key::Char(' '), with_ctrl(mods))),
        1..=0x1a => {
            let letter = char::from(first - 1 + b'a');
            return Step::Done(1, Input::Key(Key::Char(letter), with_ctrl(mods)));
        }
        0x1c..=0x1f => {
            let symbol = char::from(first + 0x40);
            return Step::Done(1, Input::Key(Key::Char(symbol), with_ctrl(mods)));
        }
        _ => return character(bytes, first, mods),
    };
    Step::Done(1, Input::Key(key, mods))
}

fn with_ctrl(mods: Mods) -> Mods {
    Mods { ctrl: true, ..mods }
}

fn character(bytes: &[u8], first: u8, mods: Mods) -> Step {
    let length = match first {
        0x20..=0x7e => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Step::Done(1, Input::Key(Key::Char('\u{fffd}'), mods)),
    };
    let Some(encoded) = bytes.get(..length) else {
        return Step::More;
    };
    let decoded = std::str::from_utf8(encoded).ok();
    match decoded.and_then(|text| text.chars().next()) {
        Some(character) => Step::Done(length, Input::Key(Key::Char(character), mods)),
        None => Step::Done(1, Input::Key(Key::Char('\u{fffd}'), mods)),
    }
}

/// `ESC [ …`.
fn control_sequence(bytes: &[u8]) -> Step {
    let body = bytes.get(2..).unwrap_or_default();
    // The Linux console sends function keys with a second bracket.
    if body.first() == Some(&b'[') {
        return match body.get(1) {
            None => Step::More,
            Some(_) => Step::Done(4, Input::Other),
        };
    }
    let Some(end) = body.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return if body.len() > MAX_SEQUENCE {
            Step::Done(bytes.len(), Input::Other)
        } else {
            Step::More
        };
    };
    let count = end + 3;
    let last = body.get(end).copied().unwrap_or_default();
    let parameters = body.get(..end).unwrap_or_default();
    let mut numbers = parameters.split(|byte| *byte == b';').map(|part| {
        // Sub-parameters, after a colon, tell of other layouts.
        let digits = part.split(|byte| *byte == b':').next().unwrap_or_default();
        let text = std::str::from_utf8(digits).ok();
        text.and_then(|text| text.parse::<u32>().ok())
    });
    let first = numbers.next().flatten();
    let second = numbers.next().flatten();
    let third = numbers.next().flatten();
    let mods = Mods::of_number(second.unwrap_or(1));
    let input = match last {
        b'~' => match first {
            Some(27) => third.map_or(Input::Other, |code| coded(code, mods)),
            Some(number) => numbered(number, mods),
            None => Input::Other,
        },
        b'u' => first.map_or(Input::Other, |code| coded(code, mods)),
        b'Z' => Input::Key(Key::BackTab, Mods::NONE),
        _ => letter(last, mods),
    };
    Step::Done(count, input)
}

/// A key that a sequence names by a letter.
fn letter(last: u8, mods: Mods) -> Input {
    let key = match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'M' => Key::Enter,
        _ => return Input::Other,
    };
    Input::Key(key, mods)
}

/// A key that a sequence names by a number before `~`.
fn numbered(number: u32, mods: Mods) -> Input {
    let key = match number {
        1 | 7 => Key::Home,
        4 | 8 => Key::End,
        3 => Key::Delete,
        5 => Key::PageUp,
        6 => Key::PageDown,
        _ => return Input::Other,
    };
    Input::Key(key, mods)
}

/// A key that a sequence names by its character.
fn coded(code: u32, mods: Mods) -> Input {
    let key = match code {
        13 | 57414 => Key::Enter,
        9 if mods.shift => Key::BackTab,
        9 => Key::Tab,
        27 => Key::Escape,
        127 | 8 => Key::Backspace,
        _ => match char::from_u32(code) {
            // Keys without a character have codes in a private area.
            Some(character) if !character.is_control() && !(57344..=63743).contains(&code) => {
                Key::Char(character)
            }
            _ => return Input::Other,
        },
    };
    Input::Key(key, mods)
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
