//! The sections of `config.yaml`, by area.

mod agent;
mod gateway;
mod open;
mod safety;
mod state;
mod surface;
mod terminal;

use super::key::Section;

/// Every section, in the order of the reference page: first those whose settings are ours.
pub fn sections() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().chain(open::SECTIONS)
}

static SECTIONS: &[Section] = &[
    agent::MODEL,
    agent::PROVIDERS,
    agent::CUSTOM_PROVIDERS,
    agent::FALLBACK_MODEL,
    agent::FALLBACK_PROVIDERS,
    agent::CREDENTIAL_POOL_STRATEGIES,
    agent::TOOLSETS,
    agent::AGENT,
    agent::DELEGATION,
    agent::MEMORY,
    agent::SKILLS,
    agent::TOOLS,
    agent::MCP_SERVERS,
    agent::CODE_EXECUTION,
    terminal::TERMINAL,
    gateway::KANBAN,
    gateway::GATEWAY,
    gateway::PLATFORMS,
    gateway::CRON,
    safety::SECURITY,
    safety::APPROVALS,
    state::SESSIONS,
    state::LOGGING,
    state::UPDATES,
    state::NETWORK,
    surface::DASHBOARD,
    surface::DISPLAY,
    surface::TIMEZONE,
    agent::TOOL_OUTPUT,
    agent::TOOL_LOOP_GUARDRAILS,
    agent::COMPRESSION,
    agent::OPENROUTER,
    agent::PROMPT_CACHING,
    safety::COMMAND_ALLOWLIST,
    state::SESSION_RESET,
];
