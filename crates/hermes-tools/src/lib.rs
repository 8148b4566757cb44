//! The tools an agent can call: what they take, what they answer, and the one way to call them.
//!
//! Results are JSON for a model: never a backtrace, never a secret, always of bounded size.

mod argument;
mod child_runner;
mod clarify;
mod context;
mod conversation;
mod delegate;
mod execute_code;
mod files;
mod kanban;
mod registry;
mod remote;
mod result_cap;
mod saved_result;
mod session_search;
mod terminal;
mod todo;
mod tool;
mod toolset;

pub use argument::{ArgKind, Argument, checked, schema_of};
pub use child_runner::{ChildJob, ChildResult, ChildRole, ChildRunner, ChildStatus};
pub use clarify::{Answerer, ClarifyQuestion, ClarifyTool};
pub use context::{CallContext, CrossProfile, FixedSession, SessionState, WriteGuard};
pub use conversation::ToolConversation;
pub use delegate::DelegateTool;
pub use execute_code::{
    CodeSettings, ExecuteCodeTool, Interpreters, NoInterpreter, RpcEnv, SandboxEnv, ScriptGate,
    ScriptMode, ScriptVerdict, UnattendedScripts,
};
pub use files::{
    FileLedger, Filesystem, HostFiles, PatchTool, ReadFileTool, RemoteFiles, SearchFilesTool,
    WriteFileTool, WriteRules,
};
pub use hermes_board::completion::{GoalClaim, GoalJudge, GoalVerdict};
pub use kanban::{ImageReference, KanbanDesk, KanbanTool, images_in, kanban_tools};
pub use registry::{MAX_RESULT_CHARS, ToolRegistry};
pub use saved_result::{keep_result, readable};
pub use session_search::SessionSearchTool;
pub use terminal::{
    HomeOfCommand, NotRunReport, NoticeSupport, Observation, ProcessTool, Stripped, StrippedAs,
    TerminalSession, TerminalTool, command_result, failure_hint, symptom_hint,
};
pub use todo::{TodoList, TodoTool};
pub use tool::{Tool, ToolReach, error, is_failure};
pub use toolset::{
    OfferedTool, TOOLSET_NAMES, ToolOffer, ToolSelection, basic_toolsets, normalised_schema,
    toolset_doc,
};
