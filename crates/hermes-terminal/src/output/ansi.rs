//! Takes control sequences (ECMA-48) out of text, in pieces of any size.
//!
//! Colours, cursor movements, titles and hyperlinks mean nothing to a reader without a terminal. A
//! sequence that is never finished must not swallow the rest: after a bound its text is shown.

use memchr::memchr2;

/// Longest text of a title, a hyperlink or a device string.
const LONGEST_STRING: usize = 4096;

const ESC: char = '\u{1b}';
const BEL: char = '\u{7}';

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    Intermediate,
    Sequence,
    /// Inside a string; `true` if BEL ends it too (OSC).
    Text(bool),
    TextEscape(bool),
}

/// Removes control sequences piece by piece.
#[derive(Debug, Default)]
pub struct AnsiStripper {
    state: State,
    /// Text of an unfinished string, in case it never ends.
    held: String,
}

impl AnsiStripper {
    /// Strips the next piece and passes on what is left of it.
    pub fn feed(&mut self, text: &str, sink: &mut dyn FnMut(&str)) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.state == State::Ground {
                let index = next_special(rest);
                let (plain, tail) = rest.split_at(index);
                if !plain.is_empty() {
                    sink(plain);
                }
                rest = tail;
            }
            let mut characters = rest.chars();
            if let Some(character) = characters.next() {
                self.step(character, sink);
                rest = characters.as_str();
            }
        }
    }

    /// Shows the text of a string that never ended.
    pub fn finish(&mut self, sink: &mut dyn FnMut(&str)) {
        self.give_up(sink);
    }

    fn step(&mut self, character: char, sink: &mut dyn FnMut(&str)) {
        match self.state {
            State::Ground => self.ground(character, sink),
            State::Escape => self.after_escape(character, sink),
            State::Intermediate => match character {
                ' '..='/' => {}
                '0'..='~' => self.state = State::Ground,
                other => self.again(other, sink),
            },
            State::Sequence => match character {
                ' '..='?' => {}
                '@'..='~' => self.state = State::Ground,
                other => self.again(other, sink),
            },
            State::Text(bell) => match character {
                BEL if bell => self.end_string(),
                '\u{9c}' => self.end_string(),
                ESC => self.state = State::TextEscape(bell),
                control @ '\u{80}'..='\u{9f}' => {
                    // As below: something else begins.
                    self.give_up(sink);
                    self.ground(control, sink);
                }
                other => {
                    self.held.push(other);
                    if self.held.len() > LONGEST_STRING {
                        self.give_up(sink);
                    }
                }
            },
            State::TextEscape(_) if character == '\\' => self.end_string(),
            State::TextEscape(_) => {
                // Another sequence begins, so the string was none.
                self.give_up(sink);
                self.after_escape(character, sink);
            }
        }
    }

    fn ground(&mut self, character: char, sink: &mut dyn FnMut(&str)) {
        match character {
            ESC => self.state = State::Escape,
            '\u{9b}' => self.state = State::Sequence,
            '\u{9d}' => self.state = State::Text(true),
            '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => self.state = State::Text(false),
            '\u{80}'..='\u{9f}' => {}
            plain => sink(plain.encode_utf8(&mut [0; 4])),
        }
    }

    fn after_escape(&mut self, character: char, sink: &mut dyn FnMut(&str)) {
        self.state = match character {
            '[' => State::Sequence,
            ']' => State::Text(true),
            'P' | 'X' | '^' | '_' => State::Text(false),
            ' '..='/' => State::Intermediate,
            '0'..='~' => State::Ground,
            other => return self.again(other, sink),
        };
    }

    /// The sequence is broken off; this character is not part of it.
    fn again(&mut self, character: char, sink: &mut dyn FnMut(&str)) {
        self.state = State::Ground;
        self.ground(character, sink);
    }

    fn end_string(&mut self) {
        self.held.clear();
        self.state = State::Ground;
    }

    fn give_up(&mut self, sink: &mut dyn FnMut(&str)) {
        if !self.held.is_empty() {
            sink(&std::mem::take(&mut self.held));
        }
        self.state = State::Ground;
    }
}

/// Where the next character stands that is not plain: ESC, or a C1 control, whose first byte is
/// 0xC2. The end of the text if there is none.
fn next_special(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(found) = bytes.get(from..).and_then(|rest| memchr2(0x1b, 0xc2, rest)) {
        let index = from + found;
        let is_control = bytes.get(index) == Some(&0x1b)
            || bytes.get(index + 1).is_some_and(|byte| *byte < 0xa0);
        if is_control {
            return index;
        }
        from = index + 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn strip(pieces: &[&str]) -> String {
        let mut out = String::new();
        let mut stripper = AnsiStripper::default();
        for piece in pieces {
            stripper.feed(piece, &mut |text| out.push_str(text));
        }
        stripper.finish(&mut |text| out.push_str(text));
        out
    }

    #[test]
    fn every_kind_of_sequence_goes_and_the_text_stays() {
        for (text, expected) in [
            ("a\u{1b}[31;1mred\u{1b}[0mb", "aredb"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://e/\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}P1;2|data\u{1b}\\x", "x"),
            (
                "\u{1b}_apc\u{1b}\\\u{1b}^pm\u{1b}\\\u{1b}Xsos\u{1b}\\x",
                "x",
            ),
            ("\u{1b}(B\u{1b}#8\u{1b}=\u{1b}7x\u{1b}c", "x"),
            ("\u{9b}31mx\u{9d}t\u{9c}y\u{85}z", "xyz"),
            ("é\u{a0}ü\u{c2}", "é\u{a0}ü\u{c2}"),
            ("a\u{1b}\nb", "a\nb"),
            ("a\u{1b}[3\nb", "a\nb"),
            ("tail\u{1b}", "tail"),
            ("nul\0 and \u{7} stay", "nul\0 and \u{7} stay"),
        ] {
            assert_eq!(strip(&[text]), expected, "{text:?}");
        }
    }

    #[test]
    fn a_string_that_never_ends_is_shown() {
        let text = "x".repeat(10_000);
        assert_eq!(strip(&["\u{1b}]", &text]), text);
        assert_eq!(strip(&["\u{1b}]0;short"]), "0;short");
        assert_eq!(strip(&["\u{1b}]a\u{1b}[1mb"]), "ab");
    }

    fn noisy() -> impl Strategy<Value = String> {
        let parts = prop_oneof![
            "[a-z0-9;é€ \\n\\\\]{0,4}",
            Just("\u{1b}".to_owned()),
            Just("\u{1b}[".to_owned()),
            Just("\u{1b}]".to_owned()),
            Just("\u{1b}P".to_owned()),
            Just("\u{7}".to_owned()),
            Just("\u{9b}".to_owned()),
            Just("\u{9c}".to_owned()),
        ];
        proptest::collection::vec(parts, 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in noisy(), size in 1_usize..5) {
            let characters: Vec<char> = text.chars().collect();
            let pieces: Vec<String> = characters.chunks(size).map(String::from_iter).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(strip(&pieces), strip(&[&text]));
        }

        #[test]
        fn nothing_that_controls_a_terminal_is_left(text in noisy()) {
            let left = strip(&[&text]);
            let controls = [ESC, '\u{9b}', '\u{9d}'];
            prop_assert!(!left.contains(controls));
        }
    }
}
