//! The events that hooks can be set for.

/// An event of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookEvent {
    PreToolCall,
    PostToolCall,
    TransformToolResult,
    TransformTerminalOutput,
    TransformLlmOutput,
    PreLlmCall,
    PostLlmCall,
    PreApiRequest,
    PostApiRequest,
    OnSessionStart,
    OnSessionEnd,
    OnSessionFinalize,
    OnSessionReset,
    SubagentStop,
    // Events of a gateway, told to the handlers of `HOOK.yaml`.
    GatewayStartup,
    SessionStart,
    SessionEnd,
    SessionReset,
    AgentStart,
    AgentStep,
    AgentEnd,
}

impl HookEvent {
    /// All events, in the order in which a conversation comes to them.
    pub const ALL: [Self; 14] = [
        Self::OnSessionStart,
        Self::PreLlmCall,
        Self::PreApiRequest,
        Self::PostApiRequest,
        Self::PreToolCall,
        Self::TransformTerminalOutput,
        Self::PostToolCall,
        Self::TransformToolResult,
        Self::SubagentStop,
        Self::TransformLlmOutput,
        Self::PostLlmCall,
        Self::OnSessionEnd,
        Self::OnSessionReset,
        Self::OnSessionFinalize,
    ];

    /// Events of a gateway, which only handlers of `HOOK.yaml` are told of.
    pub const OF_GATEWAY: [Self; 7] = [
        Self::GatewayStartup,
        Self::SessionStart,
        Self::AgentStart,
        Self::AgentStep,
        Self::AgentEnd,
        Self::SessionEnd,
        Self::SessionReset,
    ];

    /// The name in the settings, or in `HOOK.yaml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolCall => "pre_tool_call",
            Self::PostToolCall => "post_tool_call",
            Self::TransformToolResult => "transform_tool_result",
            Self::TransformTerminalOutput => "transform_terminal_output",
            Self::TransformLlmOutput => "transform_llm_output",
            Self::PreLlmCall => "pre_llm_call",
            Self::PostLlmCall => "post_llm_call",
            Self::PreApiRequest => "pre_api_request",
            Self::PostApiRequest => "post_api_request",
            Self::OnSessionStart => "on_session_start",
            Self::OnSessionEnd => "on_session_end",
            Self::OnSessionFinalize => "on_session_finalize",
            Self::OnSessionReset => "on_session_reset",
            Self::SubagentStop => "subagent_stop",
            Self::GatewayStartup => "gateway:startup",
            Self::SessionStart => "session:start",
            Self::SessionEnd => "session:end",
            Self::SessionReset => "session:reset",
            Self::AgentStart => "agent:start",
            Self::AgentStep => "agent:step",
            Self::AgentEnd => "agent:end",
        }
    }

    /// The event of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// The event of a gateway that `HOOK.yaml` calls so.
    pub fn of_gateway_named(name: &str) -> Option<Self> {
        let mut events = Self::OF_GATEWAY.into_iter();
        events.find(|event| event.name() == name.trim())
    }

    /// Whether it is an event of a gateway.
    pub fn is_of_gateway(self) -> bool {
        Self::OF_GATEWAY.contains(&self)
    }

    /// What a gateway calls this event of a conversation.
    pub(crate) fn in_gateway(self) -> Option<Self> {
        Some(match self {
            Self::OnSessionStart => Self::SessionStart,
            Self::OnSessionFinalize => Self::SessionEnd,
            Self::OnSessionReset => Self::SessionReset,
            Self::PreLlmCall => Self::AgentStart,
            Self::PreApiRequest => Self::AgentStep,
            Self::PostLlmCall => Self::AgentEnd,
            _ => return None,
        })
    }

    /// Whether the event is about a tool, so that hooks can be limited to some tools.
    pub fn is_of_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolCall | Self::PostToolCall | Self::TransformToolResult
        )
    }

    /// Whether a hook of the event can refuse what is about to happen.
    pub fn can_block(self) -> bool {
        self == Self::PreToolCall
    }
}
