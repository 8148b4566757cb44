//! Sections that other parts of the program own: known by name, free below it.

use super::super::key::Section;

const fn section(name: &'static str, doc: &'static str) -> Section {
    Section {
        name,
        doc,
        keys: &[],
        open: true,
    }
}

pub(super) const COMPRESSION: Section = section("compression", "Shortening of long conversations.");
pub(super) const AUXILIARY: Section = section(
    "auxiliary",
    "Models for side tasks, by task (compression, title_generation, triage_specifier, \
     kanban_decomposer, goal_judge): provider, model, base_url, api_key, timeout, extra_body, \
     reasoning_effort, and `title_generation.enabled`; transient_retries for all of them.",
);
pub(super) const CHECKPOINTS: Section = section(
    "checkpoints",
    "Snapshots of files before the agent changes them.",
);
pub(super) const CURATOR: Section = section("curator", "Upkeep of skills.");
pub(super) const LSP: Section = section("lsp", "Language servers.");
pub(super) const TTS: Section = section("tts", "Speech from text.");
pub(super) const STT: Section = section("stt", "Text from speech.");
pub(super) const VOICE: Section = section("voice", "Voice conversations.");
pub(super) const SECRETS: Section = section("secrets", "External secret managers.");
pub(super) const BROWSER: Section = section("browser", "The browser tool.");
pub(super) const PLUGINS: Section = section("plugins", "Add-ons.");
pub(super) const HOOKS: Section = section("hooks", "Commands run at events.");
pub(super) const WEB: Section = section("web", "Web search and reading.");
pub(super) const X_SEARCH: Section = section("x_search", "Search on X.");
pub(super) const MOA: Section = section("moa", "Several models answering together.");
pub(super) const BEDROCK: Section = section("bedrock", "The provider Bedrock.");
pub(super) const VERTEX: Section = section("vertex", "The provider Vertex.");
pub(super) const OPENROUTER: Section = section("openrouter", "The provider OpenRouter.");
pub(super) const MODEL_ALIASES: Section = section(
    "model_aliases",
    "Short names of models to model, provider and base_url.",
);
pub(super) const PROVIDER_ROUTING: Section = section(
    "provider_routing",
    "Which hosts OpenRouter may use: only, ignore, order, sort, require_parameters, data_collection.",
);
pub(super) const MODEL_CATALOG: Section = section("model_catalog", "The catalogue of models.");
pub(super) const PROMPT_CACHING: Section = section("prompt_caching", "Caching of prompts.");
pub(super) const STREAMING: Section = section("streaming", "Streaming to chat platforms.");
pub(super) const TOOL_LOOP_GUARDRAILS: Section =
    section("tool_loop_guardrails", "Brakes for repeating tool calls.");
pub(super) const HUMAN_DELAY: Section = section("human_delay", "Delays that look human.");
pub(super) const ONBOARDING: Section = section("onboarding", "Hints already shown.");
pub(super) const DESKTOP: Section = section("desktop", "The desktop program.");
pub(super) const PRIVACY: Section = section("privacy", "What is kept private.");
pub(super) const CONTEXT: Section = section("context", "How context is assembled.");
pub(super) const GOALS: Section = section("goals", "Standing goals.");
pub(super) const HONCHO: Section = section("honcho", "The memory service Honcho.");
pub(super) const MCP: Section = section("mcp", "MCP as a whole.");
pub(super) const COMPUTER_USE: Section = section("computer_use", "Control of the screen.");
pub(super) const IMAGE_GEN: Section = section("image_gen", "Making images.");
pub(super) const VIDEO_GEN: Section = section("video_gen", "Making videos.");
pub(super) const PERSONALITIES: Section = section("personalities", "Personalities, by name.");
pub(super) const PLATFORM_HINTS: Section =
    section("platform_hints", "Hints to the model per platform.");
pub(super) const PLATFORM_TOOLSETS: Section =
    section("platform_toolsets", "Toolsets per platform.");
pub(super) const KNOWN_PLUGIN_TOOLSETS: Section =
    section("known_plugin_toolsets", "Toolsets that add-ons brought.");
pub(super) const QUICK_COMMANDS: Section = section("quick_commands", "Short commands of your own.");
pub(super) const CHANNEL_PROMPTS: Section = section("channel_prompts", "Prompts per channel.");
pub(super) const SERVER_ACTIONS: Section = section("server_actions", "Actions of the server.");
pub(super) const PROFILE_ROUTES: Section =
    section("profile_routes", "Which profile answers where.");
pub(super) const SMART_MODEL_ROUTING: Section =
    section("smart_model_routing", "Cheaper models for simple requests.");
pub(super) const TELEGRAM: Section = section("telegram", "Settings of the platform Telegram.");
pub(super) const DISCORD: Section = section("discord", "Settings of the platform Discord.");
pub(super) const SLACK: Section = section("slack", "Settings of the platform Slack.");
pub(super) const WHATSAPP: Section = section("whatsapp", "Settings of the platform WhatsApp.");
pub(super) const SIGNAL: Section = section("signal", "Settings of the platform Signal.");
pub(super) const MATRIX: Section = section("matrix", "Settings of the platform Matrix.");
pub(super) const MATTERMOST: Section =
    section("mattermost", "Settings of the platform Mattermost.");
pub(super) const EMAIL: Section = section("email", "Settings of the platform mail.");
pub(super) const SMS: Section = section("sms", "Settings of the platform SMS.");
pub(super) const DINGTALK: Section = section("dingtalk", "Settings of the platform DingTalk.");
pub(super) const FEISHU: Section = section("feishu", "Settings of the platform Feishu.");
pub(super) const WECOM: Section = section("wecom", "Settings of the platform WeCom.");
pub(super) const WEIXIN: Section = section("weixin", "Settings of the platform Weixin.");
pub(super) const BLUEBUBBLES: Section =
    section("bluebubbles", "Settings of the platform BlueBubbles.");
pub(super) const QQBOT: Section = section("qqbot", "Settings of the platform QQ.");
pub(super) const YUANBAO: Section = section("yuanbao", "Settings of the platform Yuanbao.");
pub(super) const ALWAYS_LOG_LOCAL: Section = section(
    "always_log_local",
    "Whether messages are also kept locally.",
);
pub(super) const CONTEXT_FILE_MAX_CHARS: Section = section(
    "context_file_max_chars",
    "Most characters of a context file.",
);
pub(super) const FILE_READ_MAX_CHARS: Section = section(
    "file_read_max_chars",
    "Most characters of one file reading.",
);
pub(super) const FILTER_SILENCE_NARRATION: Section = section(
    "filter_silence_narration",
    "Whether remarks about silence are dropped.",
);
pub(super) const GROUP_SESSIONS_PER_USER: Section = section(
    "group_sessions_per_user",
    "Whether members of a group have sessions of their own.",
);
pub(super) const HOOKS_AUTO_ACCEPT: Section = section(
    "hooks_auto_accept",
    "Whether new hooks are accepted unasked.",
);
pub(super) const MAX_CONCURRENT_SESSIONS: Section =
    section("max_concurrent_sessions", "Sessions that may run at once.");
pub(super) const MAX_LIVE_SESSIONS: Section =
    section("max_live_sessions", "Sessions kept in memory.");
pub(super) const MCP_DISCOVERY_TIMEOUT: Section = section(
    "mcp_discovery_timeout",
    "Seconds for finding the tools of MCP servers.",
);
pub(super) const MULTIPLEX_PROFILES: Section = section(
    "multiplex_profiles",
    "Older place of `gateway.multiplex_profiles`.",
);
pub(super) const PASTE_COLLAPSE_CHAR_THRESHOLD: Section = section(
    "paste_collapse_char_threshold",
    "Characters from which a paste is folded.",
);
pub(super) const PASTE_COLLAPSE_THRESHOLD: Section = section(
    "paste_collapse_threshold",
    "Lines from which a paste is folded.",
);
pub(super) const PASTE_COLLAPSE_THRESHOLD_FALLBACK: Section = section(
    "paste_collapse_threshold_fallback",
    "The same where pastes cannot be told.",
);
pub(super) const PREFILL_MESSAGES_FILE: Section = section(
    "prefill_messages_file",
    "File of messages that open each conversation.",
);
pub(super) const REQUIRE_MENTION: Section = section(
    "require_mention",
    "Whether the bot answers only when named.",
);
pub(super) const RESET_TRIGGERS: Section =
    section("reset_triggers", "Words that start a new conversation.");
pub(super) const STT_ECHO_TRANSCRIPTS: Section =
    section("stt_echo_transcripts", "Whether transcripts are sent back.");
pub(super) const THREAD_SESSIONS_PER_USER: Section = section(
    "thread_sessions_per_user",
    "Whether members of a thread have sessions of their own.",
);
pub(super) const UNAUTHORIZED_DM_BEHAVIOR: Section = section(
    "unauthorized_dm_behavior",
    "What strangers get for an answer.",
);
