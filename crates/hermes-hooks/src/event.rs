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

    /// The name in the settings.
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
        }
    }

    /// The event of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
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
