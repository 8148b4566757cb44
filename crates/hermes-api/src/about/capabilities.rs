//! `GET /v1/capabilities`.

use hermes_serve::Route;
use serde_json::{Map, Value, json};

use crate::call::{Answered, Call, json as answer};

pub(crate) async fn capabilities(call: Call) -> Answered {
    let settings = &call.app.settings;
    Ok(answer(&json!({
        "object": "hermes.api_server.capabilities",
        "platform": "hermes-agent",
        "model": settings.model_name,
        "auth": {"type": "bearer", "required": true},
        "runtime": {
            "mode": "server_agent",
            "tool_execution": "server",
            "split_runtime": false,
            "description": "The agent runs in the server; its tools work on the server's machine or \
                in the backend that its settings name.",
        },
        "features": {
            "chat_completions": true,
            "chat_completions_streaming": true,
            "responses_api": true,
            "responses_streaming": true,
            "run_submission": true,
            "run_status": true,
            "run_events_sse": true,
            "run_events_replay": true,
            "run_stop": true,
            "run_approval_response": true,
            "tool_progress_events": true,
            "approval_events": true,
            "session_resources": true,
            "session_chat": true,
            "session_chat_streaming": true,
            "session_fork": true,
            "admin_config_rw": false,
            "jobs_admin": true,
            "memory_write_api": false,
            "skills_api": true,
            "audio_api": false,
            "realtime_voice": false,
            "session_continuity_header": "X-Hermes-Session-Id",
            "session_key_header": "X-Hermes-Session-Key",
            "cors": !settings.origins.are_none(),
        },
        "endpoints": endpoints(call.app.routes),
    })))
}

fn endpoints(routes: &[Route]) -> Map<String, Value> {
    let endpoints = routes.iter().map(|route| {
        let place = json!({"method": route.verb.name(), "path": route.path});
        (route.name.to_owned(), place)
    });
    endpoints.collect()
}
