//! Values of words: quotes removed, escapes resolved, expansions that are known filled in, braces
//! expanded, fields split.
//!
//! The result errs on the side of showing: a value that might be `/` reads `/`.

use std::ops::Range;

use tree_sitter::Node;

use crate::escapes::decode_escapes;
use crate::glob::is_glob;
use crate::kind::kind;
use crate::model::{Inner, Word};
use crate::parameter;
use crate::scope::Scope;
use crate::substitution;

/// Nesting of quotes and expansions that is followed inside one word.
const MAX_WORD_DEPTH: usize = 24;
/// Fields one word may become by braces.
const MAX_BRACE_FIELDS: usize = 64;
/// Brace groups inside or behind each other that are expanded.
const MAX_BRACE_DEPTH: usize = 8;
/// Longest word whose braces are expanded.
const MAX_BRACE_WORD: usize = 2048;
/// The value of `$(echo …)`, `$(printf …)` and `$(command -v …)` with constant words.
fn constant(source: &str, scope: &mut Scope<'_>, node: Node<'_>, depth: usize) -> Option<String> {
    if depth >= MAX_WORD_DEPTH || node.named_child_count() != 1 {
        return None;
    }
    let command = node
        .named_child(0)
        .filter(|node| kind(*node) == "command")?;
    let mut words = Vec::new();
    let mut cursor = command.walk();
    for child in command.named_children(&mut cursor) {
        match kind(child) {
            "variable_assignment" | "file_redirect" | "herestring_redirect" | "subshell" => {
                return None;
            }
            _ => words.extend(fields(source, scope, child, depth)),
        }
    }
    if words.iter().any(|word| word.dynamic) {
        return None;
    }
    substitution::output(&words).map(|text| text.trim_end_matches('\n').to_owned())
}

/// How the characters of a piece behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Written without quotes: globs, braces and a tilde work.
    Bare,
    /// Plain characters.
    Quoted,
    /// An unquoted expansion: splits at blanks, globs work, a tilde was resolved before.
    Split,
    /// A quoted expansion: one field, a tilde was resolved before.
    Value,
}

#[derive(Debug)]
struct Piece {
    text: String,
    kind: Kind,
}

/// Collects the pieces of one word.
pub(crate) struct WordReader<'r, 's> {
    source: &'r str,
    scope: &'r mut Scope<'s>,
    pieces: Vec<Piece>,
    dynamic: bool,
    inner: Vec<Inner>,
    /// In a here-document, where a quotation mark is a character like any other.
    in_heredoc: bool,
}

/// Reads the node of a word into its fields.
pub(crate) fn fields(
    source: &str,
    scope: &mut Scope<'_>,
    node: Node<'_>,
    depth: usize,
) -> Vec<Word> {
    let mut reader = WordReader {
        source,
        scope,
        pieces: Vec::new(),
        dynamic: false,
        inner: Vec::new(),
        in_heredoc: kind(node) == "heredoc_body",
    };
    reader.node(node, false, depth);
    let span = node.byte_range();
    reader.finish(span)
}

/// Reads the node of a word that is never split, such as a file name or the value of a variable.
pub(crate) fn single(source: &str, scope: &mut Scope<'_>, node: Node<'_>, depth: usize) -> Word {
    joined(fields(source, scope, node, depth))
}

/// Fields as one word.
fn joined(fields: Vec<Word>) -> Word {
    let mut fields = fields.into_iter();
    let mut word = fields.next().unwrap_or_default();
    for more in fields {
        word.text.push(' ');
        word.text.push_str(&more.text);
        word.dynamic |= more.dynamic;
        word.inner.extend(more.inner);
    }
    word
}

/// The length of the name of a variable at the beginning of a text.
pub(crate) fn name_length(text: &str) -> usize {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match text.bytes().next() {
        Some(first) if first.is_ascii_alphabetic() => {
            text.bytes().take_while(|&b| is_name(b)).count()
        }
        _ => 0,
    }
}

/// Reads a word of plain characters, quotes and variables by name, and adds its fields.
pub(crate) fn plain_fields(
    source: &str,
    scope: &mut Scope<'_>,
    span: Range<usize>,
    fields: &mut Vec<Word>,
) {
    let mut rest = source.get(span.clone()).unwrap_or_default();
    // Most words are nothing but themselves.
    if memchr::memchr3(b'\'', b'"', b'$', rest.as_bytes()).is_none() {
        if !rest.is_empty() {
            fields.push(Word {
                glob: is_glob(rest),
                span: Some(span),
                ..Word::constant(rest)
            });
        }
        return;
    }
    let mut reader = WordReader {
        source,
        scope,
        pieces: Vec::new(),
        dynamic: false,
        inner: Vec::new(),
        in_heredoc: false,
    };
    while let Some(first) = rest.chars().next() {
        let inside = |quote: char| rest.get(1..).and_then(|rest| rest.split_once(quote));
        let (part, behind) = match first {
            '\'' | '"' => inside(first).unwrap_or_default(),
            _ => rest.split_at(rest.find(['\'', '"']).unwrap_or(rest.len())),
        };
        match first {
            '\'' => reader.push(part, Kind::Quoted),
            '"' => {
                reader.push("", Kind::Quoted);
                reader.literal_and_variables(part, true);
            }
            _ => reader.literal_and_variables(part, false),
        }
        rest = behind;
    }
    fields.extend(reader.finish(span));
}

/// Reads a plain word that is never split.
pub(crate) fn plain(source: &str, scope: &mut Scope<'_>, span: Range<usize>) -> Word {
    let mut fields = Vec::new();
    plain_fields(source, scope, span, &mut fields);
    joined(fields)
}

impl<'r> WordReader<'r, '_> {
    /// Text in which nothing but variables by name is special.
    fn literal_and_variables(&mut self, text: &str, quoted: bool) {
        let mut parts = text.split('$');
        self.literal(parts.next().unwrap_or_default(), quoted);
        for part in parts {
            let (name, behind) = part.split_at(name_length(part));
            self.variable(name, quoted, false);
            self.literal(behind, quoted);
        }
    }

    fn text(&self, range: Range<usize>) -> &'r str {
        self.source.get(range).unwrap_or_default()
    }

    fn push(&mut self, text: impl Into<String>, kind: Kind) {
        let text = text.into();
        // A quoted nothing still makes a field.
        if !text.is_empty() || kind == Kind::Quoted {
            self.pieces.push(Piece { text, kind });
        }
    }

    fn node(&mut self, node: Node<'_>, quoted: bool, depth: usize) {
        if depth >= MAX_WORD_DEPTH {
            self.opaque(node);
            self.scope.exhausted = true;
            return;
        }
        match kind(node) {
            "string" => {
                self.push("", Kind::Quoted);
                let start = node.start_byte() + 1;
                let end = node.end_byte().saturating_sub(1).max(start);
                self.children(node, start..end, true, depth);
            }
            "heredoc_body" => self.children(node, node.byte_range(), true, depth),
            "raw_string" => {
                let range = node.start_byte() + 1..node.end_byte().max(node.start_byte() + 2) - 1;
                self.push(self.text(range), Kind::Quoted);
            }
            "ansi_c_string" => {
                let text = decode_ansi_c(self.text(node.byte_range()));
                self.push(text, Kind::Quoted);
            }
            "simple_expansion" => {
                let name = self.text(node.start_byte() + 1..node.end_byte());
                self.variable(name, quoted, false);
            }
            "expansion" => self.expansion(node, quoted, depth),
            "command_substitution" => self.substitution(node, quoted, depth),
            "process_substitution" => {
                let mut inner = substitution::inner(self.source, node);
                inner.output = constant(self.source, self.scope, node, depth + 1);
                self.inner.push(inner);
                self.opaque(node);
            }
            "arithmetic_expansion" => self.opaque(node),
            "brace_expression" => self.push(self.text(node.byte_range()), Kind::Bare),
            _ if node.named_child_count() > 0 => {
                self.children(node, node.byte_range(), quoted, depth);
            }
            _ => self.literal(self.text(node.byte_range()), quoted),
        }
    }

    /// Children in turn, with the text between them.
    fn children(&mut self, node: Node<'_>, within: Range<usize>, quoted: bool, depth: usize) {
        let mut at = within.start;
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            // The dollar sign of `$"…"` is punctuation, the string is its child.
            if kind(node) != "translated_string" {
                self.literal(self.text(at..child.start_byte()), quoted);
            }
            if kind(child) == "string_content" {
                self.literal(self.text(child.byte_range()), quoted);
            } else {
                self.node(child, quoted, depth + 1);
            }
            at = child.end_byte().max(at);
        }
        self.literal(self.text(at..within.end), quoted);
    }

    /// Text with backslashes resolved as the quotes around it ask for.
    fn literal(&mut self, text: &str, quoted: bool) {
        let plain = if quoted { Kind::Quoted } else { Kind::Bare };
        if !text.contains('\\') {
            if !text.is_empty() {
                self.push(text, plain);
            }
            return;
        }
        let mut run = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c != '\\' {
                run.push(c);
                continue;
            }
            match chars.next() {
                Some('\n') => {}
                Some(next) if !quoted => {
                    let before = std::mem::take(&mut run);
                    self.push(before, Kind::Bare);
                    self.push(next, Kind::Quoted);
                }
                Some('"') if self.in_heredoc => run.push_str("\\\""),
                Some(next @ ('$' | '`' | '"' | '\\')) => run.push(next),
                Some(next) => {
                    run.push('\\');
                    run.push(next);
                }
                None => run.push('\\'),
            }
        }
        if !run.is_empty() {
            self.push(run, plain);
        }
    }

    fn opaque(&mut self, node: Node<'_>) {
        self.dynamic = true;
        self.push(self.text(node.byte_range()), Kind::Quoted);
    }

    /// The value of a variable, or its name when the value is not known.
    fn variable(&mut self, name: &str, quoted: bool, all_elements: bool) {
        let kind = if quoted && !all_elements {
            Kind::Value
        } else {
            Kind::Split
        };
        match (name, self.scope.value(name)) {
            ("IFS", _) => self.push(" ", if quoted { Kind::Quoted } else { Kind::Split }),
            // Each value of a loop in turn, even where quotes keep one together.
            (_, Some(values)) if values.len() > 1 => self.push(values.join(" "), Kind::Split),
            (_, Some(values)) => {
                let mut text = values.join(" ");
                if let (Kind::Split, Some(separators)) = (kind, self.scope.separators()) {
                    text = text.replace(|c| separators.contains(c), " ");
                }
                self.push(text, kind);
            }
            ("HOME", None) => self.push("~", Kind::Value),
            ("HERMES_HOME", None) => self.push("~/.hermes", Kind::Value),
            (_, None) => {
                self.dynamic = true;
                self.push(format!("${name}"), Kind::Quoted);
            }
        }
    }

    fn is_known(&self, name: &str) -> bool {
        matches!(name, "IFS" | "HOME" | "HERMES_HOME") || self.scope.knows(name)
    }

    /// `${…}` in its many forms.
    fn expansion(&mut self, node: Node<'_>, quoted: bool, depth: usize) {
        let mut name: Option<Node<'_>> = None;
        let mut operator = "";
        let mut operands = Vec::new();
        let mut prefix = "";
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let is_name = matches!(
                kind(child),
                "variable_name" | "special_variable_name" | "subscript"
            );
            match (name, child.is_named()) {
                (None, true) if is_name => name = Some(child),
                (None, false) if kind(child) != "${" => prefix = kind(child),
                (Some(_), true) => operands.push(child),
                (Some(_), false) if operator.is_empty() && kind(child) != "}" => {
                    operator = kind(child);
                }
                _ => {}
            }
        }
        let Some(name) = name.filter(|_| matches!(prefix, "" | "!")) else {
            self.opaque(node);
            return;
        };
        let behind = self.text(name.end_byte()..node.end_byte().saturating_sub(1));
        let written = self.text(name.byte_range());
        let all_elements = kind(name) == "subscript"
            && written.ends_with(['@', '*', ']'])
            && written.contains(['@', '*']);
        let name = written.split('[').next().unwrap_or_default();
        if prefix == "!" {
            // `${!NAME}`: the variable that this one names.
            match self.scope.value(name).as_deref() {
                Some([named]) if behind.is_empty() => self.variable(named, quoted, false),
                _ => self.opaque(node),
            }
            return;
        }
        match operator {
            _ if name == "IFS" => self.variable("IFS", quoted, false),
            "" | ":?" | "?" => self.variable(name, quoted, all_elements),
            ":-" | "-" | ":=" | "=" if self.is_known(name) => {
                self.variable(name, quoted, all_elements);
            }
            ":-" | "-" | ":=" | "=" | ":+" | "+" => {
                self.dynamic = true;
                for operand in operands {
                    self.operand(operand, quoted, depth + 1);
                }
            }
            "%" | "%%" if name == "HOME" => self.variable(name, quoted, false),
            ":" => self.substring(node, name, quoted),
            _ => self.changed(node, name, behind, quoted),
        }
    }

    /// `${NAME%…}`, `${NAME/…/…}`, `${NAME,,}` and the like of a known value.
    fn changed(&mut self, node: Node<'_>, name: &str, operator: &str, quoted: bool) {
        let operator = self.scope.filled_in(operator);
        let values = self.scope.value(name).unwrap_or_default();
        let mut changed = Vec::with_capacity(values.len());
        for value in &values {
            if self.scope.spend(parameter::cost(value, &operator)) {
                changed.extend(parameter::changed(value, &operator));
            }
        }
        if changed.is_empty() || changed.len() < values.len() {
            self.opaque(node);
            return;
        }
        let together = quoted && changed.len() == 1;
        let kind = if together { Kind::Value } else { Kind::Split };
        self.push(changed.join(" "), kind);
    }

    /// The word behind `:-` and the like: splits, when the expansion is not quoted.
    fn operand(&mut self, node: Node<'_>, quoted: bool, depth: usize) {
        let first = self.pieces.len();
        self.node(node, quoted, depth);
        if !quoted {
            for piece in self.pieces.iter_mut().skip(first) {
                if piece.kind == Kind::Bare {
                    piece.kind = Kind::Split;
                }
            }
        }
    }

    /// `${NAME:offset:length}` of a known value; the first character of a path is `/`.
    fn substring(&mut self, node: Node<'_>, name: &str, quoted: bool) {
        let text = self.text(node.byte_range());
        let numbers: Vec<usize> = text
            .trim_end_matches('}')
            .split(':')
            .skip(1)
            .map_while(|number| number.trim().parse().ok())
            .collect();
        if let ("@" | "*", Some(&from)) = (name, numbers.first())
            && let Some(values) = self.scope.value(name)
        {
            let length = numbers.get(1).copied().unwrap_or(usize::MAX);
            let values = values.into_iter().skip(from.max(1) - 1).take(length);
            let values: Vec<String> = values.collect();
            self.push(values.join(" "), Kind::Split);
            return;
        }
        let path_like = matches!(name, "PATH" | "HOME" | "PWD" | "OLDPWD" | "SHELL");
        let known = match self.scope.value(name) {
            Some(values) => values.into_iter().next(),
            None if path_like && numbers == [0, 1] => Some("/".to_owned()),
            None => None,
        };
        match (known, numbers.first()) {
            (Some(value), Some(&offset)) => {
                let length = numbers.get(1).copied().unwrap_or(usize::MAX);
                let part: String = value.chars().skip(offset).take(length).collect();
                self.push(part, if quoted { Kind::Value } else { Kind::Split });
            }
            _ => self.opaque(node),
        }
    }

    fn substitution(&mut self, node: Node<'_>, quoted: bool, depth: usize) {
        let mut inner = substitution::inner(self.source, node);
        inner.output = constant(self.source, self.scope, node, depth + 1);
        match &inner.output {
            Some(text) if self.scope.spend(text.len()) => {
                self.push(
                    text.as_str(),
                    if quoted { Kind::Value } else { Kind::Split },
                );
            }
            _ => self.opaque(node),
        }
        self.inner.push(inner);
    }

    fn finish(self, span: Range<usize>) -> Vec<Word> {
        let word = |text: String, glob: bool| Word {
            text,
            span: Some(span.clone()),
            dynamic: self.dynamic,
            glob,
            inner: self.inner.clone(),
        };
        let length: usize = self.pieces.iter().map(|piece| piece.text.len()).sum();
        let braces = length <= MAX_BRACE_WORD
            && self
                .pieces
                .iter()
                .any(|piece| piece.kind == Kind::Bare && piece.text.contains('{'));
        let splits = self.pieces.iter().any(|piece| {
            piece.kind == Kind::Split && piece.text.contains(|c: char| c.is_ascii_whitespace())
        });
        if self.pieces.is_empty() {
            return Vec::new();
        }
        let is_pattern = |kind| matches!(kind, Kind::Bare | Kind::Split);
        // Most words are one field as they stand.
        if !braces && !splits {
            let mut text = String::with_capacity(length + 2);
            let mut kinds = self.pieces.iter().filter(|piece| !piece.text.is_empty());
            if let Some(first) = kinds.next()
                && first.kind == Kind::Quoted
                && first.text.starts_with('~')
            {
                text.push_str("./");
            }
            for piece in &self.pieces {
                text.push_str(&piece.text);
            }
            let glob = self
                .pieces
                .iter()
                .any(|piece| is_pattern(piece.kind) && is_glob(&piece.text));
            return vec![word(text, glob)];
        }
        let chars: Vec<(char, Kind)> = self
            .pieces
            .iter()
            .flat_map(|piece| piece.text.chars().map(|c| (c, piece.kind)))
            .collect();
        let mut expanded = vec![chars];
        if let (true, [chars]) = (braces || splits, expanded.as_slice()) {
            let fields = expand_braces(chars, 0);
            if self.scope.spend(fields.iter().map(Vec::len).sum()) {
                expanded = fields;
            }
        }
        expanded
            .iter()
            .flat_map(|field| split_field(field))
            .map(|field| {
                let glob = field
                    .iter()
                    .any(|(c, kind)| is_pattern(*kind) && matches!(c, '*' | '?' | '['));
                word(field_text(&field), glob)
            })
            .collect()
    }
}

fn field_text(field: &[(char, Kind)]) -> String {
    let mut text = String::with_capacity(field.len() + 2);
    if let Some(('~', Kind::Quoted)) = field.first() {
        text.push_str("./");
    }
    text.extend(field.iter().map(|(c, _)| c));
    text
}

fn split_field(field: &[(char, Kind)]) -> Vec<Vec<(char, Kind)>> {
    let mut fields = Vec::new();
    let mut current = Vec::new();
    let mut quoted_empty = field.is_empty();
    for &(c, kind) in field {
        if kind == Kind::Split && c.is_ascii_whitespace() {
            if !current.is_empty() {
                fields.push(std::mem::take(&mut current));
            }
            quoted_empty = false;
        } else {
            current.push((c, kind));
        }
    }
    if !current.is_empty() || quoted_empty {
        fields.push(current);
    }
    fields
}

/// The fields that braces make of a text without quotes.
pub(crate) fn brace_fields(text: &str) -> Vec<String> {
    if text.len() > MAX_BRACE_WORD {
        return vec![text.to_owned()];
    }
    let chars: Vec<(char, Kind)> = text.chars().map(|c| (c, Kind::Bare)).collect();
    let fields = expand_braces(&chars, 0);
    fields.iter().map(|field| field_text(field)).collect()
}

/// `a{b,c}d` as `abd acd`. Stops at the limits and leaves the rest as written.
fn expand_braces(field: &[(char, Kind)], depth: usize) -> Vec<Vec<(char, Kind)>> {
    let Some((open, close, commas)) = find_braces(field).filter(|_| depth < MAX_BRACE_DEPTH) else {
        return vec![field.to_vec()];
    };
    let mut edges = vec![open];
    edges.extend(commas);
    edges.push(close);
    let prefix = field.get(..open).unwrap_or_default();
    let tail = expand_braces(field.get(close + 1..).unwrap_or_default(), depth + 1);
    let mut out = Vec::new();
    for pair in edges.windows(2) {
        let &[from, to] = pair else { break };
        for middle in expand_braces(field.get(from + 1..to).unwrap_or_default(), depth + 1) {
            for end in &tail {
                if out.len() >= MAX_BRACE_FIELDS {
                    return out;
                }
                out.push([prefix, &middle, end].concat());
            }
        }
    }
    out
}

/// The first brace group with a comma at its own level: its ends and commas.
fn find_braces(field: &[(char, Kind)]) -> Option<(usize, usize, Vec<usize>)> {
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut best: Option<(usize, usize, Vec<usize>)> = None;
    for (at, &(c, kind)) in field.iter().enumerate() {
        if kind != Kind::Bare {
            continue;
        }
        match c {
            '{' => open.push((at, Vec::new())),
            ',' => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            '}' => {
                if let Some((start, commas)) = open.pop()
                    && !commas.is_empty()
                    && best.as_ref().is_none_or(|(first, ..)| start < *first)
                {
                    best = Some((start, at, commas));
                }
                if open.is_empty() && best.is_some() {
                    return best;
                }
            }
            _ => {}
        }
    }
    best
}

/// `$'…'` with its escapes resolved.
fn decode_ansi_c(text: &str) -> String {
    let body = text.strip_prefix("$'").unwrap_or(text);
    let body = body.strip_suffix('\'').unwrap_or(body);
    decode_escapes(body)
}
