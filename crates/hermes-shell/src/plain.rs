//! Command lines without anything odd in them: words, quotes, variables by name, pipes, lists and
//! redirections. That is most of what is typed, and it needs no grammar, which takes far longer than
//! all the rest of a verdict.
//!
//! What is taken here is read as the grammar reads it (a test compares the two); whatever has
//! another character, a keyword or an unusual order is left to the grammar.

use std::ops::Range;
use std::rc::Rc;

use crate::effects;
use crate::model::{Command, PipePosition, Redirect, Script, Word, is_one_of};
use crate::scope::Scope;
use crate::word;

/// Longest text, and most commands, that are read here.
const MAX_TEXT: usize = 4096;
const MAX_COMMANDS: usize = 64;

/// Words that may mean something else than themselves.
const KEYWORDS: &str = "if then else elif fi for while until do done case esac in select function time \
    coproc declare typeset export readonly local unset unsetenv";

/// What stands between two commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    Pipe,
    /// `&&` or `||`.
    List,
    /// `;` or the end of a line.
    End,
}

#[derive(Default)]
struct Simple {
    /// Name and value of what is set in front.
    assignments: Vec<(Range<usize>, Range<usize>)>,
    words: Vec<Range<usize>>,
    redirects: Vec<(bool, Range<usize>)>,
}

/// Reads a text into the script, if it is plain; false if nothing was read.
pub(crate) fn read(
    source: &str,
    scope: &mut Scope<'_>,
    script: &mut Script,
    template: &Command,
) -> bool {
    let Some(commands) = scan(source) else {
        return false;
    };
    let is_source = template.is_source();
    let mut pipe: Option<PipePosition> = None;
    for (simple, joint) in commands {
        pipe = match pipe {
            Some(at) => Some(PipePosition {
                stage: at.stage + 1,
                ..at
            }),
            None if joint == Joint::Pipe => {
                script.pipelines.push(template.pipe);
                let pipeline = script.pipelines.len() - 1;
                Some(PipePosition { pipeline, stage: 0 })
            }
            None => None,
        };
        let mut command = Command {
            pipe: pipe.or(template.pipe),
            cwd: scope.cwd.clone(),
            background: false,
            stdin: None,
            environment: Rc::default(),
            ..template.clone()
        };
        let environment = simple.assignments.into_iter().map(|(name, value)| {
            let name = source.get(name).unwrap_or_default().to_owned();
            (name, word::plain(source, scope, value))
        });
        let environment: Vec<(String, Word)> = environment.collect();
        if !environment.is_empty() {
            command.environment = Rc::new(environment);
        }
        command.words.reserve_exact(simple.words.len());
        for range in simple.words {
            word::plain_fields(source, scope, range, &mut command.words);
        }
        for (writes, range) in simple.redirects {
            let target = word::plain(source, scope, range);
            command.redirects.push(Redirect { writes, target });
        }
        effects::apply(&command, scope);
        if !is_source {
            for word in &mut command.words {
                word.span = None;
            }
        }
        script.add(command);
        if joint != Joint::Pipe {
            pipe = None;
        }
    }
    true
}

/// Takes a text apart; `None` if it is not plain.
fn scan(source: &str) -> Option<Vec<(Simple, Joint)>> {
    // Neither carriage returns nor NULs, in quotes too: not every reader drops them.
    let is_text = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    if source.len() > MAX_TEXT || !source.bytes().all(is_text) {
        return None;
    }
    let mut scanner = Scanner {
        source,
        bytes: source.as_bytes(),
        at: 0,
    };
    let mut commands = Vec::new();
    // How the command before is joined to the one that comes.
    let mut before = Joint::End;
    loop {
        scanner.blanks();
        if before == Joint::End {
            scanner.line_ends();
            if scanner.peek().is_none() {
                break;
            }
        }
        let simple = scanner.simple()?;
        let joint = scanner.joint()?;
        // A redirection in the middle: the grammar takes all that stands before it into one group.
        let is_grouped = joint == Joint::Pipe && before != Joint::End;
        if is_grouped && !simple.redirects.is_empty() || commands.len() == MAX_COMMANDS {
            return None;
        }
        commands.push((simple, joint));
        before = joint;
    }
    (!commands.is_empty()).then_some(commands)
}

struct Scanner<'t> {
    source: &'t str,
    bytes: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next_is(&self, text: &[u8]) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        rest.starts_with(text)
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn line_ends(&mut self) {
        while let Some(b' ' | b'\t' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// One command up to what ends it.
    fn simple(&mut self) -> Option<Simple> {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'|') => break,
                Some(b'&') if !self.next_is(b"&>") => break,
                Some(b'<' | b'>' | b'&') => simple.redirects.push(self.redirect()?),
                Some(_) => {
                    let start = self.at;
                    self.word()?;
                    let descriptor = matches!(self.peek(), Some(b'<' | b'>'));
                    let text = self.source.get(start..self.at)?;
                    if descriptor {
                        if !is_output(text) || self.next_is(b"<") {
                            return None;
                        }
                        simple.redirects.push(self.redirect()?);
                        continue;
                    }
                    // The grammar takes words behind a file for more files, and a dash before one
                    // for a part of it.
                    let is_odd = !simple.redirects.is_empty() || text == "-";
                    if is_odd || text.starts_with('=') || is_one_of(text, KEYWORDS) {
                        return None;
                    }
                    match (simple.words.is_empty(), assignment(text)) {
                        (true, Some(name)) => {
                            let name = start..start + name;
                            let value = name.end + 1..self.at;
                            simple.assignments.push((name, value));
                        }
                        (true, None) if !is_program(text) => return None,
                        _ => simple.words.push(start..self.at),
                    }
                }
            }
        }
        (!simple.words.is_empty()).then_some(simple)
    }

    /// A redirection from its operator on: whether it writes, and where the file is named.
    fn redirect(&mut self) -> Option<(bool, Range<usize>)> {
        let operators: [(&[u8], bool); 6] = [
            (b"&>>", true),
            (b"&>", true),
            (b">>", true),
            (b">&", true),
            (b">", true),
            (b"<", false),
        ];
        let (operator, writes) = operators
            .into_iter()
            .find(|(operator, _)| self.next_is(operator))?;
        self.at += operator.len();
        if operator != b">&" {
            self.blanks();
        }
        let start = self.at;
        self.word()?;
        let target = self.source.get(start..self.at)?;
        let fits = match operator {
            b">&" => is_output(target),
            _ => !target.starts_with(|first: char| first.is_ascii_digit()),
        };
        let fits = fits && !is_one_of(target, KEYWORDS);
        let ends = !matches!(self.peek(), Some(b'<' | b'>'));
        (fits && ends).then_some((writes, start..self.at))
    }

    /// Steps over a word.
    fn word(&mut self) -> Option<()> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' => {
                    let rest = self.bytes.get(self.at + 1..)?;
                    self.at += memchr::memchr(b'\'', rest)? + 2;
                }
                b'"' => self.double_quoted()?,
                // With more than characters before it, the grammar may take the name for a word.
                b'$' if !self.is_mixed(start) => self.variable()?,
                b'~' if self.at > start => return None,
                _ if is_plain(byte) => self.at += 1,
                b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'<' | b'>' => break,
                _ => return None,
            }
        }
        (self.at > start).then_some(())
    }

    /// Whether the word that begins there has quotes or variables up to here.
    fn is_mixed(&self, start: usize) -> bool {
        let before = self.bytes.get(start..self.at).unwrap_or_default();
        memchr::memchr3(b'\'', b'"', b'$', before).is_some()
    }

    fn double_quoted(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'$' => self.variable()?,
                b'\\' | b'`' => return None,
                _ => self.at += 1,
            }
        }
    }

    fn variable(&mut self) -> Option<()> {
        let rest = self.source.get(self.at + 1..)?;
        let length = word::name_length(rest);
        self.at += 1 + length;
        (length > 0).then_some(())
    }

    /// What ends the command that was read.
    fn joint(&mut self) -> Option<Joint> {
        let (joint, length) = match self.bytes.get(self.at..)? {
            [] => (Joint::End, 0),
            [b'&', b'&', ..] | [b'|', b'|', ..] => (Joint::List, 2),
            [b'|', next, ..] if *next != b'&' => (Joint::Pipe, 1),
            [b';', next, ..] if *next != b';' => (Joint::End, 1),
            [b'\n', ..] => (Joint::End, 1),
            _ => return None,
        };
        self.at += length;
        Some(joint)
    }
}

/// Characters that are nothing but themselves wherever they stand in a word.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_./,:@%+=^-~*?".contains(&byte)
}

/// Whether a word is the number of an output. With others in front of an operator, the grammar or
/// the shell may take the number for a word.
fn is_output(text: &str) -> bool {
    matches!(text, "1" | "2")
}

/// Whether a word is surely the name of a program. To the grammar a word in this place may begin
/// an expression or an assignment, or be a keyword with quotes behind it.
fn is_program(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || "_./".contains(first))
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
}

/// The length of the name in `NAME=…`.
fn assignment(text: &str) -> Option<usize> {
    let length = word::name_length(text);
    (length > 0 && text.as_bytes().get(length) == Some(&b'=')).then_some(length)
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
