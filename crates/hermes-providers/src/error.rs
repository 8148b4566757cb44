//! What goes wrong with a provider, sorted by what can be done about it.
//!
//! The text of an error is fit for people and logs: whoever builds one masks secrets first.

use std::fmt;
use std::time::{Duration, SystemTime};

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The key is refused.
    Auth,
    /// The account has no money left.
    Billing,
    /// Too many requests.
    RateLimit,
    /// The provider has too much to do.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// The network failed, or nothing came in time.
    Timeout,
    /// The conversation does not fit into the model's window.
    ContextOverflow,
    /// The request is too large for the server.
    PayloadTooLarge,
    /// An image is too large.
    ImageTooLarge,
    /// Images inside tool results are refused.
    MultimodalToolContent,
    /// The model takes no images.
    ImagesRejected,
    /// There is no such model.
    ModelNotFound,
    /// The account's data policy forbids it.
    ProviderPolicyBlocked,
    /// The provider's safety rules forbid it.
    ContentPolicyBlocked,
    /// A signed thought was refused.
    ThinkingSignature,
    /// An encrypted thought was refused.
    InvalidEncryptedContent,
    /// llama.cpp cannot make a grammar of a tool's schema.
    Grammar,
    /// The long window costs extra, and the account does not have it.
    LongContextTier,
    /// The request is refused as it stands.
    FormatError,
    /// The answer was none: HTML, wrong types, nothing at all.
    Malformed,
    /// The script of the replay provider has no answer for this.
    Script,
    /// The caller asked to stop.
    Interrupted,
    /// Anything else.
    Unknown,
}

impl ErrorClass {
    /// All classes.
    pub const ALL: [Self; 23] = [
        Self::Auth,
        Self::Billing,
        Self::RateLimit,
        Self::Overloaded,
        Self::ServerError,
        Self::Timeout,
        Self::ContextOverflow,
        Self::PayloadTooLarge,
        Self::ImageTooLarge,
        Self::MultimodalToolContent,
        Self::ImagesRejected,
        Self::ModelNotFound,
        Self::ProviderPolicyBlocked,
        Self::ContentPolicyBlocked,
        Self::ThinkingSignature,
        Self::InvalidEncryptedContent,
        Self::Grammar,
        Self::LongContextTier,
        Self::FormatError,
        Self::Malformed,
        Self::Script,
        Self::Interrupted,
        Self::Unknown,
    ];

    /// As records and scripts write it (`failure_reason`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Billing => "billing",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::ContextOverflow => "context_overflow",
            Self::PayloadTooLarge => "payload_too_large",
            Self::ImageTooLarge => "image_too_large",
            Self::MultimodalToolContent => "multimodal_tool_content",
            Self::ImagesRejected => "images_rejected",
            Self::ModelNotFound => "model_not_found",
            Self::ProviderPolicyBlocked => "provider_policy_blocked",
            Self::ContentPolicyBlocked => "content_policy_blocked",
            Self::ThinkingSignature => "thinking_signature",
            Self::InvalidEncryptedContent => "invalid_encrypted_content",
            Self::Grammar => "llama_cpp_grammar",
            Self::LongContextTier => "long_context_tier",
            Self::FormatError => "format_error",
            Self::Malformed => "malformed_response",
            Self::Script => "script",
            Self::Interrupted => "interrupted",
            Self::Unknown => "unknown",
        }
    }

    /// The class of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// Whether the same request may succeed a little later.
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

    /// Whether another provider may do better.
    pub fn wants_fallback(self) -> bool {
        self.is_retryable()
            || matches!(
                self,
                Self::Auth
                    | Self::Billing
                    | Self::ModelNotFound
                    | Self::ContentPolicyBlocked
                    | Self::FormatError
            )
    }

    /// Whether the conversation has to become smaller before it is sent again. The caller's part.
    pub fn wants_compaction(self) -> bool {
        matches!(
            self,
            Self::ContextOverflow | Self::PayloadTooLarge | Self::LongContextTier
        )
    }

    /// Whether a worker of the board ends with the code that means "try the card again later".
    pub fn is_quota(self) -> bool {
        matches!(self, Self::RateLimit | Self::Billing | Self::Overloaded)
    }
}

/// A request that got no answer. Reads like the [`Failure`] in it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderError(Box<Failure>);

impl std::ops::Deref for ProviderError {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        &self.0
    }
}

impl std::ops::DerefMut for ProviderError {
    fn deref_mut(&mut self) -> &mut Failure {
        &mut self.0
    }
}

impl From<Failure> for ProviderError {
    fn from(failure: Failure) -> Self {
        Self(Box::new(failure))
    }
}

/// Why a request got no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What kind of failure.
    pub class: ErrorClass,
    /// What the provider, the network or the script said: one line without secrets.
    pub message: String,
    /// Status of the HTTP answer, if there was one.
    pub status: Option<u16>,
    /// Id of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// When a quota opens again.
    pub reset_at: Option<SystemTime>,
    /// With [`ErrorClass::ContextOverflow`]: the window as the provider states it, in tokens.
    pub stated_limit: Option<u64>,
    /// With [`ErrorClass::ContextOverflow`]: the answer was to be too long, and this many tokens are
    /// left for it. Ask again with that as [`crate::Request::max_tokens`]; nothing needs compaction.
    pub available_output: Option<u64>,
    /// How many requests were made for this one.
    pub attempts: u32,
    /// What was tried before giving up, one line each.
    pub history: Vec<String>,
}

impl ProviderError {
    /// An error of that class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self::from(Failure::new(class, message))
    }

    /// The caller asked to stop.
    pub fn interrupted() -> Self {
        Self::new(ErrorClass::Interrupted, "the request was interrupted")
    }
}

impl Failure {
    /// A failure of that class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            status: None,
            provider: String::new(),
            model: String::new(),
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
            ErrorClass::Auth => {
                format!("check the key of {provider}: `hermes auth list`, `hermes doctor`")
            }
            ErrorClass::Billing => format!(
                "add credit at {provider}, or name another provider in `fallback_providers`"
            ),
            ErrorClass::RateLimit | ErrorClass::Overloaded => {
                "wait, add a second key with `hermes auth add`, or set `fallback_providers`"
                    .to_owned()
            }
            ErrorClass::ModelNotFound => format!(
                "{provider} does not serve `{}`; choose another with `-m` or `hermes model`",
                self.model
            ),
            ErrorClass::Timeout if self.is_about_certificate() => {
                "name a file with the certificate of its issuer in HERMES_CA_BUNDLE, if you trust it"
                    .to_owned()
            }
            ErrorClass::Timeout => {
                "check the address of the provider and the network: `hermes doctor`".to_owned()
            }
            ErrorClass::ContextOverflow => {
                "start a new session, or set `model.context_length` to the model's real window"
                    .to_owned()
            }
            ErrorClass::Malformed => {
                "the address may not be that of a model API: see `model.base_url` and \
                 `model.api_mode`"
                    .to_owned()
            }
            ErrorClass::ProviderPolicyBlocked => {
                format!("allow the model in the privacy settings of your account at {provider}")
            }
            _ => return None,
        })
    }
}

impl Failure {
    /// Whether the server could not prove who it is. Asking again changes nothing about that.
    pub(crate) fn is_about_certificate(&self) -> bool {
        self.class == ErrorClass::Timeout && self.message.contains("invalid peer certificate")
    }

    /// How long a quota stays closed, in words, if that is longer than anybody waits.
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
            ErrorClass::Auth => "refused the key",
            ErrorClass::Billing => "asks for payment",
            ErrorClass::RateLimit => "limits the rate",
            ErrorClass::Overloaded => "is overloaded",
            ErrorClass::ServerError => "failed",
            ErrorClass::Timeout => "could not be reached",
            ErrorClass::ContextOverflow => "cannot take a conversation of this length",
            ErrorClass::PayloadTooLarge => "cannot take a request of this size",
            ErrorClass::ImageTooLarge => "cannot take an image of this size",
            ErrorClass::MultimodalToolContent => "takes no images in tool results",
            ErrorClass::ImagesRejected => "takes no images",
            ErrorClass::ModelNotFound => "does not know the model",
            ErrorClass::ProviderPolicyBlocked => "is closed by the account's data policy",
            ErrorClass::ContentPolicyBlocked => "declined for reasons of safety",
            ErrorClass::ThinkingSignature | ErrorClass::InvalidEncryptedContent => {
                "refused earlier thoughts"
            }
            ErrorClass::Grammar => "cannot use the schema of a tool",
            ErrorClass::LongContextTier => "does not open its long window to this account",
            ErrorClass::FormatError => "refused the request",
            ErrorClass::Malformed => "did not answer as a model does",
            ErrorClass::Script => "has no answer in its script",
            ErrorClass::Unknown => "could not answer",
        };
        let who = if self.provider.is_empty() {
            "the provider"
        } else {
            &self.provider
        };
        write!(f, "{who} {what}")?;
        if let Some(status) = self.status {
            write!(f, " (HTTP {status})")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if let Some(wait) = self.long_wait() {
            write!(f, " (opens again in {wait})")?;
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
    fn names_are_unique_and_come_back() {
        for class in ErrorClass::ALL {
            assert_eq!(ErrorClass::parse(class.name()), Some(class));
        }
    }

    #[test]
    fn one_line_says_who_what_and_why() {
        let error = ProviderError::from(Failure {
            status: Some(503),
            provider: "lab".to_owned(),
            attempts: 3,
            ..Failure::new(ErrorClass::Overloaded, "try later")
        });
        assert_eq!(
            error.to_string(),
            "lab is overloaded (HTTP 503): try later (after 3 attempts)"
        );
        assert!(error.hint().is_some());
    }
}
