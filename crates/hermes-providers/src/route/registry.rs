//! The built-in providers.

use super::api_mode::ApiMode;

/// A built-in provider.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// The name.
    pub id: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The address.
    pub base_url: &'static str,
    /// Variables with the key; the first usable one wins.
    pub key_variables: &'static [&'static str],
    /// The variable that overrides the address.
    pub url_variable: &'static str,
    /// The wire format.
    pub(crate) mode: ApiMode,
    /// Whether it works without a key.
    pub(crate) key_is_optional: bool,
}

const fn chat(
    id: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
    url_variable: &'static str,
) -> Builtin {
    Builtin {
        id,
        aliases: &[],
        base_url,
        key_variables,
        url_variable,
        mode: ApiMode::Chat,
        key_is_optional: false,
    }
}

impl Builtin {
    const fn with_aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn with_mode(mut self, mode: ApiMode) -> Self {
        self.mode = mode;
        self
    }

    const fn without_key(mut self) -> Self {
        self.key_is_optional = true;
        self
    }
}

/// All built-in providers, in the order in which `auto` looks for a key.
pub const BUILTINS: &[Builtin] = &[
    chat(
        "openrouter",
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY", "OPENAI_API_KEY"],
        "OPENROUTER_BASE_URL",
    )
    .with_aliases(&["or"]),
    chat(
        "openai-api",
        "https://api.openai.com/v1",
        &["OPENAI_API_KEY"],
        "OPENAI_BASE_URL",
    )
    .with_aliases(&["openai"])
    .with_mode(ApiMode::Responses),
    chat(
        "anthropic",
        "https://api.anthropic.com",
        &["ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN"],
        "ANTHROPIC_BASE_URL",
    )
    .with_aliases(&["claude"])
    .with_mode(ApiMode::Anthropic),
    chat(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        "GEMINI_BASE_URL",
    )
    .with_aliases(&["google"]),
    chat(
        "xai",
        "https://api.x.ai/v1",
        &["XAI_API_KEY"],
        "XAI_BASE_URL",
    )
    .with_aliases(&["grok", "x-ai"])
    .with_mode(ApiMode::Responses),
    chat(
        "deepseek",
        "https://api.deepseek.com/v1",
        &["DEEPSEEK_API_KEY"],
        "DEEPSEEK_BASE_URL",
    ),
    chat(
        "zai",
        "https://api.z.ai/api/paas/v4",
        &["GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"],
        "GLM_BASE_URL",
    )
    .with_aliases(&["glm", "zhipu"]),
    chat(
        "kimi-coding",
        "https://api.moonshot.ai/v1",
        &["KIMI_API_KEY", "KIMI_CODING_API_KEY"],
        "KIMI_BASE_URL",
    )
    .with_aliases(&["kimi", "moonshot"]),
    chat(
        "kimi-coding-cn",
        "https://api.moonshot.cn/v1",
        &["KIMI_CN_API_KEY"],
        "",
    )
    .with_aliases(&["kimi-cn", "moonshot-cn"]),
    chat(
        "minimax",
        "https://api.minimax.io/anthropic",
        &["MINIMAX_API_KEY"],
        "MINIMAX_BASE_URL",
    )
    .with_mode(ApiMode::Anthropic),
    chat(
        "minimax-cn",
        "https://api.minimaxi.com/anthropic",
        &["MINIMAX_CN_API_KEY"],
        "MINIMAX_CN_BASE_URL",
    )
    .with_mode(ApiMode::Anthropic),
    chat(
        "alibaba",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        &["DASHSCOPE_API_KEY"],
        "DASHSCOPE_BASE_URL",
    )
    .with_aliases(&["dashscope"]),
    chat(
        "alibaba-coding-plan",
        "https://coding-intl.dashscope.aliyuncs.com/v1",
        &["ALIBABA_CODING_PLAN_API_KEY"],
        "ALIBABA_CODING_PLAN_BASE_URL",
    ),
    chat(
        "nvidia",
        "https://integrate.api.nvidia.com/v1",
        &["NVIDIA_API_KEY"],
        "NVIDIA_BASE_URL",
    )
    .with_aliases(&["nim"]),
    chat(
        "huggingface",
        "https://router.huggingface.co/v1",
        &["HF_TOKEN"],
        "HF_BASE_URL",
    )
    .with_aliases(&["hf"]),
    chat(
        "novita",
        "https://api.novita.ai/openai/v1",
        &["NOVITA_API_KEY"],
        "NOVITA_BASE_URL",
    ),
    chat(
        "gmi",
        "https://api.gmi-serving.com/v1",
        &["GMI_API_KEY"],
        "GMI_BASE_URL",
    ),
    chat(
        "arcee",
        "https://api.arcee.ai/api/v1",
        &["ARCEEAI_API_KEY"],
        "ARCEEAI_BASE_URL",
    ),
    chat(
        "stepfun",
        "https://api.stepfun.ai/step_plan/v1",
        &["STEPFUN_API_KEY"],
        "STEPFUN_BASE_URL",
    ),
    chat(
        "xiaomi",
        "https://api.xiaomimimo.com/v1",
        &["XIAOMI_API_KEY"],
        "XIAOMI_BASE_URL",
    ),
    chat(
        "tencent-tokenhub",
        "https://tokenhub.tencentmaas.com/v1",
        &["TOKENHUB_API_KEY"],
        "TOKENHUB_BASE_URL",
    ),
    chat(
        "kilocode",
        "https://api.kilo.ai/api/gateway",
        &["KILOCODE_API_KEY"],
        "KILOCODE_BASE_URL",
    ),
    chat(
        "deepinfra",
        "https://api.deepinfra.com/v1/openai",
        &["DEEPINFRA_API_KEY"],
        "DEEPINFRA_BASE_URL",
    ),
    chat(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        &["FIREWORKS_API_KEY"],
        "FIREWORKS_BASE_URL",
    )
    .with_aliases(&["fw"]),
    chat(
        "upstage",
        "https://api.upstage.ai/v1",
        &["UPSTAGE_API_KEY"],
        "UPSTAGE_BASE_URL",
    )
    .with_aliases(&["solar"]),
    chat(
        "ollama-cloud",
        "https://ollama.com/v1",
        &["OLLAMA_API_KEY"],
        "OLLAMA_BASE_URL",
    ),
    chat(
        "lmstudio",
        "http://127.0.0.1:1234/v1",
        &["LM_API_KEY"],
        "LM_BASE_URL",
    )
    .without_key(),
];

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
