//! What the variables of a `.env` mean: lines that ran together taken apart, `${NAME}` filled in,
//! and characters that no key has left out, as the reference does, with a note of each.

use std::collections::BTreeMap;
use std::path::Path;

use super::edit::split;
use super::names::is_credential;
use super::parse::{Content, DotEnv, DotEnvError, Line};

/// Characters listed when some had to be left out.
const LISTED: usize = 3;

/// Something in a `.env` that is not used as it stands there. Never holds a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DotEnvNote {
    /// Line number, from 1.
    pub line: usize,
    pub kind: DotEnvNoteKind,
}

impl DotEnvNote {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match &self.kind {
            DotEnvNoteKind::Unreadable => "write it as NAME=value, or put # in front of it",
            DotEnvNoteKind::RanTogether { .. } => "give each of them a line of its own",
            DotEnvNoteKind::UnsetReference { .. } => {
                "set the variable on an earlier line, or give a default as in ${NAME:-default}"
            }
            DotEnvNoteKind::Dropped { .. } => {
                "keys copied from a document often contain such characters; copy the key again \
                 from where it was issued"
            }
        }
        .to_owned()
    }
}

/// What is not used as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DotEnvNoteKind {
    /// Neither a comment nor an assignment.
    Unreadable,
    /// Several assignments on one line.
    RanTogether { names: Vec<String> },
    /// `${reference}` in the value of `name`, and no such variable.
    UnsetReference { name: String, reference: String },
    /// Characters outside ASCII in a key.
    Dropped {
        name: String,
        count: usize,
        /// The first of them, as code points.
        characters: Vec<char>,
    },
}

impl std::fmt::Display for DotEnvNoteKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable => write!(f, "not an assignment; the line is ignored"),
            Self::RanTogether { names } => write!(
                f,
                "{} variables on one line; read as {}",
                names.len(),
                names.join(", ")
            ),
            Self::UnsetReference { name, reference } => write!(
                f,
                "{name} refers to ${{{}}}, which is not set; nothing stands in its place",
                reference.escape_debug()
            ),
            Self::Dropped {
                name,
                count,
                characters,
            } => {
                let listed: Vec<String> = characters
                    .iter()
                    .map(|c| format!("U+{:04X}", u32::from(*c)))
                    .collect();
                write!(
                    f,
                    "{name} contains {count} non-ASCII character{} ({}{}); removed, because keys \
                     are ASCII",
                    if *count == 1 { "" } else { "s" },
                    listed.join(", "),
                    if *count > listed.len() { ", …" } else { "" }
                )
            }
        }
    }
}

impl DotEnv {
    /// Reads a file for use; one that does not exist is empty. `lookup` finds the variables of the
    /// process.
    pub fn read<'v>(
        path: &Path,
        lookup: &dyn Fn(&str) -> Option<&'v str>,
    ) -> Result<(Self, Vec<DotEnvNote>), DotEnvError> {
        Ok(Self::load(path)?.resolved(lookup))
    }

    /// The same with every value as it is meant.
    fn resolved<'v>(&self, lookup: &dyn Fn(&str) -> Option<&'v str>) -> (Self, Vec<DotEnvNote>) {
        let mut notes = Vec::new();
        let mut lines = Vec::with_capacity(self.lines.len());
        for (index, line) in self.lines.iter().enumerate() {
            let note = |kind| DotEnvNote {
                line: self.number_of(index),
                kind,
            };
            if line.content == Content::Unreadable {
                notes.push(note(DotEnvNoteKind::Unreadable));
            }
            match split(line) {
                None => lines.push(line.clone()),
                Some(pieces) => {
                    let assigned = pieces.iter().filter_map(Line::assignment);
                    let names = assigned.map(|(name, _)| name.to_owned()).collect();
                    notes.push(note(DotEnvNoteKind::RanTogether { names }));
                    lines.extend(pieces);
                }
            }
        }
        let mut env = Self { lines };
        env.fill_in(lookup, &mut notes);
        env.clean(&mut notes);
        (env, notes)
    }

    /// Fills in `${NAME}` and `${NAME:-default}`, in quotes of either kind as well: with values of
    /// earlier lines, else of the process, else the default. What is filled in is not looked at
    /// again.
    fn fill_in<'v>(
        &mut self,
        lookup: &dyn Fn(&str) -> Option<&'v str>,
        notes: &mut Vec<DotEnvNote>,
    ) {
        if !self.lines.iter().any(refers) {
            return;
        }
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        for index in 0..self.lines.len() {
            let Some(Content::Assignment { name, value }) =
                self.lines.get_mut(index).map(|line| &mut line.content)
            else {
                continue;
            };
            let mut unset = Vec::new();
            *value = expanded(value, |reference, default| {
                let known = values.get(reference).map(String::as_str);
                let found = known.or_else(|| lookup(reference)).or(default);
                if found.is_none() {
                    unset.push(reference.to_owned());
                }
                found.unwrap_or_default().to_owned()
            });
            let name = name.clone();
            values.insert(name.clone(), value.clone());
            notes.extend(unset.into_iter().map(|reference| DotEnvNote {
                line: self.number_of(index),
                kind: DotEnvNoteKind::UnsetReference {
                    name: name.clone(),
                    reference,
                },
            }));
        }
    }

    /// Leaves characters outside ASCII out of keys: they come from copying out of a document, and
    /// no header can carry them.
    fn clean(&mut self, notes: &mut Vec<DotEnvNote>) {
        for index in 0..self.lines.len() {
            let Some(Content::Assignment { name, value }) =
                self.lines.get_mut(index).map(|line| &mut line.content)
            else {
                continue;
            };
            if value.is_ascii() || !is_credential(name) {
                continue;
            }
            let dropped: Vec<char> = value.chars().filter(|c| !c.is_ascii()).collect();
            value.retain(|c| c.is_ascii());
            let name = name.clone();
            notes.push(DotEnvNote {
                line: self.number_of(index),
                kind: DotEnvNoteKind::Dropped {
                    name,
                    count: dropped.len(),
                    characters: dropped.into_iter().take(LISTED).collect(),
                },
            });
        }
    }
}

fn refers(line: &Line) -> bool {
    line.assignment()
        .is_some_and(|(_, value)| value.contains("${"))
}

/// Replaces every `${NAME}` and `${NAME:-default}`. A name has no `}` and no `:`.
fn expanded(text: &str, mut fill: impl FnMut(&str, Option<&str>) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        match reference(after) {
            Some((name, default, tail)) => {
                out.push_str(&fill(name, default));
                rest = tail;
            }
            None => {
                out.push_str("${");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Name, default and what follows of a reference whose `${` has been read.
fn reference(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let end = text.find([':', '}'])?;
    let (name, rest) = text.split_at_checked(end)?;
    if let Some(tail) = rest.strip_prefix('}') {
        return Some((name, None, tail));
    }
    let (default, tail) = rest.strip_prefix(":-")?.split_once('}')?;
    Some((name, Some(default), tail))
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
