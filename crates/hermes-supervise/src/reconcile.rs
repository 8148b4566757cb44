//! Slots for all profiles, when a container boots: those whose gateway should run are started, the
//! others are there and down.
//!
//! One profile that cannot be helped never stops the others. What lies in homes is read and written
//! with the rights of the user that gateways run as.

use std::ffi::OsStr;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use hermes_config::{Config, Environment, Sources};
use hermes_fs::FileLock;
use hermes_home::profiles::assign_gateway_ports;
use hermes_home::{Location, ProfileName};
use serde_json::Value;

use crate::boot_log;
use crate::definition::text;
use crate::main_command::MainCommand;
use crate::manager::{Caller, ManagerError};
use crate::s6::{HomeFacts, Owner, ProfileHome, SlotDefinition, Slots};
use crate::state_file::{DesiredState, GatewayState, StateFile};

/// The state that the reference writes when nothing is connected yet.
const DEGRADED: &str = "degraded";
/// Longest state that is shown.
const LONGEST_STATE: usize = 40;
/// Longest reason that is shown.
const LONGEST_REASON: usize = 300;

/// A boot of a container, as far as its gateways are concerned.
#[derive(Debug, Clone, Copy)]
pub struct Reconcile<'a> {
    pub caller: &'a Caller,
    /// The installation; its root counts.
    pub location: &'a Location,
    pub env: &'a Environment,
    /// The program that runs gateways, absolute.
    pub program: &'a Path,
    /// What the container was started with.
    pub main_command: Option<&'a MainCommand>,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct Reconciled {
    /// One per profile, the default profile last: with its line the work is done.
    pub rows: Vec<ReconcileRow>,
    /// What else deserves to be said.
    pub notes: Vec<String>,
}

/// What was done for one profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconcileRow {
    pub profile: String,
    /// What the last gateway said of itself.
    pub prior_state: Option<String>,
    pub action: BootAction,
    pub error: Option<String>,
    at: String,
}

/// What a boot does about a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootAction {
    /// Its slot starts.
    Started,
    /// Its slot is there, and down.
    Registered,
    /// Nothing.
    Skipped,
}

impl fmt::Display for ReconcileRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self.action {
            BootAction::Started => "started",
            BootAction::Registered => "registered",
            BootAction::Skipped => "skipped",
        };
        write!(
            f,
            "{} profile={} prior_state={} action={action}",
            self.at,
            self.profile,
            self.prior_state.as_deref().unwrap_or("None"),
        )?;
        match &self.error {
            Some(error) => write!(f, " error={error}"),
            None => Ok(()),
        }
    }
}

/// What a home says at boot.
struct Plan {
    profile: ProfileName,
    prior_state: Option<String>,
    is_started: bool,
    facts: Result<HomeFacts, ManagerError>,
}

impl Reconcile<'_> {
    /// Gives every profile its slot.
    pub fn run(&self) -> Reconciled {
        let slots = Slots::new(self.caller, self.env);
        let owner = slots.owner().clone();
        let mut done = Reconciled::default();
        let planned = if self.main_command.is_some_and(MainCommand::is_dashboard) {
            done.notes.push(
                "this container serves the dashboard; the gateways are left to another one"
                    .to_owned(),
            );
            Ok(Vec::new())
        } else {
            owner.with_files(|| self.plan(&mut done.notes))
        };
        match planned {
            Ok(plans) if plans.is_empty() => done.rows.push(skipped("default", None)),
            Ok(plans) => self.apply(&slots, plans, &mut done),
            Err(error) => done.rows.push(skipped("default", Some(&error))),
        }
        if !self.dry_run {
            self.write_log(&owner, &mut done);
        }
        done
    }

    /// Looks into the homes, and puts them in order. The default profile comes last.
    fn plan(&self, notes: &mut Vec<String>) -> Vec<Plan> {
        self.seed(notes);
        let config = Config::load_read_only(&Sources::new(self.env, &self.location.root));
        let is_multiplexed =
            config.flag("gateway.multiplex_profiles") || config.flag("multiplex_profiles");
        let mut profiles = self.named_profiles(notes);
        if !self.dry_run
            && let Err(error) = assign_gateway_ports(self.location, &profiles)
        {
            notes.push(format!("ports of gateways were not stored: {error}"));
        }
        profiles.push(ProfileName::default_profile());
        let plans = profiles.into_iter().map(|profile| {
            let home = self.location.profile_home(&profile);
            let (prior_state, wanted) = recorded(&home);
            if !self.dry_run {
                clear(&home, notes);
            }
            let home = ProfileHome {
                location: self.location,
                profile: &profile,
                env: self.env,
            };
            let facts = if self.dry_run {
                home.read()
            } else {
                home.prepare()
            };
            Plan {
                is_started: wanted && (profile.is_default() || !is_multiplexed),
                prior_state,
                facts,
                profile,
            }
        });
        plans.collect()
    }

    /// The named profiles there are, by name.
    fn named_profiles(&self, notes: &mut Vec<String>) -> Vec<ProfileName> {
        let directory = self.location.profiles_dir();
        let is_visible = |name: &OsStr| name.as_encoded_bytes().first() != Some(&b'.');
        let entries = match hermes_fs::read_dir_named(&directory, is_visible) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => {
                notes.push(error.to_string());
                Vec::new()
            }
        };
        let mut profiles = Vec::new();
        for entry in entries {
            // What has no persona is no profile.
            if !hermes_fs::exists_no_follow(&entry.path.join("SOUL.md")) {
                continue;
            }
            let shown = hermes_text::shown(&entry.name.to_string_lossy(), 80);
            let parsed = entry.name.to_str().map(ProfileName::parse);
            match parsed {
                Some(Ok(name)) if name.is_default() => notes.push(format!(
                    "profiles/{shown} is left out: the default profile is the root itself"
                )),
                Some(Ok(name)) if *name.as_str() == *entry.name => profiles.push(name),
                _ => notes.push(format!(
                    "profiles/{shown} is left out: that is not the name of a profile"
                )),
            }
        }
        profiles
    }

    /// A container from before there were slots has no state, and its command says what is wanted.
    fn seed(&self, notes: &mut Vec<String>) {
        let wants = self
            .main_command
            .is_some_and(|command| command.wants_gateway(self.env));
        let state = StateFile::of_home(&self.location.root);
        if !wants || self.dry_run || hermes_fs::exists_no_follow(state.path()) {
            return;
        }
        let written = hermes_fs::create_new(state.path(), 0o600).and_then(|mut file| {
            file.write_all(b"{\"gateway_state\":\"running\"}")
                .map_err(hermes_fs::Error::io("write", state.path()))
        });
        if let Err(error) = written {
            notes.push(format!("the gateway of the default profile: {error}"));
        }
    }

    /// Builds the slots.
    fn apply(&self, slots: &Slots, plans: Vec<Plan>, done: &mut Reconciled) {
        let program = text(self.program).unwrap_or_else(|error| {
            done.notes.push(error.to_string());
            self.program.to_string_lossy().into_owned()
        });
        let mut started = Vec::new();
        for plan in plans {
            let built = plan.facts.and_then(|facts| {
                if self.dry_run {
                    return Ok(());
                }
                slots.rebuild(&SlotDefinition {
                    profile: plan.profile.clone(),
                    program: program.clone(),
                    stop_limit: facts.stop_limit,
                    is_down: !plan.is_started,
                })
            });
            let action = match (&built, plan.is_started) {
                (Err(_), _) => BootAction::Skipped,
                (Ok(()), true) => BootAction::Started,
                (Ok(()), false) => BootAction::Registered,
            };
            if action == BootAction::Started {
                started.push(plan.profile.clone());
            }
            done.rows.push(ReconcileRow {
                profile: plan.profile.to_string(),
                prior_state: plan.prior_state,
                action,
                error: built.err().map(|error| one_line(&error)),
                at: now(),
            });
        }
        if !self.dry_run && slots.is_scanned() {
            wake(slots, &started, &mut done.notes);
        }
    }

    fn write_log(&self, owner: &Owner, done: &mut Reconciled) {
        let lines: Vec<String> = done.rows.iter().map(ToString::to_string).collect();
        let root = &self.location.root;
        let written = owner.with_files(|| boot_log::append(root, &lines));
        let failure = match written {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        done.notes
            .push(format!("container-boot.log was not written: {failure}"));
    }
}

/// Tells a `s6-svscan` that runs already of new slots, and the supervisors of old ones to start.
fn wake(slots: &Slots, started: &[ProfileName], notes: &mut Vec<String>) {
    if let Err(error) = slots.rescan() {
        notes.push(error.to_string());
    }
    for profile in started {
        let told = if slots.wait_for_supervisor(profile) {
            slots.control(profile, "start", "-u")
        } else {
            Err(ManagerError::Unsupervised(format!("gateway-{profile}")))
        };
        if let Err(error) = told {
            notes.push(error.to_string());
        }
    }
}

/// What the state file of a home says: the state, for people, and whether the gateway should run.
fn recorded(home: &Path) -> (Option<String>, bool) {
    let state = StateFile::of_home(home).read().unwrap_or_default();
    let text = |name: &str| state.get(name).and_then(Value::as_str);
    let last = text("gateway_state");
    let desired = text("desired_state");
    let was_running = [
        GatewayState::Running.name(),
        GatewayState::Draining.name(),
        DEGRADED,
    ];
    let is_wanted = if desired == Some(DesiredState::Running.name()) {
        true
    } else if desired == Some(DesiredState::Stopped.name()) {
        false
    } else {
        last.is_some_and(|last| was_running.contains(&last))
    };
    (last.map(one_word), is_wanted)
}

/// Removes what names processes of an earlier run of the container, unless a gateway lives.
fn clear(home: &Path, notes: &mut Vec<String>) {
    if FileLock::is_held(&home.join("gateway.lock")).unwrap_or(false) {
        return;
    }
    for name in ["gateway.pid", "processes.json"] {
        let path: PathBuf = home.join(name);
        if let Err(error) = hermes_fs::remove_file_if_present(&path) {
            notes.push(error.to_string());
        }
    }
}

fn skipped(profile: &str, error: Option<&ManagerError>) -> ReconcileRow {
    ReconcileRow {
        profile: profile.to_owned(),
        prior_state: None,
        action: BootAction::Skipped,
        error: error.map(one_line),
        at: now(),
    }
}

/// A word that keeps the fields of a line apart.
fn one_word(text: &str) -> String {
    let letters = text.chars().take(LONGEST_STATE).map(|letter| {
        if letter.is_ascii_alphanumeric() || "_-".contains(letter) {
            letter
        } else {
            '_'
        }
    });
    letters.collect()
}

fn one_line(error: &ManagerError) -> String {
    hermes_text::shown(&error.to_string(), LONGEST_REASON)
}

/// Local time with its offset.
fn now() -> String {
    hermes_time::now()
        .strftime("%Y-%m-%dT%H:%M:%S%z")
        .to_string()
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
