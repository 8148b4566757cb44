//! `hermes sessions browse`: choose a session from a list, and go on with it.

use std::process::ExitCode;

use crate::commands::chat::{Offer, pick_session, resume};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only sessions from this source: cli, telegram, cron, …
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Maximum number of sessions to offer
    #[arg(long, value_name = "N", default_value_t = 500)]
    limit: usize,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let offer = Offer {
        source: args.source.clone(),
        limit: Some(args.limit),
    };
    let Some(id) = pick_session(offer, context)? else {
        return Ok(ExitCode::SUCCESS);
    };
    resume(id.as_str(), context)
}
