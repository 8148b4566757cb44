//! The dashboard itself, in the foreground, until a signal ends it.

use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::sync::Arc;

use hermes_proc::{ServiceSignal, ServiceSignals, Wake, first_readable};
use hermes_telemetry::{Level, LogMode};
use hermes_web::{BindError, Dashboard, DashboardOptions, DashboardSettings, SettingsError};

use super::Args;
use super::records::record;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::web_page::open_page;

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    hermes_proc::share_memory_pool();
    let options = DashboardOptions {
        host: args.host.clone(),
        port: args.port,
        insecure: args.insecure,
        chat: args.tui,
        in_image: args.in_image,
    };
    let settings = match DashboardSettings::resolve(context, &options) {
        Ok(settings) => settings,
        Err(error) => return Ok(refused(context, &error)),
    };
    context.ensure_home()?;
    let mut logs = context.log_settings();
    logs.mode = LogMode::Dashboard;
    logs.echo = Some(Level::Error);
    hermes_telemetry::init(logs);
    for warning in settings.warnings() {
        tracing::warn!("{warning}");
        context.warn(warning)?;
    }
    let signals = ServiceSignals::listen().map_err(unusable)?;
    let runtime: hermes_runtime::Context = hermes_runtime::Context::clone(context);
    let dashboard = Dashboard::bind(settings, runtime).map_err(|error| not_listening(&error))?;
    let port = dashboard.address().map_err(unusable)?.port();
    let url = dashboard.url();
    let _record = record(&context.location.home, port, &url)?;
    context.line(format!("HERMES_DASHBOARD_READY port={port}"))?;
    context.line(format!("Dashboard: {url} (Ctrl-C stops it)"))?;
    tracing::info!("the dashboard listens on port {port}");
    if !args.no_open {
        open_page(context, &url);
    }
    let stop = Arc::new(Wake::new().map_err(unusable)?);
    let done = Wake::new().map_err(unusable)?;
    let served = std::thread::scope(|scope| {
        scope.spawn(|| raise_at_signal(&signals, &stop, &done));
        let served = dashboard.run(&stop);
        done.raise();
        served
    });
    served.map_err(unusable)?;
    tracing::info!("the dashboard has stopped");
    Ok(ExitCode::SUCCESS)
}

/// Raises the flag at the first signal that asks for an end.
fn raise_at_signal(signals: &ServiceSignals, stop: &Wake, done: &Wake) {
    loop {
        let ready = first_readable(&[signals.as_fd(), done.as_fd()], None);
        if matches!(ready, Ok(Some(1)) | Err(_)) {
            return;
        }
        let ends = |signal: &ServiceSignal| match signal {
            ServiceSignal::Interrupt | ServiceSignal::Terminate => true,
            // Settings are read again by themselves.
            ServiceSignal::Reload | ServiceSignal::Restart => false,
        };
        if signals.take().iter().any(ends) {
            stop.raise();
            return;
        }
    }
}

fn not_listening(error: &BindError) -> CommandError {
    let (message, way_out) = match error {
        BindError::PortInUse { .. } => (
            error.to_string(),
            "`hermes dashboard --status` shows dashboards that run; --port 0 takes any free port",
        ),
        BindError::Failed { .. } => (
            format!("the dashboard {error}"),
            "--host takes an address of this machine, such as 127.0.0.1",
        ),
    };
    CommandError::environment(message).hint(way_out)
}

fn unusable(error: std::io::Error) -> CommandError {
    CommandError::environment(format!("the dashboard cannot run: {error}"))
}

fn refused(context: &Context, error: &SettingsError) -> ExitCode {
    let mut message = CommandError::user(error.to_string());
    for hint in error.hints() {
        message = message.hint(hint);
    }
    context.printer.report(&message);
    ExitCode::from(error.exit_code())
}
