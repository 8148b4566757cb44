//! Values on their way to the server and back. The server says what type a parameter has.

use std::error::Error as StdError;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::error::NUL;

type Boxed = Box<dyn StdError + Sync + Send>;

/// A value bound to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'r> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'r [u8]),
    Bytes(&'r [u8]),
}

/// One row of a result.
pub struct Row<'r>(pub(crate) &'r tokio_postgres::Row);

impl Row<'_> {
    /// The value in a column, counted from 0; null if there is no such column or its type is unknown.
    pub fn cell(&self, column: usize) -> Cell<'_> {
        match self.0.try_get::<_, Option<RawCell<'_>>>(column) {
            Ok(Some(RawCell(cell))) => cell,
            Ok(None) | Err(_) => Cell::Null,
        }
    }
}

struct RawCell<'r>(Cell<'r>);

impl<'r> FromSql<'r> for RawCell<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Self, Boxed> {
        Ok(Self(match *ty {
            Type::INT8 => Cell::Int(i64::from_sql(ty, raw)?),
            Type::INT4 => Cell::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT2 => Cell::Int(i16::from_sql(ty, raw)?.into()),
            Type::BOOL => Cell::Int(bool::from_sql(ty, raw)?.into()),
            Type::FLOAT8 => Cell::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Cell::Bytes(raw),
            _ => Cell::Text(raw),
        }))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(
            *ty,
            Type::INT8
                | Type::INT4
                | Type::INT2
                | Type::BOOL
                | Type::FLOAT8
                | Type::TEXT
                | Type::VARCHAR
                | Type::NAME
                | Type::UNKNOWN
                | Type::JSON
                | Type::BYTEA
        )
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
        match (self, ty) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Int(number), &Type::INT8) => number.to_sql(ty, out),
            (Self::Int(number), &Type::INT4) => i32::try_from(*number)?.to_sql(ty, out),
            (Self::Int(number), &Type::INT2) => i16::try_from(*number)?.to_sql(ty, out),
            (Self::Int(number), &Type::BOOL) => (*number != 0).to_sql(ty, out),
            (Self::Int(number), _) => number.to_string().to_sql(&Type::TEXT, out),
            (Self::Text(text), &Type::INT8) => text.parse::<i64>()?.to_sql(ty, out),
            (Self::Text(text), &Type::INT4) => text.parse::<i32>()?.to_sql(ty, out),
            (Self::Text(text), _) if text.contains('\0') => Err(NUL.into()),
            (Self::Text(text), _) => text.to_sql(&Type::TEXT, out),
            (Self::Bytes(bytes), _) => bytes.to_sql(&Type::BYTEA, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
