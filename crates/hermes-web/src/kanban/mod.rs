//! `/api/plugins/kanban`: the task board. What may happen to a card is decided by `hermes-board`; what
//! starts or stops workers, or asks a model, is done by the program's own commands.

pub(crate) mod boards;
pub(crate) mod cards;
pub(crate) mod events;
mod kept;
mod opened;
pub(crate) mod review;
pub(crate) mod settings;
pub(crate) mod view;
pub(crate) mod why;
pub(crate) mod workers;

pub(crate) use kept::KeptBoards;
