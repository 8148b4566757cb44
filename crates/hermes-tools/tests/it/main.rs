//! Tools through the registry, against real files and processes.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod attach_url;
mod board_stage;
mod conversation_tools;
mod docker_remote;
mod execute_code;
mod interpreter;
mod kanban_orchestrator;
mod kanban_worker;
mod kept_results;
mod patch;
mod read;
mod registry;
mod remote_edits;
mod remote_reads;
mod remote_scripts;
mod remote_search;
mod remote_stops;
mod rpc;
mod script_hosts;
mod search;
mod stage;
mod todo;
mod toolsets;
mod write;
