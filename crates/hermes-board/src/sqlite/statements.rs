//! What the statements of a board run on.
//!
//! The SQL of the board binds [`Param`]s and reads [`Cell`]s, so that the operations know no library
//! of a database. A [`Statements`] is the inside of one transaction.

use std::borrow::Cow;

use crate::{Error, Result};

/// A value bound to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Param<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'r> {
    Null,
    Int(i64),
    Real(f64),
    /// A text as it was stored; only SQLite lets it be anything but UTF-8.
    Text(&'r [u8]),
    /// The content of a file; only where this program put one.
    Bytes(&'r [u8]),
}

/// One row of a result.
pub(super) trait Row {
    /// The value in a column, counted from 0.
    fn cell(&self, column: usize) -> Result<Cell<'_>>;
}

/// Whether more rows of a result are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    Yes,
    No,
}

/// Receives the rows of a result, one after the other.
pub(super) type TakeRow<'t> = dyn FnMut(&dyn Row) -> Result<More> + 't;

/// The inside of one transaction. Parameters are written `?1`, `?2`, … in every statement.
pub(super) trait Statements {
    /// Runs a statement; returns how many rows it changed.
    fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize>;

    /// Inserts one row into a table whose key is a number `id`, and returns that number.
    fn insert(&self, sql: &str, params: &[Param<'_>]) -> Result<i64>;

    /// Passes on the rows of a result until no more are wanted.
    fn query(&self, sql: &str, params: &[Param<'_>], take: &mut TakeRow<'_>) -> Result<()>;
}

/// No parameters.
pub(super) const NONE: [Param<'static>; 0] = [];

/// Values that can be bound to a statement.
pub(super) trait AsParam {
    fn as_param(&self) -> Param<'_>;
}

impl AsParam for Param<'_> {
    fn as_param(&self) -> Param<'_> {
        *self
    }
}

impl AsParam for str {
    fn as_param(&self) -> Param<'_> {
        Param::Text(self)
    }
}

impl AsParam for [u8] {
    fn as_param(&self) -> Param<'_> {
        Param::Bytes(self)
    }
}

impl AsParam for String {
    fn as_param(&self) -> Param<'_> {
        Param::Text(self)
    }
}

impl AsParam for Cow<'_, str> {
    fn as_param(&self) -> Param<'_> {
        Param::Text(self)
    }
}

impl AsParam for i64 {
    fn as_param(&self) -> Param<'_> {
        Param::Int(*self)
    }
}

impl AsParam for u32 {
    fn as_param(&self) -> Param<'_> {
        Param::Int(i64::from(*self))
    }
}

impl AsParam for i32 {
    fn as_param(&self) -> Param<'_> {
        Param::Int(i64::from(*self))
    }
}

impl AsParam for bool {
    fn as_param(&self) -> Param<'_> {
        Param::Int(i64::from(*self))
    }
}

impl<T: AsParam> AsParam for Option<T> {
    fn as_param(&self) -> Param<'_> {
        self.as_ref().map_or(Param::Null, AsParam::as_param)
    }
}

impl<T: AsParam + ?Sized> AsParam for &T {
    fn as_param(&self) -> Param<'_> {
        (**self).as_param()
    }
}

/// Values of several types as parameters.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        [$($crate::sqlite::statements::AsParam::as_param(&$value)),*]
    };
}
pub(super) use params;

/// Values that a cell can be read as. A cell of another kind is an error: what another program may
/// have put there is read with [`Cells`](super::cells::Cells).
pub(super) trait FromCell: Sized {
    fn from_cell(cell: Cell<'_>) -> Option<Self>;
}

impl FromCell for i64 {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Int(number) => Some(number),
            Cell::Null | Cell::Real(_) | Cell::Text(_) | Cell::Bytes(_) => None,
        }
    }
}

impl FromCell for u32 {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        i64::from_cell(cell).and_then(|number| number.try_into().ok())
    }
}

impl FromCell for i32 {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        i64::from_cell(cell).and_then(|number| number.try_into().ok())
    }
}

impl FromCell for bool {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        i64::from_cell(cell).map(|number| number != 0)
    }
}

impl FromCell for String {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Text(bytes) => Some(Self::from_utf8_lossy(bytes).into_owned()),
            Cell::Null | Cell::Int(_) | Cell::Real(_) | Cell::Bytes(_) => None,
        }
    }
}

impl FromCell for Vec<u8> {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Bytes(bytes) => Some(bytes.to_owned()),
            Cell::Null | Cell::Int(_) | Cell::Real(_) | Cell::Text(_) => None,
        }
    }
}

impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Null => Some(None),
            filled => T::from_cell(filled).map(Some),
        }
    }
}

impl dyn Row + '_ {
    /// The value in a column that only this program writes.
    pub(super) fn get<T: FromCell>(&self, column: usize) -> Result<T> {
        T::from_cell(self.cell(column)?).ok_or(Error::UnexpectedValue { column })
    }
}
