//! The gateways of all profiles: what they should do, and what they do.

use super::row::Report;
use crate::context::Context;
use crate::gateways::{GatewayRow, all_gateways};

pub(super) fn check(context: &Context, report: &mut Report) {
    report.section = "Gateways";
    let rows = match all_gateways(context) {
        Ok(rows) => rows,
        Err(error) => {
            report.problem("gateway", error.message);
            return;
        }
    };
    for row in rows {
        describe(&row, report);
    }
}

fn describe(row: &GatewayRow, report: &mut Report) {
    let name = &row.name;
    let start = format!("`hermes -p {name} gateway start` starts it");
    let reason = hermes_text::shown(row.text("exit_reason").unwrap_or_default(), 200);
    if let Some(host) = &row.other_host {
        let host = hermes_text::shown(host, 64);
        let text = format!("{name}: a gateway of this home runs on host {host}");
        report
            .warning("gateway", text)
            .hint("a home has one gateway; one in another container is looked after from there");
        return;
    }
    let Some(pid) = row.pid else {
        match (row.text("desired_state"), row.text("gateway_state")) {
            (_, Some("startup_failed")) => {
                let text = format!("{name}: the gateway could not start: {reason}");
                let hint = format!("once that is mended, {start}");
                report.problem("gateway", text).hint(hint);
            }
            (Some("running"), _) => {
                let text = format!("{name}: the gateway should be running, but is not");
                report.warning("gateway", text).hint(start);
            }
            _ => report.ok("gateway", format!("{name}: not running")),
        }
        return;
    };
    report.ok("gateway", format!("{name}: running (PID {pid})"));
    for (service, state, note) in row.services() {
        if state == "failed" {
            let (service, note) = (
                hermes_text::shown(service, 40),
                hermes_text::shown(note, 200),
            );
            report
                .warning(
                    "gateway_service",
                    format!("{name}: {service} failed: {note}"),
                )
                .hint(format!(
                    "`hermes -p {name} logs gateway` shows more; it is tried again by itself, and \
                     when settings change"
                ));
        }
    }
}
