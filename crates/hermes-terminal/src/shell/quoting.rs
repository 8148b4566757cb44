//! Shell quoting, both ways.
//!
//! Reading understands what shells print about themselves (`declare -p`, `export -p`, `alias -p`):
//! words with single, double and ANSI-C quotes and backslashes. It is no parser for commands people
//! write.

/// A word that the shell reads as exactly these bytes.
pub fn quote(bytes: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == b'\'').collect();
    [b"'", parts.join(&b"'\\''"[..]).as_slice(), b"'"].concat()
}

/// Goes through printed declarations, one logical line at a time.
pub(crate) struct Declarations<'a> {
    rest: &'a [u8],
}

impl<'a> Declarations<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    fn take(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn single_quoted(&mut self, word: &mut Vec<u8>) {
        while let Some(byte) = self.take() {
            if byte == b'\'' {
                return;
            }
            word.push(byte);
        }
    }

    fn double_quoted(&mut self, word: &mut Vec<u8>) {
        while let Some(byte) = self.take() {
            match byte {
                b'"' => return,
                b'\\' => match self.take() {
                    Some(escaped @ (b'"' | b'\\' | b'$' | b'`')) => word.push(escaped),
                    Some(b'\n') | None => {}
                    Some(other) => word.extend_from_slice(&[b'\\', other]),
                },
                other => word.push(other),
            }
        }
    }

    fn ansi_c_quoted(&mut self, word: &mut Vec<u8>) {
        while let Some(byte) = self.take() {
            match byte {
                b'\'' => return,
                b'\\' => self.ansi_c_escape(word),
                other => word.push(other),
            }
        }
    }

    fn ansi_c_escape(&mut self, word: &mut Vec<u8>) {
        let Some(kind) = self.take() else { return };
        let plain = match kind {
            b'a' => 7,
            b'b' => 8,
            b'e' | b'E' => 27,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'c' => match self.take() {
                Some(control) => control & 0x1f,
                None => return,
            },
            b'x' => self.number(0, 16, 2).to_le_bytes()[0],
            b'u' | b'U' => {
                let digits = if kind == b'u' { 4 } else { 8 };
                let scalar = char::from_u32(self.number(0, 16, digits));
                let mut buffer = [0; 4];
                let encoded = scalar.unwrap_or('\u{fffd}').encode_utf8(&mut buffer);
                word.extend_from_slice(encoded.as_bytes());
                return;
            }
            b'0'..=b'7' => self.number(u32::from(kind - b'0'), 8, 2).to_le_bytes()[0],
            other => other,
        };
        word.push(plain);
    }

    fn number(&mut self, start: u32, radix: u32, most_digits: usize) -> u32 {
        let mut value = start;
        for _ in 0..most_digits {
            let Some(digit) = self
                .peek()
                .and_then(|byte| char::from(byte).to_digit(radix))
            else {
                break;
            };
            self.take();
            value = value.wrapping_mul(radix).wrapping_add(digit);
        }
        value
    }
}

impl Iterator for Declarations<'_> {
    /// The words of one line, unquoted.
    type Item = Vec<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut words = Vec::new();
        let mut word: Option<Vec<u8>> = None;
        loop {
            let Some(byte) = self.take() else {
                words.extend(word);
                return (!words.is_empty()).then_some(words);
            };
            match byte {
                b'\n' => {
                    words.extend(word.take());
                    if !words.is_empty() {
                        return Some(words);
                    }
                }
                b' ' | b'\t' => words.extend(word.take()),
                b'\'' => self.single_quoted(word.get_or_insert_default()),
                b'"' => self.double_quoted(word.get_or_insert_default()),
                b'$' if self.peek() == Some(b'\'') => {
                    self.take();
                    self.ansi_c_quoted(word.get_or_insert_default());
                }
                b'\\' => {
                    let word = word.get_or_insert_default();
                    word.extend(self.take());
                }
                other => word.get_or_insert_default().push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn lines(text: &str) -> Vec<Vec<Vec<u8>>> {
        Declarations::new(text.as_bytes()).collect()
    }

    #[test]
    fn what_bash_and_dash_print_is_read() {
        let text = "declare -x A=\"it's \\$x \\\" \\` \\\\ !\"\ndeclare -x B=$'a\\nb\\001\\377\\u00e9'\n\
                    declare -x C\nexport D='it'\"'\"'s'\ndeclare -rx E=\"two\nlines\"\nalias -- -='cd -'\n";
        let expected: Vec<Vec<&[u8]>> = vec![
            vec![b"declare", b"-x", b"A=it's $x \" ` \\ !"],
            vec![b"declare", b"-x", b"B=a\nb\x01\xff\xc3\xa9"],
            vec![b"declare", b"-x", b"C"],
            vec![b"export", b"D=it's"],
            vec![b"declare", b"-rx", b"E=two\nlines"],
            vec![b"alias", b"--", b"-=cd -"],
        ];
        assert_eq!(lines(text), expected);
    }

    #[test]
    fn unfinished_text_ends_quietly() {
        for text in ["", "\n\n", "a='b", "a=\"b\\", "a=$'\\", "a=$'\\x", "\\"] {
            assert!(lines(text).len() <= 1, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn quoted_bytes_come_back(bytes in proptest::collection::vec(1_u8.., 1..64)) {
            let quoted = quote(&bytes);
            let words: Vec<_> = Declarations::new(&quoted).collect();
            prop_assert_eq!(words, vec![vec![bytes]]);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            prop_assert!(Declarations::new(&bytes).count() <= bytes.len());
        }
    }
}
