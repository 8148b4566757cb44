//! The tools an agent can call: what they take, what they answer, and the one way to call them.
//!
//! Results are JSON for a model: never a backtrace, never a secret, always of bounded size.

mod argument;
mod child_runner;
mod clarify;
mod context;
mod conversation;
mod delegate;
mod download;
mod execute_code;
mod files;
mod kanban;
mod kept_result;
mod place;
mod random;
mod registry;
mod result_cap;
mod session_search;
mod symptom_hint;
mod terminal_tool;
mod todo;
mod tool;
mod toolset;

pub use argument::{Argument, Kind, checked, schema_of};
pub use child_runner::{ChildJob, ChildResult, ChildRole, ChildRunner, ChildStatus};
pub use clarify::{Answerer, ClarifyTool, Question};
pub use context::{CallContext, CrossProfile, FixedSession, Session, WriteGuard};
pub use conversation::Conversation;
pub use delegate::DelegateTool;
pub use download::{Reachable, fetch_text};
pub use execute_code::{
    CodeSettings, ExecuteCodeTool, Interpreters, Mode, NoInterpreter, RpcEnv, SandboxEnv,
    ScriptGate, ScriptVerdict, UnattendedScripts,
};
pub use files::{
    FileLedger, Filesystem, HostFiles, PatchTool, PlaceFiles, ReadFileTool, SearchFilesTool,
    WriteFileTool, WriteRules,
};
pub use hermes_board::completion::{GoalClaim, GoalJudge, GoalVerdict};
pub use kanban::{ImageReference, KanbanDesk, KanbanTool, images_in, kanban_tools};
pub use kept_result::{keep_result, readable};
pub use place::{Job, Place, Ran};
pub use registry::{MAX_RESULT_CHARS, Registry};
pub use session_search::SessionSearchTool;
pub use symptom_hint::{HomeOfCommand, Observation, Stripped, StrippedAs, symptom_hint};
pub use terminal_tool::{ProcessTool, TerminalParts, TerminalSession, TerminalTool};
pub use todo::{TodoList, TodoTool};
pub use tool::{Reach, Tool, error, is_failure};
pub use toolset::{
    Offer, OfferedTool, TOOLSET_NAMES, ToolSelection, basic_toolsets, normalised_schema,
    toolset_doc,
};
