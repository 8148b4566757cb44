//! Add-ons: whether the store can be used, and what is in it.

use hermes_addons::{Addons, CollectRequest, Gate, Overview, State, VerifyMode, WorkerState};
use hermes_runtime::{ProfilePlugins, addons_of};

use super::row::Report;
use crate::context::Context;
use crate::sandbox_view::SandboxView;
use crate::ui::{counted, human_size};

/// Without add-ons and with nothing in the way of them there is no row. Looks at files only.
pub(super) fn check(context: &Context, report: &mut Report) {
    let addons = addons_of(context);
    let overview = addons.overview();
    let is_active = overview
        .addons
        .iter()
        .any(hermes_addons::AddonRow::is_active);
    report.section = "Add-ons";
    if is_active || overview.problem.is_some() {
        store(context, &overview, report);
        features(&overview, report);
    }
    needs(&overview, report);
}

/// Everything, with a look at the interpreter and at sizes and modes of all files.
pub(super) fn check_closely(context: &Context, report: &mut Report) {
    let addons = addons_of(context);
    let overview = addons.overview();
    report.section = "Add-ons";
    for warning in &addons.settings().warnings {
        report.warning("addon_settings", warning.clone());
    }
    gate(&addons, report);
    store(context, &overview, report);
    interpreter(&addons, report);
    confinement(context, &addons, report);
    features(&overview, report);
    needs(&overview, report);
    damage(&addons, report);
    leftovers(context, &addons, report);
}

fn gate(addons: &Addons, report: &mut Report) {
    match (addons.settings().gate(), addons.settings().gate().refusal()) {
        (Gate::Open, _) | (_, None) => report.ok("addon_gate", "installing is allowed"),
        (Gate::ClosedByConfig | Gate::ClosedByEnvironment, Some((_, reason, hint))) => {
            report.warning("addon_gate", reason).hint(hint);
        }
    }
}

fn store(context: &Context, overview: &Overview, report: &mut Report) {
    let path = context.display(&overview.store.path);
    if let Some(problem) = &overview.problem {
        report
            .problem("addon_store", problem.to_string())
            .hints(problem.hint.clone());
        return;
    }
    let free = overview
        .store
        .free_bytes
        .map_or_else(String::new, |free| format!(", {} free", human_size(free)));
    let built = overview
        .store
        .abi
        .as_deref()
        .unwrap_or("no interpreter yet");
    report.ok(
        "addon_store",
        format!(
            "store: {path}, {}{free}, for {built}",
            human_size(overview.store.bytes)
        ),
    );
    let legacy = overview.store.legacy_packages;
    if legacy > 0 {
        let text = format!(
            "{} of the Python runtime in the store, not used here",
            counted(legacy, "package")
        );
        report
            .warning("addon_legacy", text)
            .hint("to remove them, run: hermes addons gc --legacy");
    }
}

fn interpreter(addons: &Addons, report: &mut Report) {
    match addons.interpreter() {
        Ok(found) => report.ok(
            "addon_python",
            format!("Python {}: {}", found.version, found.path.display()),
        ),
        Err(error) => {
            report
                .warning("addon_python", error.reason.clone())
                .hints(error.hint);
        }
    }
}

/// Whether workers are more than processes of their own.
fn confinement(context: &Context, addons: &Addons, report: &mut Report) {
    if !addons.settings().confines_workers() {
        let text = "the processes of add-ons are not confined (addons.worker.sandbox is off)";
        report.warning("addon_sandbox", text);
        return;
    }
    match SandboxView::of(context).enforcement {
        Ok(found) if found.landlock != 0 => {
            report.ok(
                "addon_sandbox",
                "the kernel confines the processes of add-ons",
            );
        }
        _ => {
            let text = "this kernel has no Landlock: the process of an add-on can only crash alone, \
                        and reads what you can read";
            report.warning("addon_sandbox", text);
        }
    }
}

/// What settings name and what is not there.
fn needs(overview: &Overview, report: &mut Report) {
    let missing = overview
        .addons
        .iter()
        .filter(|row| !row.needed_by.is_empty() && !row.is_active());
    for row in missing {
        let (name, settings) = (&row.feature, row.needed_by.join(", "));
        let text = format!("{name} is not installed; {settings} needs it");
        // A tool installs its own; the version of a package is for people to name.
        if row.kind == "node" {
            report
                .problem("addon_needed", text)
                .hint(format!("run: hermes addons install {name}@<version>"));
        } else {
            report.warning("addon_needed", text).hint(format!(
                "run: hermes addons install {name}, or wait for its first use"
            ));
        }
    }
}

fn features(overview: &Overview, report: &mut Report) {
    for row in overview.addons.iter().filter(|row| row.is_active()) {
        let name = &row.feature;
        let again = format!("run: hermes addons install {name}");
        worker(row, report);
        match row.state {
            State::Installed | State::Installing => {
                let version = row.version.as_ref();
                let version = version.map_or_else(String::new, |version| format!(" {version}"));
                let text = format!("{name}{version} ({})", row.state.name());
                report.ok("addon", text);
            }
            State::Stale => {
                let text = format!("{name} is in use in another version than this build pins");
                report.warning("addon", text).hint(again);
            }
            State::Broken => {
                let text = format!("{name} cannot be used: its files or its interpreter are gone");
                report.problem("addon", text).hint(again);
            }
            State::Failed => {
                let why = row.failure.as_ref().map(|failure| failure.message.as_str());
                let text = format!("{name} could not be installed: {}", why.unwrap_or_default());
                report.warning("addon", text).hint(again);
            }
            State::Native
            | State::Planned
            | State::Absent
            | State::Blocked
            | State::Unsupported => {}
        }
    }
}

/// A worker that is not started any more.
fn worker(row: &hermes_addons::AddonRow, report: &mut Report) {
    let failed = row.worker.as_ref();
    let failed = failed.filter(|worker| worker.state == WorkerState::Failed);
    if let Some(worker) = failed {
        let name = &row.feature;
        let why = worker.last_crash.as_deref().unwrap_or_default();
        report
            .problem(
                "addon_worker",
                format!("{name} crashed {} times: {why}", worker.restarts),
            )
            .hint(format!("run: hermes addons restart {name}"));
    }
}

fn damage(addons: &Addons, report: &mut Report) {
    let Ok(found) = addons.verify(&[], VerifyMode::Fast) else {
        // Said of the store already.
        return;
    };
    for one in found.iter().filter(|one| !one.ok) {
        report
            .problem("addon_files", format!("{} is damaged", one.feature))
            .hint(format!(
                "run: hermes addons verify --repair {}",
                one.feature
            ));
    }
}

fn leftovers(context: &Context, addons: &Addons, report: &mut Report) {
    let would = CollectRequest {
        dry_run: true,
        legacy: false,
        plugins: ProfilePlugins::of(context).known_keys(),
    };
    let Ok(collected) = addons.collect(&would) else {
        return;
    };
    if !collected.removed.is_empty() {
        let text = format!("{} no longer needed", human_size(collected.bytes));
        report
            .warning("addon_leftovers", text)
            .hint("run: hermes addons gc");
    }
}
