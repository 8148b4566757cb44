//! `hermes internal registrar`: the service of root that adds and removes slots.

use std::path::PathBuf;

use hermes_supervise::{Readiness, Registrar};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::machine::caller;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/hermes/registrar.sock"
    )]
    socket: PathBuf,
    /// Number of the descriptor on which a newline says that it listens
    #[arg(long, value_name = "N")]
    ready_fd: Option<u32>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let failure =
        |error: hermes_supervise::RegistrarError| CommandError::environment(error.to_string());
    let registrar = Registrar::listen(
        &args.socket,
        &caller(context),
        &context.location,
        &context.env,
        &context.program.path,
    )
    .map_err(failure)?;
    Readiness::new(&context.env, args.ready_fd).ready();
    let ended = registrar.serve(|line| {
        // Whoever reads it may have gone; requests go on.
        drop(context.note(format!("registrar: {line}")));
    });
    Err(failure(ended))
}
