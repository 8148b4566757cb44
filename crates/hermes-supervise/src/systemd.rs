//! Gateways as services of systemd, of a user or of the system.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::account::Account;
use crate::definition::GatewayDefinition;
use crate::manager::{Caller, Definition, ManagerError, ServiceManager, Tool};
use crate::systemd_unit::{account_of, is_current, is_of_python, runs_a_gateway, unit};

/// How long systemd may take for anything but a stop.
const LIMIT: Duration = Duration::from_secs(30);
/// How long a stop may take beyond what the unit says.
const STOP_MARGIN: Duration = Duration::from_secs(30);
/// How long a systemd of the user may take to appear.
const BUS_LIMIT: Duration = Duration::from_secs(5);
/// How often it is looked for: nothing tells.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Largest unit that is read.
const UNIT_LIMIT: u64 = 1 << 20;
/// What the unit of the one gateway was called at first.
const LEGACY: &str = "hermes.service";
/// How long such a unit may take to stop.
const LEGACY_STOP_LIMIT: Duration = Duration::from_secs(90);
/// States in which systemd serves.
const SERVING: &[&str] = &["running", "degraded", "starting", "initializing"];

/// Whose systemd runs a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemdScope {
    User,
    /// The system's, which runs it as this account.
    System(Account),
}

/// Which systemd is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instance {
    User,
    System,
}

/// The service of one gateway.
#[derive(Debug)]
pub struct Systemd {
    caller: Caller,
    instance: Instance,
    name: String,
    file: PathBuf,
    text: String,
    stop_limit: Duration,
    systemctl: Tool,
}

impl Systemd {
    /// Whether systemd looks after this machine. In a container its directory may be the host's, so
    /// it is asked there.
    pub fn is_manager(caller: &Caller) -> bool {
        if !caller.at("run/systemd/system").is_dir() {
            return false;
        }
        let Some(systemctl) = caller.tool("systemctl") else {
            return false;
        };
        !caller.is_container
            || ["--system", "--user"].iter().any(|scope| {
                let answer = systemctl.ask(&[scope, "is-system-running"], LIMIT);
                answer.is_ok_and(|answer| SERVING.contains(&answer.stdout.as_str()))
            })
    }

    /// The service of a gateway; `None` if the machine has no `systemctl`.
    pub fn new(caller: Caller, gateway: &GatewayDefinition, scope: SystemdScope) -> Option<Self> {
        let name = format!("{}.service", gateway.named("hermes-gateway"));
        let (instance, account) = match &scope {
            SystemdScope::User => (Instance::User, None),
            SystemdScope::System(account) => (Instance::System, Some(account)),
        };
        Self::unit_of(caller, instance, name).map(|found| Self {
            text: unit(gateway, account),
            stop_limit: gateway.stop_limit() + STOP_MARGIN,
            ..found
        })
    }

    /// The gateways' units of installations from before they were called `hermes-gateway`. Units of
    /// that name that run something else are somebody else's.
    pub fn legacy_units(caller: &Caller) -> Vec<Self> {
        [Instance::User, Instance::System]
            .into_iter()
            .filter_map(|instance| Self::unit_of(caller.clone(), instance, LEGACY.to_owned()))
            .filter(|found| {
                let unit = hermes_fs::read_capped(&found.file, UNIT_LIMIT);
                unit.is_ok_and(|unit| runs_a_gateway(&String::from_utf8_lossy(&unit)))
            })
            .collect()
    }

    /// A unit by its name, whatever stands in it; `None` if the machine has no `systemctl`.
    fn unit_of(caller: Caller, instance: Instance, name: String) -> Option<Self> {
        let systemctl = caller.tool("systemctl")?;
        let (file, systemctl) = match instance {
            Instance::User => (
                user_units(&caller).join(&name),
                reach_user_bus(systemctl, &caller),
            ),
            Instance::System => (system_units(&caller).join(&name), systemctl),
        };
        Some(Self {
            caller,
            instance,
            name,
            file,
            text: String::new(),
            stop_limit: LEGACY_STOP_LIMIT,
            systemctl,
        })
    }

    /// Whether a gateway has a unit of the system.
    pub fn has_system_unit(caller: &Caller, gateway: &GatewayDefinition) -> bool {
        let name = format!("{}.service", gateway.named("hermes-gateway"));
        system_units(caller).join(name).is_file()
    }

    /// The account that the unit of the system of a gateway runs as, where there is such a unit.
    pub fn recorded_account(caller: &Caller, gateway: &GatewayDefinition) -> Option<String> {
        let name = format!("{}.service", gateway.named("hermes-gateway"));
        let unit = hermes_fs::read_capped(&system_units(caller).join(name), UNIT_LIMIT).ok()?;
        account_of(&String::from_utf8_lossy(&unit))
    }

    /// Whether a gateway has a unit of the user.
    pub fn has_user_unit(caller: &Caller, gateway: &GatewayDefinition) -> bool {
        let name = format!("{}.service", gateway.named("hermes-gateway"));
        user_units(caller).join(name).is_file()
    }

    fn words<'a>(&self, words: &[&'a str]) -> Vec<&'a str> {
        let scope = match self.instance {
            Instance::User => "--user",
            Instance::System => "--system",
        };
        [scope].into_iter().chain(words.iter().copied()).collect()
    }

    fn demand(&self, words: &[&str], limit: Duration) -> Result<(), ManagerError> {
        self.check()?;
        self.systemctl.demand(&self.words(words), limit)
    }

    /// Whether systemd can be told anything.
    fn check(&self) -> Result<(), ManagerError> {
        match self.instance {
            Instance::User => self.wait_for_bus(),
            Instance::System if self.caller.uid != 0 => {
                Err(ManagerError::NeedsRoot("a service of the system"))
            }
            Instance::System => Ok(()),
        }
    }

    /// The systemd of a user who has not logged in is started by lingering.
    fn wait_for_bus(&self) -> Result<(), ManagerError> {
        let directory = runtime_directory(&self.caller);
        if has_bus(&directory) {
            return Ok(());
        }
        // A refusal shows by the bus that does not come.
        drop(self.linger());
        let deadline = Instant::now() + BUS_LIMIT;
        while Instant::now() < deadline {
            if has_bus(&directory) {
                return Ok(());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        let bus = directory.join("bus");
        Err(ManagerError::NoUserBus(bus.display().to_string()))
    }

    /// Lets the services of the user run while nobody is logged in.
    fn linger(&self) -> Result<(), ManagerError> {
        match self.caller.tool("loginctl") {
            Some(loginctl) => loginctl.demand(&["enable-linger"], LIMIT),
            None => Ok(()),
        }
    }
}

impl ServiceManager for Systemd {
    fn label(&self) -> &'static str {
        match self.instance {
            Instance::User => "systemd (user)",
            Instance::System => "systemd (system)",
        }
    }

    fn scope(&self) -> &'static str {
        match self.instance {
            Instance::User => "user",
            Instance::System => "system",
        }
    }

    fn file(&self) -> &Path {
        &self.file
    }

    fn definition(&self) -> Definition {
        match hermes_fs::read_capped(&self.file, UNIT_LIMIT) {
            Ok(bytes) => {
                let there = String::from_utf8_lossy(&bytes);
                if is_current(&there, &self.text) && !is_of_python(&there) {
                    Definition::Current
                } else {
                    Definition::Outdated
                }
            }
            Err(_) => Definition::Absent,
        }
    }

    fn install(&self, enable: bool) -> Result<Vec<String>, ManagerError> {
        self.check()?;
        if let Some(directory) = self.file.parent() {
            hermes_fs::create_dir_all(directory, 0o755)?;
        }
        hermes_fs::write_atomic_exact(&self.file, self.text.as_bytes(), 0o644)?;
        self.demand(&["daemon-reload"], LIMIT)?;
        let mut notes = Vec::new();
        if enable {
            self.demand(&["enable", &self.name], LIMIT)?;
            if self.instance == Instance::User
                && let Err(error) = self.linger()
            {
                notes.push(format!(
                    "the service ends when you log out, because lingering could not be turned on: \
                     {error}"
                ));
            }
        }
        Ok(notes)
    }

    fn uninstall(&self) -> Result<(), ManagerError> {
        self.demand(&["disable", "--now", &self.name], self.stop_limit)?;
        hermes_fs::remove_file_if_present(&self.file)?;
        self.demand(&["daemon-reload"], LIMIT)?;
        // A unit that had failed is shown until then; one that had not is not known any more.
        drop(self.demand(&["reset-failed", &self.name], LIMIT));
        Ok(())
    }

    fn start(&self) -> Result<(), ManagerError> {
        self.demand(&["start", "--no-block", &self.name], LIMIT)
    }

    fn stop(&self) -> Result<(), ManagerError> {
        self.demand(&["stop", &self.name], self.stop_limit)
    }

    fn is_active(&self) -> Result<bool, ManagerError> {
        if self.instance == Instance::User && !has_bus(&runtime_directory(&self.caller)) {
            return Ok(false);
        }
        let words = self.words(&["is-active", &self.name]);
        let answer = self.systemctl.ask(&words, LIMIT)?;
        Ok(["active", "activating", "reloading"].contains(&answer.stdout.as_str()))
    }
}

fn user_units(caller: &Caller) -> PathBuf {
    caller.home.join(".config/systemd/user")
}

fn system_units(caller: &Caller) -> PathBuf {
    caller.at("etc/systemd/system")
}

fn runtime_directory(caller: &Caller) -> PathBuf {
    match caller.variable("XDG_RUNTIME_DIR") {
        Some(directory) if !directory.is_empty() => PathBuf::from(directory),
        _ => caller.at(&format!("run/user/{}", caller.uid)),
    }
}

fn has_bus(directory: &Path) -> bool {
    ["bus", "systemd/private"]
        .iter()
        .any(|name| directory.join(name).exists())
}

/// `systemctl --user` needs variables that a shell by `su` or `ssh` may lack.
fn reach_user_bus(systemctl: Tool, caller: &Caller) -> Tool {
    let directory = runtime_directory(caller);
    let mut bus = std::ffi::OsString::from("unix:path=");
    bus.push(directory.join("bus"));
    let systemctl = systemctl.with("XDG_RUNTIME_DIR", directory);
    match caller.variable("DBUS_SESSION_BUS_ADDRESS") {
        Some(_) => systemctl,
        None => systemctl.with("DBUS_SESSION_BUS_ADDRESS", bus),
    }
}
