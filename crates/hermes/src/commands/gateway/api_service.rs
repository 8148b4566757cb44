//! The API server as a service of the gateway: on while the settings say so, listening anew when they
//! change.

use std::sync::Arc;
use std::time::Duration;

use hermes_api::{ApiHost, ApiServer, ApiSettings, BindError};
use hermes_gateway::{HostedService, ServiceError, ServiceHost};
use hermes_home::gateway_pid;
use hermes_home::profiles::{assign_gateway_ports, names};
use hermes_proc::{Wake, listener_on, wait_for_any};

/// The gateway wakes whoever waits; this is for a wake that was lost.
const FALLBACK: Duration = Duration::from_mins(1);

/// The API server of this gateway's profile.
#[derive(Debug, Default)]
pub(super) struct ApiService;

impl HostedService for ApiService {
    fn name(&self) -> &'static str {
        "api_server"
    }

    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError> {
        while !host.is_stopping() {
            host.wake().clear();
            match ApiSettings::resolve(&host.context()) {
                Ok(Some(settings)) => serve(host, settings)?,
                Ok(None) => {
                    host.standing_by("off; API_SERVER_KEY turns it on");
                    host.wake().wait(FALLBACK);
                }
                Err(error) => wait_for_settings(host, &error.to_string()),
            }
        }
        Ok(())
    }
}

/// Answers requests until the settings of the server change or the gateway stops.
fn serve(host: &Arc<ServiceHost>, settings: ApiSettings) -> Result<(), ServiceError> {
    keep_port(&host.context());
    // Conversations of the server do not look for them each time.
    hermes_telemetry::best_effort("copy the bundled skills", || {
        hermes_skills::bundled::sync_if_needed(&host.context().location.home)
    });
    let server = match ApiServer::bind(settings.clone(), Arc::new(Host(Arc::clone(host)))) {
        Ok(server) => server,
        Err(error) => {
            let holder = match &error {
                BindError::PortInUse { port, .. } => holder(&host.context(), *port),
                BindError::Failed(_) => None,
            };
            let holder = holder.map(|pid| format!(" (PID {pid} has it)"));
            let holder = holder.unwrap_or_default();
            wait_for_settings(host, &format!("{}: {error}{holder}", error.code()));
            return Ok(());
        }
    };
    let address = server.address()?;
    tracing::info!(target: "hermes_api", "the API server listens on http://{address}");
    host.serving();
    let (stop, done) = (Wake::new()?, Wake::new()?);
    let served = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.is_raised() {
                host.wake().clear();
                if host.is_stopping() || has_changed(host, &settings) {
                    stop.raise();
                }
                wait_for_any(&[host.wake(), &done], FALLBACK);
            }
        });
        let served = server.run(&stop);
        done.raise();
        served
    });
    host.set_active(0);
    Ok(served?)
}

/// The port of a named profile stays what it is now, whatever profiles come later.
fn keep_port(context: &hermes_runtime::Context) {
    let Some(profile) = context.location.profile_name() else {
        return;
    };
    if let Err(error) = assign_gateway_ports(&context.location, &[profile]) {
        tracing::warn!(target: "hermes_api", %error, "the port of the API server could not be stored");
    }
}

/// The process that has a port, if it can be seen: one that shows its sockets, or the gateway of another
/// profile, which hides them but whose settings say so.
fn holder(context: &hermes_runtime::Context, port: u16) -> Option<u32> {
    let of_profile = || {
        let profiles = names(&context.location).ok()?;
        let homes = profiles
            .iter()
            .map(|name| context.location.profile_home(name));
        homes
            .filter(|home| *home != context.location.home)
            .find_map(|home| {
                let pid = gateway_pid(&home)?;
                let settings = ApiSettings::resolve(&context.in_home(&home));
                let theirs = settings.ok().flatten()?.port;
                (theirs == port).then_some(pid)
            })
    };
    listener_on(port).or_else(of_profile)
}

/// Whether the server has to listen anew.
fn has_changed(host: &ServiceHost, settings: &ApiSettings) -> bool {
    ApiSettings::resolve(&host.context())
        .ok()
        .flatten()
        .as_ref()
        != Some(settings)
}

/// Says why there is no server, and waits until the settings were read again or the gateway stops:
/// nothing else can help.
fn wait_for_settings(host: &ServiceHost, reason: &str) {
    tracing::error!(target: "hermes_api", "no API server: {reason}");
    host.unable(reason);
    let refused = host.context();
    while !host.is_stopping() && Arc::ptr_eq(&refused, &host.context()) {
        host.wake().wait(FALLBACK);
        host.wake().clear();
    }
}

/// The gateway, as the API server knows it.
struct Host(Arc<ServiceHost>);

impl ApiHost for Host {
    fn context(&self) -> Arc<hermes_runtime::Context> {
        self.0.context()
    }

    fn is_draining(&self) -> bool {
        self.0.is_draining()
    }

    fn set_active(&self, turns: usize) {
        self.0.set_active(turns);
    }
}
