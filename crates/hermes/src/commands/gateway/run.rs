//! `hermes gateway run`: the gateway itself, in the foreground.

use std::process::ExitCode;

use hermes_config::vars;
use hermes_gateway::{
    BoardDispatcher, BoardNotifier, CronScheduler, Gateway, GatewayOptions, HostedService,
    MemoryLog, SettingsWatch, StartError, Sweeps,
};
use hermes_telemetry::{Level, LogMode};

use super::api_service::ApiService;
use super::service::GatewayService;
use crate::commands::chat::settle_hooks;
use crate::context::Context;
use crate::error::{CommandError, Result};

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
    /// No supervisor starts the gateway again, whatever the environment says
    #[arg(long, conflicts_with = "external_supervisor")]
    no_supervise: bool,
    /// Accept hooks of config.yaml that nobody has seen
    #[arg(long)]
    accept_hooks: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    hermes_proc::share_memory_pools();
    context.refuse_to_agents("starting a gateway")?;
    let options = GatewayOptions {
        replace: args.replace,
        force: args.force,
        is_supervised: args.external_supervisor || (!args.no_supervise && is_supervised(context)),
        ready_descriptor: args.ready_fd,
    };
    if !options.is_supervised && !args.force && !args.replace {
        refuse_beside_service(context)?;
    }
    let gateway = match Gateway::prepare(context, options) {
        Ok(gateway) => gateway,
        Err(error) => return Ok(refused(context, &error)),
    };
    context.ensure_home()?;
    settle_hooks(context, args.accept_hooks)?;
    start_logging(args, context);
    context.out(BANNER)?;
    let services: Vec<Box<dyn HostedService>> = vec![
        Box::new(ApiService),
        Box::new(SettingsWatch::default()),
        Box::new(BoardDispatcher::default()),
        Box::new(BoardNotifier::default()),
        Box::new(CronScheduler),
        Box::new(Sweeps),
        Box::new(MemoryLog),
    ];
    let pid = std::process::id();
    let on_ready = || {
        if !args.quiet {
            // Nobody has to read it.
            drop(context.line(format!("Ready (PID {pid}).")));
        }
    };
    match gateway.run(services, on_ready) {
        Ok(ended) => {
            if !args.quiet {
                drop(context.line(format!("Gateway stopped: {}.", ended.reason)));
            }
            Ok(ExitCode::from(ended.exit_code))
        }
        Err(error) => Ok(refused(context, &error)),
    }
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
