//! Models, the agent itself, and what it may use.

use super::super::key::{
    Fallback, Kind, Section, choice, custom, flag, int, list, map, number, positive, text, whole,
};

pub(super) const MODEL: Section = Section {
    name: "model",
    doc: "Which model answers. A bare text is the name of the model.",
    open: false,
    keys: &[
        custom(
            "",
            Kind::TextOrMap,
            Fallback::Text(""),
            "Name of the model, or a mapping of the settings below.",
        ),
        text("default", "", "Name of the model.").unset(),
        text(
            "provider",
            "",
            "Provider to ask; empty means the first one with a key.",
        )
        .unset()
        .var("HERMES_INFERENCE_PROVIDER"),
        text("base_url", "", "Address of the provider's API.").unset(),
        text(
            "api_key",
            "",
            "Key for that address; better kept in `.env`.",
        )
        .unset()
        .secret(),
        text(
            "key_env",
            "",
            "Variable that holds the key for that address.",
        )
        .unset(),
        text(
            "api_mode",
            "",
            "Wire format of the API: chat_completions, codex_responses or anthropic_messages.",
        )
        .unset(),
        text("script", "", "File of turns for the provider `replay`.").unset(),
        int("context_length", 0, "Size of the context window in tokens.").unset(),
        int("max_tokens", 0, "Most tokens of one answer.").unset(),
        int(
            "ollama_num_ctx",
            0,
            "Size of the context window asked of Ollama.",
        )
        .unset(),
        choice(
            "min_context_enforcement",
            &["warn", "strict", "off"],
            "warn",
            "What to do about windows under 64,000 tokens; `warn` if unset.",
        )
        .unset(),
    ],
};

pub(super) const PROVIDERS: Section = Section {
    name: "providers",
    doc: "Providers of your own, by name.",
    open: true,
    keys: &[map(
        "",
        "Name of a provider to its address, key and models.",
    )],
};

pub(super) const CUSTOM_PROVIDERS: Section = Section {
    name: "custom_providers",
    doc: "Older form of `providers`.",
    open: true,
    keys: &[custom(
        "",
        Kind::List,
        Fallback::Unset,
        "List of providers; `config migrate` turns it into `providers`.",
    )],
};

pub(super) const FALLBACK_MODEL: Section = Section {
    name: "fallback_model",
    doc: "Model to use when the first one fails.",
    open: true,
    keys: &[custom(
        "",
        Kind::ListOrMap,
        Fallback::Unset,
        "A mapping with provider and model, or a list of such.",
    )],
};

pub(super) const FALLBACK_PROVIDERS: Section = Section {
    name: "fallback_providers",
    doc: "Providers to try in turn.",
    open: false,
    keys: &[list(
        "",
        "Mappings with provider and model; base_url, api_key and key_env if needed.",
    )],
};

pub(super) const CREDENTIAL_POOL_STRATEGIES: Section = Section {
    name: "credential_pool_strategies",
    doc: "How several keys of one provider are used.",
    open: true,
    keys: &[map("", "Name of a provider to its strategy.")],
};

pub(super) const TOOLSETS: Section = Section {
    name: "toolsets",
    doc: "Which groups of tools the agent has.",
    open: false,
    keys: &[custom(
        "",
        Kind::List,
        Fallback::Texts(&["hermes-cli"]),
        "Names of toolsets.",
    )],
};

pub(super) const AGENT: Section = Section {
    name: "agent",
    doc: "How long and how hard the agent works.",
    open: false,
    keys: &[
        int("max_turns", 90, "Most turns for one request.").var("HERMES_MAX_ITERATIONS"),
        int(
            "gateway_timeout",
            1800,
            "Seconds a request through the gateway may take.",
        )
        .var("HERMES_AGENT_TIMEOUT"),
        int(
            "gateway_timeout_warning",
            900,
            "Seconds after which the user is warned.",
        )
        .var("HERMES_AGENT_TIMEOUT_WARNING"),
        int(
            "gateway_notify_interval",
            180,
            "Seconds between signs of life.",
        )
        .var("HERMES_AGENT_NOTIFY_INTERVAL"),
        int(
            "gateway_auto_continue_freshness",
            3600,
            "Seconds within which a cut-off turn is taken up again.",
        )
        .var("HERMES_AUTO_CONTINUE_FRESHNESS"),
        whole(
            "restart_drain_timeout",
            180,
            "Seconds a stopping gateway waits for running turns.",
        )
        .var("HERMES_RESTART_DRAIN_TIMEOUT"),
        int("api_max_retries", 3, "Tries per request to a provider."),
        int(
            "clarify_timeout",
            3600,
            "Seconds a question to the user stays open.",
        ),
        text(
            "tool_use_enforcement",
            "auto",
            "Whether a model is pressed to use its tools.",
        ),
        text("image_input_mode", "auto", "How images reach the model."),
        list("disabled_toolsets", "Toolsets that stay off everywhere."),
        text("service_tier", "", "Service tier asked of the provider."),
        custom(
            "verify_on_stop",
            Kind::BoolOr(&["auto"]),
            Fallback::Bool(false),
            "Whether the agent checks its work before it stops.",
        ),
        text(
            "system_prompt",
            "",
            "Text added to the system prompt of every request.",
        )
        .unset(),
        text(
            "environment_hint",
            "",
            "What the model is told about the machine.",
        )
        .unset(),
        text("reasoning_effort", "", "How much the model thinks.").unset(),
        map(
            "reasoning_overrides",
            "How much single models think, by name.",
        ),
        whole(
            "local_stream_stale_timeout",
            900,
            "Seconds a local server may be silent while it answers.",
        ),
    ],
};

pub(super) const DELEGATION: Section = Section {
    name: "delegation",
    doc: "Sub-agents.",
    open: true,
    keys: &[
        int(
            "max_concurrent_children",
            3,
            "Sub-agents that may run at once.",
        ),
        int(
            "max_iterations",
            50,
            "Most turns of a sub-agent; 50 if unset.",
        )
        .unset(),
        int(
            "child_timeout_seconds",
            0,
            "Seconds a sub-agent may take; 0 for no limit.",
        )
        .unset(),
        int(
            "max_spawn_depth",
            1,
            "Generations of sub-agents; 1 if unset.",
        )
        .unset(),
    ],
};

pub(super) const MEMORY: Section = Section {
    name: "memory",
    doc: "What the agent remembers.",
    open: false,
    keys: &[
        flag("memory_enabled", true, "Whether `MEMORY.md` is used."),
        flag("user_profile_enabled", true, "Whether `USER.md` is used."),
        int("memory_char_limit", 2200, "Most characters of `MEMORY.md`."),
        int("user_char_limit", 1375, "Most characters of `USER.md`."),
        text(
            "provider",
            "",
            "External memory; empty means the files alone.",
        ),
        flag(
            "write_approval",
            false,
            "Whether the user approves each note.",
        ),
    ],
};

pub(super) const SKILLS: Section = Section {
    name: "skills",
    doc: "Skills the agent can read.",
    open: false,
    keys: &[
        list("external_dirs", "Further directories of skills."),
        list("disabled", "Skills that stay off.").unset(),
        flag(
            "template_vars",
            true,
            "Whether `{{…}}` in a skill is filled in.",
        ),
        flag(
            "inline_shell",
            false,
            "Whether a skill may run commands while it is read.",
        ),
        int("inline_shell_timeout", 10, "Seconds for such a command."),
        flag(
            "guard_agent_created",
            false,
            "Whether skills written by the agent are checked first.",
        ),
        flag(
            "write_approval",
            false,
            "Whether the user approves each change to a skill.",
        ),
    ],
};

pub(super) const TOOLS: Section = Section {
    name: "tools",
    doc: "Tools as a whole.",
    open: false,
    keys: &[
        custom(
            "tool_search.enabled",
            Kind::BoolOr(&["auto"]),
            Fallback::Text("auto"),
            "Whether rarely used tools are searched instead of listed.",
        ),
        whole(
            "tool_search.threshold_pct",
            10,
            "Share of the context, in percent, from which `auto` means yes.",
        ),
        int(
            "tool_search.search_default_limit",
            5,
            "Results of a search.",
        ),
        int(
            "tool_search.max_search_limit",
            20,
            "Most results of a search.",
        ),
        list(
            "env_passthrough",
            "Another name of `terminal.env_passthrough`.",
        )
        .unset(),
    ],
};

pub(super) const MCP_SERVERS: Section = Section {
    name: "mcp_servers",
    doc: "MCP servers, by name.",
    open: false,
    keys: &[
        map("", "Name of a server to its settings."),
        text("*.command", "", "Program of a server that is started here.").unset(),
        list("*.args", "Its arguments.").unset(),
        map("*.env", "Variables for it.").unset(),
        text("*.url", "", "Address of a server that runs elsewhere.").unset(),
        map("*.headers", "Headers sent to it.").unset(),
        flag("*.enabled", true, "Whether it is used."),
        int("*.timeout", 120, "Seconds for one call.").unset(),
    ],
};

pub(super) const CODE_EXECUTION: Section = Section {
    name: "code_execution",
    doc: "Programs the agent writes and runs.",
    open: true,
    keys: &[
        choice(
            "mode",
            &["project", "strict"],
            "project",
            "Where such a program runs and what it may see.",
        ),
        positive("timeout", 300, "Seconds such a program may take."),
        positive("max_tool_calls", 50, "Tools it may call."),
        text("python", "", "Interpreter; empty means the one on PATH.").unset(),
    ],
};

pub(super) const TOOL_OUTPUT: Section = Section {
    name: "tool_output",
    doc: "Size of tool results.",
    open: true,
    keys: &[
        positive("max_bytes", 50_000, "Most bytes of a command's output."),
        positive("max_lines", 2_000, "Most lines of one file reading."),
        positive("max_line_length", 2_000, "Most characters of one line."),
    ],
};

pub(super) const COMPRESSION: Section = Section {
    name: "compression",
    doc: "Shortening of long conversations.",
    open: true,
    keys: &[
        flag(
            "enabled",
            true,
            "Whether long conversations are shortened; yes if unset.",
        )
        .unset(),
        number(
            "threshold",
            0.5,
            "Share of the context window from which one is shortened; 0.5 if unset.",
        )
        .unset(),
        number(
            "target_ratio",
            0.2,
            "Share of that which stays as it is; 0.2 if unset.",
        )
        .unset(),
        int(
            "protect_first_n",
            3,
            "Messages at the beginning that stay; 3 if unset.",
        )
        .unset(),
        flag(
            "abort_on_summary_failure",
            false,
            "Whether everything stays as it is when no summary can be made.",
        )
        .unset(),
    ],
};

pub(super) const TOOL_LOOP_GUARDRAILS: Section = Section {
    name: "tool_loop_guardrails",
    doc: "Brakes for repeated tool calls.",
    open: true,
    keys: &[
        flag(
            "warnings_enabled",
            true,
            "Whether the model is warned; yes if unset.",
        )
        .unset(),
        flag(
            "hard_stop_enabled",
            false,
            "Whether such calls are refused.",
        )
        .unset(),
        positive(
            "warn_after.exact_failure",
            2,
            "Failures of one call before a warning; 2 if unset.",
        )
        .unset(),
        positive(
            "warn_after.same_tool_failure",
            3,
            "Failures of one tool before a warning; 3 if unset.",
        )
        .unset(),
        positive(
            "warn_after.idempotent_no_progress",
            2,
            "Equal results of one call before a warning; 2 if unset.",
        )
        .unset(),
        positive(
            "hard_stop_after.exact_failure",
            5,
            "Failures of one call before a refusal; 5 if unset.",
        )
        .unset(),
        positive(
            "hard_stop_after.same_tool_failure",
            8,
            "Failures of one tool before a refusal; 8 if unset.",
        )
        .unset(),
        positive(
            "hard_stop_after.idempotent_no_progress",
            5,
            "Equal results of one call before a refusal; 5 if unset.",
        )
        .unset(),
    ],
};

pub(super) const OPENROUTER: Section = Section {
    name: "openrouter",
    doc: "The provider OpenRouter.",
    open: true,
    keys: &[
        flag(
            "response_cache",
            false,
            "Whether answers may come from its cache.",
        )
        .unset(),
        int(
            "response_cache_ttl",
            0,
            "Seconds such an answer may be old.",
        )
        .unset(),
    ],
};

pub(super) const PROMPT_CACHING: Section = Section {
    name: "prompt_caching",
    doc: "Caching of prompts.",
    open: true,
    keys: &[text(
        "cache_ttl",
        "",
        "How long a prompt stays cached: `5m` or `1h`; `5m` if unset.",
    )
    .unset()],
};
