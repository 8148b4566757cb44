//! The settings of all layers as one tree.
//!
//! Most commands read a few settings: a section that no layer sets is not copied here, its defaults
//! are the program's, made when they are first read.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::schema;
use crate::yaml::value_at;

#[derive(Debug)]
pub(super) struct Merged {
    /// The sections that a layer sets, over their defaults.
    set: Value,
    /// These and all others.
    whole: OnceLock<Value>,
}

impl Merged {
    /// Nothing but defaults.
    pub(super) fn new() -> Self {
        Self {
            set: Value::Object(Map::new()),
            whole: OnceLock::new(),
        }
    }

    /// The tree to change, with the defaults of the section that is changed.
    pub(super) fn changeable(&mut self, section: &str) -> &mut Value {
        self.whole.take();
        if self.set.get(section).is_none()
            && let Some(defaults) = schema::defaults_of(section)
            && let Value::Object(sections) = &mut self.set
        {
            sections.insert(section.to_owned(), defaults.clone());
        }
        &mut self.set
    }

    /// The value at a path; there is none at an empty one.
    pub(super) fn at<S: AsRef<str>>(&self, path: &[S]) -> Option<&Value> {
        let (section, rest) = path.split_first()?;
        let section = section.as_ref();
        let found = self.set.get(section);
        value_at(found.or_else(|| schema::defaults_of(section))?, rest)
    }

    /// The sections that a layer sets, over their defaults.
    pub(super) fn set(&self) -> &Value {
        &self.set
    }

    /// All sections.
    pub(super) fn whole(&self) -> &Value {
        self.whole.get_or_init(|| {
            let mut whole = schema::defaults();
            if let (Value::Object(whole), Value::Object(set)) = (&mut whole, &self.set) {
                for (section, value) in set {
                    whole.insert(section.clone(), value.clone());
                }
            }
            whole
        })
    }
}
