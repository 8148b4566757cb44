//! The gateway as a service of the machine's manager.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_config::vars;
use hermes_home::{GatewayMarker, gateway_pid};
use hermes_proc::identity_of;
use hermes_supervise::{
    Account, Caller, Definition, GatewayDefinition, Launchd, ManagerError, ServiceManager, Systemd,
    SystemdScope,
};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::machine::{caller, own_slot};

/// Which service of a gateway is meant.
#[derive(Debug, Default, clap::Args)]
pub(super) struct ScopeArgs {
    /// The service of the system instead of that of your account (systemd; needs root)
    #[arg(long)]
    pub(super) system: bool,
}

/// The service of the home in use.
pub(crate) struct GatewayService {
    manager: Box<dyn ServiceManager>,
    /// The home it serves, which may be another account's.
    home: PathBuf,
    /// Whose files these are, if not the caller's.
    owner: Option<Account>,
}

impl GatewayService {
    /// The service that would be installed; `None` if nothing manages services here.
    pub(super) fn find(
        context: &Context,
        system: bool,
        run_as: Option<&str>,
    ) -> Result<Option<Self>> {
        if let Some(s6) = own_slot(context) {
            return Ok(Some(Self::own(context, Box::new(s6))));
        }
        let caller = caller(context);
        if cfg!(target_os = "macos") {
            let gateway = definition(context, &context.location)?;
            let launchd = Launchd::new(&caller, &gateway);
            return Ok(launchd.map(|manager| Self::own(context, Box::new(manager))));
        }
        if !Systemd::is_manager(&caller) {
            return Ok(None);
        }
        if system {
            let gateway = definition(context, &context.location)?;
            let recorded = Systemd::recorded_account(&caller, &gateway);
            let account = account(context, run_as.or(recorded.as_deref()))?;
            return Self::of_account(context, caller, account);
        }
        let gateway = definition(context, &context.location)?;
        let systemd = Systemd::new(caller, &gateway, SystemdScope::User);
        Ok(systemd.map(|manager| Self::own(context, Box::new(manager))))
    }

    /// The service that is installed, if one is: that of the account, or the only one there is. Under
    /// s6 every profile has one, even if its slot is still to be made.
    pub(crate) fn installed(context: &Context, system: bool) -> Result<Option<Self>> {
        if let Some(s6) = own_slot(context) {
            return Ok(Some(Self::own(context, Box::new(s6))));
        }
        // A home that cannot be a service's has none.
        let Ok(gateway) = definition(context, &context.location) else {
            return Ok(None);
        };
        let caller = caller(context);
        let of_user = Systemd::has_user_unit(&caller, &gateway);
        let of_system = Systemd::has_system_unit(&caller, &gateway);
        if !cfg!(target_os = "macos") && !of_user && !of_system {
            return Ok(None);
        }
        let found = Self::find(context, system || (of_system && !of_user), None)?;
        Ok(found.filter(|service| service.manager.definition() != Definition::Absent))
    }

    /// The installed service that a command means; without `--system` there need be none.
    pub(super) fn meant(context: &Context, scope: &ScopeArgs) -> Result<Option<Self>> {
        let found = Self::installed(context, scope.system)?;
        if scope.system && found.is_none() {
            let name = context.location.profile_label();
            return Err(CommandError::user(format!(
                "the gateway of profile {name} is no service of the system"
            ))
            .hint("`sudo hermes gateway install --system` makes it one"));
        }
        Ok(found)
    }

    fn own(context: &Context, manager: Box<dyn ServiceManager>) -> Self {
        Self {
            manager,
            home: context.location.home.clone(),
            owner: None,
        }
    }

    fn of_account(context: &Context, caller: Caller, account: Account) -> Result<Option<Self>> {
        let location = context.location.of_account(Path::new(&account.home));
        let gateway = definition(context, &location)?;
        let owner = (account.uid != caller.uid).then(|| account.clone());
        let systemd = Systemd::new(caller, &gateway, SystemdScope::System(account));
        Ok(systemd.map(|manager| Self {
            manager: Box::new(manager),
            home: location.home,
            owner,
        }))
    }

    pub(crate) fn manager(&self) -> &dyn ServiceManager {
        &*self.manager
    }

    /// The home it serves.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Whether the files of the home are the caller's to write.
    pub(super) fn is_own(&self) -> bool {
        self.owner.is_none()
    }

    /// Brings an outdated definition up to date, and starts the service.
    pub(super) fn start(&self) -> Result<()> {
        if self.manager.definition() == Definition::Outdated {
            self.manager.install(true).map_err(failure)?;
        }
        self.manager.start().map_err(failure)
    }

    /// Stops the service, telling the gateway first that this is meant.
    pub(super) fn stop(&self) -> Result<()> {
        self.announce_stop()?;
        self.manager.stop().map_err(failure)
    }

    /// Stops and removes the service.
    pub(super) fn remove(&self) -> Result<()> {
        self.announce_stop()?;
        self.manager.uninstall().map_err(failure)
    }

    fn announce_stop(&self) -> Result<()> {
        let Some(identity) = gateway_pid(&self.home).and_then(identity_of) else {
            return Ok(());
        };
        GatewayMarker::PlannedStop.write(&self.home, &identity)?;
        if let Some(owner) = &self.owner {
            let note = GatewayMarker::PlannedStop.path(&self.home);
            hermes_fs::chown(&note, owner.uid, owner.gid)?;
        }
        Ok(())
    }

    /// Whether the manager runs the service. One that cannot be asked does not.
    pub(crate) fn is_active(&self) -> bool {
        self.manager.is_active().unwrap_or(false)
    }
}

/// What a manager's error means for the command.
pub(crate) fn failure(error: ManagerError) -> CommandError {
    let message = CommandError::user(error.to_string());
    match error.hint() {
        Some(hint) => message.hint(hint),
        None => message,
    }
}

fn definition(context: &Context, location: &hermes_home::Location) -> Result<GatewayDefinition> {
    let watchdog = context.config().int("gateway.systemd_watchdog_seconds");
    let watchdog = watchdog.and_then(|seconds| u64::try_from(seconds).ok());
    GatewayDefinition::new(
        &context.program.path,
        location,
        context.env.os(&vars::PATH),
        hermes_gateway::drain_timeout(context),
        watchdog
            .filter(|seconds| *seconds > 0)
            .map(Duration::from_secs),
    )
    .map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))
}

/// The account that a service of the system runs as; never root by accident.
fn account(context: &Context, run_as: Option<&str>) -> Result<Account> {
    let name = run_as.or_else(|| context.env.text(&vars::SUDO_USER));
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(CommandError::usage(
            "a service of the system runs as an account, and none was named",
        )
        .hint("name it with --run-as-user, or call it with sudo"));
    };
    Account::named(name, &context.system.file_system_root)
        .ok_or_else(|| CommandError::user(format!("there is no account '{name}' on this machine")))
}
