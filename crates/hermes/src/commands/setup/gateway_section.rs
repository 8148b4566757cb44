//! The gateway, as far as there is something to decide: whether programs may use the profile through
//! its API. The board and the schedule need no set-up.

use hermes_secret::SecretString;
use serde_json::Value;

use super::write::{write_setting, write_variable};
use crate::api_server_state::ApiServerState;
use crate::context::Context;
use crate::error::Result;
use crate::gateways::gateway_row;
use crate::ui::{Choice, Picked, pick};

/// The variable with the key that programs send.
const KEY: &str = "API_SERVER_KEY";
/// Hexadecimal digits of a key that is made here.
const KEY_DIGITS: usize = 64;

const ENABLED: &str = "platforms.api_server.enabled";

/// Asks whether there is an API, and makes a key for it.
pub(super) fn gateway(context: &Context) -> Result<()> {
    let is_on = ApiServerState::find(context) != ApiServerState::Off;
    let rows = [
        Choice::new("on", "programs that have its key use this profile"),
        Choice::new(
            "off",
            "the gateway works for the board and the schedule only",
        ),
    ];
    let current = usize::from(!is_on);
    let picked = pick(
        context.printer,
        &context.env,
        "API for programs",
        &rows,
        current,
    )?;
    match picked {
        Picked::Chosen(0) => turn_on(context)?,
        Picked::Chosen(_) if is_on => write_setting(context, ENABLED, "false")?,
        Picked::Chosen(_) => {}
        Picked::Back | Picked::Leave => return Ok(()),
    }
    tell(&context.reloaded())
}

fn turn_on(context: &Context) -> Result<()> {
    let config = context.config();
    let has_key =
        config.secret(KEY).is_some() || !config.text("platforms.api_server.extra.key").is_empty();
    if !has_key {
        let key = SecretString::new(hermes_fs::random_hex(KEY_DIGITS));
        let place = write_variable(context, KEY, &key)?;
        context.note(format!("A new key is in {place} as {KEY}."))?;
    }
    if config.get(ENABLED).and_then(Value::as_bool) == Some(false) {
        write_setting(context, ENABLED, "true")?;
    }
    Ok(())
}

/// Says what there is now, and what is left to do.
fn tell(context: &Context) -> Result<()> {
    match ApiServerState::find(context) {
        ApiServerState::Off => context.note("The API is off.")?,
        ApiServerState::Refused(reason) => context.warn(reason)?,
        ApiServerState::NoGateway(address) | ApiServerState::Serving(address) => context.note(
            format!("Programs find it at {}/v1, with {KEY}.", address.url()),
        )?,
        // That was before; the log says how it is now.
        ApiServerState::Failed(_) => {}
    }
    if gateway_row(context).pid.is_some() {
        return context.note("The gateway that is running notices the change.");
    }
    let profile = context.profile_flag();
    context.hint(format!(
        "`hermes {profile}gateway start` starts the gateway until the next reboot; where systemd or \
         launchd runs, `hermes {profile}gateway install` keeps it running"
    ))
}
