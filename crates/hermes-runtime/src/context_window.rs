//! A model with a small context window: warned about, or refused where the settings ask for that.

use hermes_providers::RouteInfo;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::person::Person;

/// Windows below this many tokens leave little room beside prompt and tools.
const COMFORTABLE: u64 = 64_000;

/// Warns about a small context window, or refuses it (`model.min_context_enforcement`).
pub(crate) fn check(route: &RouteInfo, context: &Context, person: &dyn Person) -> Result<()> {
    let window = route.context_length;
    if window >= COMFORTABLE {
        return Ok(());
    }
    let model = &route.model;
    let sentence =
        format!("{model} has a context window of {window} tokens, less than {COMFORTABLE}");
    match context.config().text("model.min_context_enforcement") {
        "off" => Ok(()),
        "strict" => Err(Error::user(
            sentence,
            Some("choose another model, or set `model.min_context_enforcement` to `warn`"),
        )),
        _ => {
            let hint = "long tasks are summarised early; `model.context_length` corrects the size, \
                        `model.min_context_enforcement: off` ends this warning";
            person.warn(&sentence, Some(hint));
            Ok(())
        }
    }
}
