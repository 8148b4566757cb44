//! Providers as people know them: their names, and where their keys are made.

use hermes_providers::Builtin;

/// Id, name, and the page with the keys.
const NAMES: &[(&str, &str, &str)] = &[
    ("openrouter", "OpenRouter", "openrouter.ai/keys"),
    ("openai-api", "OpenAI", "platform.openai.com/api-keys"),
    (
        "anthropic",
        "Anthropic",
        "console.anthropic.com/settings/keys",
    ),
    ("gemini", "Google Gemini", "aistudio.google.com/apikey"),
    ("xai", "xAI", "console.x.ai"),
    ("deepseek", "DeepSeek", "platform.deepseek.com/api_keys"),
    ("zai", "Z.ai (GLM)", "z.ai/manage-apikey/apikey-list"),
    (
        "kimi-coding",
        "Kimi (Moonshot)",
        "platform.moonshot.ai/console/api-keys",
    ),
    (
        "kimi-coding-cn",
        "Kimi (Moonshot, China)",
        "platform.moonshot.cn/console/api-keys",
    ),
    ("minimax", "MiniMax", "platform.minimax.io"),
    ("minimax-cn", "MiniMax (China)", "platform.minimaxi.com"),
    (
        "alibaba",
        "Qwen (Alibaba Cloud)",
        "modelstudio.console.alibabacloud.com",
    ),
    (
        "alibaba-coding-plan",
        "Qwen coding plan",
        "modelstudio.console.alibabacloud.com",
    ),
    ("nvidia", "NVIDIA", "build.nvidia.com"),
    (
        "huggingface",
        "Hugging Face",
        "huggingface.co/settings/tokens",
    ),
    ("novita", "Novita", "novita.ai/settings/key-management"),
    ("gmi", "GMI Cloud", "console.gmicloud.ai"),
    ("arcee", "Arcee", "arcee.ai"),
    ("stepfun", "StepFun", "platform.stepfun.ai"),
    ("xiaomi", "Xiaomi MiMo", "platform.xiaomimimo.com"),
    (
        "tencent-tokenhub",
        "Tencent TokenHub",
        "tokenhub.tencentmaas.com",
    ),
    ("opencode-zen", "OpenCode Zen", "opencode.ai/auth"),
    ("opencode-go", "OpenCode Go", "opencode.ai/auth"),
    ("kilocode", "Kilo Code", "app.kilo.ai"),
    ("deepinfra", "DeepInfra", "deepinfra.com/dash/api_keys"),
    (
        "fireworks",
        "Fireworks",
        "app.fireworks.ai/settings/users/api-keys",
    ),
    ("upstage", "Upstage", "console.upstage.ai/api-keys"),
    ("ollama-cloud", "Ollama Cloud", "ollama.com/settings/keys"),
    ("lmstudio", "LM Studio", ""),
    ("azure-foundry", "Azure Foundry", "ai.azure.com"),
    (
        "copilot",
        "GitHub Copilot",
        "github.com/settings/personal-access-tokens",
    ),
    ("nous", "Nous Portal", "portal.nousresearch.com"),
    ("openai-codex", "OpenAI (ChatGPT account)", ""),
    ("xai-oauth", "xAI (Grok account)", ""),
    ("minimax-oauth", "MiniMax (account)", ""),
    ("qwen-oauth", "Qwen (account)", ""),
];

/// The name of a provider.
pub(crate) fn provider_name(id: &str) -> &str {
    let found = NAMES.iter().find(|(known, ..)| *known == id);
    found.map_or(id, |(_, name, _)| *name)
}

/// The page where keys of a provider are made.
pub(super) fn key_page(provider: &Builtin) -> Option<&'static str> {
    let found = NAMES.iter().find(|(known, ..)| *known == provider.id)?;
    Some(found.2).filter(|page| !page.is_empty())
}

#[cfg(test)]
mod tests {
    use hermes_providers::BUILTINS;

    use super::*;

    #[test]
    fn every_built_in_provider_has_a_name() {
        for one in BUILTINS {
            assert!(NAMES.iter().any(|(id, ..)| *id == one.id), "{}", one.id);
        }
    }
}
