//! `hermes internal log`: for scripts that should log where everything else does.

use std::io::BufRead;

use hermes_telemetry::{Level, LogMode, LogWriter};

use crate::commands::named;
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the logger
    #[arg(long, default_value = "cli")]
    logger: String,
    /// Level of the lines
    #[arg(long, default_value = "INFO")]
    level: String,
    /// Session the lines belong to
    #[arg(long)]
    session: Option<String>,
    /// Also write the log of this kind of process
    #[arg(long, value_parser = named([("gateway", LogMode::Gateway), ("dashboard", LogMode::Dashboard)]))]
    mode: Option<LogMode>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let level: Level = args.level.parse()?;
    let mut settings = context.log_settings();
    settings.mode = args.mode.unwrap_or(LogMode::Cli);
    let writer = LogWriter::new(settings);
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| {
            CommandError::user(format!("could not read standard input: {error}"))
        })?;
        writer.append(level, &args.logger, args.session.as_deref(), &line);
    }
    if writer.failed() > 0 {
        return Err(CommandError::environment(format!(
            "could not write {} lines to {}",
            writer.failed(),
            context.display(&context.location.home.join("logs"))
        )));
    }
    Ok(())
}
