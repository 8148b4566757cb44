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

pub(super) static SECTIONS: &[Section] = &[
    section(
        "auxiliary",
        "Models for side tasks, by task (compression, title_generation, triage_specifier, \
     kanban_decomposer, goal_judge, approval, vision, profile_describer, mcp, background_review): provider, model, \
     base_url, api_key, timeout, extra_body, reasoning_effort; also `title_generation.enabled`, `title_generation.language` and \
     `goal_judge.max_tokens`; transient_retries for all of them.",
    ),
    section("curator", "Upkeep of skills."),
    section("lsp", "Language servers."),
    section("tts", "Speech from text."),
    section("stt", "Text from speech."),
    section("voice", "Voice conversations."),
    section("secrets", "External secret managers."),
    section("browser", "The browser tool."),
    section(
        "plugins",
        "Plugins: enabled and disabled, lists of names or keys, of which disabled wins; entries, by key: \
         allow_tool_override (its tools may replace built-in ones), hook_timeout_seconds (0.1 to 30; 2 \
         unless set), fail_closed (a hook that fails or is too slow blocks the call). The skills of an \
         enabled plugin can be had as `plugin:skill`.",
    ),
    section(
        "hooks",
        "Commands run at events of conversations, by event: a list of command, matcher (tools), timeout, \
         on_error (allow, block), env_passthrough.",
    ),
    section("web", "Web search and reading."),
    section("x_search", "Search on X."),
    section("moa", "Several models answering together."),
    section("bedrock", "The provider Bedrock."),
    section("vertex", "The provider Vertex."),
    section(
        "model_aliases",
        "Short names of models to model, provider and base_url.",
    ),
    section(
        "provider_routing",
        "Which hosts OpenRouter may use: only, ignore, order, sort, require_parameters, \
         data_collection.",
    ),
    section("model_catalog", "The catalogue of models."),
    section("streaming", "Streaming to chat platforms."),
    section("human_delay", "Human-like delays."),
    section("onboarding", "Hints already shown."),
    section("desktop", "The desktop program."),
    section("privacy", "What is kept private."),
    section("context", "How context is assembled."),
    section("honcho", "The memory service Honcho."),
    section("computer_use", "Control of the screen."),
    section("image_gen", "Making images."),
    section("video_gen", "Making videos."),
    section(
        "personalities",
        "Personalities of your own, by name: a text, or system_prompt, tone and style.",
    ),
    section("platform_hints", "Hints to the model per platform."),
    section("platform_toolsets", "Toolsets per platform."),
    section("known_plugin_toolsets", "Toolsets that add-ons brought."),
    section(
        "quick_commands",
        "Slash commands of your own, by name: type exec with command, or type alias with target.",
    ),
    section("channel_prompts", "Prompts per channel."),
    section("server_actions", "Actions of the server."),
    section("profile_routes", "Which profile answers where."),
    section("smart_model_routing", "Cheaper models for simple requests."),
    section("telegram", "Settings of the platform Telegram."),
    section("discord", "Settings of the platform Discord."),
    section("slack", "Settings of the platform Slack."),
    section("whatsapp", "Settings of the platform WhatsApp."),
    section("signal", "Settings of the platform Signal."),
    section("matrix", "Settings of the platform Matrix."),
    section("mattermost", "Settings of the platform Mattermost."),
    section("email", "Settings of the platform mail."),
    section("sms", "Settings of the platform SMS."),
    section("dingtalk", "Settings of the platform DingTalk."),
    section("feishu", "Settings of the platform Feishu."),
    section("wecom", "Settings of the platform WeCom."),
    section("weixin", "Settings of the platform Weixin."),
    section("bluebubbles", "Settings of the platform BlueBubbles."),
    section("qqbot", "Settings of the platform QQ."),
    section("yuanbao", "Settings of the platform Yuanbao."),
];
