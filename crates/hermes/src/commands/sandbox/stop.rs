//! `hermes sandbox stop`.

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
    let stopped = manage::stop(&host, &args.task.task)?;
    report(context, &args.task.task, "Stopped", &stopped)?;
    Ok(ExitCode::SUCCESS)
}
