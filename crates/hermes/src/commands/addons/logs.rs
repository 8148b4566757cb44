//! `hermes addons logs`.

use hermes_telemetry::reader::{LogName, LogQuery, LogReader, ReadError};

use super::{addons, succeeded};
use crate::commands::logs::{follow, print};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The feature
    feature: String,
    /// Number of lines to print
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,
    /// Keep printing new lines
    #[arg(short, long)]
    follow: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let addons = addons(context)?;
    let feature = succeeded(context, addons.with_worker(&args.feature), false)?;
    let reader = LogReader::new(
        context.location.home.join("logs"),
        LogName::Addon(feature.to_owned()),
        &context.zone(),
        jiff::Timestamp::now(),
    );
    let query = LogQuery {
        lines: args.lines,
        ..LogQuery::default()
    };
    if args.follow {
        return follow(context, &reader, &query, None);
    }
    match reader.read(&query) {
        Ok(lines) => print(context, None, &lines),
        Err(ReadError::Missing { .. }) => {
            context.note(format!("{feature} has printed nothing yet."))
        }
        Err(error) => Err(error.into()),
    }
}
