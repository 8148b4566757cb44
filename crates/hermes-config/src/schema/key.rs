//! What a setting is, and whether a value fits it.

use serde_json::{Value, json};

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    /// True or false, also as a quoted word or as 1 and 0.
    Switch,
    Int,
    Positive,
    Number,
    Text,
    Choice(&'static [&'static str]),
    BoolOr(&'static [&'static str]),
    /// A whole number, quoted or not, or one of these words.
    IntOr(&'static [&'static str]),
    List,
    /// A mapping whose keys are the user's.
    Map,
    TextOrMap,
    ListOrMap,
    /// A word, a switch or a list, which the reader tells apart.
    Any,
}

/// The value of a setting nobody set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fallback {
    /// No value at all.
    Unset,
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'static str),
    Texts(&'static [&'static str]),
    EmptyMap,
}

impl Fallback {
    /// As plain data.
    pub fn value(self) -> Option<Value> {
        Some(match self {
            Self::Unset => return None,
            Self::Null => Value::Null,
            Self::Bool(value) => json!(value),
            Self::Int(value) => json!(value),
            Self::Float(value) => json!(value),
            Self::Text(value) => json!(value),
            Self::Texts(value) => json!(value),
            Self::EmptyMap => json!({}),
        })
    }
}

/// One setting. `*` in the path stands for a name of the user's.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Path below the section, dotted; empty for a section that is itself a value.
    pub path: &'static str,
    /// Its type. Null is accepted everywhere and means the default.
    pub kind: Kind,
    pub default: Fallback,
    /// The variable that overrides it.
    pub var: Option<&'static str>,
    /// Never shown.
    pub secret: bool,
    pub doc: &'static str,
}

impl Key {
    /// Says which setting it is and what it does.
    pub(super) const fn named(mut self, path: &'static str, doc: &'static str) -> Self {
        self.path = path;
        self.doc = doc;
        self
    }

    /// The variable that overrides this setting.
    pub(super) const fn var(mut self, var: &'static str) -> Self {
        self.var = Some(var);
        self
    }

    /// A value that is never shown.
    pub(super) const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// A setting without default.
    pub(super) const fn unset(mut self) -> Self {
        self.default = Fallback::Unset;
        self
    }

    /// A setting whose default is null.
    pub(super) const fn null(mut self) -> Self {
        self.default = Fallback::Null;
        self
    }
}

/// A setting of any kind; [`Key::named`] says which one.
pub(super) const fn custom(kind: Kind, default: Fallback) -> Key {
    Key {
        path: "",
        kind,
        default,
        var: None,
        secret: false,
        doc: "",
    }
}

pub(super) const fn flag(default: bool) -> Key {
    custom(Kind::Bool, Fallback::Bool(default))
}

/// A flag whose words the reference reads as text, whatever their type.
pub(super) const fn switch(default: bool) -> Key {
    custom(Kind::Switch, Fallback::Bool(default))
}

pub(super) const fn int(default: i64) -> Key {
    custom(Kind::Int, Fallback::Int(default))
}

/// A whole number above zero: a size, or a time to wait.
pub(super) const fn positive(default: i64) -> Key {
    custom(Kind::Positive, Fallback::Int(default))
}

pub(super) const fn number(default: f64) -> Key {
    custom(Kind::Number, Fallback::Float(default))
}

/// A number whose default is whole.
pub(super) const fn whole(default: i64) -> Key {
    custom(Kind::Number, Fallback::Int(default))
}

pub(super) const fn text(default: &'static str) -> Key {
    custom(Kind::Text, Fallback::Text(default))
}

/// One of several words.
pub(super) const fn choice(words: &'static [&'static str], default: &'static str) -> Key {
    custom(Kind::Choice(words), Fallback::Text(default))
}

pub(super) const fn list() -> Key {
    custom(Kind::List, Fallback::Texts(&[]))
}

/// A mapping with free keys.
pub(super) const fn map() -> Key {
    custom(Kind::Map, Fallback::EmptyMap)
}

/// A top-level key of `config.yaml`.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub name: &'static str,
    pub doc: &'static str,
    pub keys: &'static [Key],
    /// Keys beyond these are nobody's mistake: another part of the program, or an add-on, owns
    /// them.
    pub open: bool,
}

impl Section {
    /// The full dotted path of one of its settings.
    pub fn path_of(&self, key: &Key) -> String {
        match key.path {
            "" => self.name.to_owned(),
            path => format!("{}.{path}", self.name),
        }
    }
}

impl Kind {
    /// What a message says was expected.
    pub fn expected(self) -> String {
        match self {
            Self::Bool | Self::Switch => "true or false".to_owned(),
            Self::Int | Self::IntOr([]) => "a whole number".to_owned(),
            Self::Positive => "a whole number above zero".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::BoolOr(words) => format!("true, false or one of {}", words.join(", ")),
            Self::IntOr(words) => format!("a whole number or {}", words.join(", ")),
            Self::List => "a list".to_owned(),
            Self::Map => "a mapping".to_owned(),
            Self::TextOrMap => "a string or a mapping".to_owned(),
            Self::ListOrMap => "a list or a mapping".to_owned(),
            Self::Any => "any value".to_owned(),
        }
    }

    /// The value if it fits, put right where YAML and we disagree about words. Null always fits.
    pub fn accept(self, value: &Value) -> Option<Value> {
        let fits = match (self, value) {
            (_, Value::Null)
            | (Self::Any, _)
            | (Self::Bool | Self::Switch | Self::BoolOr(_), Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::Text | Self::TextOrMap, Value::String(_))
            | (Self::List | Self::ListOrMap, Value::Array(_))
            | (Self::Map | Self::TextOrMap | Self::ListOrMap, Value::Object(_)) => true,
            (Self::Int | Self::IntOr(_), Value::Number(number)) => {
                number.is_i64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
            }
            (Self::Positive, Value::Number(number)) => number
                .as_f64()
                .is_some_and(|float| float.fract() == 0.0 && float >= 1.0),
            (Self::Choice(words) | Self::BoolOr(words), Value::String(word)) => {
                words.contains(&word.as_str())
            }
            (Self::IntOr(_) | Self::Switch, Value::String(text)) => return self.from_text(text),
            (Self::Switch, Value::Number(number)) => return self.from_text(&number.to_string()),
            // `mode: off` without quotes is a boolean to YAML and a word to the user.
            (Self::Choice(words), Value::Bool(yes)) => {
                let spelled = if *yes {
                    ["on", "true", "yes"]
                } else {
                    ["off", "false", "no"]
                };
                return spelled
                    .into_iter()
                    .find(|word| words.contains(word))
                    .map(|w| json!(w));
            }
            _ => false,
        };
        fits.then(|| value.clone())
    }

    /// The text of a variable as a value of this type.
    pub fn from_text(self, raw: &str) -> Option<Value> {
        let raw = raw.trim();
        let as_bool = || {
            if crate::is_truthy(raw) {
                Some(json!(true))
            } else {
                ["0", "false", "no", "off"]
                    .iter()
                    .any(|no| raw.eq_ignore_ascii_case(no))
                    .then(|| json!(false))
            }
        };
        match self {
            Self::Bool | Self::Switch => as_bool(),
            Self::Int => raw.parse::<i64>().ok().map(Value::from),
            Self::Positive => {
                let number = raw.parse::<i64>().ok();
                number.filter(|number| *number > 0).map(Value::from)
            }
            Self::Number => match raw.parse::<i64>() {
                Ok(whole) => Some(json!(whole)),
                Err(_) => raw
                    .parse::<f64>()
                    .ok()
                    .filter(|n| n.is_finite())
                    .map(Value::from),
            },
            Self::IntOr(words) => {
                let word = words.iter().find(|word| raw.eq_ignore_ascii_case(word));
                match word {
                    Some(word) => Some(json!(word)),
                    None => raw.parse::<i64>().ok().map(Value::from),
                }
            }
            Self::Text | Self::TextOrMap | Self::Any => Some(json!(raw)),
            Self::Choice(words) => words.contains(&raw).then(|| json!(raw)),
            Self::BoolOr(words) => {
                if words.contains(&raw) {
                    Some(json!(raw))
                } else {
                    as_bool()
                }
            }
            Self::List | Self::Map | Self::ListOrMap => serde_json::from_str::<Value>(raw)
                .ok()
                .and_then(|value| self.accept(&value)),
        }
    }
}
