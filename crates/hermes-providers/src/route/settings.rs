//! A route: address, wire format, limits and timeouts.

use std::borrow::Cow;
use std::time::Duration;

use hermes_config::Config;
use hermes_config::vars::{self, Var};
use hermes_secret::SecretString;
use serde_json::{Map, Value};

use super::api_mode::ApiMode;
use super::copilot;
use super::host::{host_of, is_azure, is_host, is_local};
use crate::request::Effort;
use crate::token_claims;

/// How the reasoning effort is sent in the chat format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EffortStyle {
    /// Not sent.
    None,
    /// `reasoning: {enabled, effort}` for models that support it.
    OpenRouter,
    /// `thinking` and `reasoning_effort`.
    Kimi,
    /// `reasoning_effort`, if the user set it.
    Plain,
}

/// The route of requests.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) provider: String,
    pub(crate) model: String,
    /// Address without trailing slash and query.
    pub(crate) base_url: String,
    /// The query of the address, sent with every request.
    pub(crate) query: Option<String>,
    pub(crate) host: String,
    pub(crate) mode: ApiMode,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Extra fields of every request.
    pub(crate) extra_body: Map<String, Value>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) effort: Option<Effort>,
    pub(crate) effort_style: EffortStyle,
    /// Marks what the provider caches for the next request.
    pub(crate) cache_marker: Option<Value>,
    pub(crate) plain_schemas: bool,
    pub(crate) context_length: Option<u64>,
    pub(crate) timeouts: Timeouts,
}

impl Route {
    pub(crate) fn is_openrouter(&self) -> bool {
        is_host(&self.host, "openrouter.ai")
    }

    pub(crate) fn is_local(&self) -> bool {
        is_local(&self.host)
    }

    /// The address of one request with this key.
    pub(crate) fn endpoint(&self, key: Option<&SecretString>) -> String {
        self.with_query(self.mode.endpoint(&self.base_for(key)))
    }

    /// The address that this key is for. Tokens of Copilot name the host of their account.
    fn base_for(&self, key: Option<&SecretString>) -> Cow<'_, str> {
        let is_own = is_host(&self.host, copilot::HOST);
        let named = key.filter(|_| is_own).map(SecretString::expose);
        match named.and_then(copilot::api_of_token) {
            Some(address) => Cow::Owned(address),
            None => Cow::Borrowed(&self.base_url),
        }
    }

    /// The address of the list of models for this key.
    pub(crate) fn model_list(&self, key: Option<&SecretString>) -> String {
        let base = &*self.base_for(key);
        let is_versioned = self.mode != ApiMode::Anthropic || base.ends_with("/v1");
        if self.provider == "openai-codex" {
            // Which models are listed depends on the client; this is the least one that gets any.
            return format!("{base}/models?client_version=1.0.0");
        }
        self.with_query(if is_versioned {
            format!("{base}/models")
        } else {
            format!("{base}/v1/models")
        })
    }

    /// The headers that carry a key.
    pub(crate) fn key_headers(&self, key: &str) -> Vec<(&'static str, String)> {
        let bearer = ("authorization", format!("Bearer {key}"));
        match self.mode {
            ApiMode::Chat | ApiMode::Responses => {
                let account = Some(key).filter(|_| self.provider == "openai-codex");
                let account = account.and_then(token_claims::chatgpt_account);
                let account = account.map(|account| ("chatgpt-account-id", account));
                let program = (self.provider == "copilot").then(copilot::program_header);
                let more = account.into_iter().chain(program);
                std::iter::once(bearer).chain(more).collect()
            }
            ApiMode::Anthropic => {
                let wants_bearer = self.provider.starts_with("minimax")
                    || is_host(&self.host, "minimax.io")
                    || is_host(&self.host, "minimaxi.com")
                    || is_azure(&self.host);
                let own = ("x-api-key", key.to_owned());
                let version = ("anthropic-version", "2023-06-01".to_owned());
                vec![if wants_bearer { bearer } else { own }, version]
            }
        }
    }

    /// An address with the query of this route.
    pub(crate) fn with_query(&self, url: String) -> String {
        match &self.query {
            Some(query) => format!("{url}?{query}"),
            None => url,
        }
    }

    /// Whether provider, model and address are equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.provider == other.provider
            && self.model == other.model
            && self.base_url == other.base_url
    }
}

#[cfg(test)]
impl Route {
    /// A plain route.
    pub(crate) fn at(base_url: &str, model: &str) -> Self {
        let address = Address::parse(base_url).unwrap();
        Self {
            provider: "custom".to_owned(),
            model: model.to_owned(),
            mode: ApiMode::of_url(&address.base_url),
            base_url: address.base_url,
            query: address.query,
            host: address.host,
            headers: Vec::new(),
            extra_body: Map::new(),
            max_tokens: None,
            effort: None,
            effort_style: EffortStyle::None,
            cache_marker: None,
            plain_schemas: false,
            context_length: None,
            timeouts: Timeouts {
                request: Duration::from_mins(30),
                read: Duration::from_mins(2),
                stall: None,
                whole: None,
                reconnects: 2,
                is_local: false,
            },
        }
    }
}

/// A parsed address.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) base_url: String,
    pub(crate) query: Option<String>,
    pub(crate) host: String,
}

impl Address {
    /// Parses a pasted address; `None` if it has no host or is not HTTP.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (url, query) = text.split_once('?').unwrap_or((text, ""));
        let mut base = url.trim_end_matches('/');
        for tail in ["/chat/completions", "/responses", "/v1/messages"] {
            base = base.strip_suffix(tail).unwrap_or(base);
        }
        let host = host_of(base);
        let http = base.starts_with("http://") || base.starts_with("https://");
        (http && !host.is_empty()).then(|| Self {
            base_url: base.to_owned(),
            query: (!query.is_empty()).then(|| query.to_owned()),
            host,
        })
    }
}

/// Timeouts of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// For the whole request.
    pub(crate) request: Duration,
    /// For any byte.
    pub(crate) read: Duration,
    /// For the next piece of a stream, if set.
    pub(crate) stall: Option<Duration>,
    /// For an answer that is not streamed, if set.
    pub(crate) whole: Option<Duration>,
    /// How often a broken stream is restarted.
    pub(crate) reconnects: u32,
    pub(crate) is_local: bool,
}

/// Stream timeout in seconds for local servers, which load a model first.
const LOCAL_STALL: u64 = 900;

impl Timeouts {
    /// From variables and the settings of a model or its provider.
    pub(crate) fn resolve(config: &Config, is_local: bool, provider: &Value, model: &str) -> Self {
        let env = &config.sources().env;
        let seconds = |var: &Var| {
            let text = env.text(var).or_else(|| config.dotenv().get(var.name))?;
            seconds_of(text.trim().parse().ok()?)
        };
        let own = |of_model: &str, of_provider: &str| {
            [&provider["models"][model][of_model], &provider[of_provider]]
                .into_iter()
                .find_map(|value| seconds_of(value.as_f64()?))
        };
        let request = own("timeout_seconds", "request_timeout_seconds")
            .or_else(|| seconds(&vars::HERMES_API_TIMEOUT))
            .unwrap_or(Duration::from_mins(30));
        let own_stall = own("stale_timeout_seconds", "stale_timeout_seconds");
        let stall = own_stall.or_else(|| seconds(&vars::HERMES_STREAM_STALE_TIMEOUT));
        let local_stall = config
            .number("agent.local_stream_stale_timeout")
            .and_then(seconds_of)
            .unwrap_or(Duration::from_secs(LOCAL_STALL));
        let read = if is_local {
            request
        } else {
            Duration::from_mins(2)
        };
        let retries = env.text(&vars::HERMES_STREAM_RETRIES);
        Self {
            request,
            read: seconds(&vars::HERMES_STREAM_READ_TIMEOUT).unwrap_or(read),
            stall: stall.or(is_local.then_some(local_stall)),
            whole: own_stall.or_else(|| seconds(&vars::HERMES_API_CALL_STALE_TIMEOUT)),
            reconnects: retries.and_then(|text| text.parse().ok()).unwrap_or(2),
            is_local,
        }
    }

    /// Timeout for the next piece of a stream, by size of the request.
    pub(crate) fn stall_for(&self, tokens: u64) -> Duration {
        let set = self.stall.unwrap_or(Duration::from_mins(3));
        let floor = match tokens {
            100_001.. => 300,
            50_001.. => 240,
            _ => 0,
        };
        if self.is_local {
            set
        } else {
            set.max(Duration::from_secs(floor))
        }
    }

    /// Timeout for an answer that is not streamed, by size of the request.
    pub(crate) fn whole_for(&self, tokens: u64) -> Duration {
        if self.is_local && self.whole.is_none() {
            return self.request;
        }
        let floor = match tokens {
            100_001.. => 240,
            50_001.. => 150,
            _ => 90,
        };
        let floor = Duration::from_secs(floor);
        self.whole.map_or(floor, |set| match tokens {
            50_001.. => set.max(floor),
            _ => set,
        })
    }
}

fn seconds_of(number: f64) -> Option<Duration> {
    (number.is_finite() && number > 0.0 && number < 1e9).then(|| Duration::from_secs_f64(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_addresses_are_parsed() {
        let parse = |text: &str| {
            Address::parse(text).map(|address| (address.base_url, address.query, address.host))
        };
        assert_eq!(
            parse(" https://a.example/v1/chat/completions "),
            Some((
                "https://a.example/v1".to_owned(),
                None,
                "a.example".to_owned()
            ))
        );
        assert_eq!(
            parse("https://A.example/v1/?api-version=2"),
            Some((
                "https://A.example/v1".to_owned(),
                Some("api-version=2".to_owned()),
                "a.example".to_owned()
            ))
        );
        for bad in [
            "",
            "a.example/v1",
            "ftp://a.example",
            "http://",
            "file:///etc",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn timeouts_grow_with_the_request() {
        let timeouts = Timeouts {
            request: Duration::from_mins(30),
            read: Duration::from_mins(2),
            stall: None,
            whole: None,
            reconnects: 2,
            is_local: false,
        };
        assert_eq!(timeouts.stall_for(10).as_secs(), 180);
        assert_eq!(timeouts.stall_for(60_000).as_secs(), 240);
        assert_eq!(timeouts.stall_for(200_000).as_secs(), 300);
        assert_eq!(timeouts.whole_for(10).as_secs(), 90);
        assert_eq!(timeouts.whole_for(60_000).as_secs(), 150);
        let short = Timeouts {
            stall: Some(Duration::from_secs(1)),
            whole: Some(Duration::from_secs(1)),
            ..timeouts
        };
        assert_eq!(short.stall_for(10).as_secs(), 1);
        assert_eq!(short.whole_for(10).as_secs(), 1);
    }
}
