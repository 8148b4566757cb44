//! `hermes sandbox reset`: the container goes, its files on the host stay.

use std::process::ExitCode;

use hermes_docker::manage;

use super::{TaskArgs, confirm_end, host, report};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    task: TaskArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let host = host(context)?;
    confirm_end(context, &host, &args.task)?;
    let removed = manage::reset(&host, &args.task.task)?;
    report(context, &args.task.task, "Removed", &removed)?;
    Ok(ExitCode::SUCCESS)
}
