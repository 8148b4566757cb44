//! Every endpoint, once: the router, the OpenAPI document and `/v1/capabilities` are made from this
//! table.

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use hyper::{Request, StatusCode};

use crate::about;
use crate::chat;
use crate::http::ApiError;
use crate::jobs;
use crate::responses;
use crate::runs;
use crate::sessions;

hermes_serve::routes! {
    "health" Get "/health" "Whether the server is there" waiting about::health;
    "health_v1" Get "/v1/health" "Whether the server is there" waiting about::health;
    "health_detailed" Get "/health/detailed" "State of the gateway and readiness of its parts" waiting about::health_detailed;
    "metrics" Get "/metrics" "Numbers for Prometheus" waiting about::metrics;
    "openapi" Get "/openapi.json" "This document" waiting about::openapi;
    "models" Get "/v1/models" "The models that can be asked" waiting about::models;
    "capabilities" Get "/v1/capabilities" "What this server can do" waiting about::capabilities;
    "skills" Get "/v1/skills" "The skills of the profile" waiting about::skills;
    "toolsets" Get "/v1/toolsets" "The toolsets of the profile" waiting about::toolsets;
    "chat_completions" Post "/v1/chat/completions" "An answer in the format of Chat Completions" waiting chat::chat_completions;
    "responses" Post "/v1/responses" "An answer in the format of Responses" waiting responses::create;
    "response" Get "/v1/responses/{response_id}" "A stored response" waiting responses::show;
    "response_delete" Delete "/v1/responses/{response_id}" "Deletes a stored response" waiting responses::delete;
    "runs" Post "/v1/runs" "Begins a turn and returns at once" waiting runs::create;
    "run_status" Get "/v1/runs/{run_id}" "How a run is doing" waiting runs::show;
    "run_events" Get "/v1/runs/{run_id}/events" "The events of a run, from the beginning or after `Last-Event-ID`" waiting runs::events;
    "run_approval" Post "/v1/runs/{run_id}/approval" "Answers a question of a run" waiting runs::approve;
    "run_stop" Post "/v1/runs/{run_id}/stop" "Stops a run" waiting runs::stop;
    "sessions" Get "/api/sessions" "Conversations, latest first" waiting sessions::list;
    "session_create" Post "/api/sessions" "Creates an empty conversation" waiting sessions::create;
    "session" Get "/api/sessions/{session_id}" "A conversation" waiting sessions::show;
    "session_update" Patch "/api/sessions/{session_id}" "Changes the title of a conversation, or ends it" waiting sessions::update;
    "session_delete" Delete "/api/sessions/{session_id}" "Deletes a conversation" waiting sessions::delete;
    "session_messages" Get "/api/sessions/{session_id}/messages" "The messages of a conversation" waiting sessions::messages;
    "session_fork" Post "/api/sessions/{session_id}/fork" "Continues a conversation in a copy" waiting sessions::fork;
    "session_chat" Post "/api/sessions/{session_id}/chat" "One turn of a conversation" waiting sessions::chat;
    "session_chat_stream" Post "/api/sessions/{session_id}/chat/stream" "One turn of a conversation, as events" waiting sessions::chat_stream;
    "jobs" Get "/api/jobs" "The scheduled jobs" waiting jobs::list;
    "job_create" Post "/api/jobs" "Schedules a job" waiting jobs::create;
    "job" Get "/api/jobs/{job_id}" "A scheduled job" waiting jobs::show;
    "job_update" Patch "/api/jobs/{job_id}" "Changes a scheduled job" waiting jobs::update;
    "job_delete" Delete "/api/jobs/{job_id}" "Deletes a scheduled job and its outputs" waiting jobs::delete;
    "job_pause" Post "/api/jobs/{job_id}/pause" "Keeps a job from running" waiting jobs::pause;
    "job_resume" Post "/api/jobs/{job_id}/resume" "Lets a job run again" waiting jobs::resume;
    "job_run" Post "/api/jobs/{job_id}/run" "Makes a job due now" waiting jobs::run;
}

/// The router of all endpoints.
pub(crate) fn router() -> Router {
    hermes_serve::router(ROUTES)
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
}

async fn not_found(request: Request<Body>) -> Response {
    let path = hermes_text::shown(request.uri().path(), 200);
    let error = ApiError::not_found(format!("there is nothing at {path}")).code("not_found");
    error.into_response()
}

async fn method_not_allowed(request: Request<Body>) -> Response {
    let path = hermes_text::shown(request.uri().path(), 200);
    let message = format!("{path} does not take {}", request.method());
    let error = ApiError::refused(StatusCode::METHOD_NOT_ALLOWED, message);
    error.code("method_not_allowed").into_response()
}
