//! The supervisor of a container: its own services, and a slot for every profile.

use hermes_supervise::{ManagerError, S6, SlotStatus};

use super::row::Report;
use crate::context::Context;
use crate::gateways::homes;
use crate::machine::slot_of_profile;

const ROW: &str = "s6";

pub(super) fn check(context: &Context, report: &mut Report) {
    let default = hermes_home::ProfileName::default_profile();
    let Some(s6) = slot_of_profile(context, &default) else {
        return;
    };
    report.section = "s6 Supervision";
    services(&s6, report);
    let profiles = match homes(context) {
        Ok(homes) => homes.into_iter().map(|(profile, _)| profile),
        Err(error) => {
            report.problem(ROW, error.message);
            return;
        }
    };
    let (mut up, mut count) = (Vec::new(), 0);
    for profile in profiles {
        if !s6.slots().has(&profile) {
            report
                .warning(ROW, format!("{profile}: s6 has no slot for its gateway"))
                .hint(format!(
                    "`hermes -p {profile} gateway start` registers one and starts it"
                ));
            continue;
        }
        count += 1;
        match s6.slots().status(&profile) {
            Ok(status) if status.is_up => up.push(profile.to_string()),
            Ok(_) => {}
            Err(error) => {
                report.problem(ROW, format!("{profile}: {error}"));
            }
        }
    }
    let names = match up.as_slice() {
        [] => String::new(),
        up => format!(" ({})", up.join(", ")),
    };
    let text = format!(
        "Per-profile gateways: {}/{count} supervised up{names}",
        up.len()
    );
    report.ok(ROW, text);
}

/// The services of the image, where it is one.
fn services(s6: &S6, report: &mut Report) {
    let state = |name: &str| s6.slots().status_of_service(name);
    match state("main-hermes") {
        Some(Ok(SlotStatus { is_up: true, .. })) => report.ok(ROW, "main-hermes: up"),
        Some(Ok(_)) => {
            report
                .problem(ROW, "main-hermes: down")
                .hint("restart the container");
        }
        Some(Err(error)) => unknown("main-hermes", &error, report),
        None => {}
    }
    match state("dashboard") {
        Some(Ok(SlotStatus { is_up: true, .. })) => report.ok(ROW, "dashboard: up"),
        Some(Ok(_)) => report.ok(ROW, "dashboard: down (expected if not enabled via env)"),
        Some(Err(error)) => unknown("dashboard", &error, report),
        None => {}
    }
}

fn unknown(name: &str, error: &ManagerError, report: &mut Report) {
    report.warning(ROW, format!("{name}: {error}"));
}
