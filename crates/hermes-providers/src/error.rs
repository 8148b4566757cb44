//! Errors of providers, classified by what can be done about them.
//!
//! Messages are safe for users and logs: secrets are masked before an error is built.

use std::fmt;
use std::time::{Duration, SystemTime};

use hermes_text::named_enum;

named_enum! {
    /// The kind of failure, with its name in records and scripts (`failure_reason`).
    pub enum ErrorClass {
        Auth = "auth",
        Billing = "billing",
        RateLimit = "rate_limit",
        Overloaded = "overloaded",
        ServerError = "server_error",
        /// The network failed or timed out.
        Timeout = "timeout",
        /// The conversation does not fit into the model's window.
        ContextOverflow = "context_overflow",
        PayloadTooLarge = "payload_too_large",
        ImageTooLarge = "image_too_large",
        /// Images in tool results are refused.
        MultimodalToolContent = "multimodal_tool_content",
        ImagesRejected = "images_rejected",
        ModelNotFound = "model_not_found",
        /// The account's data policy forbids it.
        ProviderPolicyBlocked = "provider_policy_blocked",
        /// The provider's safety rules forbid it.
        ContentPolicyBlocked = "content_policy_blocked",
        /// A signed reasoning block was refused.
        ThinkingSignature = "thinking_signature",
        /// An encrypted reasoning block was refused.
        InvalidEncryptedContent = "invalid_encrypted_content",
        /// llama.cpp cannot convert a tool schema to a grammar.
        Grammar = "llama_cpp_grammar",
        /// The account has no access to the long context window.
        LongContextTier = "long_context_tier",
        /// The request was refused as malformed.
        FormatError = "format_error",
        /// The response is not an answer: HTML, wrong types, empty.
        Malformed = "malformed_response",
        /// The answer, or all answers of a turn, have more bytes than any honest one.
        AnswerTooLarge = "answer_too_large",
        /// The replay script has no matching turn.
        Script = "script",
        Interrupted = "interrupted",
        Unknown = "unknown",
    }
}

impl ErrorClass {
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimit
                | Self::Overloaded
                | Self::ServerError
                | Self::Timeout
                | Self::Malformed
                | Self::Unknown
        )
    }

    /// Whether the caller has to shorten the conversation before it is sent again.
    pub fn wants_compaction(self) -> bool {
        matches!(
            self,
            Self::ContextOverflow | Self::PayloadTooLarge | Self::LongContextTier
        )
    }

    /// Whether a board worker exits with the code for "try the card again later".
    pub fn is_quota(self) -> bool {
        matches!(self, Self::RateLimit | Self::Billing | Self::Overloaded)
    }
}

/// A failed request. Dereferences to its [`ProviderFailure`].
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderError(Box<ProviderFailure>);

impl std::ops::Deref for ProviderError {
    type Target = ProviderFailure;

    fn deref(&self) -> &ProviderFailure {
        &self.0
    }
}

impl std::ops::DerefMut for ProviderError {
    fn deref_mut(&mut self) -> &mut ProviderFailure {
        &mut self.0
    }
}

impl From<ProviderFailure> for ProviderError {
    fn from(failure: ProviderFailure) -> Self {
        Self(Box::new(failure))
    }
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderFailure {
    pub class: ErrorClass,
    /// Message of the provider, the network or the script: one line without secrets.
    pub message: String,
    /// Status of the HTTP answer, if there was one.
    pub status: Option<u16>,
    /// With [`ErrorClass::Auth`]: whether a login has come to its end.
    pub is_ended_login: bool,
    pub provider: String,
    pub model: String,
    /// With [`ErrorClass::Timeout`]: scheme, host and port of the server. The rest of its address may
    /// hold a key.
    pub address: Option<String>,
    /// The delay the provider asks for.
    pub retry_after: Option<Duration>,
    pub reset_at: Option<SystemTime>,
    /// With [`ErrorClass::ContextOverflow`]: the context window the provider states, in tokens.
    pub stated_limit: Option<u64>,
    /// With [`ErrorClass::ContextOverflow`]: only the requested answer was too long, and this many
    /// tokens are left for it. Retry with [`crate::ModelRequest::max_tokens`], without compaction.
    pub available_output: Option<u64>,
    pub attempts: u32,
    /// Errors of the attempts, one line each.
    pub history: Vec<String>,
}

impl ProviderError {
    /// An error of this class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self::from(ProviderFailure::new(class, message))
    }

    /// The error for an interrupted request.
    pub fn interrupted() -> Self {
        Self::new(ErrorClass::Interrupted, "the request was interrupted")
    }
}

impl ProviderFailure {
    /// A failure of this class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            status: None,
            is_ended_login: false,
            provider: String::new(),
            model: String::new(),
            address: None,
            retry_after: None,
            reset_at: None,
            stated_limit: None,
            available_output: None,
            attempts: 1,
            history: Vec::new(),
        }
    }

    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
        let provider = &self.provider;
        Some(match self.class {
            ErrorClass::Auth if self.is_ended_login => {
                format!("log in again with `hermes auth add {provider}`")
            }
            ErrorClass::Auth if self.is_forbidden() => format!(
                "the account at {provider} may have no access to `{}`, or the network or a proxy is blocked \
                 there; choose another model with `-m`, or look at the account",
                self.model
            ),
            ErrorClass::Auth => {
                format!("check the key of {provider} with `hermes auth list` or `hermes doctor`")
            }
            ErrorClass::Billing => format!(
                "add credit at {provider}, or add another provider to `fallback_providers`"
            ),
            ErrorClass::RateLimit | ErrorClass::Overloaded => {
                "try again later, add a second key with `hermes auth add`, or set `fallback_providers`"
                    .to_owned()
            }
            ErrorClass::ModelNotFound => format!(
                "{provider} does not serve `{}`; choose another model with `-m` or `hermes model`",
                self.model
            ),
            ErrorClass::Timeout if self.is_about_certificate() => {
                "if you trust the server, set HERMES_CA_BUNDLE to a file with the certificate of its issuer"
                    .to_owned()
            }
            ErrorClass::Timeout => match &self.address {
                Some(address) => format!(
                    "check that {address} is the address of the provider (`hermes config get \
                     model.base_url`) and that it can be reached from here"
                ),
                None => {
                    "check the network and the address of the provider with `hermes doctor`".to_owned()
                }
            },
            ErrorClass::ContextOverflow => {
                "start a new session, or set `model.context_length` to the model's real window"
                    .to_owned()
            }
            ErrorClass::Malformed => {
                "check `model.base_url` and `model.api_mode`: the address may not be a model API"
                    .to_owned()
            }
            ErrorClass::AnswerTooLarge => {
                "the server may be broken or repeat itself without end; try another model or provider"
                    .to_owned()
            }
            ErrorClass::ProviderPolicyBlocked => {
                format!("allow the model in the privacy settings of your account at {provider}")
            }
            _ => return None,
        })
    }

    /// Whether the certificate of the server is not trusted. Retrying does not help.
    pub(crate) fn is_about_certificate(&self) -> bool {
        self.class == ErrorClass::Timeout && self.message.contains("invalid peer certificate")
    }

    /// Whether the server knows who asks and refuses nevertheless. The key need not be wrong.
    fn is_forbidden(&self) -> bool {
        self.class == ErrorClass::Auth && self.status == Some(403)
    }

    /// The time until the quota resets, if it is longer than a few minutes.
    fn long_wait(&self) -> Option<String> {
        if self.class != ErrorClass::RateLimit {
            return None;
        }
        let until = self.reset_at?;
        let minutes = until.duration_since(SystemTime::now()).ok()?.as_secs() / 60;
        match (minutes / 60, minutes % 60) {
            (0, 0..=2) => None,
            (0, minutes) => Some(format!("{minutes} min")),
            (hours, minutes) => Some(format!("{hours} h {minutes} min")),
        }
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.class {
            ErrorClass::Interrupted => return f.write_str(&self.message),
            ErrorClass::Auth if self.is_forbidden() => "does not allow this request",
            ErrorClass::Auth => "rejected the key",
            ErrorClass::Billing => "requires payment",
            ErrorClass::RateLimit => "is rate-limiting requests",
            ErrorClass::Overloaded => "is overloaded",
            ErrorClass::ServerError | ErrorClass::Unknown => "failed",
            ErrorClass::Timeout => "could not be reached",
            ErrorClass::ContextOverflow => "cannot handle a conversation this long",
            ErrorClass::PayloadTooLarge => "cannot handle a request this large",
            ErrorClass::ImageTooLarge => "cannot handle an image this large",
            ErrorClass::MultimodalToolContent => "does not accept images in tool results",
            ErrorClass::ImagesRejected => "does not accept images",
            ErrorClass::ModelNotFound => "does not know the model",
            ErrorClass::ProviderPolicyBlocked => "is blocked by the data policy of the account",
            ErrorClass::ContentPolicyBlocked => "declined for safety reasons",
            ErrorClass::ThinkingSignature | ErrorClass::InvalidEncryptedContent => {
                "rejected earlier reasoning"
            }
            ErrorClass::Grammar => "cannot use a tool schema",
            ErrorClass::LongContextTier => "does not offer its long context window to this account",
            ErrorClass::FormatError => "rejected the request",
            ErrorClass::Malformed => "sent an invalid answer",
            ErrorClass::AnswerTooLarge => "sent too much",
            ErrorClass::Script => "has no matching turn in its script",
        };
        let who = if self.provider.is_empty() {
            "the provider"
        } else {
            &self.provider
        };
        write!(f, "{who} {what}")?;
        if let Some(address) = &self.address {
            write!(f, " at {address}")?;
        }
        if let Some(status) = self.status {
            write!(f, " (HTTP {status})")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if let Some(wait) = self.long_wait() {
            write!(f, " (resets in {wait})")?;
        }
        if self.attempts > 1 {
            write!(f, " (after {} attempts)", self.attempts)?;
        }
        Ok(())
    }
}

impl std::error::Error for ProviderError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_line_names_provider_status_and_attempts() {
        let error = ProviderError::from(ProviderFailure {
            status: Some(503),
            provider: "lab".to_owned(),
            attempts: 3,
            ..ProviderFailure::new(ErrorClass::Overloaded, "try later")
        });
        assert_eq!(
            error.to_string(),
            "lab is overloaded (HTTP 503): try later (after 3 attempts)"
        );
        assert!(error.hint().is_some());
    }
}
