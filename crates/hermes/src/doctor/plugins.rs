//! Plugins: which are enabled and cannot be used, and what they need.

use hermes_runtime::ProfilePlugins;

use super::row::Report;
use crate::context::Context;
use crate::ui::{counted, one_line};

const ROW: &str = "plugins";

/// Without enabled plugins there is no row. Nothing is run.
pub(super) fn check(context: &Context, report: &mut Report) {
    let found = ProfilePlugins::of(context);
    report.section = "Plugins";
    let mut enabled = 0;
    for plugin in found.enabled() {
        enabled += 1;
        let key = &plugin.key;
        for problem in found.problems(plugin) {
            let text = format!("{key}: {}", one_line(&problem, 300));
            report.warning(ROW, text).hint(format!(
                "to switch it off, run: hermes plugins disable {key}"
            ));
        }
        if let Ok(manifest) = &plugin.manifest {
            for name in ProfilePlugins::missing_variables(manifest, context.config()) {
                report
                    .warning(ROW, format!("{key} needs {name}, which has no value"))
                    .hint(format!("run: hermes config set {name} VALUE"));
            }
        }
    }
    let is_missing = |name: &&String| found.discovery.find(name).is_none();
    for name in found.settings.enabled.iter().filter(is_missing) {
        let name = one_line(name, 64);
        report
            .warning(
                ROW,
                format!("plugins.enabled has '{name}', which is not installed"),
            )
            .hint("`hermes plugins list` shows what is installed");
    }
    let usable = found.active().count();
    if enabled > 0 && usable == enabled {
        report.ok(ROW, format!("{} enabled", counted(usable, "plugin")));
    }
}
