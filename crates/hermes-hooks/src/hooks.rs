//! The hooks of a conversation, ready to be run.

use std::path::Path;
use std::sync::Arc;

use hermes_proc::Wake;
use serde_json::{Map, Value, json};

use crate::background::Background;
use crate::event::HookEvent;
use crate::host::HookHost;
use crate::listener::HookListener;
use crate::observer_queue::ObserverQueue;
use crate::reply::HookReply;
use crate::run::run_hook;
use crate::spec::HookSpec;
use crate::spill::OutputSpill;

/// The accepted hooks of a conversation.
pub struct Hooks {
    specs: Vec<HookSpec>,
    host: Arc<dyn HookHost>,
    /// Plugins, each with the events that it is still to be told of.
    listeners: Vec<(Arc<dyn HookListener>, ObserverQueue)>,
    /// Where the conversation takes place: `cli`, `api_server`, …
    platform: String,
    spill: OutputSpill,
    background: Background,
}

/// Something that hooks are told of.
pub struct Occasion<'a> {
    pub event: HookEvent,
    pub tool: Option<(&'a str, &'a Value)>,
    pub session: &'a str,
    pub cwd: &'a Path,
    /// What else there is to know, by name.
    pub extra: Value,
    pub interrupt: Option<&'a Arc<Wake>>,
}

impl Occasion<'_> {
    /// What a hook reads.
    pub fn payload(&self) -> String {
        json!({
            "hook_event_name": self.event.name(),
            "tool_name": self.tool.map(|(name, _)| name),
            "tool_input": self.tool.map(|(_, input)| input).filter(|input| input.is_object()),
            "session_id": self.session,
            "cwd": self.cwd.to_string_lossy(),
            "extra": self.extra,
        })
        .to_string()
    }
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.specs).finish()
    }
}

impl Hooks {
    /// Hooks that were accepted.
    pub fn new(
        hooks: Vec<HookSpec>,
        host: Arc<dyn HookHost>,
        platform: &str,
        spill: OutputSpill,
    ) -> Self {
        Self {
            specs: hooks,
            host,
            listeners: Vec::new(),
            platform: platform.to_owned(),
            spill,
            background: Background::default(),
        }
    }

    /// The same hooks, and plugins that hear of events as well.
    #[must_use]
    pub fn with_listeners(mut self, listeners: Vec<Arc<dyn HookListener>>) -> Self {
        let listeners = listeners.into_iter();
        let listeners = listeners.map(|one| (Arc::clone(&one), ObserverQueue::new(one)));
        self.listeners.extend(listeners);
        self
    }

    /// Whether anybody wants to hear of this event.
    pub fn has(&self, event: HookEvent) -> bool {
        let in_gateway = event.in_gateway();
        let mut listeners = self.listeners.iter();
        self.specs
            .iter()
            .any(|hook| hook.event == event || Some(hook.event) == in_gateway)
            || listeners.any(|(listener, _)| listener.hears(event))
    }

    /// What else there is to know, with the platform.
    pub fn with_platform(&self, extra: Value) -> Value {
        let mut all = match extra {
            Value::Object(all) => all,
            _ => Map::new(),
        };
        all.insert("platform".to_owned(), self.platform.clone().into());
        Value::Object(all)
    }

    /// Why a call must not be made, if a hook refuses it.
    pub fn refusal(&self, occasion: &Occasion<'_>) -> Option<String> {
        self.replies(occasion).find_map(|reply| match reply {
            HookReply::Block(reason) => Some(reason),
            _ => None,
        })
    }

    /// What hooks add to a message.
    pub fn context(&self, occasion: &Occasion<'_>) -> Option<String> {
        let added: Vec<String> = self
            .replies(occasion)
            .filter_map(|reply| match reply {
                HookReply::Context(text) => Some(self.spill.shortened(text, occasion.session)),
                _ => None,
            })
            .collect();
        (!added.is_empty()).then(|| added.join("\n\n"))
    }

    /// What takes the place of a text; the first hook that gives one decides.
    pub fn replacement(&self, occasion: &Occasion<'_>) -> Option<String> {
        self.replies(occasion).find_map(|reply| match reply {
            HookReply::Replace(text) => Some(text),
            _ => None,
        })
    }

    /// Lets hooks know. Plugins are told beside what goes on; only the end of a session waits for them,
    /// and not for long.
    pub fn tell(&self, occasion: &Occasion<'_>) {
        self.tell_gateway(occasion);
        self.of_commands(occasion).for_each(drop);
        let mut payload = None;
        for (listener, queue) in &self.listeners {
            if listener.hears(occasion.event) {
                let payload = payload.get_or_insert_with(|| Arc::from(occasion.payload()));
                queue.push(occasion.event, Arc::clone(payload));
            }
        }
        if occasion.event == HookEvent::OnSessionFinalize {
            for (_, queue) in &self.listeners {
                queue.drain();
            }
        }
    }

    /// Lets handlers of a gateway know, beside what happens.
    fn tell_gateway(&self, occasion: &Occasion<'_>) {
        let Some(event) = occasion.event.in_gateway() else {
            return;
        };
        let mut payload: Option<Arc<str>> = None;
        for hook in self.specs.iter().filter(|hook| hook.event == event) {
            let payload = payload.get_or_insert_with(|| {
                let context = gateway_context(occasion);
                Arc::from(gateway_payload(event, context))
            });
            let cwd = occasion.cwd.to_owned();
            self.background
                .tell(hook, Arc::clone(payload), cwd, &self.host);
        }
    }

    /// The answers of all who are asked, one after the other.
    fn replies<'a>(&'a self, occasion: &'a Occasion<'a>) -> impl Iterator<Item = HookReply> + 'a {
        self.tell_gateway(occasion);
        self.of_commands(occasion)
            .chain(self.of_listeners(occasion))
    }

    /// The answers of the user's commands that are for this.
    fn of_commands<'a>(
        &'a self,
        occasion: &'a Occasion<'a>,
    ) -> impl Iterator<Item = HookReply> + 'a {
        let tool = occasion.tool.map(|(name, _)| name);
        let mut payload = None;
        self.specs
            .iter()
            .filter(move |hook| hook.event == occasion.event && hook.is_for_tool(tool))
            .map(move |hook| {
                let payload = payload.get_or_insert_with(|| occasion.payload());
                let host = &*self.host;
                let run = run_hook(hook, payload, host, occasion.cwd, occasion.interrupt);
                if let Some(problem) = run.problem {
                    let (event, command) = (hook.event.name(), &hook.command);
                    tracing::warn!("the hook {command} of {event} failed: {problem}");
                }
                run.reply
            })
    }

    /// The answers of plugins.
    fn of_listeners<'a>(
        &'a self,
        occasion: &'a Occasion<'a>,
    ) -> impl Iterator<Item = HookReply> + 'a {
        let event = occasion.event;
        let mut payload = None;
        let listeners = self.listeners.iter().map(|(listener, _)| listener);
        listeners
            .filter(move |listener| listener.hears(event))
            .map(move |listener| {
                let payload = payload.get_or_insert_with(|| occasion.payload());
                match listener.ask(event, payload, occasion.interrupt) {
                    Ok(reply) => reply,
                    Err(problem) => unanswered(&**listener, event, &problem),
                }
            })
    }
}

/// What it means that a plugin did not answer.
fn unanswered(listener: &dyn HookListener, event: HookEvent, problem: &str) -> HookReply {
    let name = listener.name();
    let event_name = event.name();
    tracing::warn!("the plugin {name} did not answer to {event_name}: {problem}");
    if listener.profile().fails_closed && event.can_block() {
        return HookReply::block(&format!(
            "the plugin {name} must agree to it, but {problem}"
        ));
    }
    HookReply::Nothing
}

/// Most characters of a message or an answer that a handler of a gateway is told.
const MOST_TOLD: usize = 500;

/// What the handler of an event of a gateway reads.
pub fn gateway_payload(event: HookEvent, context: Value) -> String {
    json!({"event_type": event.name(), "context": context}).to_string()
}

/// What handlers of a gateway are told of something in a conversation.
fn gateway_context(occasion: &Occasion<'_>) -> Value {
    let extra = &occasion.extra;
    let text = |name: &str| extra.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut context = json!({
        "platform": text("platform"),
        "user_id": "",
        "chat_id": "",
        "thread_id": "",
        "chat_type": "",
        "session_id": occasion.session,
    });
    let cut = |text: &str| hermes_text::cut(text, MOST_TOLD).to_owned();
    match occasion.event {
        HookEvent::PreLlmCall => context["message"] = cut(text("user_message")).into(),
        HookEvent::PostLlmCall => {
            context["message"] = cut(text("user_message")).into();
            context["response"] = cut(text("assistant_response")).into();
        }
        HookEvent::PreApiRequest => context["iteration"] = extra["api_call_count"].clone(),
        _ => {}
    }
    context
}
