//! Conversations from outside: replayed answers, tools made for the test, a real store.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod answers;
mod children;
mod compaction;
mod scene;
mod tool_search;
mod turns;
mod undo;
