//! The add-ons of a profile, as its tools use them.

use std::sync::Arc;
use std::time::Duration;

use hermes_addons::{
    AddonSettings, Addons, FirstUse, InstallConsent, Places, Residents, WorkerHost,
};
use hermes_config::Config;
use hermes_policy::{Answer, ApprovalRequest, ApprovalSettings};
use hermes_proc::{EnvPlan, SpawnClass, Wake};
use hermes_secret::{Redactor, SecretString};
use hermes_tools::{AddonAccess, TextToSpeechTool};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::person::{Nobody, Person};

/// The add-ons of the profile in use. Reads nothing but settings.
pub fn addons_of(context: &Context) -> Addons {
    let program = context.program.path.parent().map(ToOwned::to_owned);
    let places = Places {
        home: context.location.home.clone(),
        user_home: context.location.user_home.clone(),
        program_directory: program,
    };
    Addons::new(AddonSettings::resolve(
        context.config(),
        &context.env,
        places,
    ))
}

/// What tools need to call add-ons; `person` is asked before one of them installs something, where the
/// settings say so.
pub fn addon_access(
    context: &Context,
    redactor: &Arc<Redactor>,
    person: &Arc<dyn Person>,
) -> AddonAccess {
    let of_installs = context.clone();
    let consent: Option<Arc<dyn InstallConsent>> = person.approves_commands().then(|| {
        let asked: Arc<dyn InstallConsent> = Arc::new(AskedFirst {
            person: Arc::clone(person),
            timeout: ApprovalSettings::from_config(context.config()).timeout,
        });
        asked
    });
    AddonAccess {
        addons: addons_of(context),
        workers: Arc::clone(context.addon_workers()),
        host: Arc::new(ProfileAddons {
            config: context.config().clone(),
            redactor: Arc::clone(redactor),
        }),
        first_use: Arc::new(move || FirstUse {
            program: of_installs.program.path.clone(),
            environment: EnvPlan::build(&of_installs.environment().request(SpawnClass::Hermes)),
            consent: consent.clone(),
        }),
    }
}

/// The resident add-ons of a gateway.
#[derive(Debug, Default)]
pub struct ResidentAddons(Residents);

impl ResidentAddons {
    /// Whether any is installed.
    pub fn are_there(context: &Context) -> bool {
        addons_of(context).has_residents()
    }

    /// Starts those that do not run, asks those that do whether they live, and waits until there is
    /// something to do or `wake` is raised.
    pub fn attend(&mut self, context: &Context, wake: &Wake) {
        let nobody: Arc<dyn Person> = Arc::new(Nobody);
        let access = addon_access(context, &Arc::new(context.redactor()), &nobody);
        self.0
            .attend(&access.workers, &access.addons, &*access.host, wake);
    }
}

/// The tool that speaks, under the settings of the profile.
pub(crate) fn text_to_speech(
    context: &Context,
    redactor: &Arc<Redactor>,
    person: &Arc<dyn Person>,
) -> TextToSpeechTool {
    let provider = context.config().get("tts.provider").and_then(Value::as_str);
    TextToSpeechTool {
        access: addon_access(context, redactor, person),
        provider: provider.unwrap_or_default().trim().to_owned(),
        directory: context.location.home.join("cache").join("audio"),
    }
}

/// The person of a conversation, asked by the same way as about commands.
struct AskedFirst {
    person: Arc<dyn Person>,
    timeout: Duration,
}

impl InstallConsent for AskedFirst {
    fn agrees(&self, feature: &str, megabytes: u64) -> bool {
        let answer = self.person.approve(&ApprovalRequest {
            command: format!("hermes addons install {feature}"),
            keys: vec!["addon install".to_owned()],
            description: format!("installs an add-on that a tool needs, about {megabytes} MB"),
            offer_session: false,
            offer_always: false,
            timeout: self.timeout,
            advice: None,
        });
        !matches!(answer, Answer::Deny(_))
    }
}

/// A profile, as its add-ons see it.
struct ProfileAddons {
    config: Config,
    redactor: Arc<Redactor>,
}

impl WorkerHost for ProfileAddons {
    fn secret(&self, name: &str) -> Option<SecretString> {
        self.config.secret(name)
    }

    fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    fn settings(&self, feature: &str) -> Map<String, Value> {
        let section = self.config.get(feature).and_then(Value::as_object);
        section.cloned().unwrap_or_default()
    }
}
