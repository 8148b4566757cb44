//! `hermes addons python`: scripts that need the packages of a feature.

use std::ffi::OsString;
use std::process::ExitCode;

use hermes_proc::{ChildSpec, EnvPlan, Group, SpawnClass, Streams};

use super::addons;
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The feature
    feature: String,
    /// A script and its arguments, `-m MODULE …` or `-c CODE …`
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    args: Vec<OsString>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let launch = addons(context)?.launch(&args.feature, &args.args)?;
    let environment = context.environment();
    let plan = EnvPlan::build(&environment.request(SpawnClass::UserScript));
    let spec = ChildSpec {
        streams: Streams::Inherited,
        group: Group::Shared,
        ..ChildSpec::new(launch.program, launch.args, plan)
    };
    let status = spec
        .run_interactive()
        .map_err(|error| CommandError::environment(error.to_string()))?;
    drop(launch.lease);
    let code = status.signed_code();
    let code = if code < 0 { 128 - code } else { code };
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
