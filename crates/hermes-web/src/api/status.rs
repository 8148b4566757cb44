//! `GET /api/status`: what runs here, for everybody.

use std::sync::Arc;

use bytes::Bytes;
use hermes_home::gateway_pid;
use hermes_runtime::Context;
use hermes_supervise::StateFile;
use hyper::StatusCode;
use serde_json::{Map, Value, json};

use crate::app::{App, off_loop};
use crate::call::{Answered, Call};
use crate::gate::Mode;
use crate::http::{ApiError, json_text_response};
use crate::remote_gateway;
use crate::session_readers::SessionReaders;
use crate::shared_reads::Reading;

/// A conversation is active while its last message is younger than this.
const ACTIVE_SECONDS: f64 = 300.0;
/// Most conversations that are looked at for that.
const MOST_LISTED: usize = 50;

/// What pages show of the state of this home.
pub(crate) struct StatusFacts {
    pub(crate) version: &'static str,
    pub(crate) home: String,
    pub(crate) config_path: String,
    pub(crate) env_path: String,
    pub(crate) config_version: i64,
    pub(crate) latest_config_version: i64,
    pub(crate) gateway_pid: Option<u32>,
    pub(crate) gateway_state: String,
    pub(crate) active_sessions: usize,
    state: Map<String, Value>,
}

impl StatusFacts {
    /// Shows what a gateway elsewhere says of itself instead of what is in this home.
    fn take(&mut self, said: &Value) {
        let pid = said["pid"].as_u64();
        self.gateway_pid = pid.and_then(|pid| u32::try_from(pid).ok());
        let state = said["gateway_state"].as_str().unwrap_or("running");
        state.clone_into(&mut self.gateway_state);
        self.state = said.as_object().cloned().unwrap_or_default();
    }
}

/// Looks at the home. Nothing of it fails: what cannot be read is shown as absent.
pub(crate) fn status_facts(context: &Context, sessions: &SessionReaders) -> StatusFacts {
    let home = &context.location.home;
    let pid = gateway_pid(home);
    let state = StateFile::of_home(home).read().unwrap_or_default();
    let recorded = state.get("gateway_state").and_then(Value::as_str);
    let gateway_state = match (pid, recorded) {
        (Some(_), recorded) => recorded.unwrap_or("running"),
        (None, Some("startup_failed")) => "startup_failed",
        (None, _) => "stopped",
    };
    let config = context.config();
    let version = config.tree().get("_config_version").and_then(Value::as_i64);
    StatusFacts {
        version: env!("CARGO_PKG_VERSION"),
        home: home.display().to_string(),
        config_path: config.sources().config_path().display().to_string(),
        env_path: config.sources().dotenv_path().display().to_string(),
        config_version: version.unwrap_or(0),
        latest_config_version: hermes_config::schema::CONFIG_VERSION,
        gateway_pid: pid,
        gateway_state: gateway_state.to_owned(),
        active_sessions: active_sessions(context, sessions).unwrap_or(0),
        state,
    }
}

fn active_sessions(context: &Context, sessions: &SessionReaders) -> Option<usize> {
    let store = sessions.open(&context.location.home).ok()??;
    let request = hermes_session::ListRequest {
        limit: Some(MOST_LISTED),
        ..hermes_session::ListRequest::default()
    };
    let listed = store.list(&request).ok()?;
    let now = hermes_session::now();
    let is_active = |entry: &&hermes_session::ListedConversation| {
        entry.session.ended_at.is_none() && now - entry.last_active < ACTIVE_SECONDS
    };
    Some(listed.iter().filter(is_active).count())
}

pub(crate) async fn status(call: Call) -> Answered {
    let settings = &call.app.gate.settings;
    // Names of directories are nobody's business who has not logged in.
    let shows_places = settings.mode == Mode::Local || call.visitor.identity().is_some();
    let question = if shows_places {
        "status with places"
    } else {
        "status"
    };
    let looked = || looked(&call.app, shows_places);
    let (status, text) = call.app.reads.read(question, looked).await?;
    Ok(json_text_response(status, text))
}

/// One look, for all who ask at once.
async fn looked(app: &Arc<App>, shows_places: bool) -> Result<Reading, ApiError> {
    let own = Arc::clone(app);
    let looked = off_loop(move || {
        let context = own.context();
        let facts = status_facts(&context, &own.sessions);
        Ok((context, facts))
    });
    let (context, mut facts) = looked.await?;
    let elsewhere = match facts.gateway_pid {
        Some(_) => None,
        None => app.remote_gateway.health(&context).await,
    };
    let is_running = facts.gateway_pid.is_some() || elsewhere.is_some();
    if let Some(said) = &elsewhere {
        facts.take(said);
    }
    let of_state = |name: &str| facts.state.get(name).cloned().unwrap_or(Value::Null);
    let platforms = match of_state("platforms") {
        Value::Object(platforms) if is_running => Value::Object(platforms),
        _ => json!({}),
    };
    let active = of_state("active_agents").as_i64().unwrap_or(0);
    let active = if is_running { active } else { 0 };
    let settings = &app.gate.settings;
    let mut shown = json!({
        "version": facts.version,
        "release_date": "",
        "config_version": facts.config_version,
        "latest_config_version": facts.latest_config_version,
        "gateway_running": is_running,
        "gateway_pid": facts.gateway_pid,
        "gateway_state": facts.gateway_state,
        "gateway_platforms": platforms,
        "gateway_exit_reason": of_state("exit_reason"),
        "gateway_updated_at": of_state("updated_at"),
        "active_sessions": facts.active_sessions,
        "active_agents": active,
        "gateway_busy": active > 0,
        "gateway_drainable": is_running && facts.gateway_state == "running",
        "auth_required": settings.mode == Mode::Gated,
        "auth_providers": if settings.mode == Mode::Gated { settings.logins.names() } else { Vec::new() },
        "insecure": settings.is_insecure(),
        "profile": context.location.profile_label(),
    });
    if shows_places {
        shown["gateway_health_url"] = json!(remote_gateway::address(&context));
        shown["hermes_home"] = json!(facts.home);
        shown["config_path"] = json!(facts.config_path);
        shown["env_path"] = json!(facts.env_path);
    }
    let text = serde_json::to_vec(&shown);
    let text = text.map_err(|error| ApiError::internal(error.to_string()))?;
    Ok((StatusCode::OK, Bytes::from(text)))
}
