//! A tolerant reader for text the grammar does not fit: splits at operators that are not quoted.
//!
//! It knows less than the grammar and is only heard in addition to it, so that neither an odd
//! construct nor a mistake of the grammar hides a command. It never says that something is
//! harmless.

use std::collections::HashMap;

use crate::heredoc::{self, Substitution};
use crate::model::{Command, Word};
use crate::programs::is_shell;
use crate::word::brace_fields;

/// Longest arithmetic that is recognised as such.
const MAX_ARITHMETIC: usize = 256;

/// Here-documents in substitutions in here-documents that are followed.
const MAX_HEREDOC_DEPTH: u8 = 4;

/// Commands of a text, by operators and blanks alone. `heredocs` is how many here-documents the grammar
/// found: it takes some bodies for words.
pub(crate) fn commands(text: &str, heredocs: usize) -> Vec<Command> {
    commands_below(text, heredocs, 0)
}

fn commands_below(text: &str, heredocs: usize, heredoc_depth: u8) -> Vec<Command> {
    let mut reader = Reader {
        chars: text.chars().collect(),
        heredoc_depth,
        ..Reader::default()
    };
    reader.read();
    // Text for some command; for which is not known, so any shell around makes it its text.
    let shell = reader.found.iter().any(|found| is_shell(found.name()));
    if reader.bodies.len() > heredocs {
        reader.herestrings.append(&mut reader.bodies);
    }
    for text in reader.herestrings {
        if shell {
            reader.found.push(Command {
                words: vec![Word::constant("eval"), text],
                lexical: true,
                ..Command::default()
            });
        }
    }
    reader.found
}

#[derive(Default)]
struct Reader {
    chars: Vec<char>,
    at: usize,
    words: Vec<Word>,
    current: Option<Word>,
    found: Vec<Command>,
    /// Commands found before the current statement.
    statement: usize,
    /// Delimiters of here-documents that begin on the next line, and whether they are quoted.
    heredocs: Vec<(String, bool)>,
    heredoc_depth: u8,
    /// Where each line stands; made for the first here-document.
    lines: Option<HashMap<String, Vec<(usize, usize)>>>,
    /// Bodies of here-documents.
    bodies: Vec<Word>,
    herestrings: Vec<Word>,
    /// The next word is a here-string.
    herestring: bool,
    /// Between `[[` and `]]`, where operators mean something else.
    in_test: bool,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Steps over characters, and gives them.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.peek(0).filter(|c| wanted(*c)) {
            taken.push(c);
            self.at += 1;
        }
        taken
    }

    fn read(&mut self) {
        let mut double_quoted = false;
        // Quoting outside each open parenthesis and backtick.
        let mut outer: Vec<(char, bool)> = Vec::new();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\\' => {
                    if let Some(next) = self.peek(0) {
                        self.at += 1;
                        if next != '\n' {
                            self.push(next);
                        }
                    }
                }
                '"' => {
                    double_quoted = !double_quoted;
                    self.current.get_or_insert_default();
                }
                '\'' if !double_quoted => self.single_quoted(),
                '`' => {
                    self.end_command();
                    match outer.last() {
                        Some(('`', quoted)) => {
                            double_quoted = *quoted;
                            outer.pop();
                        }
                        _ => outer.push(('`', std::mem::take(&mut double_quoted))),
                    }
                }
                '$' | '(' if !double_quoted && self.skip_arithmetic(c) => {}
                '(' | ')' | '|' | '&' | ';' | '<' | '>' if self.in_test && !double_quoted => {
                    self.end_word();
                }
                '$' if self.peek(0) == Some('(') => {
                    // The command before is not over, but what is inside is one of its own.
                    self.at += 1;
                    self.end_command();
                    outer.push(('(', std::mem::take(&mut double_quoted)));
                }
                '$' => self.dollar(double_quoted),
                _ if double_quoted => self.push(c),
                '#' if self.current.is_none() => {
                    self.take_while(|c| c != '\n');
                }
                '<' if self.peek(0) == Some('<') && self.peek(1) == Some('<') => {
                    self.end_word();
                    self.at += 2;
                    self.herestring = true;
                }
                '<' if self.peek(0) == Some('<') => self.heredoc(),
                '\n' => {
                    self.in_test = false;
                    self.end_command();
                    self.skip_heredocs();
                    self.statement = self.found.len();
                }
                '(' => {
                    self.open_parenthesis();
                    outer.push(('(', false));
                }
                ')' => {
                    self.end_command();
                    if matches!(outer.last(), Some(('(', _))) {
                        double_quoted = outer.pop().is_some_and(|(_, quoted)| quoted);
                    } else {
                        // The pattern of a case, or a line the shell refuses as a whole.
                        self.found.truncate(self.statement);
                    }
                }
                ';' => {
                    self.end_command();
                    self.statement = self.found.len();
                }
                '&' if self.peek(0) == Some('>') => self.end_word(),
                '|' | '&' => self.end_command(),
                '<' | '>' if self.peek(0) == Some('&') => self.duplicate(),
                '<' | '>' => self.end_word(),
                '{' | '}'
                    if self.current.is_none()
                        && self.peek(0).is_none_or(|c| c.is_whitespace() || c == ';') =>
                {
                    self.end_command();
                }
                c if c.is_whitespace() => self.end_word(),
                other => self.push(other),
            }
        }
        self.end_command();
    }

    /// A group, the elements of an array, the name of a function before it, or a pattern.
    fn open_parenthesis(&mut self) {
        let last = self
            .current
            .as_ref()
            .and_then(|word| word.text.chars().last());
        match last {
            Some('=' | '?' | '*' | '+' | '@' | '!') => self.end_word(),
            _ if self.peek(0) == Some(')') => {
                self.current = None;
                self.words.clear();
            }
            _ => self.end_command(),
        }
    }

    /// Steps over `((…))` and `$((…))`, which compute and run nothing of their own.
    fn skip_arithmetic(&mut self, c: char) -> bool {
        let open = if c == '$' { 2 } else { 1 };
        let rest = self.chars.get(self.at..).unwrap_or_default();
        if rest.iter().take(open).any(|&c| c != '(') {
            return false;
        }
        let mut depth = 2_usize;
        let mut closed_at = None;
        for (at, &c) in rest.iter().enumerate().skip(open).take(MAX_ARITHMETIC) {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => continue,
            }
            match (depth, closed_at) {
                (1, _) => closed_at = Some(at),
                // Two parentheses that do not close together are two groups.
                (0, Some(before)) if before + 1 == at => {
                    self.at += at + 1;
                    return true;
                }
                (0, _) => return false,
                _ => {}
            }
        }
        false
    }

    fn single_quoted(&mut self) {
        self.current.get_or_insert_default();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                return;
            }
            self.push(c);
        }
    }

    fn dollar(&mut self, double_quoted: bool) {
        match self.peek(0) {
            Some('{' | 'A'..='Z' | 'a'..='z' | '_') => {
                let braced = self.peek(0) == Some('{');
                self.at += usize::from(braced);
                let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                if braced {
                    self.take_while(|c| c != '}' && c != '\n');
                    self.at += usize::from(self.peek(0) == Some('}'));
                }
                match name.as_str() {
                    "IFS" if !double_quoted => self.end_word(),
                    "HOME" => self.push('~'),
                    _ => {
                        let word = self.current.get_or_insert_default();
                        word.dynamic = true;
                        word.text.push('$');
                        word.text.push_str(&name);
                    }
                }
            }
            _ => self.push('$'),
        }
    }

    /// `2>&1`, `>&-`: descriptors, not words. `>&file` is a file like any other.
    fn duplicate(&mut self) {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        self.current.take_if(|word| is_number(&word.text));
        self.end_word();
        self.at += 1;
        self.take_while(|c| c.is_ascii_digit() || c == '-');
    }

    fn heredoc(&mut self) {
        self.end_word();
        self.at += 1;
        self.at += usize::from(self.peek(0) == Some('-'));
        self.take_while(|c| c == ' ' || c == '\t');
        let written = self.take_while(|c| !c.is_whitespace() && !";&|<>()".contains(c));
        let delimiter = written.replace(['\'', '"', '\\'], "");
        let quoted = delimiter.len() < written.len();
        self.heredocs.push((delimiter, quoted));
    }

    /// Bodies are data here but for their substitutions; one that never ends is read as commands
    /// rather than lost.
    fn skip_heredocs(&mut self) {
        for (delimiter, quoted) in std::mem::take(&mut self.heredocs) {
            let Some((end, next)) = self.line_of(&delimiter) else {
                return;
            };
            let from = std::mem::replace(&mut self.at, next.min(self.chars.len()));
            let body = self.chars.get(from..end);
            let mut body: String = body.unwrap_or_default().iter().collect();
            if !quoted {
                self.substitutions(&body);
                body = heredoc::unescape(&body);
            }
            self.bodies.push(Word::constant(body));
        }
    }

    /// The first line from here on that is nothing but this word behind tabs: its start, and the start
    /// of the line after it. All lines are looked at once, however many here-documents there are.
    fn line_of(&mut self, word: &str) -> Option<(usize, usize)> {
        let chars = &self.chars;
        let lines = self.lines.get_or_insert_with(|| {
            let mut lines: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
            let mut start = 0;
            for line in chars.split(|&c| c == '\n') {
                let next = start + line.len() + 1;
                let word: String = line.iter().skip_while(|&&c| c == '\t').collect();
                lines.entry(word).or_default().push((start, next));
                start = next;
            }
            lines
        });
        let places = lines.get(word)?;
        let behind = places.partition_point(|&(start, _)| start < self.at);
        places.get(behind).copied()
    }

    fn substitutions(&mut self, body: &str) {
        if self.heredoc_depth >= MAX_HEREDOC_DEPTH {
            return;
        }
        for found in heredoc::substitutions(body) {
            let (Substitution::Dollar(text) | Substitution::Backtick(text)) = found;
            let inside = commands_below(&text, 0, self.heredoc_depth + 1);
            self.found.extend(inside);
        }
    }

    fn push(&mut self, c: char) {
        let word = self.current.get_or_insert_default();
        word.glob |= matches!(c, '*' | '?' | '[');
        word.text.push(c);
    }

    fn end_word(&mut self) {
        let Some(word) = self.current.take() else {
            return;
        };
        match word.text.as_str() {
            "[[" => self.in_test = true,
            "]]" => self.in_test = false,
            _ => {}
        }
        if std::mem::take(&mut self.herestring) {
            self.herestrings.push(word);
        } else if word.text.contains('{') {
            let fields = brace_fields(&word.text).into_iter().map(|text| Word {
                text,
                ..word.clone()
            });
            self.words.extend(fields);
        } else {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.found.push(Command {
                words: std::mem::take(&mut self.words),
                lexical: true,
                ..Command::default()
            });
        }
    }
}
