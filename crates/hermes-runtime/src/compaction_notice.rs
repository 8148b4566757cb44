//! Says once that conversations with a model of the Codex service use more of its window
//! (`compression.codex_gpt55_autoraise_notice`).

use hermes_agent::{Parts, raised_threshold};

use crate::context::Context;
use crate::person::Person;

/// The file that says what was told, as the reference has it.
const TOLD: &str = ".codex_gpt55_autoraise_notice";
/// Longest content of that file that is read.
const LONGEST: u64 = 1_024;

/// Tells the person, unless they were told the same before.
pub(crate) fn tell(parts: &Parts, context: &Context, person: &dyn Person) {
    let settings = &parts.settings.compaction;
    let config = context.config();
    if !settings.enabled || !config.flag("compression.codex_gpt55_autoraise_notice") {
        return;
    }
    let route = parts.provider.route();
    let Some(raised) = raised_threshold(settings, &route) else {
        return;
    };
    let model = route.model.rsplit('/').next().unwrap_or_default();
    let (usual, raised) = (percent(settings.threshold), percent(raised));
    let told = format!("{}:{usual}:{raised}", model.to_ascii_lowercase());
    let file = context.location.home.join(TOLD);
    let known = hermes_fs::read_text_capped(&file, LONGEST).unwrap_or_default();
    if known.trim() == told {
        return;
    }
    person.notify(&format!(
        "The window of {model} is smaller at this service, so conversations are shortened at {raised} % \
         of it instead of {usual} %. `hermes config set compression.codex_gpt55_autoraise false` changes \
         that."
    ));
    hermes_telemetry::best_effort("remember a notice", || {
        hermes_fs::write_atomic(&file, told.as_bytes(), 0o600)
    });
}

fn percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}
