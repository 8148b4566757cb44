//! What hooks are told of a conversation, and what they change in it. Calls of tools are told of where
//! they are made.

use std::sync::Arc;

use hermes_hooks::{HookEvent, Hooks, Occasion};
use hermes_proc::Wake;
use hermes_providers::{ModelRequest, ModelResponse};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::turn::{TurnOutcome, TurnResult};

impl Agent {
    /// A new session begins.
    pub(crate) fn tell_start(&self) {
        self.tell(HookEvent::OnSessionStart, Value::Null);
    }

    /// The session ends, and nothing follows in it.
    pub(crate) fn tell_final(&self) {
        self.tell(HookEvent::OnSessionFinalize, Value::Null);
    }

    /// An empty session takes the place of another.
    pub(crate) fn tell_reset(&self) {
        self.tell(HookEvent::OnSessionReset, Value::Null);
    }

    /// What hooks add to a message of the user.
    pub(crate) fn added_context(&self, message: &str) -> Option<String> {
        let event = HookEvent::PreLlmCall;
        let hooks = self.hooks_of(event)?;
        let extra = json!({
            "user_message": message,
            "conversation_history": self.history_for_hooks(),
            "is_first_turn": self.history.is_empty(),
        });
        let interrupt = Some(&self.context.interrupt);
        self.on_occasion(&hooks, event, extra, interrupt, Hooks::context)
    }

    /// A request is about to be sent, the `number`-th of the turn.
    pub(crate) fn tell_request(&self, request: &ModelRequest, tokens: u64, number: u64) {
        let event = HookEvent::PreApiRequest;
        let Some(hooks) = self.hooks_of(event) else {
            return;
        };
        let mut extra = self.route_for_hooks(number);
        extra["message_count"] = request.messages.len().into();
        extra["tool_count"] = request.tools.len().into();
        extra["approx_input_tokens"] = tokens.into();
        extra["max_tokens"] = json!(request.max_tokens);
        let interrupt = Some(&self.context.interrupt);
        self.on_occasion(&hooks, event, extra, interrupt, Hooks::tell);
    }

    /// A request was answered.
    pub(crate) fn tell_response(&self, response: &ModelResponse, seconds: f64, number: u64) {
        let event = HookEvent::PostApiRequest;
        let Some(hooks) = self.hooks_of(event) else {
            return;
        };
        let mut extra = self.route_for_hooks(number);
        extra["api_duration"] = json!(seconds);
        extra["finish_reason"] = response.finish.name().into();
        extra["response_model"] = json!(response.model);
        extra["usage"] = json!(response.usage.as_ref().map(|usage| json!({
            "input_tokens": usage.prompt(),
            "output_tokens": usage.output,
        })));
        extra["assistant_content_chars"] = response.text.chars().count().into();
        extra["assistant_tool_call_count"] = response.tool_calls.len().into();
        let interrupt = Some(&self.context.interrupt);
        self.on_occasion(&hooks, event, extra, interrupt, Hooks::tell);
    }

    /// A turn has ended: its answer may be replaced, and hooks hear of it.
    pub(crate) fn end_turn_for_hooks(&self, message: &str, result: &mut TurnResult) {
        let is_interrupted = result.outcome == TurnOutcome::Interrupted;
        if let Some(answer) = result.final_response.as_mut()
            && !is_interrupted
        {
            let event = HookEvent::TransformLlmOutput;
            if let Some(hooks) = self.hooks_of(event) {
                let extra = json!({"response_text": answer});
                let new = self.on_occasion(&hooks, event, extra, None, Hooks::replacement);
                if let Some(new) = new.filter(|new| !new.is_empty()) {
                    *answer = new;
                }
            }
            let event = HookEvent::PostLlmCall;
            if let Some(hooks) = self.hooks_of(event) {
                let extra = json!({
                    "user_message": message,
                    "assistant_response": answer,
                    "conversation_history": self.history_for_hooks(),
                });
                self.on_occasion(&hooks, event, extra, None, Hooks::tell);
            }
        }
        let extra = json!({
            "completed": result.outcome == TurnOutcome::Completed,
            "interrupted": is_interrupted,
        });
        self.tell(HookEvent::OnSessionEnd, extra);
    }

    fn hooks_of(&self, event: HookEvent) -> Option<Arc<Hooks>> {
        let hooks = self.context.conversation.hooks.as_ref()?;
        hooks.has(event).then(|| Arc::clone(hooks))
    }

    fn tell(&self, event: HookEvent, extra: Value) {
        if let Some(hooks) = self.hooks_of(event) {
            self.on_occasion(&hooks, event, extra, None, Hooks::tell);
        }
    }

    fn on_occasion<T>(
        &self,
        hooks: &Hooks,
        event: HookEvent,
        extra: Value,
        interrupt: Option<&Arc<Wake>>,
        ask: fn(&Hooks, &Occasion<'_>) -> T,
    ) -> T {
        let mut extra = hooks.with_platform(extra);
        extra["model"] = self.provider.route().model.into();
        let occasion = Occasion {
            event,
            tool: None,
            session: self.session.as_str(),
            cwd: &self.context.session.cwd(),
            extra,
            interrupt,
        };
        ask(hooks, &occasion)
    }

    fn route_for_hooks(&self, number: u64) -> Value {
        let route = self.provider.route();
        json!({
            "provider": route.provider,
            "base_url": route.base_url,
            "api_mode": if route.is_responses { "codex_responses" } else { "chat_completions" },
            "api_call_count": number,
        })
    }

    /// The messages in the wire format of chats.
    fn history_for_hooks(&self) -> Vec<Value> {
        let messages = self.messages();
        messages
            .map(|message| {
                let mut told = json!({
                    "role": message.role.as_str(),
                    "content": message.text(),
                });
                if let Some(calls) = &message.tool_calls {
                    told["tool_calls"] = calls.clone();
                }
                if let Some(id) = &message.tool_call_id {
                    told["tool_call_id"] = id.as_str().into();
                    told["name"] = json!(message.tool_name);
                }
                told
            })
            .collect()
    }
}
