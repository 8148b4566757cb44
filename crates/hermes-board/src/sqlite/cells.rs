//! Reading rows whose columns may hold what an older or careless program put there.
//!
//! SQLite stores any type in any column. A number that is a text, or a text that is a number, is
//! read as what it means; anything else counts as absent. No row can make a list fail.

use serde_json::Value;

use crate::Result;
use crate::model::Object;
use crate::sqlite::statements::{Cell, Row};

/// The cells of a row, one after the other.
pub(super) struct Cells<'r> {
    row: &'r dyn Row,
    next: usize,
}

impl<'r> Cells<'r> {
    pub(super) fn new(row: &'r dyn Row) -> Self {
        Self { row, next: 0 }
    }

    /// The cells behind the first few.
    pub(super) fn skipping(row: &'r dyn Row, columns: usize) -> Self {
        Self { row, next: columns }
    }

    fn value(&mut self) -> Result<Cell<'r>> {
        let value = self.row.cell(self.next);
        self.next += 1;
        value
    }

    pub(super) fn text_or_none(&mut self) -> Result<Option<String>> {
        Ok(match self.value()? {
            Cell::Null => None,
            Cell::Text(bytes) | Cell::Bytes(bytes) => {
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
            Cell::Int(number) => Some(number.to_string()),
            Cell::Real(number) => Some(number.to_string()),
        })
    }

    pub(super) fn text(&mut self) -> Result<String> {
        self.text_or_none().map(Option::unwrap_or_default)
    }

    /// A text that is `None` when empty, too.
    pub(super) fn filled_text(&mut self) -> Result<Option<String>> {
        Ok(self.text_or_none()?.filter(|text| !text.is_empty()))
    }

    pub(super) fn int_or_none(&mut self) -> Result<Option<i64>> {
        Ok(match self.value()? {
            Cell::Int(number) => Some(number),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a fraction of a second or a number beyond 64 bits is no loss here"
            )]
            Cell::Real(number) => Some(number as i64),
            Cell::Text(bytes) => number_of_text(bytes),
            Cell::Null | Cell::Bytes(_) => None,
        })
    }

    pub(super) fn int(&mut self) -> Result<i64> {
        self.int_or_none().map(Option::unwrap_or_default)
    }

    pub(super) fn json(&mut self) -> Result<Option<Value>> {
        Ok(match self.value()? {
            Cell::Text(bytes) => serde_json::from_slice(bytes).ok(),
            Cell::Null | Cell::Int(_) | Cell::Real(_) | Cell::Bytes(_) => None,
        })
    }

    pub(super) fn object(&mut self) -> Result<Option<Object>> {
        Ok(match self.json()? {
            Some(Value::Object(map)) => Some(map),
            _ => None,
        })
    }
}

/// A number, or the time of an ISO 8601 text.
pub(super) fn number_of_text(bytes: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    text.parse().ok().or_else(|| {
        text.parse::<jiff::Timestamp>()
            .ok()
            .map(jiff::Timestamp::as_second)
    })
}
