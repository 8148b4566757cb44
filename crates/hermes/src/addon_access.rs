//! The add-ons of the profile in use, as commands and checks see them.

use hermes_addons::{AddonSettings, Addons, Places};

use crate::context::Context;

/// The add-ons of the profile in use.
pub(crate) fn addons_of(context: &Context) -> Addons {
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
