//! The thread that owns the terminal: what it knows, what keys do, what is drawn and when.

mod events;
mod keys;
mod pace;
mod run;
mod search;
mod searching;
mod state;
mod submit;
mod view;

pub(crate) use run::Screen;
