//! The `hermes` program: argument tree, composition of the libraries, and nothing reusable.
//!
//! Order of a start: snapshot of the environment, profile selection (which takes its flag out of
//! the arguments), argument parsing, the command. No async runtime, no file touched that the
//! command does not need.

mod cli;
mod commands;
mod context;
mod crash;
mod doctor;
mod error;
mod recovery;
mod reference_docs;
mod signal_watch;
mod tool_access;
mod ui;

use std::process::ExitCode;

use hermes_config::Environment;

use crate::error::CommandError;

fn main() -> ExitCode {
    crash::install();
    let env = Environment::from_process();
    arm_fault_hook(&env);
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let printer = ui::Printer::new(&env);
    if commands::internal::is_process_supervisor(&args) {
        return commands::internal::supervise_process(&printer);
    }
    match run(&env, &printer, args) {
        Ok(code) => code,
        Err(error) => error.report(&printer),
    }
}

fn run(
    env: &Environment,
    printer: &ui::Printer,
    args: Vec<std::ffi::OsString>,
) -> Result<ExitCode, CommandError> {
    let invocation = match cli::interpret(env, printer, args)? {
        cli::Interpreted::Run(invocation) => invocation,
        cli::Interpreted::Said {
            text,
            code,
            to_stderr,
        } => {
            if to_stderr {
                printer.err(&text)?;
            } else {
                printer.out(&text)?;
            }
            return Ok(ExitCode::from(code));
        }
    };
    let cli::Invocation {
        command,
        chat,
        context,
    } = *invocation;
    commands::run(command, chat, &context)
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
