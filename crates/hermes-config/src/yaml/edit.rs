//! Changing one value of a YAML text and not one byte more.
//!
//! An edit is a splice computed from the positions of the parsed nodes. Its result is parsed again
//! and compared with what the change should have given; if a fine splice does not survive that (a
//! value behind an alias, a key merged in by `<<`), the next larger value around it is rewritten,
//! and if nothing works the edit is refused. So the worst case is "edit it by hand", never a file
//! that means something else.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::document::Document;
use super::node::{Entry, Node, NodeKind};
use super::parse::YamlError;
use super::render::{after_colon, scalar_text, to_block_text, to_flow_text};

/// A change that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("{0}")]
    Syntax(#[from] YamlError),
    #[error("the file does not contain a mapping of settings")]
    NotAMapping,
    #[error("'{0}' has an empty segment")]
    EmptySegment(String),
    #[error("'{path}' is a list, so '{segment}' must be the number of an element")]
    NotAnIndex { path: String, segment: String },
    #[error("'{0}' is not a list")]
    NotAList(String),
    #[error("'{path}' has {len} elements, so there is no element {segment}")]
    IndexOutOfRange {
        path: String,
        segment: String,
        len: usize,
    },
    #[error("'{0}' is not set")]
    NotSet(String),
    /// The layout defeats us, or an anchor makes other settings share the value.
    #[error(
        "'{0}' is shared with other settings or written in a way that cannot be changed safely"
    )]
    Unfaithful(String),
}

/// Sets a value; missing mappings are created, a scalar on the way becomes a mapping.
pub fn set(text: &str, path: &[String], value: &Value) -> Result<String, EditError> {
    let document = Document::parse(text)?;
    let mut expected = root_map(&document)?;
    set_in_value(&mut expected, path, value.clone())?;
    widening(&document, path, path.len(), &expected)
}

/// Adds an element to the end of a list; a missing or empty list is created. Says nothing new when
/// the list already holds it.
pub fn append(text: &str, path: &[String], item: &Value) -> Result<String, EditError> {
    let document = Document::parse(text)?;
    let mut expected = root_map(&document)?;
    let mut items = match value_at(&expected, path) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.clone(),
        Some(_) => return Err(EditError::NotAList(path.join("."))),
    };
    if items.contains(item) {
        return Ok(text.to_owned());
    }
    items.push(item.clone());
    set_in_value(&mut expected, path, Value::Array(items))?;
    if let Some(candidate) = splice_append(&document, path, item)
        && means(&candidate, &expected)
    {
        return Ok(candidate);
    }
    widening(&document, path, path.len(), &expected)
}

/// Removes a key or a list element.
pub fn remove(text: &str, path: &[String]) -> Result<String, EditError> {
    let document = Document::parse(text)?;
    let mut expected = root_map(&document)?;
    if !remove_in_value(&mut expected, path) {
        return Err(EditError::NotSet(path.join(".")));
    }
    if let Some(candidate) = splice_remove(&document, path)
        && means(&candidate, &expected)
    {
        return Ok(candidate);
    }
    widening(&document, path, path.len() - 1, &expected)
}

/// Tries the splice at `path[..longest]`, then at ever shorter prefixes.
fn widening(
    document: &Document,
    path: &[String],
    longest: usize,
    expected: &Value,
) -> Result<String, EditError> {
    (1..=longest)
        .rev()
        .filter_map(|length| {
            let prefix = path.get(..length)?;
            splice_set(document, prefix, value_at(expected, prefix)?)
        })
        .find(|candidate| means(candidate, expected))
        .ok_or_else(|| EditError::Unfaithful(path.join(".")))
}

fn means(text: &str, expected: &Value) -> bool {
    Document::parse(text)
        .ok()
        .and_then(|document| root_map(&document).ok())
        .as_ref()
        == Some(expected)
}

fn root_map(document: &Document) -> Result<Value, EditError> {
    match document.value() {
        Value::Null => Ok(Value::Object(Map::new())),
        map @ Value::Object(_) => Ok(map.clone()),
        _ => Err(EditError::NotAMapping),
    }
}

/// The value at a path of keys and list indices.
pub(crate) fn value_at<'v, S: AsRef<str>>(root: &'v Value, path: &[S]) -> Option<&'v Value> {
    path.iter().try_fold(root, |value, segment| match value {
        Value::Object(map) => map.get(segment.as_ref()),
        Value::Array(items) => items.get(segment.as_ref().parse::<usize>().ok()?),
        _ => None,
    })
}

/// Sets a value in a tree of mappings, making way where a scalar stands.
pub(crate) fn put<S: AsRef<str>>(root: &mut Value, path: &[S], value: Value) {
    let mut current = root;
    for segment in path {
        if !current.is_object() {
            *current = Value::Object(Map::new());
        }
        let Value::Object(map) = current else { return };
        current = map.entry(segment.as_ref()).or_insert(Value::Null);
    }
    *current = value;
}

/// The same change on plain data: the meaning an edited text must have.
pub fn set_in_value(root: &mut Value, path: &[String], value: Value) -> Result<(), EditError> {
    if path.is_empty() || path.iter().any(String::is_empty) {
        return Err(EditError::EmptySegment(path.join(".")));
    }
    let mut current = root;
    for (depth, segment) in path.iter().enumerate() {
        current = match current {
            Value::Array(items) => {
                let parent = || path.get(..depth).unwrap_or_default().join(".");
                let index: usize = segment.parse().map_err(|_| EditError::NotAnIndex {
                    path: parent(),
                    segment: segment.clone(),
                })?;
                let len = items.len();
                items
                    .get_mut(index)
                    .ok_or_else(|| EditError::IndexOutOfRange {
                        path: parent(),
                        segment: segment.clone(),
                        len,
                    })?
            }
            other => {
                if !other.is_object() {
                    *other = Value::Object(Map::new());
                }
                let Value::Object(map) = other else {
                    return Err(EditError::NotAMapping);
                };
                map.entry(segment.clone()).or_insert(Value::Null)
            }
        };
    }
    *current = value;
    Ok(())
}

fn remove_in_value(root: &mut Value, path: &[String]) -> bool {
    let Some((last, parents)) = path.split_last() else {
        return false;
    };
    let parent = parents.iter().try_fold(root, |value, segment| match value {
        Value::Object(map) => map.get_mut(segment),
        Value::Array(items) => items.get_mut(segment.parse::<usize>().ok()?),
        _ => None,
    });
    match parent {
        Some(Value::Object(map)) => map.shift_remove(last).is_some(),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// How a node is embedded in the text.
#[derive(Clone, Copy)]
enum Slot<'d> {
    Root,
    BlockEntry(&'d Entry),
    FlowEntry(&'d Entry),
    Item,
}

fn splice_set(document: &Document, path: &[String], value: &Value) -> Option<String> {
    let text = Splicer::new(document.text());
    let mut node: &Arc<Node> = document.root();
    let mut slot = Slot::Root;
    for (depth, segment) in path.iter().enumerate() {
        match &node.kind {
            NodeKind::Map { entries, flow } => match node.entry(segment) {
                Some(entry) => {
                    slot = if *flow {
                        Slot::FlowEntry(entry)
                    } else {
                        Slot::BlockEntry(entry)
                    };
                    node = &entry.value;
                }
                None => {
                    let addition = nested(path.get(depth..)?, value);
                    return text.insert_entry(slot, node, entries, *flow, &addition);
                }
            },
            NodeKind::List { items, .. } => {
                node = items.get(segment.parse::<usize>().ok()?)?;
                slot = Slot::Item;
            }
            NodeKind::Scalar(_) => {
                let replacement = Value::Object(nested(path.get(depth..)?, value));
                return text.replace_value(slot, node, &replacement);
            }
            NodeKind::Alias(_) => return None,
        }
    }
    text.replace_value(slot, node, value)
}

/// `{a: {b: value}}` for the path `a.b`.
fn nested(path: &[String], value: &Value) -> Map<String, Value> {
    let mut map = Map::new();
    if let Some((first, rest)) = path.split_first() {
        let inner = if rest.is_empty() {
            value.clone()
        } else {
            Value::Object(nested(rest, value))
        };
        map.insert(first.clone(), inner);
    }
    map
}

fn splice_remove(document: &Document, path: &[String]) -> Option<String> {
    let text = Splicer::new(document.text());
    let (last, parents) = path.split_last()?;
    let parent = document.find(parents)?;
    let (entries, flow) = match &parent.kind {
        NodeKind::Map { entries, flow } => (entries, flow),
        NodeKind::List { items, flow: false } if items.len() > 1 => {
            return text.remove_item(items.get(last.parse::<usize>().ok()?)?);
        }
        _ => return None,
    };
    let position = entries.iter().rposition(|entry| entry.key == *last)?;
    let entry = entries.get(position)?;
    if *flow {
        return Some(text.remove_flow_entry(entries, position, entry));
    }
    if entries.len() == 1 && !parents.is_empty() {
        // An emptied mapping is written as `{}`, which the caller's widening does.
        return None;
    }
    text.remove_lines(entry)
}

fn splice_append(document: &Document, path: &[String], item: &Value) -> Option<String> {
    let text = Splicer::new(document.text());
    let NodeKind::List { items, flow } = &document.find(path)?.kind else {
        return None;
    };
    let last = items.last()?;
    let item = to_flow_text(item);
    if *flow {
        let end = last.span.end;
        return Some(text.splice(end..end, &format!(", {item}")));
    }
    // The new line repeats what stands before another element: blanks, a dash, blanks.
    let prefix = items.iter().find_map(|item| {
        let start = text.line_start(item.span.start);
        let prefix = text.slice(start..item.span.start);
        let (indent, gap) = prefix.split_once('-')?;
        let blank = indent.chars().chain(gap.chars()).all(|c| c == ' ');
        blank.then_some(prefix)
    })?;
    let line = format!("{prefix}{item}");
    let end = last.span.end;
    Some(if text.slice(0..end).ends_with('\n') {
        text.splice(end..end, &format!("{line}\n"))
    } else {
        let at = text.line_end(end);
        text.splice(at..at, &format!("\n{line}"))
    })
}

/// A text and the ways to cut it.
struct Splicer<'t> {
    text: &'t str,
    newline: &'static str,
}

impl<'t> Splicer<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
        }
    }

    fn slice(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    fn splice(&self, range: Range<usize>, insertion: &str) -> String {
        let insertion = insertion.replace('\n', self.newline);
        [
            self.slice(0..range.start),
            &insertion,
            self.slice(range.end..self.text.len()),
        ]
        .concat()
    }

    /// Where the line of `position` ends, before its line break.
    fn line_end(&self, position: usize) -> usize {
        let rest = self.slice(position..self.text.len());
        let line = rest.split('\n').next().unwrap_or_default();
        position + line.strip_suffix('\r').unwrap_or(line).len()
    }

    fn line_start(&self, position: usize) -> usize {
        self.slice(0..position).rfind('\n').map_or(0, |at| at + 1)
    }

    /// First byte after the line break that ends the line of `position`.
    fn next_line(&self, position: usize) -> usize {
        let rest = self.slice(position..self.text.len());
        rest.find('\n')
            .map_or(self.text.len(), |at| position + at + 1)
    }

    /// Position behind the colon of an entry, if it follows the key on the same line.
    fn behind_colon(&self, entry: &Entry) -> Option<usize> {
        let rest = self.slice(entry.key_span.end..self.text.len());
        let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest.get(gap..)?
            .starts_with(':')
            .then_some(entry.key_span.end + gap + 1)
    }

    fn replace_value(&self, slot: Slot<'_>, node: &Node, value: &Value) -> Option<String> {
        match slot {
            Slot::Root if node.span.is_empty() => Some(self.append_at_end(value)),
            Slot::Root => Some(self.splice(node.span.clone(), &to_block_text(value))),
            Slot::BlockEntry(entry) => self.replace_in_block(entry, node, value),
            Slot::FlowEntry(entry) if node.span.is_empty() => {
                let flow = to_flow_text(value);
                Some(match self.behind_colon(entry) {
                    Some(colon) => self.splice(colon..colon, &format!(" {flow}")),
                    None => {
                        let end = entry.key_span.end;
                        self.splice(end..end, &format!(": {flow}"))
                    }
                })
            }
            Slot::Item if node.span.is_empty() => {
                Some(self.splice(node.span.clone(), &format!(" {}", to_flow_text(value))))
            }
            Slot::FlowEntry(_) | Slot::Item => {
                Some(self.splice(node.span.clone(), &to_flow_text(value)))
            }
        }
    }

    /// `key: old` in a block mapping. A comment at the end of the key's line stays there.
    fn replace_in_block(&self, entry: &Entry, node: &Node, value: &Value) -> Option<String> {
        let colon = self.behind_colon(entry)?;
        let new = after_colon(value, entry.key_column);
        let key_line_end = self.line_end(colon);
        let inline = node.span.start < key_line_end || node.span.is_empty();
        let block_scalar = matches!(node.kind, NodeKind::Scalar(_)) && self.has_block_header(colon);
        if block_scalar {
            return Some(self.splice(colon..node.span.end, &new));
        }
        let new_is_inline = new.starts_with(' ');
        if inline {
            let old = if node.span.is_empty() {
                colon..colon
            } else {
                node.span.clone()
            };
            if new_is_inline {
                let new = if old.is_empty() {
                    new.as_str()
                } else {
                    new.trim_start()
                };
                return Some(self.splice(old, new));
            }
            let line_end = self.line_end(old.end);
            let comment = self.slice(old.end..line_end).trim_end();
            return Some(self.splice(colon..line_end, &format!("{comment}{new}")));
        }
        // The old value starts below: what is left on the key's line is a comment or an anchor.
        let head = self.slice(colon..key_line_end).trim_end();
        let comment = if head.trim_start().starts_with('#') {
            head
        } else {
            ""
        };
        let replacement = if new_is_inline {
            format!("{new}{comment}")
        } else {
            format!("{comment}{new}")
        };
        Some(self.splice(colon..node.span.end, &replacement))
    }

    /// Whether `|` or `>` follows the colon, behind anchors and tags.
    fn has_block_header(&self, colon: usize) -> bool {
        self.slice(colon..self.line_end(colon))
            .split_whitespace()
            .find(|word| !word.starts_with(['&', '!']))
            .is_some_and(|word| word.starts_with(['|', '>']))
    }

    fn append_at_end(&self, value: &Value) -> String {
        let gap = if self.text.is_empty() || self.text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let end = self.text.len();
        self.splice(end..end, &format!("{gap}{}\n", to_block_text(value)))
    }

    fn insert_entry(
        &self,
        slot: Slot<'_>,
        node: &Node,
        entries: &[Entry],
        flow: bool,
        addition: &Map<String, Value>,
    ) -> Option<String> {
        let Some((first, last)) = entries.first().zip(entries.last()) else {
            return match slot {
                Slot::Root | Slot::BlockEntry(_) => {
                    self.replace_value(slot, node, &Value::Object(addition.clone()))
                }
                Slot::FlowEntry(_) | Slot::Item => Some(self.splice(
                    node.span.clone(),
                    &to_flow_text(&Value::Object(addition.clone())),
                )),
            };
        };
        let (key, value) = addition.iter().next()?;
        let key = scalar_text(key);
        if flow {
            let at = last.end();
            return Some(self.splice(at..at, &format!(", {key}: {}", to_flow_text(value))));
        }
        let indent = first.key_column;
        let line = format!("{}{key}:{}", " ".repeat(indent), after_colon(value, indent));
        let end = last.end();
        Some(if self.slice(0..end).ends_with('\n') {
            self.splice(end..end, &format!("{line}\n"))
        } else {
            let at = self.line_end(end);
            self.splice(at..at, &format!("\n{line}"))
        })
    }

    fn remove_flow_entry(&self, entries: &[Entry], position: usize, entry: &Entry) -> String {
        let before = position.checked_sub(1).and_then(|at| entries.get(at));
        let range = match (before, entries.get(position + 1)) {
            (Some(before), _) => before.end()..entry.end(),
            (None, Some(next)) => entry.key_span.start..next.key_span.start,
            (None, None) => entry.key_span.start..entry.end(),
        };
        self.splice(range, "")
    }

    /// Whole lines of an element of a block list; `None` if it shares its first line with another.
    fn remove_item(&self, item: &Node) -> Option<String> {
        let start = self.line_start(item.span.start);
        let (indent, gap) = self.slice(start..item.span.start).split_once('-')?;
        if !indent.chars().chain(gap.chars()).all(|c| c == ' ') {
            return None;
        }
        let own = self.slice(start..item.span.end).trim_end();
        Some(self.splice(start..self.next_line(start + own.len()), ""))
    }

    /// Whole lines of a block entry; `None` if something else stands before the key.
    fn remove_lines(&self, entry: &Entry) -> Option<String> {
        let start = self.line_start(entry.key_span.start);
        let prefix = self.slice(start..entry.key_span.start);
        if !prefix
            .trim_start_matches('\u{feff}')
            .chars()
            .all(|c| c == ' ')
        {
            return None;
        }
        let start = if prefix.starts_with('\u{feff}') {
            start + '\u{feff}'.len_utf8()
        } else {
            start
        };
        let end = entry.end();
        let end = if self.slice(0..end).ends_with('\n') {
            end
        } else {
            self.next_line(end)
        };
        Some(self.splice(start..end, ""))
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
