//! Every endpoint, once: the router and the OpenAPI document are made from this table.

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use hermes_serve::{Verb, answer_with, disk, waiting};
use hyper::{Request, StatusCode};

use crate::admission;
use crate::api;
use crate::app::off_loop;
use crate::call::Call;
use crate::chat_runs;
use crate::chat_tab;
use crate::http::ApiError;
use crate::kanban;
use crate::openapi;
use crate::pages;
use crate::plugin_tabs;

hermes_serve::routes! {
    "status" Get "/api/status" "What runs here" waiting api::status::status;
    "sessions" Get "/api/sessions" "Conversations, latest first" waiting api::sessions::list;
    "sessions_search" Get "/api/sessions/search" "Searches all messages" disk api::sessions::search;
    "sessions_stats" Get "/api/sessions/stats" "How many conversations there are" disk api::sessions::stats;
    "sessions_bulk_delete" Post "/api/sessions/bulk-delete" "Deletes conversations" disk api::sessions::bulk_delete;
    "session" Get "/api/sessions/{session_id}" "A conversation" disk api::sessions::show;
    "session_update" Patch "/api/sessions/{session_id}" "Changes the title of a conversation, or archives it" disk api::sessions::update;
    "session_delete" Delete "/api/sessions/{session_id}" "Deletes a conversation" disk api::sessions::delete;
    "session_messages" Get "/api/sessions/{session_id}/messages" "The messages of a conversation" disk api::sessions::messages;
    "session_export" Get "/api/sessions/{session_id}/export" "A conversation with everything that is stored" disk api::sessions::export;
    "session_latest" Get "/api/sessions/{session_id}/latest-descendant" "Where a conversation goes on" disk api::sessions::latest_descendant;
    "config" Get "/api/config" "The settings as a form" disk api::config::show;
    "config_update" Put "/api/config" "Changes settings" disk api::config::update;
    "config_defaults" Get "/api/config/defaults" "The defaults of all settings" disk api::config::defaults;
    "config_schema" Get "/api/config/schema" "What settings there are" disk api::config::fields;
    "config_raw" Get "/api/config/raw" "config.yaml itself, secrets masked" disk api::config::raw;
    "config_raw_update" Put "/api/config/raw" "Replaces config.yaml" disk api::config::update_raw;
    "model_info" Get "/api/model/info" "The model in use" disk api::model::info;
    "model_options" Get "/api/model/options" "Providers and models to choose from" disk api::model::options;
    "model_auxiliary" Get "/api/model/auxiliary" "Models of tasks beside the conversation" disk api::model::auxiliary;
    "model_set" Post "/api/model/set" "Chooses a model" disk api::model::set;
    "providers_oauth" Get "/api/providers/oauth" "Providers with a login" disk api::logins::list;
    "provider_login_start" Post "/api/providers/oauth/{provider_id}/start" "Begins a login to a provider" disk api::logins::start;
    "provider_login_submit" Post "/api/providers/oauth/{provider_id}/submit" "Takes a code that was brought back" disk api::logins::submit;
    "provider_login_poll" Get "/api/providers/oauth/{provider_id}/poll/{session_id}" "How a login to a provider is doing" disk api::logins::poll;
    "provider_login_cancel" Delete "/api/providers/oauth/sessions/{session_id}" "Gives a login to a provider up" disk api::logins::cancel;
    "provider_logout" Delete "/api/providers/oauth/{provider_id}" "Forgets the login to a provider" disk api::logins::remove;
    "profiles" Get "/api/profiles" "The profiles of this installation" disk api::profiles::list;
    "profile_create" Post "/api/profiles" "Creates a profile" disk api::profiles::create;
    "profile_active" Get "/api/profiles/active" "The profile of this dashboard" disk api::profiles::active;
    "profile_rename" Patch "/api/profiles/{name}" "Renames a profile" disk api::profiles::rename;
    "profile_delete" Delete "/api/profiles/{name}" "Deletes a profile" disk api::profiles::delete;
    "profile_soul" Get "/api/profiles/{name}/soul" "The persona of a profile" disk api::profiles::soul;
    "profile_soul_set" Put "/api/profiles/{name}/soul" "Changes the persona of a profile" disk api::profiles::set_soul;
    "profile_setup_command" Get "/api/profiles/{name}/setup-command" "The command that sets up a profile" disk api::profiles::setup_command;
    "skills" Get "/api/skills" "The skills of the profile" disk api::skills::list;
    "skills_toggle" Put "/api/skills/toggle" "Switches a skill on or off" disk api::skills::toggle;
    "toolsets" Get "/api/tools/toolsets" "The toolsets of the profile" disk api::tools::toolsets;
    "analytics_usage" Get "/api/analytics/usage" "Tokens and cost by day" disk api::analytics::usage;
    "analytics_models" Get "/api/analytics/models" "Tokens and cost by model" disk api::analytics::models;
    "themes" Get "/api/dashboard/themes" "Themes of the front-end" disk api::appearance::themes;
    "theme_set" Put "/api/dashboard/theme" "Chooses a theme" disk api::appearance::set_theme;
    "plugins" Get "/api/dashboard/plugins" "Tabs that plugins add" disk plugin_tabs::list;
    "plugins_rescan" Get "/api/dashboard/plugins/rescan" "Looks for tabs of plugins again" disk plugin_tabs::rescan;
    "gateway_restart" Post "/api/gateway/restart" "Restarts the gateway" disk api::actions::gateway_restart;
    "gateway_start" Post "/api/gateway/start" "Starts the gateway" disk api::actions::gateway_start;
    "gateway_stop" Post "/api/gateway/stop" "Stops the gateway" disk api::actions::gateway_stop;
    "gateway_drain" Post "/api/gateway/drain" "Lets the gateway take no new work, or take it again" disk api::drain::drain;
    "hermes_update" Post "/api/hermes/update" "Says how this installation is updated" disk api::actions::update;
    "action_status" Get "/api/actions/{name}/status" "How an action is doing" disk api::actions::status;
    "logs" Get "/api/logs" "The end of a log" disk api::logs::logs;
    "env" Get "/api/env" "The variables of .env, masked" disk api::env::list;
    "env_set" Put "/api/env" "Sets a variable of .env" disk api::env::set;
    "env_remove" Delete "/api/env" "Removes a variable of .env" disk api::env::remove;
    "env_reveal" Post "/api/env/reveal" "A variable of .env in full" disk api::env::reveal;
    "cron_jobs" Get "/api/cron/jobs" "The scheduled jobs of all profiles, or of one" disk api::cron::list;
    "cron_job_create" Post "/api/cron/jobs" "Schedules a job" disk api::cron::create;
    "cron_job" Get "/api/cron/jobs/{job_id}" "A scheduled job" disk api::cron::show;
    "cron_job_update" Put "/api/cron/jobs/{job_id}" "Changes a scheduled job" disk api::cron::update;
    "cron_job_delete" Delete "/api/cron/jobs/{job_id}" "Deletes a scheduled job" disk api::cron::delete;
    "cron_job_pause" Post "/api/cron/jobs/{job_id}/pause" "Keeps a job from running" disk api::cron::pause;
    "cron_job_resume" Post "/api/cron/jobs/{job_id}/resume" "Lets a job run again" disk api::cron::resume;
    "cron_job_trigger" Post "/api/cron/jobs/{job_id}/trigger" "Makes a job due now" disk api::cron::trigger;
    "board" Get "/api/plugins/kanban/board" "The whole board" waiting kanban::view::board;
    "board_task_create" Post "/api/plugins/kanban/tasks" "Creates a card" disk kanban::cards::create;
    "board_tasks_bulk" Post "/api/plugins/kanban/tasks/bulk" "Changes many cards" disk kanban::cards::bulk;
    "board_task" Get "/api/plugins/kanban/tasks/{task_id}" "A card with everything that belongs to it" disk kanban::view::show;
    "board_task_update" Patch "/api/plugins/kanban/tasks/{task_id}" "Changes or moves a card" disk kanban::cards::update;
    "board_task_delete" Delete "/api/plugins/kanban/tasks/{task_id}" "Deletes a card" disk kanban::cards::delete;
    "board_task_comment" Post "/api/plugins/kanban/tasks/{task_id}/comments" "Comments on a card" disk kanban::cards::comment;
    "board_task_reclaim" Post "/api/plugins/kanban/tasks/{task_id}/reclaim" "Ends the worker of a card" disk kanban::cards::reclaim;
    "board_task_reassign" Post "/api/plugins/kanban/tasks/{task_id}/reassign" "Gives a card to another profile" disk kanban::cards::reassign;
    "board_task_specify" Post "/api/plugins/kanban/tasks/{task_id}/specify" "Lets a model specify a card" disk kanban::cards::specify;
    "board_task_decompose" Post "/api/plugins/kanban/tasks/{task_id}/decompose" "Lets a model split a card" disk kanban::cards::decompose;
    "board_task_why" Get "/api/plugins/kanban/tasks/{task_id}/why" "What a dispatcher would do with a card, and why" disk kanban::why::why;
    "board_task_review" Get "/api/plugins/kanban/tasks/{task_id}/review" "What the work on a card changed, and what was said about it" disk kanban::review::show;
    "board_review_comment" Post "/api/plugins/kanban/tasks/{task_id}/review/comments" "Comments on lines of a changed file" disk kanban::review::comment;
    "board_review_reply" Post "/api/plugins/kanban/tasks/{task_id}/review/comments/{number}/replies" "Answers a comment" disk kanban::review::reply;
    "board_review_resolve" Post "/api/plugins/kanban/tasks/{task_id}/review/comments/{number}/resolve" "Resolves a comment" disk kanban::review::resolve;
    "board_review_request_changes" Post "/api/plugins/kanban/tasks/{task_id}/review/request-changes" "Sends a card back to its worker, with the open comments" disk kanban::review::request_changes;
    "board_review_approve" Post "/api/plugins/kanban/tasks/{task_id}/review/approve" "Approves the work on a card: merges or pushes it as the card says" disk kanban::review::approve;
    "board_task_log" Get "/api/plugins/kanban/tasks/{task_id}/log" "What the worker of a card printed" disk kanban::workers::log;
    "board_link" Post "/api/plugins/kanban/links" "Makes a card wait for another" disk kanban::cards::link;
    "board_unlink" Delete "/api/plugins/kanban/links" "Removes a link" disk kanban::cards::unlink;
    "board_run" Get "/api/plugins/kanban/runs/{run_id}" "An attempt" disk kanban::workers::run;
    "board_run_inspect" Get "/api/plugins/kanban/runs/{run_id}/inspect" "Whether the process of an attempt lives" disk kanban::workers::inspect;
    "board_workers" Get "/api/plugins/kanban/workers/active" "The workers that run" disk kanban::workers::active;
    "board_diagnostics" Get "/api/plugins/kanban/diagnostics" "What is wrong with cards" disk kanban::view::diagnostics;
    "board_stats" Get "/api/plugins/kanban/stats" "Cards in numbers" disk kanban::view::stats;
    "board_assignees" Get "/api/plugins/kanban/assignees" "Who has cards" disk kanban::workers::assignees;
    "board_config" Get "/api/plugins/kanban/config" "Settings of the page" disk kanban::settings::config;
    "board_profiles" Get "/api/plugins/kanban/profiles" "Profiles that can be assigned" disk kanban::settings::profiles;
    "board_orchestration" Get "/api/plugins/kanban/orchestration" "Who plans and who works" disk kanban::settings::orchestration;
    "board_orchestration_set" Put "/api/plugins/kanban/orchestration" "Changes who plans and who works" disk kanban::settings::set_orchestration;
    "board_dispatch" Post "/api/plugins/kanban/dispatch" "One round of the dispatcher" disk kanban::workers::dispatch;
    "boards" Get "/api/plugins/kanban/boards" "All boards" disk kanban::boards::list;
    "board_create" Post "/api/plugins/kanban/boards" "Makes a board" disk kanban::boards::create;
    "board_update" Patch "/api/plugins/kanban/boards/{slug}" "Changes a board" disk kanban::boards::update;
    "board_delete" Delete "/api/plugins/kanban/boards/{slug}" "Archives or deletes a board" disk kanban::boards::delete;
    "board_switch" Post "/api/plugins/kanban/boards/{slug}/switch" "Chooses a board" disk kanban::boards::switch;
    "board_events" Get "/api/plugins/kanban/events" "Events of a board, as a WebSocket" waiting kanban::events::socket;
    "board_events_stream" Get "/api/plugins/kanban/events/stream" "Events of a board, as server-sent events" waiting kanban::events::events;
    "pty" Get "/api/pty" "A conversation in a terminal, as a WebSocket" waiting chat_tab::pty;
    "chat_requests" Get "/api/ws" "Conversations by JSON-RPC, as a WebSocket" waiting chat_tab::requests;
    "channel_publish" Get "/api/pub" "Says something on a channel, as a WebSocket" waiting chat_tab::publish;
    "channel_events" Get "/api/events" "What is said on a channel, as a WebSocket" waiting chat_tab::events;
    "openapi" Get "/api/openapi.json" "This document" disk openapi::openapi;
    "config_value" Put "/api/config/value" "Sets one setting, if it still has the value that was seen" disk pages::set_value;
    "chat_run_create" Post "/api/chat/runs" "Begins a turn with the agent" waiting chat_runs::create;
    "chat_run" Get "/api/chat/runs/{run_id}" "How a turn is doing" waiting chat_runs::show;
    "chat_run_events" Get "/api/chat/runs/{run_id}/events" "The events of a turn, from the beginning or after `Last-Event-ID`" waiting chat_runs::events;
    "chat_run_approval" Post "/api/chat/runs/{run_id}/approval" "Answers a question of a turn" waiting chat_runs::approve;
    "chat_run_stop" Post "/api/chat/runs/{run_id}/stop" "Stops a turn" waiting chat_runs::stop;
    "system_stats" Get "/api/system/stats" "How the machine is doing" disk api::system::stats;
    "login_page" Get "/login" "The page on which people log in" disk admission::login_page;
    "login_start" Get "/auth/login" "Sends the browser to a login provider" waiting admission::start;
    "login_callback" Get "/auth/callback" "Completes a login" waiting admission::callback;
    "login_password" Post "/auth/password-login" "Logs in with a password" waiting admission::password_login;
    "logout" Post "/auth/logout" "Logs out" waiting admission::logout;
    "auth_providers" Get "/api/auth/providers" "The ways to log in" disk admission::providers;
    "auth_me" Get "/api/auth/me" "Who is logged in" disk admission::me;
    "auth_ws_ticket" Post "/api/auth/ws-ticket" "A ticket for a WebSocket" disk admission::ws_ticket;
}

/// The router of all endpoints and pages.
pub(crate) fn router() -> Router {
    let mut router = hermes_serve::router(ROUTES);
    for page in pages::PAGES {
        router = router.route(page.path, waiting(Verb::Get, page.render));
    }
    router
        .route("/assets/{*name}", disk(Verb::Get, pages::asset))
        .route(
            "/dashboard-plugins/{name}/{*file}",
            disk(Verb::Get, plugin_tabs::file),
        )
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(other_path)
}

/// What no route answers.
async fn other_path(request: Request<Body>) -> Response {
    answer_with(request, |call: Call| {
        off_loop(move || pages::other_path(&call))
    })
    .await
}

async fn method_not_allowed(request: Request<Body>) -> Response {
    let path = hermes_text::shown(request.uri().path(), 200);
    let message = format!("{path} does not take {}", request.method());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message).into_response()
}
