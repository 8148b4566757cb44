//! `hermes chat` and `hermes -z` from outside: the real program against a scripted model server.
//! Which check of the chapter is where stands in README.md.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod agent_settings;
mod agent_shell;
mod approval;
mod bad_input;
mod canaries;
mod checkpoints;
mod compaction;
mod costs;
mod delegation;
mod durability;
mod fallback;
mod floods;
mod formats;
mod goal;
mod hooks;
mod instructions;
mod interface;
mod interface_bad_input;
mod interruption;
mod keys;
mod lines;
mod memory;
mod memory_services;
mod output;
mod pictures;
mod references;
mod responses;
mod review;
mod routes;
mod scanner;
mod sessions;
mod settings;
mod skill_tools;
mod skills;
mod slash;
mod standing_goal;
mod terminal_modes;
mod terminal_text;
mod titles;
mod together;
mod tools;
mod waiting;
mod worker;
mod worktree;
mod world;
