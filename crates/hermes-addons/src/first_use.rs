//! Making a feature ready for the call that needs it: installed in the background by a process of its
//! own, waited for so long and no longer, and not tried again and again when it fails.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::{Child, ChildSpec, EnvPlan, Group, Streams, Wake, first_readable};
use jiff::{SignedDuration, Timestamp};

use crate::addons::{Addons, holder};
use crate::error::{AddonError, Code, Result};
use crate::interpreter::Interpreter;
use crate::plugin_packages::PluginPackages;
use crate::store::{Failure, Index};
use crate::worker::Workers;

/// Longest time that a failure keeps calls from trying again.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_hours(6);

/// How an install is started that may outlive its caller: this program again.
pub struct FirstUse {
    pub program: PathBuf,
    pub environment: EnvPlan,
    /// Who is asked before anything is installed, where the settings say that somebody is.
    pub consent: Option<Arc<dyn InstallConsent>>,
}

/// A person who agrees to an install, or does not.
pub trait InstallConsent: Send + Sync {
    /// Whether a feature of about so many megabytes may be installed.
    fn agrees(&self, feature: &str, megabytes: u64) -> bool;
}

impl Addons {
    /// Waits until a feature can be used. One that is missing is installed, if that is allowed; an
    /// install that takes longer than a call may wait goes on, and the error says so.
    pub fn ensure(
        &self,
        name: &str,
        workers: &Workers,
        first_use: &FirstUse,
        interrupt: &Wake,
    ) -> Result<()> {
        let feature = Self::feature(name)?;
        if workers.is_running(self, feature.name) {
            return Ok(());
        }
        match self.serviceable(feature.name) {
            Ok(_) => return Ok(()),
            Err(error) => match error.code {
                Code::NotInstalled | Code::Broken | Code::NoInterpreter => {}
                _ => return Err(error),
            },
        }
        let megabytes = feature.addon().map_or(0, |addon| addon.size_mb);
        self.install_first(feature.name, megabytes, first_use, interrupt)
            .map_err(|error| error.of(feature.name))
    }

    /// Brings the packages of a plugin back that were installed once: with the hashes that were recorded
    /// then, so that nobody is asked again.
    pub fn restore_plugin(
        &self,
        packages: &PluginPackages,
        first_use: &FirstUse,
        interrupt: &Wake,
    ) -> Result<()> {
        let name = &packages.feature;
        self.install_first(name, 0, first_use, interrupt)
            .map_err(|error| error.of(name))
    }

    fn install_first(
        &self,
        name: &str,
        megabytes: u64,
        first_use: &FirstUse,
        interrupt: &Wake,
    ) -> Result<()> {
        if let Some((code, reason, hint)) = self.settings.gate.refusal() {
            return Err(AddonError::new(code, reason).hint(hint));
        }
        let store = self.usable_store()?;
        let failure = || Index::load(&store).0.features.remove(name)?.failure;
        let earlier = failure();
        if let Some(failure) = &earlier
            && let Some(until) = self.cools_until(failure)
        {
            return Err(cooling_down(name, failure, until));
        }
        Interpreter::find(&self.settings, None)?;
        if self.settings.confirm {
            ask_first(name, megabytes, first_use)?;
        }
        let words = ["addons", "install", name, "--json"].map(OsString::from);
        let spec = ChildSpec {
            cwd: Some(PathBuf::from("/")),
            streams: Streams::Given {
                input: None,
                output: None,
            },
            group: Group::Session,
            kill_on_drop: false,
            ..ChildSpec::new(&first_use.program, words, &first_use.environment)
        };
        let mut child = spec.spawn().map_err(|error| {
            AddonError::new(Code::InstallerFailed, error.to_string())
                .hint(format!("run: hermes addons install {name}"))
        })?;
        if !ends_within(&child, self.settings.first_use_wait, interrupt) {
            return Err(self.still_installing(name, &child));
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(
                match failure().filter(|now| Some(now) != earlier.as_ref()) {
                    Some(failure) => told(&failure),
                    None => AddonError::new(
                        Code::InstallerFailed,
                        format!("the install ended with {status}"),
                    )
                    .hint(format!("run: hermes addons install {name}")),
                },
            ),
            Err(error) => Err(AddonError::new(Code::InstallerFailed, error.to_string())),
        }
    }

    fn still_installing(&self, name: &str, child: &Child) -> AddonError {
        let store = self.existing_store().ok().flatten();
        let since = store
            .and_then(|store| holder(&store))
            .and_then(|holder| holder.since.parse::<Timestamp>().ok());
        let seconds = since.map_or(
            self.settings.first_use_wait.as_secs().cast_signed(),
            |since| Timestamp::now().duration_since(since).as_secs(),
        );
        tracing::info!(feature = name, pid = child.pid(), "an install goes on");
        AddonError::new(
            Code::Installing,
            format!("it is being installed ({seconds} s so far)"),
        )
        .hint("try again shortly")
    }

    /// Until when a failure keeps calls from trying again, if it does now.
    fn cools_until(&self, failure: &Failure) -> Option<Timestamp> {
        let at: Timestamp = failure.at.parse().ok()?;
        // What a file with another content means is for people to find out.
        let pause = if Code::named(&failure.code) == Some(Code::HashMismatch) {
            LONGEST_PAUSE
        } else {
            let doublings = failure.count.saturating_sub(1).min(16);
            let seconds = self.settings.retry_after.as_secs() << doublings;
            SignedDuration::from_secs(seconds.cast_signed()).min(LONGEST_PAUSE)
        };
        let until = at.checked_add(pause).ok()?;
        (Timestamp::now() < until).then_some(until)
    }
}

/// Refuses an install that nobody agrees to.
fn ask_first(name: &str, megabytes: u64, first_use: &FirstUse) -> Result<()> {
    let reason = match &first_use.consent {
        Some(consent) if consent.agrees(name, megabytes) => return Ok(()),
        Some(_) => "its installation was not agreed to (addons.confirm is on)",
        None => "addons.confirm is on, and nobody can be asked here",
    };
    Err(AddonError::new(Code::Declined, reason).hint(format!("run: hermes addons install {name}")))
}

/// Whether a process ends before the time is over or somebody interrupts the wait.
fn ends_within(child: &Child, limit: Duration, interrupt: &Wake) -> bool {
    let ready = first_readable(&[child.as_fd(), interrupt.as_fd()], Some(limit));
    matches!(ready, Ok(Some(0)))
}

/// A failure that was noted, as the error it was.
fn told(failure: &Failure) -> AddonError {
    let code = Code::named(&failure.code).unwrap_or(Code::InstallerFailed);
    AddonError {
        hint: failure.hint.clone(),
        installer: failure.installer.clone(),
        ..AddonError::new(code, failure.message.clone())
    }
}

fn cooling_down(name: &str, failure: &Failure, until: Timestamp) -> AddonError {
    let reason = format!(
        "{} (next try at {})",
        failure.message,
        until.strftime("%Y-%m-%dT%H:%M:%SZ")
    );
    AddonError {
        installer: failure.installer.clone(),
        ..AddonError::new(Code::CoolingDown, reason)
            .hint(format!("`hermes addons install {name}` tries now"))
    }
}
