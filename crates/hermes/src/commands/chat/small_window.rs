//! What is done about a model with a small window: told once, refused only where the settings want
//! that.

use hermes_providers::RouteInfo;

use crate::context::Context;
use crate::error::{CommandError, Result};

/// Windows below this leave little room beside prompt and tools.
const COMFORTABLE: u64 = 64_000;

/// Warns of a small window, or refuses it (`model.min_context_enforcement`).
pub(super) fn check(route: &RouteInfo, context: &Context) -> Result<()> {
    let window = route.context_length;
    if window >= COMFORTABLE {
        return Ok(());
    }
    let model = &route.model;
    let sentence = format!("{model} has a window of {window} tokens, less than {COMFORTABLE}");
    match context.config().text("model.min_context_enforcement") {
        "off" => Ok(()),
        "strict" => Err(CommandError::user(sentence)
            .hint("choose another model, or set `model.min_context_enforcement` to `warn`")),
        _ => {
            let hint = "long tasks are summarised early; `model.context_length` corrects the size, \
                        `model.min_context_enforcement: off` ends this warning";
            Ok(context.printer.warn(sentence, Some(hint))?)
        }
    }
}
