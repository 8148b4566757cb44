//! The gateway of a profile as a service of s6.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_config::Environment;
use hermes_home::{Location, ProfileName};

use crate::definition::text;
use crate::manager::{Caller, Definition, ManagerError, ServiceManager};
use crate::s6::profile_home::{HomeFacts, ProfileHome};
use crate::s6::registrar_client::RegistrarClient;
use crate::s6::request::{Request, Verb};
use crate::s6::slot_files::SlotDefinition;
use crate::s6::slots::{Registered, Slots};
use crate::s6::status::SlotStatus;

/// How long the program of a slot may take to be there.
const UP_LIMIT: Duration = Duration::from_secs(3);
/// How long a stop may take beyond what the slot gives the gateway.
const STOP_MARGIN: Duration = Duration::from_secs(5);

/// The slot of one profile.
#[derive(Debug, Clone)]
pub struct S6 {
    slots: Slots,
    registrar: Option<RegistrarClient>,
    location: Location,
    profile: ProfileName,
    env: Environment,
    program: PathBuf,
    run: PathBuf,
}

impl S6 {
    /// The slot of a profile of this installation, be there one or not.
    pub fn new(
        caller: &Caller,
        location: &Location,
        profile: &ProfileName,
        env: &Environment,
        program: &Path,
    ) -> Self {
        let slots = Slots::new(caller, env);
        Self {
            registrar: RegistrarClient::find(caller),
            run: slots.slot(profile).join("run"),
            slots,
            location: location.clone(),
            profile: profile.clone(),
            env: env.clone(),
            program: program.to_owned(),
        }
    }

    /// All slots of the machine.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The slot of another profile.
    #[must_use]
    pub fn for_profile(&self, profile: &ProfileName) -> Self {
        Self {
            profile: profile.clone(),
            run: self.slots.slot(profile).join("run"),
            ..self.clone()
        }
    }

    /// The profile.
    pub fn profile(&self) -> &ProfileName {
        &self.profile
    }

    /// Gives the profile a slot; `false` if it has one. It is down unless its operator wants the
    /// gateway to run.
    pub fn register(&self) -> Result<bool, ManagerError> {
        if let Some(registrar) = &self.registrar {
            let answer = registrar.ask(&self.request(Verb::Register))?;
            return Ok(answer != "exists");
        }
        let facts = self.slots.owner().with_files(|| self.home().prepare())??;
        let registered = self.slots.register(&SlotDefinition {
            profile: self.profile.clone(),
            program: text(&self.program)
                .map_err(|error| ManagerError::Registrar(error.to_string()))?,
            stop_limit: facts.stop_limit,
            is_down: !facts.is_wanted,
        })?;
        Ok(registered == Registered::New)
    }

    /// Takes the slot away; `false` if there was none.
    pub fn unregister(&self) -> Result<bool, ManagerError> {
        match &self.registrar {
            Some(registrar) => {
                let answer = registrar.ask(&self.request(Verb::Unregister))?;
                Ok(answer != "absent")
            }
            None => self.slots.unregister(&self.profile),
        }
    }

    /// What the slot does.
    pub fn status(&self) -> Result<SlotStatus, ManagerError> {
        self.slots.status(&self.profile)
    }

    /// Has the gateway finish its work and start again. Nothing happens to one that is down.
    pub fn drain_and_restart(&self) -> Result<(), ManagerError> {
        self.slots.control(&self.profile, "restart", "-1")
    }

    /// Ends the gateway and starts it again. Nothing happens to one that is down.
    pub fn restart(&self) -> Result<(), ManagerError> {
        self.slots.control(&self.profile, "restart", "-r")
    }

    /// Tells the supervisor to end the gateway, without waiting for that.
    pub fn begin_stop(&self) -> Result<(), ManagerError> {
        self.slots.control(&self.profile, "stop", "-d")
    }

    /// Waits until the gateway has ended after [`Self::begin_stop`].
    pub fn finish_stop(&self) -> Result<(), ManagerError> {
        let limit = self.facts()?.stop_limit + STOP_MARGIN;
        let status = self
            .slots
            .wait_until(&self.profile, limit, |status| !status.is_up)?;
        if status.is_up {
            return Err(ManagerError::Slot {
                verb: "stop",
                slot: format!("gateway-{}", self.profile),
                code: 99,
                words: "the gateway has not ended in time".to_owned(),
            });
        }
        self.keep_down(true)
    }

    /// What the supervisor does when it begins anew, as the state file has it by now. It matters after
    /// a crash of the supervisor only; a boot decides by the state file.
    fn keep_down(&self, is_down: bool) -> Result<(), ManagerError> {
        match &self.registrar {
            Some(registrar) => registrar.ask(&self.request(Verb::Rescan)).map(drop),
            None => self.slots.set_down(&self.profile, is_down),
        }
    }

    fn facts(&self) -> Result<HomeFacts, ManagerError> {
        self.slots.owner().with_files(|| self.home().read())?
    }

    fn home(&self) -> ProfileHome<'_> {
        ProfileHome {
            location: &self.location,
            profile: &self.profile,
            env: &self.env,
        }
    }

    fn request(&self, verb: Verb) -> Request {
        Request {
            verb,
            profile: self.profile.clone(),
        }
    }
}

impl ServiceManager for S6 {
    fn label(&self) -> &'static str {
        "s6 (container supervisor)"
    }

    fn scope(&self) -> &'static str {
        "container"
    }

    fn file(&self) -> &Path {
        &self.run
    }

    /// Boots write all slots anew, so what is there is current.
    fn definition(&self) -> Definition {
        if self.slots.has(&self.profile) {
            Definition::Current
        } else {
            Definition::Absent
        }
    }

    fn install(&self, _enable: bool) -> Result<Vec<String>, ManagerError> {
        self.register()?;
        Ok(Vec::new())
    }

    fn uninstall(&self) -> Result<(), ManagerError> {
        self.unregister().map(drop)
    }

    /// A profile without a slot gets one.
    fn start(&self) -> Result<(), ManagerError> {
        if !self.slots.has(&self.profile) {
            self.register()?;
        }
        if !self.slots.wait_for_supervisor(&self.profile) {
            let slot = format!("gateway-{}", self.profile);
            return Err(ManagerError::Unsupervised(slot));
        }
        self.slots.control(&self.profile, "start", "-u")?;
        self.keep_down(false)?;
        // One that ended at once is the gateway's business, which says why.
        self.slots
            .wait_until(&self.profile, UP_LIMIT, |status| status.is_up)?;
        Ok(())
    }

    fn stop(&self) -> Result<(), ManagerError> {
        self.begin_stop()?;
        self.finish_stop()
    }

    fn is_active(&self) -> Result<bool, ManagerError> {
        if !self.slots.has(&self.profile) {
            return Ok(false);
        }
        let status = self.status()?;
        Ok(status.is_up || status.is_wanted)
    }
}
