//! Whether a conversation could run: provider, model, key.

use hermes_providers::{
    AuxiliaryModels, ModelOverrides, OpenError, RouteCheck, ServerRefusal, usable_fallbacks,
};

use super::row::Report;
use crate::context::Context;
use crate::ui::counted;

/// Resolves the route of a conversation; asks the provider only if wanted.
pub(super) fn check(context: &Context, online: bool, report: &mut Report) {
    report.section = "Model Provider";
    let config = context.config();
    let fallbacks = usable_fallbacks(config);
    match RouteCheck::resolve(config) {
        Ok(found) => {
            let place = match found.host.as_str() {
                "" => String::new(),
                host => format!(" ({host})"),
            };
            report.ok("provider", format!("{}{place}", found.provider));
            report.ok(
                "model",
                match &found.model {
                    Some(model) => format!("model {model}"),
                    None if found.host.is_empty() => "the script has its own model".to_owned(),
                    None => "no model is set; the server is asked for its only one".to_owned(),
                },
            );
            report.ok(
                "provider_key",
                match found.keys {
                    0 => "no key, and none is needed".to_owned(),
                    count => counted(count, "key"),
                },
            );
            if online {
                ask(context, &found, report);
            }
        }
        Err(error) if fallbacks > 0 => {
            report
                .warning("provider", format!("{error}; the fallback chain is used"))
                .hint(error.hint());
        }
        Err(error) => {
            let id = match error {
                OpenError::NoModel { .. } => "model",
                OpenError::NoKey { .. } => "provider_key",
                _ => "provider",
            };
            report
                .problem(id, format!("no conversation can run: {error}"))
                .hint(error.hint());
            return;
        }
    }
    if fallbacks > 0 {
        report.ok("fallbacks", counted(fallbacks, "usable fallback"));
    }
    check_delegation(context, report);
}

/// The model of sub-agents, if `delegation` names one.
fn check_delegation(context: &Context, report: &mut Report) {
    let models = AuxiliaryModels::new(context.config(), ModelOverrides::default());
    match models.open_delegated() {
        Ok(None) => {}
        Ok(Some(provider)) => {
            let route = provider.route();
            let text = format!("sub-agents use {} of {}", route.model, route.provider);
            report.ok("delegation", text);
        }
        Err(error) => {
            report
                .warning("delegation", format!("sub-agents cannot run: {error}"))
                .hint(error.hint());
        }
    }
}

fn ask(context: &Context, found: &RouteCheck, report: &mut Report) {
    let host = &found.host;
    match found.ask(context.config()) {
        None => {}
        Some(Ok(names)) => match &found.model {
            Some(model) if !names.is_empty() && !names.contains(model) => {
                report
                    .warning(
                        "provider_online",
                        format!("{host} answers, but does not list the model {model}"),
                    )
                    .hint("check `model.default`; some servers also take names they do not list");
            }
            _ => report.ok(
                "provider_online",
                format!("{host} answers and accepts the key"),
            ),
        },
        // Not every server has such a list.
        Some(Err(ServerRefusal::Status {
            status: 404 | 405, ..
        })) => report.ok(
            "provider_online",
            format!("{host} answers, but has no list of models to check"),
        ),
        Some(Err(ServerRefusal::Status {
            status: status @ (401 | 403),
            ..
        })) => {
            report
                .problem(
                    "provider_online",
                    format!("{host} refuses the request with status {status}"),
                )
                .hint(format!(
                    "check the key, or add another with `hermes auth add {}`",
                    found.provider
                ));
        }
        Some(Err(ServerRefusal::Status { status, .. })) => {
            report.warning(
                "provider_online",
                format!("{host} answers with status {status}"),
            );
        }
        Some(Err(ServerRefusal::NotJson)) => {
            report
                .warning(
                    "provider_online",
                    format!("{host} answers with a page instead of a list of models"),
                )
                .hint("a proxy or a login page of the network may be in between");
        }
        Some(Err(ServerRefusal::Unreachable(reason))) => {
            report
                .problem(
                    "provider_online",
                    format!("{host} cannot be reached: {reason}"),
                )
                .hint("check the network, the proxy settings and `model.base_url`");
        }
    }
}
