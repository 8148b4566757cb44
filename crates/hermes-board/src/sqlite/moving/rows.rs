//! Rows on their way from one side to the other: a page at a time, checked, counted and summed up.
//!
//! Which tables there are is known from the list that files are made of, their columns from both sides.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::Result;
use crate::move_error::BadValue;
use crate::schema::TABLES;
use crate::sqlite::statements::{Cell, Param};

use super::TableReport;
use super::side::{Side, SideColumn};

/// Rows read at a time.
const PAGE: usize = 1000;
/// Bytes of texts that are written at a time.
const BYTES: usize = 4 * 1024 * 1024;
/// Values bound to one statement; SQLite takes twice as many, a server four times.
const PARAMS: usize = 16_000;
/// Rows of a smaller statement, for what is left over.
const FEW: usize = 16;
/// Values that are named when they cannot be moved.
const MOST_BAD: usize = 100;

/// How one table is copied.
#[derive(Debug, Clone)]
pub(super) struct TablePlan {
    pub(super) name: &'static str,
    columns: Vec<SideColumn>,
    /// Whether it numbers its rows by itself.
    pub(super) is_numbered: bool,
    missing: Vec<String>,
}

impl TablePlan {
    /// Columns that the other side does not have.
    pub(super) fn left_out(&self) -> Vec<String> {
        let column = |name: &String| format!("column {}.{name}", self.name);
        self.missing.iter().map(column).collect()
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|one| quoted(&one.name)).collect();
        names.join(", ")
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// The tables of a board, with the columns that both sides have.
pub(super) fn plan(from: &Side<'_>, to: Option<&Side<'_>>) -> Result<Vec<TablePlan>> {
    let mut plans = Vec::new();
    for table in TABLES {
        let here = from.columns(table.name)?;
        let (mut columns, mut missing) = (here, Vec::new());
        if let Some(to) = to {
            let there = to.columns(table.name)?;
            let mut both = Vec::new();
            for mut one in columns {
                let Some(other) = there.iter().find(|other| other.name == one.name) else {
                    missing.push(one.name);
                    continue;
                };
                one.is_integer |= other.is_integer;
                both.push(one);
            }
            columns = both;
        }
        if columns.is_empty() {
            continue;
        }
        plans.push(TablePlan {
            name: table.name,
            is_numbered: table.create.contains("AUTOINCREMENT"),
            columns,
            missing,
        });
    }
    Ok(plans)
}

/// A value that both sides understand.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Null,
    Int(i64),
    Text(String),
}

impl Value {
    fn param(&self) -> Param<'_> {
        match self {
            Self::Null => Param::Null,
            Self::Int(number) => Param::Int(*number),
            Self::Text(text) => Param::Text(text),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Null | Self::Int(_) => size_of::<i64>(),
            Self::Text(text) => text.len(),
        }
    }
}

/// What a cell means, as [`Cells`](crate::sqlite::cells::Cells) reads it.
fn value_of(cell: Cell<'_>, column: &SideColumn) -> std::result::Result<Value, &'static str> {
    match cell {
        Cell::Null if column.is_required => Err("is missing"),
        Cell::Null => Ok(Value::Null),
        Cell::Bytes(_) => Err("is no text"),
        Cell::Int(number) if column.is_integer => Ok(Value::Int(number)),
        Cell::Int(number) => Ok(Value::Text(number.to_string())),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "readers drop the fraction of a second as well"
        )]
        Cell::Real(number) if column.is_integer => Ok(Value::Int(number as i64)),
        Cell::Real(number) => Ok(Value::Text(number.to_string())),
        Cell::Text(bytes) if column.is_integer => crate::sqlite::cells::number_of_text(bytes)
            .map(Value::Int)
            .ok_or("is a text and not a number"),
        Cell::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if text.contains('\0') => Err("contains the character NUL"),
            Ok(text) => Ok(Value::Text(text.to_owned())),
            Err(_) => Err("is not UTF-8"),
        },
    }
}

/// What was read of a table.
#[derive(Debug, Default)]
pub(super) struct Copied {
    table: &'static str,
    pub(super) rows: u64,
    sum: u128,
    pub(super) bad: Vec<BadValue>,
}

impl Copied {
    fn of(plan: &TablePlan) -> Self {
        Self {
            table: plan.name,
            ..Self::default()
        }
    }

    /// Adds a row. Sums do not depend on the order, in which the two sides differ.
    fn add(&mut self, row: &[Value]) {
        let mut digest = Sha256::new();
        for value in row {
            match value {
                Value::Null => digest.update([0]),
                Value::Int(number) => {
                    digest.update([1]);
                    digest.update(number.to_le_bytes());
                }
                Value::Text(text) => {
                    digest.update([2]);
                    digest.update((text.len() as u64).to_le_bytes());
                    digest.update(text);
                }
            }
        }
        let half = digest
            .finalize()
            .iter()
            .take(16)
            .fold(0_u128, |sum, byte| sum.wrapping_shl(8) | u128::from(*byte));
        self.sum = self.sum.wrapping_add(half);
        self.rows += 1;
    }

    pub(super) fn report(&self) -> TableReport {
        TableReport {
            table: self.table.to_owned(),
            rows: self.rows,
            checksum: format!("{:032x}", self.sum),
        }
    }
}

/// Reads a whole table.
pub(super) fn survey(
    side: &Side<'_>,
    plan: &TablePlan,
    progress: &mut dyn FnMut(u64),
) -> Result<Copied> {
    let mut copied = Copied::of(plan);
    pages(side, plan, &mut copied, |_, copied| {
        progress(copied.rows);
        Ok(())
    })?;
    Ok(copied)
}

/// Copies a whole table.
pub(super) fn copy(
    from: &Side<'_>,
    to: &Side<'_>,
    plan: &TablePlan,
    progress: &mut dyn FnMut(u64),
) -> Result<Copied> {
    let mut copied = Copied::of(plan);
    pages(from, plan, &mut copied, |rows, copied| {
        insert(to, plan, rows)?;
        progress(copied.rows);
        Ok(())
    })?;
    Ok(copied)
}

/// Passes on the rows of a table, a page at a time.
fn pages(
    side: &Side<'_>,
    plan: &TablePlan,
    copied: &mut Copied,
    mut take: impl FnMut(&[Vec<Value>], &Copied) -> Result<()>,
) -> Result<()> {
    let key = side.key(plan.name)?;
    let width = plan.columns.len();
    let keys = key.join(", ");
    let marks = marks(key.len(), 0);
    let begin = format!("SELECT {}, {keys} FROM {}", plan.names(), plan.name);
    let end = format!("ORDER BY {keys} LIMIT {PAGE}");
    let (first, next) = (
        format!("{begin} {end}"),
        format!("{begin} WHERE ({keys}) > ({marks}) {end}"),
    );
    // The key of the last row that was read.
    let mut last: Vec<Value> = Vec::new();
    loop {
        let (mut rows, mut read) = (Vec::with_capacity(PAGE), 0);
        let sql = if last.is_empty() { &first } else { &next };
        let bound = last.clone();
        let params: Vec<Param<'_>> = bound.iter().map(Value::param).collect();
        side.each(sql, &params, |row| {
            read += 1;
            let mut values = Vec::with_capacity(width);
            let mut bad = Vec::new();
            for (number, column) in plan.columns.iter().enumerate() {
                match value_of(row.cell(number)?, column) {
                    Ok(value) => values.push(value),
                    Err(problem) => bad.push((column.name.clone(), problem)),
                }
            }
            last.clear();
            for number in 0..key.len() {
                last.push(match row.cell(width + number)? {
                    Cell::Int(number) => Value::Int(number),
                    Cell::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
                    Cell::Real(_) | Cell::Bytes(_) | Cell::Null => Value::Null,
                });
            }
            if bad.is_empty() {
                copied.add(&values);
                rows.push(values);
            }
            for (column, problem) in bad {
                if copied.bad.len() < MOST_BAD {
                    let named = named_row(row, plan, &last)?;
                    copied.bad.push(BadValue {
                        table: plan.name.to_owned(),
                        row: named,
                        column,
                        problem,
                    });
                }
            }
            Ok(())
        })?;
        take(&rows, copied)?;
        if read < PAGE {
            return Ok(());
        }
    }
}

/// What people know a row by.
fn named_row(
    row: &dyn crate::sqlite::statements::Row,
    plan: &TablePlan,
    key: &[Value],
) -> Result<String> {
    let named = ["id", "task_id"].into_iter().find_map(|name| {
        let column = plan.columns.iter().position(|one| one.name == name)?;
        Some((name, column))
    });
    let text = match named {
        Some((_, column)) => match row.cell(column)? {
            Cell::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Cell::Int(number) => Some(number.to_string()),
            Cell::Real(_) | Cell::Bytes(_) | Cell::Null => None,
        },
        None => None,
    };
    let key = key.iter().map(|value| match value {
        Value::Null => String::new(),
        Value::Int(number) => number.to_string(),
        Value::Text(text) => text.clone(),
    });
    let key: Vec<String> = key.collect();
    Ok(match (named, text) {
        (Some(("id", _)), Some(text)) => format!("row {text}"),
        (_, Some(text)) => format!("row {} (card {text})", key.join(", ")),
        (_, None) => format!("row {}", key.join(", ")),
    })
}

fn insert(to: &Side<'_>, plan: &TablePlan, rows: &[Vec<Value>]) -> Result<()> {
    let full = (PARAMS / plan.columns.len().max(1)).clamp(1, PAGE);
    let mut rest = rows;
    while !rest.is_empty() {
        // Statements of three sizes, so that each is prepared once.
        let mut count = [full, FEW, 1]
            .into_iter()
            .find(|size| *size <= rest.len())
            .unwrap_or(1);
        let bytes =
            |rows: &[Vec<Value>]| -> usize { rows.iter().flatten().map(Value::bytes).sum() };
        while count > 1 && bytes(rest.get(..count).unwrap_or_default()) > BYTES {
            count = if count > FEW { FEW } else { 1 };
        }
        let (now, later) = rest.split_at(count.min(rest.len()));
        let params: Vec<Param<'_>> = now.iter().flatten().map(Value::param).collect();
        to.statements()
            .execute(&insert_sql(plan, now.len()), &params)?;
        rest = later;
    }
    Ok(())
}

fn insert_sql(plan: &TablePlan, rows: usize) -> String {
    let width = plan.columns.len();
    let mut sql = format!("INSERT INTO {} ({}) VALUES ", plan.name, plan.names());
    for row in 0..rows {
        let comma = if row == 0 { "" } else { ", " };
        sql.push_str(comma);
        sql.push('(');
        sql.push_str(&marks(width, row * width));
        sql.push(')');
    }
    sql
}

/// `?1, ?2`, counted from behind `before`.
fn marks(count: usize, before: usize) -> String {
    let mut text = String::new();
    for number in 1..=count {
        let comma = if number == 1 { "" } else { ", " };
        // Writing to a text cannot fail.
        write!(text, "{comma}?{}", before + number).ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn column(is_integer: bool, is_required: bool) -> SideColumn {
        SideColumn {
            name: "x".to_owned(),
            is_integer,
            is_required,
        }
    }

    #[test]
    fn values_are_what_readers_take_them_for() {
        let (number, text) = (column(true, false), column(false, false));
        for (cell, column, wanted) in [
            (Cell::Null, &number, Ok(Value::Null)),
            (Cell::Real(7.9), &number, Ok(Value::Int(7))),
            (Cell::Text(b"12"), &number, Ok(Value::Int(12))),
            (
                Cell::Text(b"1970-01-01T00:00:09Z"),
                &number,
                Ok(Value::Int(9)),
            ),
            (Cell::Int(12), &text, Ok(Value::Text("12".to_owned()))),
            (
                Cell::Text(b"soon"),
                &number,
                Err("is a text and not a number"),
            ),
            (
                Cell::Text(b"a\0b"),
                &text,
                Err("contains the character NUL"),
            ),
            (Cell::Text(b"\xff"), &text, Err("is not UTF-8")),
            (Cell::Null, &column(false, true), Err("is missing")),
        ] {
            assert_eq!(value_of(cell, column), wanted);
        }
    }

    #[test]
    fn sums_know_values_and_not_the_order() {
        let row = |text: &str| vec![Value::Text(text.to_owned()), Value::Null];
        let sum = |rows: &[Vec<Value>]| {
            let mut copied = Copied::default();
            for row in rows {
                copied.add(row);
            }
            copied.report().checksum
        };
        assert_eq!(sum(&[row("a"), row("b")]), sum(&[row("b"), row("a")]));
        assert_ne!(sum(&[row("a"), row("b")]), sum(&[row("a"), row("a")]));
        let null_first = vec![Value::Null, Value::Text("a".to_owned())];
        assert_ne!(sum(&[row("a")]), sum(&[null_first]));
    }

    #[test]
    fn statements_number_their_values_through() {
        let plan = TablePlan {
            name: "t",
            columns: vec![column(true, false), column(false, false)],
            is_numbered: false,
            missing: Vec::new(),
        };
        assert_eq!(
            insert_sql(&plan, 2),
            "INSERT INTO t (\"x\", \"x\") VALUES (?1, ?2), (?3, ?4)"
        );
    }
}
