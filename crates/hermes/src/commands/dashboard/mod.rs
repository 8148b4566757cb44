//! `hermes dashboard`: the installation in a browser.

mod records;
mod run;

use std::process::ExitCode;

use serde_json::json;

use self::records::{RunningDashboard, running, stop_all};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::counted;

#[derive(Debug, Default, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the command line"
)]
pub(crate) struct Args {
    /// Address to listen on (default: 127.0.0.1); any other but this machine's needs a login
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Port to listen on (default: 9119); 0 takes any free one
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Ask nobody to log in, whoever can reach the address
    #[arg(long)]
    insecure: bool,
    /// Offer a chat in a terminal
    #[arg(long)]
    tui: bool,
    /// Stop the dashboards of this profile
    #[arg(long, conflicts_with_all = ["status", "host", "port", "insecure", "tui"])]
    stop: bool,
    /// Show the dashboards of this profile that run
    #[arg(long, conflicts_with_all = ["host", "port", "insecure", "tui"])]
    status: bool,
    /// Print JSON, with --status
    #[arg(long, requires = "status")]
    json: bool,
    /// Listen for others where a login is configured, as in the container image
    #[arg(long, hide = true)]
    in_image: bool,
    /// For scripts written for the Python runtime: a dashboard is of one profile in any case
    #[arg(long, hide = true)]
    isolated: bool,
    /// For scripts written for the Python runtime: there is nothing to build
    #[arg(long, hide = true)]
    skip_build: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    if args.status {
        return status(args, context);
    }
    context.refuse_to_agents("starting and stopping a dashboard")?;
    if args.stop {
        return stop(context);
    }
    if args.skip_build {
        context.note("--skip-build: the pages are part of the program, nothing is ever built")?;
    }
    if args.isolated {
        context.note("--isolated: a dashboard shows the profile that started it in any case")?;
    }
    run::run(args, context)
}

fn status(args: &Args, context: &Context) -> Result<ExitCode> {
    let found = running(&context.location.home)?;
    if args.json {
        let rows: Vec<_> = found.iter().map(RunningDashboard::to_json).collect();
        context.json(&json!({ "dashboards": rows }))?;
    } else if found.is_empty() {
        context.line("No dashboard of this profile runs.")?;
    }
    if !args.json {
        for dashboard in &found {
            context.line(format!("{} (PID {})", dashboard.url, dashboard.pid()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn stop(context: &Context) -> Result<ExitCode> {
    let found = running(&context.location.home)?;
    if found.is_empty() {
        context.line("No dashboard of this profile runs.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let stopped = stop_all(&found).map_err(|error| CommandError::environment(error.to_string()))?;
    context.line(format!("Stopped {}.", counted(stopped, "dashboard")))?;
    Ok(ExitCode::SUCCESS)
}
