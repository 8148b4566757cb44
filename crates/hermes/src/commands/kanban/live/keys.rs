//! Keys: bytes of the terminal in, keys out.

use rustix::io::Errno;
use rustix::stdio::stdin;

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    First,
    Last,
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C or Ctrl-D, which arrive as characters here.
    Interrupt,
    /// Ctrl-Z, likewise.
    Suspend,
    Char(char),
}

/// Sequences that terminals send for keys without a character.
const SEQUENCES: [(&[u8], Key); 16] = [
    (b"\x1b[A", Key::Up),
    (b"\x1b[B", Key::Down),
    (b"\x1b[C", Key::Right),
    (b"\x1b[D", Key::Left),
    (b"\x1bOA", Key::Up),
    (b"\x1bOB", Key::Down),
    (b"\x1bOC", Key::Right),
    (b"\x1bOD", Key::Left),
    (b"\x1b[5~", Key::PageUp),
    (b"\x1b[6~", Key::PageDown),
    (b"\x1b[H", Key::First),
    (b"\x1b[F", Key::Last),
    (b"\x1b[1~", Key::First),
    (b"\x1b[4~", Key::Last),
    (b"\x1bOH", Key::First),
    (b"\x1bOF", Key::Last),
];

/// The keyboard of the terminal.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    /// The beginning of a character whose rest has not come yet.
    begun: Vec<u8>,
    over: bool,
}

impl Keyboard {
    /// What was pressed. Called when something is there to be read.
    pub(super) fn read(&mut self) -> std::io::Result<Vec<Key>> {
        let mut bytes = [0; 256];
        match rustix::io::read(stdin(), &mut bytes) {
            // The end of input, or a terminal that is gone.
            Ok(0) | Err(Errno::IO) => {
                self.over = true;
                Ok(Vec::new())
            }
            Ok(count) => {
                self.begun
                    .extend_from_slice(bytes.get(..count).unwrap_or_default());
                let (keys, rest) = keys(&self.begun);
                self.begun = rest.to_vec();
                Ok(keys)
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether nothing will ever come again.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }
}

/// A terminal sends a sequence in one piece; an escape by itself is the key of that name. Returns the
/// keys and the bytes of a character that is not complete.
fn keys(mut bytes: &[u8]) -> (Vec<Key>, &[u8]) {
    let mut found = Vec::new();
    while let Some((first, rest)) = bytes.split_first() {
        if *first != 0x1b {
            let length = length_of_character(*first);
            let Some(character) = bytes.get(..length) else {
                return (found, bytes);
            };
            found.extend(plain(character));
            bytes = bytes.get(length..).unwrap_or_default();
            continue;
        }
        let sequence = SEQUENCES
            .iter()
            .find(|(sequence, _)| bytes.starts_with(sequence));
        match sequence {
            Some((sequence, key)) => {
                found.push(*key);
                bytes = bytes.get(sequence.len()..).unwrap_or_default();
            }
            None if rest.is_empty() => {
                found.push(Key::Escape);
                bytes = rest;
            }
            // A key nobody asked for: its sequence ends with a letter or a tilde.
            None => {
                let end = rest
                    .iter()
                    .skip(1)
                    .position(|byte| byte.is_ascii_alphabetic() || *byte == b'~');
                bytes = end.and_then(|end| rest.get(end + 2..)).unwrap_or_default();
            }
        }
    }
    (found, bytes)
}

/// Bytes of a character that begins like this.
fn length_of_character(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}

fn plain(character: &[u8]) -> Option<Key> {
    match character {
        [b'\r' | b'\n'] => Some(Key::Enter),
        [0x03 | 0x04] => Some(Key::Interrupt),
        [0x1a] => Some(Key::Suspend),
        [0x7f | 0x08] => Some(Key::Backspace),
        _ => {
            let character = std::str::from_utf8(character).ok()?.chars().next()?;
            (!character.is_control() || character == '\t').then_some(Key::Char(character))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn all(bytes: &[u8]) -> Vec<Key> {
        keys(bytes).0
    }

    #[test]
    fn letters_and_sequences_are_keys() {
        assert_eq!(all(b"jk"), [Key::Char('j'), Key::Char('k')]);
        let mixed = [Key::Up, Key::Down, Key::Char('q')];
        assert_eq!(all(b"\x1b[A\x1bOBq"), mixed);
        assert_eq!(all(b"\x1b"), [Key::Escape]);
        let unknown = [Key::PageUp, Key::Char('j')];
        assert_eq!(all(b"\x1b[5~\x1b[1;5Cj"), unknown);
        let special = [Key::Enter, Key::Interrupt, Key::Suspend, Key::Backspace];
        assert_eq!(all(b"\r\x03\x1a\x7f"), special);
        assert_eq!(all(b"\x1b["), []);
    }

    #[test]
    fn a_character_in_two_pieces_is_one() {
        let (found, rest) = keys(b"a\xc3");
        assert_eq!((found, rest), (vec![Key::Char('a')], &b"\xc3"[..]));
        assert_eq!(
            all("ä日\u{0}".as_bytes()),
            [Key::Char('ä'), Key::Char('日')]
        );
        assert_eq!(all(b"\xff\xfex"), [Key::Char('x')]);
    }
}
