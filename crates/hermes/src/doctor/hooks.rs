//! Hooks: what of the settings cannot be used, and what nobody has accepted.

use hermes_runtime::ProfileHooks;

use super::row::Report;
use crate::context::Context;
use crate::ui::counted;

const ROW: &str = "hooks";

/// Without hooks there is no row. Nothing is run.
pub(super) fn check(context: &Context, report: &mut Report) {
    let found = ProfileHooks::with_gateway(context);
    report.section = "Hooks";
    for problem in &found.problems {
        report.warning(ROW, problem.clone());
    }
    let unseen = found.unseen().count();
    if unseen > 0 {
        let text = format!("{} not accepted, and so not run", counted(unseen, "hook"));
        report
            .warning(ROW, text)
            .hint("`hermes hooks list` shows them; `hermes chat` asks at a terminal");
    } else if !found.hooks.is_empty() {
        report.ok(
            ROW,
            format!("{} accepted", counted(found.hooks.len(), "hook")),
        );
    }
}
