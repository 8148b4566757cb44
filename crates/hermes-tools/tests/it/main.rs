//! Tools through the registry, against real files and processes.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod attach_url;
mod board_desk;
mod conversation_tools;
mod docker_place;
mod elsewhere_edits;
mod elsewhere_reads;
mod elsewhere_scripts;
mod elsewhere_search;
mod elsewhere_stops;
mod execute_code;
mod interpreter;
mod kanban_orchestrator;
mod kanban_worker;
mod kept_results;
mod patch;
mod places;
mod read;
mod registry;
mod rpc;
mod search;
mod stage;
mod todo;
mod toolsets;
mod write;
