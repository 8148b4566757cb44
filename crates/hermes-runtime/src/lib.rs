//! Opening a conversation: its model, session, tools, backend, prompt and, for a worker, its card.
//!
//! [`Runtime::open_conversation`] is the one way in for everything that lets an agent work: the chat
//! command, workers of the board, and every later surface. [`Person`] is who can be asked and shown
//! things meanwhile. Nothing here prints, reads a terminal, listens for signals or keeps
//! process-wide state, so one process can hold conversations of several profiles at once.

mod active_sessions;
mod addons;
mod backend;
mod board_settings;
mod checkpoints;
mod coding_context;
mod compaction_notice;
mod context;
mod context_window;
mod conversation;
mod cron_setup;
mod error;
mod essentials;
mod hooks;
mod image_input;
mod images;
mod log_once;
mod mcp;
mod mcp_shared;
mod memory_service;
mod opening;
mod person;
mod personality;
mod plugins;
mod prefill;
mod preflight;
mod pruning;
mod python_remark;
mod references;
mod repository;
mod request;
mod review;
mod runtime;
mod skills;
mod snapshot;
mod system_prompt;
mod title;
mod tool_set;
mod triage;
mod worker;
mod worker_setup;
mod worktree;

pub use addons::{ResidentAddons, addon_access, addons_of};
pub use backend::{
    BackendKind, BackendRequest, IdleWatch, OrphanSweep, RemoteLease, docker_host, live_environment,
};
pub use board_settings::{board_home, dispatch_settings, kanban_settings, workspace_rules};
pub use checkpoints::checkpoint_store;
pub use context::{Context, Program};
pub use conversation::{Conversation, GoalNews};
pub use cron_setup::{configured_model, cron_setup, missing_skills};
pub use error::{Error, ErrorKind, Result};
pub use hooks::{ProfileHooks, accepts_unseen_hooks, hook_host, tell_gateway_startup};
pub use images::load_image;
pub use mcp::{configured_servers, separate_server};
pub use memory_service::{ServerTools, configured_memory, server_name};
pub use person::{Nobody, Person};
pub use plugins::{ProfilePlugins, forget_plugin};
pub use pruning::prune_sessions_if_due;
pub use references::typed_part;
pub use repository::git_branch;
pub use request::{ConversationRequest, SessionChoice};
pub use runtime::Runtime;
pub use skills::{SkillSummary, own_skills, skill_summaries};
pub use tool_set::{
    Approval, AssigneeChecks, TerminalSetup, ToolSet, ToolSetRequest, check_backend_of,
    local_sandbox, login_overlay,
};
pub use triage::{AutoDecomposer, DecomposeBoards, roster};
pub use worker_setup::worker_setup;
