//! What became of every variable, without its value; of `PATH`, which entry came from where.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use serde_json::{Value, json};

use super::class::SpawnClass;
use super::rule::Rule;
use super::search_path::SearchPath;

/// What happened to a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// The child has the parent's value.
    Kept,
    Stripped,
    /// The child has a value that is not the parent's.
    Set,
}

impl Fate {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Stripped => "stripped",
            Self::Set => "set",
        }
    }
}

/// One line of a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptRow<'a> {
    pub name: &'a OsStr,
    pub fate: Fate,
    pub rule: Rule,
}

/// The fate of every name of the parent and of every name that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    class: SpawnClass,
    rows: BTreeMap<OsString, (Fate, Rule)>,
    /// Which entry of `PATH` came from where. Empty if the call site gave `PATH` as it is.
    pub search_path: SearchPath,
}

impl Receipt {
    pub(super) fn new(class: SpawnClass) -> Self {
        Self {
            class,
            rows: BTreeMap::new(),
            search_path: SearchPath::default(),
        }
    }

    pub(super) fn record(&mut self, name: &OsStr, fate: Fate, rule: Rule) {
        if name == "PATH" {
            self.search_path = SearchPath::default();
        }
        self.rows.insert(name.to_owned(), (fate, rule));
    }

    /// The class the plan was built for.
    pub fn class(&self) -> SpawnClass {
        self.class
    }

    /// All rows, by name.
    pub fn rows(&self) -> impl Iterator<Item = ReceiptRow<'_>> {
        self.rows.iter().map(|(name, (fate, rule))| ReceiptRow {
            name,
            fate: *fate,
            rule: *rule,
        })
    }

    /// What became of one name; `None` if nobody mentioned it.
    pub fn of(&self, name: impl AsRef<OsStr>) -> Option<(Fate, Rule)> {
        self.rows.get(name.as_ref()).copied()
    }

    /// How many variables met this fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.rows.values().filter(|(met, _)| *met == fate).count()
    }

    /// For programs: class, counts, and a row per name.
    pub fn to_json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows()
            .map(|row| {
                json!({
                    "name": row.name.to_string_lossy(),
                    "fate": row.fate.name(),
                    "rule": row.rule.id(),
                    "reason": row.rule.text(),
                })
            })
            .collect();
        json!({
            "class": self.class.to_string(),
            "kept": self.count(Fate::Kept),
            "stripped": self.count(Fate::Stripped),
            "set": self.count(Fate::Set),
            "variables": rows,
            "search_path": self.search_path.to_json(),
        })
    }
}
