//! From parser events to [`Node`]s. Depth is bounded by the parser (256 levels).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag};
use serde_json::Value;

use super::node::{Entry, Node, NodeKind};
use super::scalar::{resolve_plain, resolve_tagged};

/// Most values of one file, keys included. The longest seen in use has 2,000.
const MAX_NODES: usize = 200_000;

/// Why a text is not usable YAML, with the position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct YamlError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    pub message: String,
}

impl YamlError {
    fn at(span: &Span, message: impl Into<String>) -> Self {
        Self {
            line: span.start.line().max(1),
            column: span.start.col() + 1,
            message: message.into(),
        }
    }

    fn of(error: &ScanError) -> Self {
        Self {
            line: error.marker().line().max(1),
            column: error.marker().col() + 1,
            message: plain_words(error.info()),
        }
    }
}

/// Whether a text is YAML: any number of documents with any tags, whatever they mean.
pub fn check_syntax(text: &str) -> Result<(), YamlError> {
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        event.map_err(|error| YamlError::of(&error))?;
    }
    Ok(())
}

pub(super) fn build(text: &str) -> Result<Arc<Node>, YamlError> {
    let mut builder = Builder {
        text,
        open: Vec::new(),
        anchors: HashMap::new(),
        anchor_span: None,
        root: None,
        nodes: 0,
    };
    let mut options = Options::default();
    options.emit_anchor_events = true;
    let mut parser = Parser::new_from_str_with_options(text, options);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| YamlError::of(&error))?;
        // The event of an anchor follows that of its node.
        builder.anchor_span = match parser.peek() {
            Some(Ok((Event::Anchor(..), span))) => Some(*span),
            _ => None,
        };
        builder.take(&event, &span)?;
    }
    Ok(builder.root.unwrap_or_else(|| {
        Arc::new(Node {
            kind: NodeKind::Scalar(Value::Null),
            line: 1,
            column: 1,
            span: text.len()..text.len(),
        })
    }))
}

/// The parser's messages about its own limits, in plain terms.
fn plain_words(message: String) -> String {
    match message.as_str() {
        "recursion limit exceeded" => "lists and mappings are nested too deeply".to_owned(),
        _ => message,
    }
}

/// A collection whose end has not been seen.
struct Open {
    anchor: usize,
    start: usize,
    line: usize,
    column: usize,
    flow: bool,
    shape: OpenShape,
}

enum OpenShape {
    List(Vec<Arc<Node>>),
    Map {
        entries: Vec<Entry>,
        key: Option<PendingKey>,
    },
}

struct PendingKey {
    text: String,
    span: Range<usize>,
    column: usize,
    line: usize,
}

struct Builder<'a> {
    text: &'a str,
    open: Vec<Open>,
    anchors: HashMap<usize, Arc<Node>>,
    anchor_span: Option<Span>,
    root: Option<Arc<Node>>,
    nodes: usize,
}

impl Builder<'_> {
    fn take(&mut self, event: &Event<'_>, span: &Span) -> Result<(), YamlError> {
        let bytes = span.byte_range().unwrap_or(0..0);
        match event {
            Event::DocumentStart(..) if self.root.is_some() => Err(YamlError::at(
                span,
                "a second document starts here; only one is allowed",
            )),
            Event::Scalar(text, style, anchor, tag) => {
                let absent = bytes.is_empty() && *style == ScalarStyle::Plain;
                let value = scalar_value(text, *style, tag.as_deref(), absent)
                    .map_err(|message| YamlError::at(span, message))?;
                let end = match style {
                    ScalarStyle::Literal | ScalarStyle::Folded => self.block_scalar_end(&bytes),
                    _ => bytes.end,
                };
                let start = if absent {
                    bytes.start
                } else {
                    self.value_start(bytes.start, span)
                };
                let node = Node {
                    kind: NodeKind::Scalar(value),
                    line: span.start.line(),
                    column: span.start.col() + 1,
                    span: start..end,
                };
                self.complete(node, *anchor, Some(text), &bytes, span)
            }
            Event::Alias(id) => {
                let Some(target) = self.anchors.get(id) else {
                    return Err(YamlError::at(
                        span,
                        "an alias refers to a value that contains it",
                    ));
                };
                // As a key an alias stands for the text of its scalar.
                let key = match &target.kind {
                    NodeKind::Scalar(Value::String(text)) => Some(text.clone()),
                    NodeKind::Scalar(other) => Some(other.to_string()),
                    _ => None,
                };
                let node = Node {
                    kind: NodeKind::Alias(Arc::clone(target)),
                    line: span.start.line(),
                    column: span.start.col() + 1,
                    span: bytes.clone(),
                };
                self.complete(node, 0, key.as_deref(), &bytes, span)
            }
            Event::SequenceStart(style, anchor, _) => {
                self.begin(*anchor, *style, OpenShape::List(Vec::new()), span);
                Ok(())
            }
            Event::MappingStart(style, anchor, _) => {
                self.begin(
                    *anchor,
                    *style,
                    OpenShape::Map {
                        entries: Vec::new(),
                        key: None,
                    },
                    span,
                );
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(&bytes, span),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, style: StructureStyle, shape: OpenShape, span: &Span) {
        let start = span.byte_range().map_or(0, |bytes| bytes.start);
        self.open.push(Open {
            anchor,
            start: self.value_start(start, span),
            line: span.start.line(),
            column: span.start.col() + 1,
            flow: matches!(style, StructureStyle::Flow),
            shape,
        });
    }

    fn end(&mut self, bytes: &Range<usize>, span: &Span) -> Result<(), YamlError> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let (kind, last) = match open.shape {
            OpenShape::List(items) => {
                let last = items.last().map(|item| item.span.end);
                (
                    NodeKind::List {
                        items,
                        flow: open.flow,
                    },
                    last,
                )
            }
            OpenShape::Map { entries, .. } => {
                let last = entries.last().map(Entry::end);
                (
                    NodeKind::Map {
                        entries,
                        flow: open.flow,
                    },
                    last,
                )
            }
        };
        // A block collection ends with its last value, not where the parser noticed the end.
        let end = if open.flow {
            bytes.end
        } else {
            last.unwrap_or(open.start)
        };
        let node = Node {
            kind,
            line: open.line,
            column: open.column,
            span: open.start..end.max(open.start),
        };
        self.complete(node, open.anchor, None, bytes, span)
    }

    /// Hands a finished node to its parent.
    fn complete(
        &mut self,
        node: Node,
        anchor: usize,
        text: Option<&str>,
        bytes: &Range<usize>,
        span: &Span,
    ) -> Result<(), YamlError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            // Found while reading: a node takes fifty times the memory of its text.
            let message = format!("the file contains more than {MAX_NODES} values");
            return Err(YamlError::at(span, message));
        }
        let node = Arc::new(node);
        if anchor != 0 {
            self.anchors.insert(anchor, Arc::clone(&node));
        }
        match self.open.last_mut().map(|open| &mut open.shape) {
            None => self.root = Some(node),
            Some(OpenShape::List(items)) => items.push(node),
            Some(OpenShape::Map { entries, key }) => match key.take() {
                Some(pending) => entries.push(Entry {
                    key: pending.text,
                    key_span: pending.span,
                    key_column: pending.column,
                    line: pending.line,
                    value: node,
                }),
                None => {
                    let Some(text) = text else {
                        return Err(YamlError::at(span, "a list or map cannot be a key here"));
                    };
                    *key = Some(PendingKey {
                        text: text.to_owned(),
                        span: bytes.clone(),
                        column: span.start.col(),
                        line: span.start.line(),
                    });
                }
            },
        }
        Ok(())
    }

    /// Includes `&anchor` and `!tag` before a value, on the same line, in its span.
    fn value_start(&self, start: usize, span: &Span) -> usize {
        let tag = span.tag_start;
        let anchor = self.anchor_span.map(|anchor| anchor.start);
        [tag, anchor]
            .into_iter()
            .flatten()
            .filter(|mark| mark.line() == span.start.line())
            .filter_map(|mark| mark.byte_offset())
            .fold(start, usize::min)
    }

    /// The parser's span of a block scalar runs to the next token; the value ends with its last
    /// line that is not blank (all blank lines belong to it when the header says keep, `|+`).
    fn block_scalar_end(&self, bytes: &Range<usize>) -> usize {
        let raw = self.text.get(bytes.clone()).unwrap_or_default();
        let header = self.text.get(..bytes.start).unwrap_or_default().trim_end();
        let header_word = header
            .rfind([' ', ':', '\n'])
            .and_then(|at| header.get(at + 1..))
            .unwrap_or(header);
        if header_word.contains('+') {
            let to_line_start = raw.rfind('\n').map_or(raw.len(), |at| at + 1);
            return bytes.start + to_line_start;
        }
        bytes.start + raw.trim_end().len()
    }
}

impl Entry {
    /// First byte after the entry. An absent value ends behind the colon.
    pub(super) fn end(&self) -> usize {
        self.value.span.end.max(self.key_span.end)
    }
}

/// The value of a scalar. An explicit tag of the core schema decides, whatever the style; a plain
/// scalar without one is resolved by its text.
fn scalar_value(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    absent: bool,
) -> Result<Value, String> {
    let kind = tag.and_then(Tag::core_suffix);
    let text = if absent { "" } else { text };
    match kind {
        Some("str") => Ok(Value::String(text.to_owned())),
        Some(kind @ ("int" | "float" | "bool" | "null")) => {
            resolve_tagged(kind, text).ok_or_else(|| format!("'{text}' is not a valid !!{kind}"))
        }
        _ if absent => Ok(Value::Null),
        _ if style == ScalarStyle::Plain && tag.is_none_or(Tag::is_yaml_core_schema) => {
            Ok(resolve_plain(text))
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}
