//! The `hermes` program: argument tree, composition of the libraries, and nothing reusable.
//!
//! Order of a start: memory hidden from others, snapshot of the environment, profile selection (which takes its flag out of
//! the arguments), argument parsing, the command. No async runtime, no file touched that the
//! command does not need.

mod api_server_state;
mod cli;
mod commands;
mod container;
mod context;
mod crash;
mod doctor;
mod error;
mod facts;
mod gateways;
mod machine;
mod recovery;
mod reference_docs;
mod sandbox_view;
mod signal_watch;
mod tool_access;
mod ui;
mod web_page;

use std::process::ExitCode;

use hermes_config::Environment;

fn main() -> ExitCode {
    crash::install();
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let builds_namespaces = commands::internal::is_namespace_builder(&args);
    // Before a secret is read: what we start runs as the same user. The builder is told none, and
    // must be open to write its own entries below /proc.
    if !builds_namespaces {
        hermes_proc::hide_own_memory();
    }
    let env = Environment::from_process();
    arm_fault_hook(&env);
    let printer = ui::Printer::new(&env);
    let result = if builds_namespaces {
        commands::internal::build_namespaces()
    } else if commands::internal::is_process_supervisor(&args) {
        commands::internal::supervise_process()
    } else if commands::gateway::is_heartbeat(&args) {
        commands::gateway::beat()
    } else if let Some(result) = container::run_role(&args, &env, printer) {
        result
    } else if let Err(error) = container::drop_root(&args, &env) {
        printer.report(&error);
        return ExitCode::from(container::CANNOT_DROP);
    } else {
        cli::run(&env, printer, &args)
    };
    result.unwrap_or_else(|error| printer.report(&error))
}

/// Lets tests end the process at the n-th write; debug builds only.
#[cfg(debug_assertions)]
fn arm_fault_hook(env: &Environment) {
    let point = env.text(&hermes_config::vars::HERMES_TEST_KILL_AT_WRITE);
    if let Some(point) = point.and_then(|text| text.parse().ok()) {
        hermes_fs::fault::arm(point);
    }
}

#[cfg(not(debug_assertions))]
fn arm_fault_hook(_env: &Environment) {}
