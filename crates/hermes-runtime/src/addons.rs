//! The add-ons of a profile, as its tools use them.

use std::sync::Arc;

use hermes_addons::{AddonSettings, Addons, FirstUse, Places, WorkerHost};
use hermes_config::Config;
use hermes_proc::{EnvPlan, SpawnClass};
use hermes_secret::{Redactor, SecretString};
use hermes_tools::{AddonAccess, TextToSpeechTool};
use serde_json::{Map, Value};

use crate::context::Context;

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

/// What tools need to call add-ons.
pub fn addon_access(context: &Context, redactor: &Arc<Redactor>) -> AddonAccess {
    let of_installs = context.clone();
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
        }),
    }
}

/// The tool that speaks, under the settings of the profile.
pub(crate) fn text_to_speech(context: &Context, redactor: &Arc<Redactor>) -> TextToSpeechTool {
    let provider = context.config().get("tts.provider").and_then(Value::as_str);
    TextToSpeechTool {
        access: addon_access(context, redactor),
        provider: provider.unwrap_or_default().trim().to_owned(),
        directory: context.location.home.join("cache").join("audio"),
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
