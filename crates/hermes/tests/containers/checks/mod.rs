//! Checks that hold for every engine; each makes a place of its own.

pub(crate) mod background;
pub(crate) mod commands;
pub(crate) mod killing;
pub(crate) mod leaving;
pub(crate) mod life;
pub(crate) mod managing;
pub(crate) mod reaper;
pub(crate) mod settings;
pub(crate) mod siblings;
pub(crate) mod trouble;
