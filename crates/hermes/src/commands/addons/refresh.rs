//! Add-ons after an update of the program: what is in use comes to the versions that this build pins.

use hermes_addons::{Addons, InstallRequest, State};

use super::addons;
use super::progress::install_with_progress;
use crate::context::Context;
use crate::error::Result;
use crate::ui::counted;

/// Characters of a reason that are shown.
const REASON: usize = 200;

/// Brings the add-ons in use up to date and says what became of each. Whatever fails is told and serves
/// as before; it is no failure of the update.
pub(crate) fn refresh_addons(context: &Context) -> Result<()> {
    let addons = addons(context)?;
    let active = addons.active();
    if active.is_empty() {
        return Ok(());
    }
    let count = counted(active.len(), "active add-on");
    context.line(format!("→ Refreshing {count}"))?;
    let (mut refreshed, mut current) = (Vec::new(), Vec::new());
    let mut rest = Vec::new();
    for (feature, state) in active {
        if state == State::Installed {
            current.push(feature);
            continue;
        }
        match renewed(context, &addons, &feature)? {
            Ok(()) => refreshed.push(feature),
            Err(line) => rest.push(line),
        }
    }
    for (mark, what, names) in [("↑", "refreshed", refreshed), ("✓", "current", current)] {
        if !names.is_empty() {
            let (count, names) = (names.len(), names.join(", "));
            context.line(format!("  {mark} {count} {what}: {names}"))?;
        }
    }
    rest.iter().try_for_each(|line| context.line(line))
}

/// Installs a feature in the version of this build; otherwise the line that says why not.
fn renewed(
    context: &Context,
    addons: &Addons,
    feature: &str,
) -> Result<std::result::Result<(), String>> {
    if let Some((_, reason, _)) = addons.settings().gate().refusal() {
        return Ok(Err(format!("  · {feature} skipped: {reason}")));
    }
    context.start_logging();
    let request = InstallRequest {
        feature: feature.to_owned(),
        ..InstallRequest::default()
    };
    let outcome = install_with_progress(context, addons, request)?;
    Ok(outcome.map(drop).map_err(|error| {
        tracing::warn!(feature, code = error.code.name(), "{error}");
        let reason = hermes_text::one_line(&error.reason, REASON);
        format!("  ⚠ {feature} failed: {reason}")
    }))
}
