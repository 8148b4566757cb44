//! A plugin that is an MCP server hears of events by `hermes/invoke`, and answers as a shell hook does.

use std::sync::Arc;

use hermes_hooks::{HookEvent, HookListener, HookReply, ListenerProfile};
use hermes_mcp::{Error, Operation, PooledServer};
use hermes_proc::Wake;
use serde_json::{Map, Value};

/// The hooks of a plugin that is a server.
pub(super) struct ServerListener {
    pub(super) profile: ListenerProfile,
    pub(super) server: PooledServer,
}

impl HookListener for ServerListener {
    fn profile(&self) -> &ListenerProfile {
        &self.profile
    }

    fn ask(
        &self,
        event: HookEvent,
        payload: &str,
        interrupt: Option<&Arc<Wake>>,
    ) -> Result<HookReply, String> {
        let never = match interrupt {
            Some(interrupt) => Ok(Arc::clone(interrupt)),
            None => Wake::new().map(Arc::new),
        };
        let interrupt = never.map_err(|error| error.to_string())?;
        let arguments: Map<String, Value> = serde_json::from_str(payload).unwrap_or_default();
        let session = arguments.get("session_id").and_then(Value::as_str);
        let session = session.map(str::to_owned);
        let asked = self.server.call_within(
            self.profile.timeout,
            &Operation::FireHook,
            &arguments,
            session.as_deref(),
            &interrupt,
        );
        match asked {
            Ok(answer) => Ok(HookReply::of(event, &answer.value)),
            Err(Error::NoAnswer(_)) => Err(format!(
                "it took longer than {} s",
                self.profile.timeout.as_secs_f64()
            )),
            Err(error) => Err(error.to_string()),
        }
    }
}
