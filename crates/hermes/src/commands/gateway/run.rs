//! `hermes gateway run`: the gateway itself, in the foreground.

use std::process::ExitCode;
use std::time::Duration;

use hermes_api::ApiSettings;
use hermes_config::vars;
use hermes_gateway::{
    AddonKeeper, BoardDispatcher, BoardNotifier, CronScheduler, Gateway, GatewayOptions,
    HostedService, MemoryLog, Replaced, SettingsWatch, StartError, Sweeps,
    refuse_beside_other_host,
};
use hermes_runtime::{ResidentAddons, tell_gateway_startup};
use hermes_supervise::{DesiredState, S6, ServiceManager, StateFile};
use hermes_telemetry::{Level, LogMode};

use super::api_service::ApiService;
use super::heartbeat::become_heartbeat;
use super::named;
use super::service::GatewayService;
use super::slot::{slot_failure, store_port};
use crate::commands::chat::settle_gateway_hooks;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::machine::own_slot;

/// How long a gateway that may not start keeps its slot busy: s6 would try again every second.
const REFUSED_PAUSE: Duration = Duration::from_secs(10);

#[derive(Debug, Default, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the command line"
)]
pub(crate) struct Args {
    /// Print more of the log: -v for information, -vv for details (default: warnings)
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Print nothing of the log
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Take the place of a gateway that is already running
    #[arg(long)]
    replace: bool,
    /// Start although the gateway of the default profile serves this profile
    #[arg(long)]
    force: bool,
    /// Another supervisor starts the gateway again when it exits with 75
    #[arg(long)]
    external_supervisor: bool,
    /// Number of the descriptor on which a newline says that the gateway is ready, as for s6
    #[arg(long, value_name = "N")]
    ready_fd: Option<u32>,
    /// Run here, whatever supervises this machine: no supervisor starts the gateway again
    #[arg(long, conflicts_with = "external_supervisor")]
    no_supervise: bool,
    /// Accept hooks of config.yaml and of hooks/ that nobody has seen
    #[arg(long)]
    accept_hooks: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    hermes_proc::share_memory_pool();
    context.refuse_to_agents("starting a gateway")?;
    // Before it is left to s6: this ends the container, which whoever started it sees, where the slot
    // would only be down.
    if let Err(error) = refuse_beside_other_host(&context.location.home) {
        return Ok(refused(context, &error));
    }
    let is_left_out = args.no_supervise || args.external_supervisor;
    if let Some(s6) = left_to_s6(context, is_left_out) {
        return run_supervised(context, &s6);
    }
    let is_in_slot = context.env.is_set(&vars::HERMES_S6_SUPERVISED_CHILD);
    let replaces = match (args.replace, is_in_slot) {
        (true, _) => Replaced::Anybody,
        (false, true) => Replaced::Unsupervised,
        (false, false) => Replaced::Nobody,
    };
    let options = GatewayOptions {
        replaces,
        force: args.force,
        is_supervised: args.external_supervisor || (!args.no_supervise && is_supervised(context)),
        ready_descriptor: args.ready_fd,
    };
    if !options.is_supervised && !args.force && !args.replace {
        refuse_beside_service(context)?;
    }
    let gateway = match Gateway::prepare(context, options) {
        Ok(gateway) => gateway,
        Err(error) => {
            let code = refused(context, &error);
            if is_in_slot && error.is_worth_another_try() {
                std::thread::sleep(REFUSED_PAUSE);
            }
            return Ok(code);
        }
    };
    context.ensure_home()?;
    settle_gateway_hooks(context, args.accept_hooks)?;
    start_logging(args, context);
    context.out(BANNER)?;
    let mut services: Vec<Box<dyn HostedService>> = vec![
        Box::new(ApiService),
        Box::new(SettingsWatch::default()),
        Box::new(BoardDispatcher::default()),
        Box::new(BoardNotifier::default()),
        Box::new(CronScheduler),
        Box::new(Sweeps),
        Box::new(MemoryLog),
    ];
    if ResidentAddons::are_there(context) {
        services.push(Box::new(AddonKeeper::default()));
    }
    let pid = std::process::id();
    let on_ready = || {
        if !args.quiet {
            // Nobody has to read it.
            drop(context.line(format!("Ready (PID {pid}).")));
        }
        // A handler may take its time; the gateway serves meanwhile.
        let told = (**context).clone();
        let started = std::thread::Builder::new()
            .name("hermes-startup-hooks".to_owned())
            .spawn(move || {
                let serves = matches!(ApiSettings::resolve(&told), Ok(Some(_)));
                let platforms = serves.then(|| "api_server".to_owned());
                tell_gateway_startup(&told, platforms.as_slice());
            });
        if let Err(error) = started {
            tracing::warn!(%error, "hooks are not told of the start");
        }
    };
    match gateway.run(services, on_ready) {
        Ok(ended) => {
            if !args.quiet {
                // The terminal may have gone before the gateway.
                drop(context.line(format!("Gateway stopped: {}.", ended.reason)));
            }
            Ok(ExitCode::from(ended.exit_code))
        }
        Err(error) => Ok(refused(context, &error)),
    }
}

/// Whether `gateway run` is left to s6.
fn left_to_s6(context: &Context, no_supervise: bool) -> Option<S6> {
    let env = &context.env;
    if no_supervise
        || env.flag(&vars::HERMES_GATEWAY_NO_SUPERVISE)
        || env.is_set(&vars::HERMES_S6_SUPERVISED_CHILD)
    {
        return None;
    }
    own_slot(context)
}

/// `gateway run` where s6 supervises: starts the slot, and lives as long as the container should.
fn run_supervised(context: &Context, s6: &S6) -> Result<ExitCode> {
    context.ensure_home()?;
    StateFile::of_home(&context.location.home).want(DesiredState::Running)?;
    store_port(context, s6)?;
    s6.start().map_err(|error| slot_failure(&error))?;
    let profile = context.profile_flag();
    context.note(format!(
        "{} runs under s6 supervision: it is started again when it ends. This process keeps the \
         container alive; `hermes {profile}logs gateways/{}` shows the output of the gateway, and \
         --no-supervise runs it here instead.",
        capitalised(&named(context)),
        s6.profile(),
    ))?;
    Err(become_heartbeat(context))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A service that runs, or is about to run again, and a gateway beside it would fight for the home.
fn refuse_beside_service(context: &Context) -> Result<()> {
    let service = GatewayService::installed(context, false)?;
    let Some(service) = service.filter(GatewayService::is_active) else {
        return Ok(());
    };
    let name = context.location.profile_label();
    let manager = service.manager().label();
    Err(CommandError::user(format!(
        "{manager} runs the gateway of profile {name} already"
    ))
    .hint("`hermes gateway restart` restarts it, `hermes gateway stop` stops it, --force starts one beside it"))
}

const BANNER: &str = "\
┌─────────────────────────────────────────────┐
│  ⚕ Hermes Gateway Starting...               │
│  Ctrl-C stops it                            │
└─────────────────────────────────────────────┘
";

fn refused(context: &Context, error: &StartError) -> ExitCode {
    let mut message = CommandError::user(error.to_string());
    if let Some(hint) = error.hint() {
        message = message.hint(hint);
    }
    context.printer.report(&message);
    ExitCode::from(error.exit_code())
}

fn start_logging(args: &Args, context: &Context) {
    let mut settings = context.log_settings();
    settings.mode = LogMode::Gateway;
    settings.echo = match (args.quiet, args.verbose) {
        (true, _) => None,
        (_, 0) => Some(Level::Warning),
        (_, 1) => Some(Level::Info),
        _ => Some(Level::Debug),
    };
    hermes_telemetry::init(settings);
}

/// Whether this process is the child of a supervisor.
fn is_supervised(context: &Context) -> bool {
    let env = &context.env;
    if env.flag(&vars::HERMES_GATEWAY_NO_SUPERVISE) {
        return false;
    }
    let by_launchd = env
        .text(&vars::XPC_SERVICE_NAME)
        .is_some_and(|name| name != "0");
    env.is_set(&vars::INVOCATION_ID)
        || env.is_set(&vars::HERMES_S6_SUPERVISED_CHILD)
        || by_launchd
        || env.flag(&vars::HERMES_GATEWAY_EXTERNAL_SUPERVISOR)
}
