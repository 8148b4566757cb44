//! `hermes chat` and `hermes -z` from outside: the real program against a scripted model server.
//! Which check of the chapter is where stands in README.md.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod bad_input;
mod compaction;
mod durability;
mod instructions;
mod interruption;
mod lines;
mod output;
mod references;
mod responses;
mod routes;
mod sessions;
mod settings;
mod together;
mod worker;
mod worktree;
mod world;
