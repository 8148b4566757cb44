//! Keys: bytes of the terminal in, commands out.

use rustix::io::Errno;
use rustix::stdio::stdin;

/// A command given by a key.
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
    Open,
    Back,
    Refresh,
    Leave,
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
            Ok(count) => Ok(keys(bytes.get(..count).unwrap_or_default())),
            Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether nothing will ever come again.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }
}

/// A terminal sends a sequence in one piece; an escape by itself is the key of that name.
fn keys(mut bytes: &[u8]) -> Vec<Key> {
    let mut found = Vec::new();
    while let Some((first, rest)) = bytes.split_first() {
        if *first != 0x1b {
            found.extend(plain(*first));
            bytes = rest;
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
                found.push(Key::Back);
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
    found
}

fn plain(byte: u8) -> Option<Key> {
    Some(match byte {
        b'k' => Key::Up,
        b'j' => Key::Down,
        b'h' => Key::Left,
        b'l' | b'\t' => Key::Right,
        b'g' => Key::First,
        b'G' => Key::Last,
        b'b' => Key::PageUp,
        b'f' => Key::PageDown,
        b'\r' | b'\n' | b' ' => Key::Open,
        b'r' => Key::Refresh,
        // Ctrl-C and Ctrl-D arrive as characters here.
        b'q' | 0x03 | 0x04 => Key::Leave,
        0x7f => Key::Back,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn letters_and_sequences_are_commands() {
        assert_eq!(keys(b"jk"), [Key::Down, Key::Up]);
        assert_eq!(keys(b"\x1b[A\x1bOBq"), [Key::Up, Key::Down, Key::Leave]);
        assert_eq!(keys(b"\x1b"), [Key::Back]);
        assert_eq!(keys(b"\x1b[5~\x1b[1;5Cj"), [Key::PageUp, Key::Down]);
        assert_eq!(keys("ä\u{0}x".as_bytes()), []);
        assert_eq!(keys(b"\x1b["), []);
    }
}
