//! Text of others on its last step to a terminal or into JSON: nothing in it is an order.
//!
//! Stricter than what a message needs is not wanted here: joiners make one sign of several and stay.

use std::borrow::Cow;
use std::io::{self, Write};

/// Whether a terminal acts on a character instead of showing it: controls of both sets, and what
/// turns the direction of writing. Line breaks and tabs are not meant.
fn is_order(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        other => other.is_control(),
    }
}

/// Whether there is an order in a text. Most texts are told by their bytes alone.
fn has_orders(text: &str) -> bool {
    let suspicious = |byte: u8| match byte {
        b'\n' | b'\t' => false,
        // Controls, and what the characters of the second set and the turning ones begin with.
        0x00..=0x1f | 0x7f | 0xc2 | 0xd8 | 0xe2 => true,
        _ => false,
    };
    text.bytes().any(suspicious) && text.chars().any(is_order)
}

/// Text as a terminal may have it: orders are spelled out, and a carriage return that only belongs to
/// a line break is left out.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    if !has_orders(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\r' && characters.peek() == Some(&'\n') {
            continue;
        }
        if is_order(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// JSON whose strings hold no orders: they are escaped as JSON escapes them, so that it stays the
/// same value. Outside of strings valid JSON has none.
pub fn json_for_terminal(json: &str) -> Cow<'_, str> {
    if !has_orders(json) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_order(character) {
            out.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// A writer through which no order passes: each is escaped as JSON escapes it, which people
/// understand in other texts too. Bytes that are no UTF-8 become replacement characters.
pub struct TerminalWriter<W: Write> {
    inner: W,
    /// The beginning of a character whose rest has not come yet.
    begun: Vec<u8>,
}

impl<W: Write> TerminalWriter<W> {
    /// Writes to `inner`.
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            begun: Vec::new(),
        }
    }
}

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = std::mem::take(&mut self.begun);
        let mut rest = if held.is_empty() {
            bytes
        } else {
            held.extend_from_slice(bytes);
            &held
        };
        while !rest.is_empty() {
            let (valid, invalid) = match std::str::from_utf8(rest) {
                Ok(text) => (text, None),
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    let Some(length) = error.error_len() else {
                        self.begun = after.to_vec();
                        let text = std::str::from_utf8(valid).unwrap_or_default();
                        self.inner.write_all(json_for_terminal(text).as_bytes())?;
                        break;
                    };
                    let text = std::str::from_utf8(valid).unwrap_or_default();
                    (text, after.get(length..))
                }
            };
            self.inner.write_all(json_for_terminal(valid).as_bytes())?;
            match invalid {
                Some(after) => {
                    self.inner.write_all("\u{fffd}".as_bytes())?;
                    rest = after;
                }
                None => break,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every order a terminal or a reader may obey.
    fn orders() -> impl Iterator<Item = char> {
        let all = (0..0x20).chain(0x7f..0xa0).chain([0x61c, 0x200e, 0x200f]);
        let all = all.chain(0x2028..0x202f).chain(0x2066..0x206a);
        all.filter_map(char::from_u32)
            .filter(|one| !matches!(one, '\n' | '\t'))
    }

    #[test]
    fn no_order_reaches_a_terminal() {
        for order in orders() {
            let shown = for_terminal(&format!("a{order}b")).into_owned();
            assert_eq!(shown, format!("a{}b", order.escape_unicode()));
        }
        assert_eq!(
            for_terminal("a\x1b]0;x\x07\u{9b}2J"),
            "a\\u{1b}]0;x\\u{7}\\u{9b}2J"
        );
    }

    #[test]
    fn text_and_layout_stay() {
        for text in [
            "",
            "plain\n\ttext",
            "日本 é ✓ 👩\u{200d}🔧",
            "می\u{200c}خواهم",
        ] {
            assert!(matches!(for_terminal(text), Cow::Borrowed(same) if same == text));
        }
        assert_eq!(for_terminal("one\r\ntwo\r"), "one\ntwo\\u{d}");
    }

    #[test]
    fn json_stays_the_same_value() {
        let text: String = orders().chain("\n\t\"\\é".chars()).collect();
        let json = serde_json::to_string(&text).unwrap();
        let shown = json_for_terminal(&json);
        assert!(!shown.chars().any(is_order), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }

    #[test]
    fn writer_does_not_depend_on_how_bytes_are_cut() {
        let bytes = "a\x1b[2J日\u{202e}é\u{9b}\n".as_bytes();
        let bytes = [bytes, &b"\xff\xc3"[..], b"z\xe2\x80"].concat();
        let whole = written(&[&bytes]);
        assert_eq!(whole, "a\\u001b[2J日\\u202eé\\u009b\n\u{fffd}\u{fffd}z");
        for cut in 0..bytes.len() {
            let (one, other) = bytes.split_at(cut);
            assert_eq!(written(&[one, other]), whole, "{cut}");
        }
    }

    fn written(pieces: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut writer = TerminalWriter::new(&mut out);
        for piece in pieces {
            writer.write_all(piece).unwrap();
        }
        writer.flush().unwrap();
        String::from_utf8(out).unwrap()
    }
}
