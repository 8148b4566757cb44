//! The built-in providers.

use crate::route::ApiMode;

/// A built-in provider.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    pub id: &'static str,
    pub aliases: &'static [&'static str],
    /// The address of the API; empty where every customer has one of their own.
    pub base_url: &'static str,
    /// Variables with the key; the first usable one wins. None for providers with a login only.
    pub key_variables: &'static [&'static str],
    /// The variable that overrides the address; empty for none.
    pub url_variable: &'static str,
    pub(crate) mode: ApiMode,
}

impl Builtin {
    /// Whether the provider is a server on this machine, which works without a key.
    pub(super) fn key_is_optional(&self) -> bool {
        self.id == "lmstudio"
    }

    /// Whether a key in a variable says that its owner wants this provider. Tokens for GitHub are
    /// lying about for other reasons.
    pub(super) fn is_meant_by(&self, variable: &str) -> bool {
        self.id != COPILOT || !["GH_TOKEN", "GITHUB_TOKEN"].contains(&variable)
    }
}

/// Rows of names, wire format, address, key variables and address variable.
macro_rules! builtins {
    ($($id:literal $(| $alias:literal)* => $mode:ident, $url:literal, [$($key:literal),*], $url_variable:literal;)+) => {
        &[$(Builtin {
            id: $id,
            aliases: &[$($alias),*],
            base_url: $url,
            key_variables: &[$($key),*],
            url_variable: $url_variable,
            mode: ApiMode::$mode,
        },)+]
    };
}

/// All built-in providers, in the order in which `auto` looks for a key.
pub const BUILTINS: &[Builtin] = builtins! {
    "openrouter" | "or" => Chat, "https://openrouter.ai/api/v1",
        ["OPENROUTER_API_KEY", "OPENAI_API_KEY"], "OPENROUTER_BASE_URL";
    "openai-api" | "openai" => Responses, "https://api.openai.com/v1",
        ["OPENAI_API_KEY"], "OPENAI_BASE_URL";
    "anthropic" | "claude" => Anthropic, "https://api.anthropic.com",
        ["ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN"], "ANTHROPIC_BASE_URL";
    "gemini" | "google" => Chat, "https://generativelanguage.googleapis.com/v1beta/openai",
        ["GOOGLE_API_KEY", "GEMINI_API_KEY"], "GEMINI_BASE_URL";
    "xai" | "grok" | "x-ai" => Responses, "https://api.x.ai/v1",
        ["XAI_API_KEY"], "XAI_BASE_URL";
    "deepseek" => Chat, "https://api.deepseek.com/v1",
        ["DEEPSEEK_API_KEY"], "DEEPSEEK_BASE_URL";
    "zai" | "glm" | "zhipu" => Chat, "https://api.z.ai/api/paas/v4",
        ["GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"], "GLM_BASE_URL";
    "kimi-coding" | "kimi" | "moonshot" => Chat, "https://api.moonshot.ai/v1",
        ["KIMI_API_KEY", "KIMI_CODING_API_KEY"], "KIMI_BASE_URL";
    "kimi-coding-cn" | "kimi-cn" | "moonshot-cn" => Chat, "https://api.moonshot.cn/v1",
        ["KIMI_CN_API_KEY"], "";
    "minimax" => Anthropic, "https://api.minimax.io/anthropic",
        ["MINIMAX_API_KEY"], "MINIMAX_BASE_URL";
    "minimax-cn" => Anthropic, "https://api.minimaxi.com/anthropic",
        ["MINIMAX_CN_API_KEY"], "MINIMAX_CN_BASE_URL";
    "alibaba" | "dashscope" => Chat, "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        ["DASHSCOPE_API_KEY"], "DASHSCOPE_BASE_URL";
    "alibaba-coding-plan" => Chat, "https://coding-intl.dashscope.aliyuncs.com/v1",
        ["ALIBABA_CODING_PLAN_API_KEY"], "ALIBABA_CODING_PLAN_BASE_URL";
    "nvidia" | "nim" => Chat, "https://integrate.api.nvidia.com/v1",
        ["NVIDIA_API_KEY"], "NVIDIA_BASE_URL";
    "huggingface" | "hf" => Chat, "https://router.huggingface.co/v1",
        ["HF_TOKEN"], "HF_BASE_URL";
    "novita" => Chat, "https://api.novita.ai/openai/v1",
        ["NOVITA_API_KEY"], "NOVITA_BASE_URL";
    "gmi" => Chat, "https://api.gmi-serving.com/v1",
        ["GMI_API_KEY"], "GMI_BASE_URL";
    "arcee" => Chat, "https://api.arcee.ai/api/v1",
        ["ARCEEAI_API_KEY"], "ARCEEAI_BASE_URL";
    "stepfun" => Chat, "https://api.stepfun.ai/step_plan/v1",
        ["STEPFUN_API_KEY"], "STEPFUN_BASE_URL";
    "xiaomi" => Chat, "https://api.xiaomimimo.com/v1",
        ["XIAOMI_API_KEY"], "XIAOMI_BASE_URL";
    "tencent-tokenhub" => Chat, "https://tokenhub.tencentmaas.com/v1",
        ["TOKENHUB_API_KEY"], "TOKENHUB_BASE_URL";
    "opencode-zen" | "opencode" | "opencode_zen" | "zen" => Chat, "https://opencode.ai/zen/v1",
        ["OPENCODE_ZEN_API_KEY"], "OPENCODE_ZEN_BASE_URL";
    "opencode-go" | "opencode_go" | "opencode-go-sub" | "go" => Chat, "https://opencode.ai/zen/go/v1",
        ["OPENCODE_GO_API_KEY"], "OPENCODE_GO_BASE_URL";
    "kilocode" => Chat, "https://api.kilo.ai/api/gateway",
        ["KILOCODE_API_KEY"], "KILOCODE_BASE_URL";
    "deepinfra" => Chat, "https://api.deepinfra.com/v1/openai",
        ["DEEPINFRA_API_KEY"], "DEEPINFRA_BASE_URL";
    "fireworks" | "fw" => Chat, "https://api.fireworks.ai/inference/v1",
        ["FIREWORKS_API_KEY"], "FIREWORKS_BASE_URL";
    "upstage" | "solar" => Chat, "https://api.upstage.ai/v1",
        ["UPSTAGE_API_KEY"], "UPSTAGE_BASE_URL";
    "ollama-cloud" => Chat, "https://ollama.com/v1",
        ["OLLAMA_API_KEY"], "OLLAMA_BASE_URL";
    "nous" | "nous-portal" => Chat, "https://inference-api.nousresearch.com/v1",
        ["NOUS_API_KEY"], "NOUS_INFERENCE_BASE_URL";
    "openai-codex" | "codex" => Responses, "https://chatgpt.com/backend-api/codex",
        [], "HERMES_CODEX_BASE_URL";
    "xai-oauth" | "grok-oauth" | "x-ai-oauth" | "xai-grok-oauth" => Responses, "https://api.x.ai/v1",
        [], "HERMES_XAI_BASE_URL";
    "qwen-oauth" | "qwen-portal" | "qwen-cli" => Chat, "https://portal.qwen.ai/v1",
        [], "HERMES_QWEN_BASE_URL";
    "minimax-oauth" | "minimax-portal" | "minimax-global" | "minimax_oauth" => Anthropic,
        "https://api.minimax.io/anthropic",
        [], "";
    "lmstudio" => Chat, "http://127.0.0.1:1234/v1",
        ["LM_API_KEY"], "LM_BASE_URL";
    "azure-foundry" | "azure" | "azure-ai-foundry" | "azure-ai" => Chat, "",
        ["AZURE_FOUNDRY_API_KEY"], "AZURE_FOUNDRY_BASE_URL";
    "copilot" | "github-copilot" | "github-models" | "github-model" | "github" => Chat,
        "https://api.githubcopilot.com",
        ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"], "COPILOT_API_BASE_URL";
};

/// GitHub Copilot, whose keys are tokens for GitHub.
pub(crate) const COPILOT: &str = "copilot";

/// Azure, where every customer has an address.
pub(crate) const AZURE: &str = "azure-foundry";

/// Names of the provider `custom`.
pub(super) const CUSTOM: &[&str] = &["custom", "ollama", "local", "vllm", "llamacpp"];

/// The built-in provider with this name or alias.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    let name = name.trim();
    BUILTINS.iter().find(|one| {
        one.id.eq_ignore_ascii_case(name)
            || one
                .aliases
                .iter()
                .any(|alias| alias.eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::login::LOGIN_SERVERS;

    #[test]
    fn every_login_is_of_a_known_provider() {
        for server in LOGIN_SERVERS {
            assert_eq!(builtin(server.provider).unwrap().id, server.provider);
            assert!(server.url.starts_with("https://"), "{}", server.url);
        }
        for one in BUILTINS.iter().filter(|one| one.key_variables.is_empty()) {
            let has_login = LOGIN_SERVERS.iter().any(|server| server.provider == one.id);
            assert!(
                has_login || one.id == crate::login::QwenLogin::PROVIDER,
                "{}",
                one.id
            );
        }
    }

    #[test]
    fn names_and_aliases_are_unique() {
        let mut seen = HashSet::new();
        for one in BUILTINS {
            for name in std::iter::once(&one.id).chain(one.aliases) {
                assert!(seen.insert(*name), "{name}");
                assert!(!CUSTOM.contains(name), "{name}");
                assert_eq!(builtin(name).unwrap().id, one.id);
            }
        }
    }
}
