//! The tools an agent can call: what they take, what they answer, and the one way to call them.
//!
//! Results are JSON for a model: never a backtrace, never a secret, always of bounded size.

mod argument;
mod checkpointed;
mod child_job;
mod clarify;
mod cronjob;
mod delegate;
mod execute_code;
mod file_ledger;
mod files;
mod filesystem;
mod hooked;
mod kanban;
mod mcp;
mod memory;
mod memory_service;
mod remote;
mod result;
mod saved_result;
mod session_search;
mod skills;
mod speech;
mod terminal;
mod todo;
mod todo_list;
mod tool;
mod tool_search;
mod tool_search_settings;
mod toolset;
mod write_gate;

pub use argument::{ArgKind, Argument};
pub use child_job::{ChildJob, ChildResult, ChildStatus};
pub use clarify::ClarifyTool;
pub use cronjob::{CronAccess, CronjobTool};
pub use delegate::DelegateTool;
pub use execute_code::{
    CodeSettings, ExecuteCodeTool, Interpreters, RpcEnv, SandboxEnv, ScriptGate, ScriptMode,
};
pub use file_ledger::FileLedger;
pub use files::{PatchTool, ReadFileTool, SearchFilesTool, WriteFileTool};
pub use filesystem::{
    CrossProfile, Filesystem, HostFiles, RemoteFiles, SessionState, WriteGuard, WriteRules,
    real_path,
};
pub use hooked::call_with_hooks;
pub use kanban::{BoardAccess, ImageReference, has_image_ending, images_in, kanban_tools};
pub use mcp::{McpTool, ResultImage, result_images};
pub use memory::{MemoryTool, apply_pending_memory};
pub use memory_service::MemoryServiceTool;
pub use result::{error, is_failure};
pub use saved_result::{keep_result, readable};
pub use session_search::SessionSearchTool;
pub use skills::{
    SkillAccess, SkillManageTool, SkillSession, SkillViewTool, SkillsListTool, apply_pending_skill,
    carry_credentials,
};
pub use speech::{AddonAccess, TextToSpeechTool};
pub use terminal::{
    NotRunReport, NoticeSupport, ProcessTool, TerminalSession, TerminalTool, command_result,
    failure_hint,
};
pub use todo::TodoTool;
pub use todo_list::TodoList;
pub use tool::{
    Answerer, CallContext, ChildRunner, ClarifyQuestion, MAX_RESULT_CHARS, Tool, ToolConversation,
    ToolReach, ToolRegistry, ToolSpec,
};
pub use tool_search::{CALL_TOOL, deferred_call, with_tool_search};
pub use tool_search_settings::{SearchMode, ToolSearchSettings};
pub use toolset::{TOOLSET_NAMES, ToolOffer, ToolSelection, basic_toolsets};
pub use write_gate::{WriteDecision, WriteGate};
