//! `POST /api/gateway/drain`: the gateway takes no new work, or takes it again. The file in the home is
//! what it follows; this endpoint writes and removes it.

use hermes_supervise::DrainRequest;
use serde_json::json;

use crate::call::{Answered, Call, flag_of, text_of};
use crate::gate::Access;
use crate::http::ApiError;

pub(crate) fn drain(call: &Call) -> Answered {
    let body = call.optional_object()?;
    let action = text_of(&body, "action")?.unwrap_or("drain");
    let quietly = flag_of(&body, "suppress_notification")?.unwrap_or(false);
    let context = call.context();
    let request = DrainRequest::of_home(&context.location.home);
    let principal = match &call.visitor.access {
        Access::Drain => "drain-control",
        _ => "dashboard",
    };
    match action.trim().to_lowercase().as_str() {
        "drain" => {
            context.ensure_home()?;
            let requested_at = request.ask(principal, quietly)?;
            tracing::info!(principal, "the gateway is asked to take no new work");
            call.answer(json!({
                "ok": true,
                "action": "drain",
                "requested_at": requested_at,
                "draining": request.is_active(),
                "suppress_notification": quietly,
            }))
        }
        "cancel" => {
            let was_draining = request.cancel()?;
            tracing::info!(principal, was_draining, "the gateway may take new work");
            call.answer(json!({"ok": true, "action": "cancel", "was_draining": was_draining}))
        }
        other => {
            let shown = hermes_text::shown(other, 80);
            let message = format!("there is no action {shown}; it is drain or cancel");
            Err(ApiError::bad_request(message))
        }
    }
}
