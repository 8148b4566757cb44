//! Phrases that providers use in errors, in lower case.

/// Whether the text contains one of the phrases.
pub(super) fn any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| text.contains(phrase))
}

pub(super) const CONTENT_POLICY: &[&str] = &[
    "content_policy_violation",
    "content policy",
    "content management policy",
    "safety system",
    "violates our usage polic",
    "violating our usage polic",
    "flagged for possible",
    "flagged as potentially",
    "was flagged by",
    "blocked by our content filter",
    "prohibited_content",
    "responsibleaipolicyviolation",
];

pub(super) const DATA_POLICY: &[&str] = &[
    "matching your data policy",
    "guardrail restrictions and data policy",
    "privacy settings",
];

pub(super) const CREDIT: &[&str] = &[
    "insufficient credit",
    "insufficient_quota",
    "insufficient balance",
    "insufficient funds",
    "credit balance",
    "credits exhausted",
    "out of credits",
    "add credits",
    "more credits",
    "top up",
    "payment required",
    "billing hard limit",
    "exceeded your current quota",
    "plan does not include",
    "spending limit",
    "余额不足",
];

pub(super) const CREDIT_CODES: &[&str] = &[
    "insufficient_quota",
    "insufficient_credits",
    "insufficient_balance",
    "payment_required",
    "balance_depleted",
    "billing_not_active",
    "billing_hard_limit_reached",
    "credits_exhausted",
];

pub(super) const USAGE_LIMIT: &[&str] = &["usage limit", "usage_limit", "quota limit"];

pub(super) const TRANSIENT: &[&str] = &[
    "try again",
    "resets",
    "reset at",
    "reset in",
    "retry",
    "wait",
    "window",
];

pub(super) const RATE_LIMIT: &[&str] = &[
    "rate limit",
    "rate_limit",
    "too many requests",
    "throttl",
    "requests per minute",
    "tokens per minute",
    "requests per day",
    "请求过于频繁",
];

pub(super) const RATE_LIMIT_CODES: &[&str] = &[
    "rate_limit_exceeded",
    "rate_limit_error",
    "throttled",
    "throttlingexception",
    "resource_exhausted",
    "too_many_requests",
    "usage_limit_reached",
];

pub(super) const OVERLOADED: &[&str] =
    &["overloaded", "at capacity", "server is busy", "high demand"];

pub(super) const OVERFLOW: &[&str] = &[
    "context length",
    "context_length",
    "context window",
    "context size",
    "context limit",
    "maximum context",
    "max context",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "too many tokens",
    "reduce the length",
    "exceeds the maximum number of tokens",
    "exceed the maximum number of tokens",
    "exceeds the limit of",
    "input token count",
    "max_model_len",
    "maximum model length",
    "request_too_large",
    "model_max_prompt_tokens_exceeded",
    "上下文",
    "超过最大长度",
    "超出最大长度",
    "输入过长",
];

pub(super) const OVERFLOW_CODES: &[&str] = &[
    "context_length_exceeded",
    "max_tokens_exceeded",
    "model_max_prompt_tokens_exceeded",
];

pub(super) const IMAGE_TOO_LARGE: &[&str] = &[
    "image exceeds",
    "image is too large",
    "image too large",
    "images are too large",
    "image size exceeds",
    "image dimensions exceed",
    "maximum image size",
];

pub(super) const TOOL_IMAGES: &[&str] = &[
    "tool message content must be a string",
    "tool messages must be a string",
    "content of tool messages must",
    "image content in tool",
    "images in tool",
    "text is not set",
];

pub(super) const NO_IMAGES: &[&str] = &[
    "does not support image",
    "do not support image",
    "doesn't support image",
    "not support images",
    "image input is not supported",
    "image inputs are not supported",
    "support image input",
    "images are not supported",
    "image_url is only supported",
    "unknown variant `image_url`",
    "not a multimodal model",
    "does not support vision",
];

pub(super) const NO_MODEL: &[&str] = &[
    "model not found",
    "model_not_found",
    "model does not exist",
    "no such model",
    "unknown model",
    "invalid model",
    "not a valid model",
    "model is not available",
    "is not a valid model id",
    "no endpoints found for",
    "unsupported model",
    "模型不存在",
];

pub(super) const AUTH: &[&str] = &[
    "invalid api key",
    "incorrect api key",
    "invalid_api_key",
    "invalid x-api-key",
    "api key expired",
    "token expired",
    "token has expired",
    "authentication_error",
    "unauthorized",
    "invalid token",
];

pub(super) const GRAMMAR: &[&str] = &[
    "unable to generate parser",
    "error parsing grammar",
    "failed to parse grammar",
    "json-schema-to-grammar",
    "json schema conversion failed",
];

pub(super) const VALIDATION: &[&str] = &[
    "invalid_request_error",
    "validation error",
    "unknown parameter",
    "unsupported parameter",
    "unrecognized request argument",
    "unexpected keyword",
];

pub(super) const EFFORT_FIELDS: &[&str] = &[
    "reasoning_effort",
    "reasoning.effort",
    "'reasoning'",
    "`think`",
];

pub(super) const NOT_SUPPORTED: &[&str] =
    &["not support", "unsupported", "not allowed", "not available"];

pub(super) const OVERLOADED_CODES: &[&str] =
    &["overloaded_error", "server_overloaded", "unavailable"];

pub(super) const AUTH_CODES: &[&str] = &[
    "authentication_error",
    "invalid_api_key",
    "permission_error",
];

pub(super) const SERVER_CODES: &[&str] =
    &["api_error", "server_error", "internal_error", "internal"];
