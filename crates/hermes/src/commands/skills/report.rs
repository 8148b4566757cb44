//! What a scan found, and `hermes skills audit`.

use hermes_skills::guard::{ScanReport, Severity, deep_findings};

use super::hub;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Findings that are shown of one skill.
const SHOWN: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// The skill; without one, all that were installed
    name: Option<String>,
    /// Show also what Python files could run
    #[arg(long)]
    deep: bool,
}

/// Shows what is more than a remark.
pub(super) fn show_findings(report: &ScanReport, context: &Context) -> Result<()> {
    let serious = report
        .findings
        .iter()
        .filter(|one| one.severity >= Severity::Medium);
    for finding in serious.take(SHOWN) {
        let place = match finding.line {
            0 => one_line(&finding.file, 120),
            line => format!("{}:{line}", one_line(&finding.file, 120)),
        };
        let severity = format!("{:?}", finding.severity).to_lowercase();
        context.note(format!(
            "  {severity}: {} ({}) {place}",
            finding.rule, finding.category
        ))?;
    }
    Ok(())
}

pub(super) fn audit(args: &AuditArgs, context: &Context) -> Result<()> {
    let hub = hub(context);
    let installed = hub.installed()?;
    let chosen: Vec<_> = match &args.name {
        Some(name) => {
            let found = installed.get(name);
            vec![found.ok_or_else(|| not_installed(name))?]
        }
        None => installed.values().collect(),
    };
    if chosen.is_empty() {
        return context.line("No skills were installed");
    }
    let mut dangerous = 0;
    for skill in chosen {
        let report = match hub.audit(skill) {
            Ok(report) => report,
            Err(error) => {
                context.warn(format!("{}: {error}", skill.name))?;
                continue;
            }
        };
        context.line(format!("{}: {}", skill.name, report.verdict.as_str()))?;
        show_findings(&report, context)?;
        if args.deep {
            for finding in deep_findings(&hub.directory_of(skill)?)? {
                let place = format!("{}:{}", one_line(&finding.file, 120), finding.line);
                context.note(format!("  python: {} {place}", finding.rule))?;
            }
        }
        dangerous += usize::from(report.is_dangerous());
    }
    if dangerous > 0 {
        return Err(CommandError::user("the scan objects to an installed skill")
            .hint("`hermes skills uninstall NAME` removes it"));
    }
    Ok(())
}

/// No such skill was installed.
pub(super) fn not_installed(name: &str) -> CommandError {
    CommandError::user(format!(
        "'{}' was not installed from elsewhere",
        one_line(name, 64)
    ))
    .hint("`hermes skills list --source hub` shows what was")
}
