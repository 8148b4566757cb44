//! Why a board is not moved.

use crate::shown;

/// Names in a message.
const MOST: usize = 10;

/// A board that is not moved. It stays where it is, unchanged.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("the board is in use: {}", listed(busy))]
    Busy { busy: Vec<String> },
    #[error("a dispatcher is busy on the board")]
    Dispatching,
    #[error("there is already a board with {cards} card(s) at {place}")]
    Occupied { place: String, cards: i64 },
    #[error("a database server cannot hold {} value(s) of this board: {}", bad.len(), listed(bad))]
    BadValues { bad: Vec<BadValue> },
    #[error("table {table} was not copied faithfully ({here} row(s) here, {there} there)")]
    Differs {
        table: String,
        here: u64,
        there: u64,
    },
    #[error("the database of the board is set by a variable")]
    Pinned,
    #[error(transparent)]
    Address(#[from] hermes_board_pg::AddressError),
}

/// A value that a server does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadValue {
    pub table: String,
    /// What names the row.
    pub row: String,
    pub column: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl std::fmt::Display for BadValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let row = shown(&self.row, 64);
        write!(
            f,
            "{}.{} of {row} {}",
            self.table, self.column, self.problem
        )
    }
}

impl MoveError {
    /// Whether the request itself is malformed.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Address(_))
    }

    /// What the user can do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Busy { .. } => {
                "wait until they are done (`--wait` does), or take their cards away \
                 with `hermes kanban reclaim`"
                    .to_owned()
            }
            Self::Dispatching => "try again in a moment".to_owned(),
            Self::Occupied { .. } => {
                "nothing was changed; name another database, or move or remove \
                 the board that is there"
                    .to_owned()
            }
            Self::BadValues { .. } => {
                "nothing was changed; change or delete those cards, and try again".to_owned()
            }
            Self::Differs { .. } => {
                "nothing was changed; this should not happen, please report it".to_owned()
            }
            Self::Address(error) => error.hint(),
            Self::Pinned => {
                "unset HERMES_KANBAN_DB and HERMES_KANBAN_DATABASE_URL for this command".to_owned()
            }
        }
    }
}

fn listed(names: &[impl ToString]) -> String {
    let mut text: Vec<String> = names.iter().take(MOST).map(ToString::to_string).collect();
    if names.len() > MOST {
        text.push(format!("and {} more", names.len() - MOST));
    }
    text.join(", ")
}
