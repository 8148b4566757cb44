//! `hermes gateway`: the process that serves a profile day and night.

mod all_slots;
mod api_service;
mod detached;
mod heartbeat;
mod install;
mod list;
mod migrate_legacy;
mod restart;
mod run;
pub(crate) mod service;
pub(crate) mod slot;
mod start;
mod status;
mod stop;
mod supervised;

use std::process::ExitCode;

pub(crate) use self::heartbeat::{beat, is_heartbeat};
use self::service::{GatewayService, ScopeArgs};
use crate::context::Context;
use crate::error::{CommandError, Result};

verbs! { Context;
    /// Run the gateway in the foreground
    Run(run::Args) => run::run,
    /// Start the gateway in the background
    Start(StartArgs) => start::run,
    /// Stop the gateway
    Stop(stop::Args) => stop::run,
    /// Restart the gateway, or start it if it is not running
    Restart(StartArgs) => restart::run,
    /// Show whether the gateway is running and how it is doing
    Status(status::Args) => status::run,
    /// Make the gateway a service of this machine: systemd or launchd keeps it running
    Install(install::Args) => install::run,
    /// Stop the service and remove it
    Uninstall(install::UninstallArgs) => install::uninstall,
    /// Decide whether programs may use the profile through the gateway's API
    Setup(SetupArgs) => set_up,
    /// Remove the `hermes.service` that early installations of the Python runtime left
    MigrateLegacy(migrate_legacy::Args) => migrate_legacy::run,
    /// List the gateways of all profiles
    List(list::Args) => list::run,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// Flags of `start` and `restart`.
#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// First stop every gateway of this user
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// `gateway setup` has no flags.
#[derive(Debug, clap::Args)]
pub(crate) struct SetupArgs {}

/// `hermes gateway setup`, which `hermes setup gateway` is too.
fn set_up(_: &SetupArgs, context: &Context) -> Result<()> {
    crate::commands::setup::gateway(context)
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => run::run(&run::Args::default(), context),
    }
}

/// Refuses to start a gateway beside one of another container or machine.
fn refuse_beside_other_host(context: &Context) -> Result<()> {
    hermes_gateway::refuse_beside_other_host(&context.location.home).map_err(|error| {
        let refusal = CommandError::user(error.to_string());
        match error.hint() {
            Some(hint) => refusal.hint(hint),
            None => refusal,
        }
    })
}

/// Says what runs now.
fn started(context: &Context, done: &str, pid: u32) -> Result<()> {
    context.line(format!("✓ {done} {} (PID {pid})", named(context)))?;
    let profile = context.profile_flag();
    if GatewayService::installed(context, false)?.is_some_and(|service| service.is_active()) {
        return context.note(format!(
            "The service manager keeps it running; `hermes {profile}logs gateway -f` follows it."
        ));
    }
    context.note(format!(
        "It runs in the background until `hermes {profile}gateway stop` or a reboot; \
         `hermes {profile}logs gateway -f` follows it."
    ))
}

/// The gateway, as sentences call it.
fn named(context: &Context) -> String {
    format!(
        "the gateway of profile {}",
        context.location.profile_label()
    )
}
