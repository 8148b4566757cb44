//! The API server: whether its settings allow one, whether it could listen, whether it answers.

use hermes_api::ApiSettings;

use super::row::Report;
use crate::api_server_state::ApiServerState;
use crate::context::Context;

const ROW: &str = "api_server";

pub(super) fn check(context: &Context, report: &mut Report) {
    report.section = "API Server";
    match ApiServerState::find(context) {
        ApiServerState::Off => report.ok(ROW, "off"),
        ApiServerState::Refused(reason) => {
            report.problem(ROW, reason);
        }
        ApiServerState::Failed(reason) => {
            report
                .problem(ROW, format!("the gateway runs without it: {reason}"))
                .hint("`hermes logs gateway` shows more");
        }
        ApiServerState::Serving(address) => report.ok(ROW, address.url()),
        ApiServerState::NoGateway(address) => match address.obstacle() {
            Some(reason) => {
                let text = format!("it could not listen on {}: {reason}", address.url());
                report
                    .problem(ROW, text)
                    .hint("set another API_SERVER_PORT, or end what listens there");
            }
            None => {
                let text = format!("{} is configured, but no gateway runs", address.url());
                report
                    .warning(ROW, text)
                    .hint("`hermes gateway start` starts it");
            }
        },
    }
    if let Ok(Some(settings)) = ApiSettings::resolve(context) {
        for warning in settings.warnings {
            report.warning(ROW, warning);
        }
    }
}

/// Asks a server that should be there.
pub(super) fn check_deeply(context: &Context, report: &mut Report) {
    report.section = "API Server";
    if let ApiServerState::Serving(address) = ApiServerState::find(context) {
        match address.ask() {
            Ok(()) => report.ok(ROW, format!("{} answers", address.url())),
            Err(reason) => {
                let text = format!("{} does not answer: {reason}", address.url());
                report
                    .problem(ROW, text)
                    .hint("`hermes logs gateway` shows more");
            }
        }
    }
}
