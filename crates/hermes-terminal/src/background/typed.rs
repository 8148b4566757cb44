//! What has been typed into the pseudo-terminal of a process.
//!
//! A line counts when it is sent, so what is typed of it in parts is kept until then, corrections
//! included. Lines that ran are kept for what they left behind in their shell.
//!
//! What a key brings back from a shell's history, and where in the line a cursor stands that was moved,
//! is not known here. Such a line is judged as one that begins with a command nobody can tell.

/// Most that is kept of either.
const MOST: usize = 16 * 1024;

/// In front of a line whose text is not known.
const UNKNOWN: &str = "$(history) ";

/// Text typed into a process.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct TypedText {
    /// Lines that ran without a question.
    ran: String,
    /// What has been typed and not run yet.
    open: String,
}

/// What typing more would do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The lines that would run, as they stand there; `None` if none is sent yet.
    pub(crate) sent: Option<String>,
    /// What would be left behind them.
    rest: String,
}

impl TypedText {
    /// Lines that ran.
    pub(crate) fn ran(&self) -> &str {
        &self.ran
    }

    /// Whether something typed before would be part of the next line.
    pub(crate) fn has_open_text(&self) -> bool {
        !self.open.is_empty()
    }

    /// What typing this would send.
    pub(crate) fn line(&self, data: &str) -> Line {
        let text = edited(&format!("{}{data}", self.open));
        match text.rfind('\n') {
            Some(end) => {
                let (sent, rest) = text.split_at(end + 1);
                Line {
                    sent: Some(sent.split_inclusive('\n').map(judged).collect()),
                    rest: rest.to_owned(),
                }
            }
            None => Line {
                sent: None,
                rest: text,
            },
        }
    }

    /// The line has been typed. `is_unfinished` if the shell waits for more of it; `was_asked` if
    /// somebody had to approve it, and would have to again.
    pub(crate) fn typed(&mut self, line: Line, is_unfinished: bool, was_asked: bool) {
        self.open = line.rest;
        let Some(sent) = line.sent else { return };
        if is_unfinished {
            self.open.insert_str(0, &sent);
        } else if !was_asked {
            self.ran.push_str(&sent);
        }
        for text in [&mut self.open, &mut self.ran] {
            let mut cut = text.len().saturating_sub(MOST);
            while !text.is_char_boundary(cut) {
                cut += 1;
            }
            text.drain(..cut);
        }
    }
}

/// A text as a terminal's line holds it: with the corrections among it made, and completions as the
/// patterns they are.
fn edited(typed: &str) -> String {
    let mut text = String::with_capacity(typed.len());
    let line_start = |text: &str| text.rfind('\n').map_or(0, |at| at + 1);
    for c in typed.chars() {
        let start = line_start(&text);
        let is_unknown = text
            .get(start..)
            .is_some_and(|line| line.starts_with(UNKNOWN));
        match c {
            '\r' => text.push('\n'),
            // Sends the line and brings back the one that followed it in the history.
            '\u{f}' => text.extend(["\n", UNKNOWN]),
            // Corrections of what is not known leave it unknown.
            '\u{7f}' | '\u{8}' | '\u{15}' | '\u{17}' if is_unknown => {}
            '\u{7f}' | '\u{8}' => {
                if text.len() > start {
                    text.pop();
                }
            }
            // Ctrl-C, Ctrl-U: the line is gone.
            '\u{3}' | '\u{15}' => text.truncate(start),
            // Ctrl-W: the last word.
            '\u{17}' => {
                let kept = text.trim_end_matches(' ');
                let word = kept.rfind([' ', '\n']).map_or(0, |at| at + 1);
                text.truncate(word.max(start));
            }
            '\t' if text.ends_with(|c: char| !c.is_whitespace()) => text.push('*'),
            // The end of input or of the line, the bell, a new screen, signals: the text stays.
            '\u{0}' | '\u{4}' | '\u{5}' | '\u{7}' | '\u{b}' | '\u{c}' | '\u{11}' | '\u{1a}'
            | '\u{1c}' => {}
            // Arrows, searches and the like.
            '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' => {
                if !is_unknown {
                    text.insert_str(start, UNKNOWN);
                }
            }
            c => text.push(c),
        }
    }
    text
}

/// A line as it is to be judged: one that asks for an earlier one is not known.
fn judged(line: &str) -> String {
    if recalls(line) && !line.starts_with(UNKNOWN) {
        return format!("{UNKNOWN}{line}");
    }
    line.to_owned()
}

/// Whether a shell with a history fills in something of it: `!!`, `!-1`, `!rm`, `^old^new`.
fn recalls(line: &str) -> bool {
    if line.trim_start().starts_with('^') {
        return true;
    }
    let (mut before, mut single, mut double) = (' ', false, false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if !single => drop(chars.next()),
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            // Not where it is a status, an indirection or a negation.
            '!' if !single && !matches!(before, '$' | '{' | '[') => {
                let plain = |next: &char| next.is_whitespace() || matches!(next, '=' | '(' | '"');
                if chars.peek().is_some_and(|next| !plain(next)) {
                    return true;
                }
            }
            _ => {}
        }
        before = c;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn sent(parts: &[&str]) -> Option<String> {
        let mut typed = TypedText::default();
        let mut last = None;
        for part in parts {
            let line = typed.line(part);
            last.clone_from(&line.sent);
            typed.typed(line, false, false);
        }
        last
    }

    #[test]
    fn lines_are_what_was_typed_in_all_their_parts() {
        for (parts, expected) in [
            (&["ls\n"] as &[&str], Some("ls\n")),
            (&["rm -rf", " /", "\r"], Some("rm -rf /\n")),
            (&["l"], None),
            (&["rm x\u{15}ls\n"], Some("ls\n")),
            (&["rx\u{7f}m\n"], Some("rm\n")),
            (&["rm -rf x\u{17}/\n"], Some("rm -rf /\n")),
            (&["rm /et\t\n"], Some("rm /et*\n")),
            (&["a\nb", "c\n"], Some("bc\n")),
            (&["rm", "\u{3}", "ls\n"], Some("ls\n")),
            (&["\u{7f}\u{17}\u{15}\n"], Some("\n")),
        ] {
            assert_eq!(sent(parts).as_deref(), expected, "{parts:?}");
        }
    }

    #[test]
    fn lines_that_are_not_known_begin_with_a_command_nobody_can_tell() {
        for typed in [
            "\u{1b}[A\r",
            "\u{1b}OA\r",
            "\u{10}\r",
            "\u{12}rm\r",
            "m -rf /\u{1}r\r",
            "ls\u{1b}[D\u{7f}\r",
            "\u{10}\u{15}\u{7f}\u{17}\r",
            "\u{19}\r",
            "!!\r",
            "!-1\r",
            "echo ok; !rm\r",
            "echo \"!$\"\r",
            "^ls^rm\r",
        ] {
            let line = sent(&[typed]).unwrap();
            assert!(line.starts_with(UNKNOWN), "{typed:?}: {line:?}");
            let parts: Vec<String> = typed.chars().map(String::from).collect();
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            assert!(sent(&parts).unwrap().starts_with(UNKNOWN), "{typed:?}");
        }
        for typed in [
            "! grep x f\n",
            "echo '!!'\n",
            "echo \\!x\n",
            "[ a != b ]\n",
            "echo $!\n",
            "echo ${!x} [!a]*\n",
            "echo hi!\n",
            "\u{10}\u{3}ls\n",
        ] {
            let line = sent(&[typed]).unwrap();
            assert!(!line.contains(UNKNOWN), "{typed:?}: {line:?}");
        }
        // The line after the one that was sent comes from the history.
        assert_eq!(sent(&["ls\u{f}", "\r"]).unwrap(), format!("{UNKNOWN}\n"));
    }

    #[test]
    fn unfinished_lines_wait_and_approved_ones_are_not_asked_about_again() {
        let mut typed = TypedText::default();
        let line = typed.line("rm -rf \\\n");
        typed.typed(line, true, false);
        assert_eq!(typed.line("/\n").sent.as_deref(), Some("rm -rf \\\n/\n"));
        assert!(typed.has_open_text());
        let mut typed = TypedText::default();
        let line = typed.line("cd /\n");
        typed.typed(line, false, false);
        let line = typed.line("rm -rf x\n");
        typed.typed(line, false, true);
        assert_eq!(typed.ran(), "cd /\n");
        let line = typed.line(&"é\n".repeat(MOST));
        typed.typed(line, false, false);
        assert!(typed.ran().len() <= MOST);
    }
}
