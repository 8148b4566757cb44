//! Resolves a choice to a route: provider, address, wire format and keys.

use std::sync::Arc;

use hermes_config::{Config, vars};
use hermes_secret::SecretString;
use serde_json::{Value, json};

use super::custom::{CustomEndpoint, NamedProvider};
use super::error::OpenError;
use super::keys::{self, AddressSource, GivenKey};
use super::model_format::{format_of, name_at};
use super::openrouter;
use super::registry::{AZURE, BUILTINS, Builtin, COPILOT, builtin};
use crate::pool::{AuthFile, KeyRing};
use crate::request::Effort;
use crate::route::{Address, ApiMode, EffortStyle, Route, Timeouts, is_azure, is_host, is_local};

/// A choice of flags, the `model:` block or an entry of the fallback chain.
#[derive(Debug, Clone, Default)]
pub(super) struct RouteChoice {
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) base_url: Option<String>,
    /// The key of the command line, preferred to all others.
    pub(super) flag_key: Option<SecretString>,
    /// The key of the settings.
    pub(super) given_key: GivenKey,
    /// Whether `model.*` applies: address, format and limits.
    pub(super) from_model_block: bool,
    /// The wire format, whatever the address suggests.
    pub(super) mode: Option<ApiMode>,
}

/// A route with its keys.
#[derive(Debug)]
pub(crate) struct ResolvedRoute {
    pub(crate) route: Route,
    pub(crate) keys: Arc<KeyRing>,
}

/// Resolves a choice. Makes no request.
pub(super) fn resolve(config: &Config, choice: &RouteChoice) -> Result<ResolvedRoute, OpenError> {
    let name = choice.provider.as_deref().map_or("auto", str::trim);
    let url = block_url(config, choice);
    let provider = match (name, url) {
        ("" | "auto", Some(url)) => NamedProvider::Custom(CustomEndpoint::bare(&url)),
        ("" | "auto", None) => NamedProvider::Builtin(automatic(config)?),
        (name, url) => NamedProvider::find(config, name, url)?,
    };
    match provider {
        NamedProvider::Builtin(found) => known(config, choice, found),
        NamedProvider::Custom(endpoint) => custom(config, choice, endpoint),
    }
}

/// The address of the choice or the `model:` block.
fn chosen_url(config: &Config, choice: &RouteChoice) -> Option<String> {
    let block = Some(config.text("model.base_url").trim());
    let block = block.filter(|url| choice.from_model_block && !url.is_empty());
    choice.base_url.clone().or_else(|| block.map(str::to_owned))
}

/// The address of the choice, the `model:` block or the variable.
fn block_url(config: &Config, choice: &RouteChoice) -> Option<String> {
    let variable = || variable(config, vars::CUSTOM_BASE_URL.name);
    chosen_url(config, choice)
        .or_else(|| variable().filter(|_| choice.from_model_block))
        .filter(|url| !url.trim().is_empty())
}

/// The first provider with a usable key.
fn automatic(config: &Config) -> Result<&'static Builtin, OpenError> {
    let login = AuthFile::of_home(&config.sources().home).active_provider();
    let login = login.ok().flatten().and_then(|id| builtin(&id));
    // A token for GitHub in a variable does not mean that Copilot is wanted; a login does.
    let others = BUILTINS.iter().filter(|one| one.id != COPILOT);
    login
        .into_iter()
        .chain(others)
        .filter(|one| !one.key_is_optional())
        .find(|one| has_key(config, one))
        .ok_or(OpenError::NothingConfigured)
}

/// Whether a built-in provider has a key at its own address.
pub(super) fn has_key(config: &Config, one: &Builtin) -> bool {
    let of_login = keys::login_address(config, one.id);
    // Where every customer has an address, it is that of the variable.
    let own = || variable(config, one.url_variable).filter(|_| one.base_url.is_empty());
    let url = of_login.or_else(own);
    let Some(address) = Address::parse(url.as_deref().unwrap_or(one.base_url)) else {
        return false;
    };
    let given = GivenKey::default();
    keys::of_builtin(config, one, &address.host, AddressSource::Table, &given).len() > 0
}

fn known(
    config: &Config,
    choice: &RouteChoice,
    found: &'static Builtin,
) -> Result<ResolvedRoute, OpenError> {
    let from_variable = || variable(config, found.url_variable);
    let (url, source) = chosen_url(config, choice)
        .map(|url| (url, AddressSource::Settings))
        .or_else(|| from_variable().map(|url| (url, AddressSource::Variable)))
        .unwrap_or_else(|| {
            let of_login = keys::login_address(config, found.id);
            let url = of_login.unwrap_or_else(|| found.base_url.to_owned());
            (url, AddressSource::Table)
        });
    if url.is_empty() {
        return Err(OpenError::NoAddressOfOwn {
            provider: found.id,
            variable: found.url_variable,
        });
    }
    let mut address = parse_address(&url)?;
    // Only the chat format of Gemini is supported, below its native one.
    if found.id == "gemini" && address.base_url.ends_with("/v1beta") {
        address.base_url.push_str("/openai");
    }
    let keys = match &choice.flag_key {
        Some(key) => keys::of_flag(config, found.id, key.clone()),
        None => keys::of_builtin(config, found, &address.host, source, &choice.given_key),
    };
    if keys.len() == 0 && !found.key_is_optional() && !is_local(&address.host) {
        return Err(OpenError::NoKey {
            provider: found.id.to_owned(),
            host: address.host,
            variables: found.key_variables,
        });
    }
    let own = config
        .get("providers")
        .map_or(&Value::Null, |map| &map[found.id]);
    let model = chosen_model(config, choice).map(|model| name_at(found.id, model));
    let configured = configured_mode(config, choice, own);
    let mode = known_mode(configured, found, (&address, source), model.as_deref());
    if mode == ApiMode::Anthropic && is_azure(&address.host) && address.query.is_none() {
        // Azure asks for the version of its interface with every request.
        address.query = Some("api-version=2025-04-15".to_owned());
    }
    let draft = RouteDraft {
        provider: found.id.to_owned(),
        address,
        mode,
        model,
        own,
        custom: false,
    };
    let route = draft.route(config, choice)?;
    Ok(ResolvedRoute { route, keys })
}

/// The wire format of a known provider at an address.
fn known_mode(
    configured: Option<ApiMode>,
    found: &Builtin,
    (address, source): (&Address, AddressSource),
    model: Option<&str>,
) -> ApiMode {
    let of_model = model.and_then(|model| format_of(found.id, model));
    let of_url = ApiMode::of_url(&address.base_url);
    let usual = || match of_url {
        _ if source == AddressSource::Table => found.mode,
        // A proxy speaks the format of its provider.
        ApiMode::Chat if !is_local(&address.host) || found.mode != ApiMode::Responses => found.mode,
        mode => mode,
    };
    if found.id.starts_with("opencode") {
        // The setting may be from the time of another model.
        of_model.or(configured).unwrap_or_else(usual)
    } else if found.id == AZURE {
        // An address for Claude serves nothing else, and these models know no other format.
        let for_claude = [configured, Some(of_url)].contains(&Some(ApiMode::Anthropic));
        let claude = for_claude.then_some(ApiMode::Anthropic);
        claude.or(of_model).or(configured).unwrap_or(found.mode)
    } else {
        configured.or(of_model).unwrap_or_else(usual)
    }
}

fn custom(
    config: &Config,
    choice: &RouteChoice,
    endpoint: CustomEndpoint,
) -> Result<ResolvedRoute, OpenError> {
    let url = choice.base_url.as_ref().unwrap_or(&endpoint.base_url);
    let address = parse_address(url)?;
    let mut given = choice.given_key.clone();
    if given.api_key.is_none() && given.key_env.is_none() {
        given = GivenKey {
            api_key: endpoint.text(&["api_key"]).map(SecretString::from),
            key_env: endpoint.text(&["key_env"]).map(str::to_owned),
        };
    }
    let keys = match &choice.flag_key {
        Some(key) => keys::of_flag(config, &endpoint.pool_key, key.clone()),
        None => keys::of_custom(config, &endpoint.pool_key, &address.host, &given),
    };
    let mode = configured_mode(config, choice, &endpoint.raw)
        .unwrap_or_else(|| ApiMode::of_url(&address.base_url));
    let default = endpoint.text(&["default_model", "model"]);
    let model = chosen_model(config, choice).or_else(|| default.map(str::to_owned));
    let draft = RouteDraft {
        provider: endpoint.provider.clone(),
        address,
        mode,
        model,
        own: &endpoint.raw,
        custom: true,
    };
    let route = draft.route(config, choice)?;
    Ok(ResolvedRoute { route, keys })
}

/// A route before its details are resolved.
struct RouteDraft<'a> {
    provider: String,
    address: Address,
    mode: ApiMode,
    model: Option<String>,
    /// The provider's own settings.
    own: &'a Value,
    custom: bool,
}

impl RouteDraft<'_> {
    fn route(self, config: &Config, choice: &RouteChoice) -> Result<Route, OpenError> {
        let Address {
            base_url,
            query,
            host,
        } = self.address;
        let Some(model) = self.model.filter(|model| !model.trim().is_empty()) else {
            return Err(OpenError::NoModel {
                provider: self.provider,
            });
        };
        let from_block = |key: &str| {
            let number = config.int(key).filter(|_| choice.from_model_block)?;
            u64::try_from(number).ok().filter(|number| *number > 0)
        };
        let stated = self.own["models"][&model]["context_length"].as_u64();
        let extra_body = self.own["extra_body"].as_object();
        let mut extra_body = extra_body.cloned().unwrap_or_default();
        let mut headers = Vec::new();
        if is_host(&host, "openrouter.ai") {
            openrouter::add_options(config, &model, &mut extra_body, &mut headers);
        }
        if self.provider == COPILOT {
            headers.push(("openai-intent", "conversation-edits".to_owned()));
        }
        if self.provider == "qwen-oauth" {
            headers.push(("x-dashscope-authtype", "qwen-oauth".to_owned()));
            headers.push(("x-dashscope-cachecontrol", "enable".to_owned()));
            extra_body.insert("vl_high_resolution_images".to_owned(), json!(true));
        }
        let tier = service_tier(config.text("agent.service_tier"));
        if let Some(tier) =
            tier.filter(|_| self.provider == "openai-api" || is_host(&host, "openai.com"))
        {
            extra_body.insert("service_tier".to_owned(), json!(tier));
        }
        if let Some(context) = from_block("model.ollama_num_ctx") {
            extra_body.insert("options".to_owned(), json!({"num_ctx": context}));
        }
        let max_tokens = from_block("model.max_tokens")
            .or_else(|| default_cap(&self.provider))
            .and_then(|tokens| u32::try_from(tokens).ok());
        let kimi = self.provider.starts_with("kimi") || self.provider == "tencent-tokenhub";
        Ok(Route {
            effort: effort(config, &model),
            effort_style: if is_host(&host, "openrouter.ai") {
                EffortStyle::OpenRouter
            } else if kimi {
                EffortStyle::Kimi
            } else if self.custom || self.provider == "lmstudio" {
                EffortStyle::Plain
            } else {
                EffortStyle::None
            },
            cache_marker: cache_marker(config, &self.provider, &host, self.mode, &model),
            plain_schemas: kimi,
            context_length: from_block("model.context_length")
                .or_else(|| stated.filter(|_| self.custom)),
            timeouts: Timeouts::resolve(config, is_local(&host), self.own, &model),
            provider: self.provider,
            model,
            base_url,
            query,
            host,
            mode: self.mode,
            headers,
            extra_body,
            max_tokens,
        })
    }
}

fn parse_address(url: &str) -> Result<Address, OpenError> {
    Address::parse(url).ok_or_else(|| OpenError::BadAddress {
        // A query may hold a key.
        url: url.split('?').next().unwrap_or_default().to_owned(),
    })
}

fn configured_mode(config: &Config, choice: &RouteChoice, own: &Value) -> Option<ApiMode> {
    let block = Some(config.text("model.api_mode")).filter(|_| choice.from_model_block);
    let own = ["api_mode", "transport"]
        .iter()
        .find_map(|key| own[*key].as_str());
    choice
        .mode
        .or_else(|| block.and_then(ApiMode::parse))
        .or_else(|| own.and_then(ApiMode::parse))
}

fn chosen_model(config: &Config, choice: &RouteChoice) -> Option<String> {
    let block = || {
        let (model, _) = config.model();
        model.filter(|_| choice.from_model_block).map(str::to_owned)
    };
    choice.model.clone().or_else(block)
}

impl Builtin {
    /// The address of the API: that of the variable, or the provider's own.
    pub fn address(&self, config: &Config) -> String {
        variable(config, self.url_variable).unwrap_or_else(|| self.base_url.to_owned())
    }
}

/// A variable of the process or of `.env`.
pub(crate) fn variable(config: &Config, name: &str) -> Option<String> {
    let value = config
        .sources()
        .env
        .lookup(name)
        .filter(|value| !value.trim().is_empty())
        .or_else(|| config.dotenv().get(name))?;
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The tier that a setting asks for. Only OpenAI has tiers; others refuse the field.
fn service_tier(text: &str) -> Option<&'static str> {
    match text.trim().to_ascii_lowercase().as_str() {
        "fast" | "priority" | "on" => Some("priority"),
        "flex" => Some("flex"),
        _ => None,
    }
}

fn default_cap(provider: &str) -> Option<u64> {
    match provider {
        "nvidia" => Some(16_384),
        "kimi-coding" | "kimi-coding-cn" => Some(32_000),
        "qwen-oauth" => Some(65_536),
        _ => None,
    }
}

fn effort(config: &Config, model: &str) -> Option<Effort> {
    let overrides = config.get("agent.reasoning_overrides");
    let own = overrides
        .and_then(|map| map.get(model))
        .and_then(Value::as_str);
    own.and_then(parse_effort)
        .or_else(|| parse_effort(config.text("agent.reasoning_effort")))
}

/// A reasoning effort as people write it.
pub(super) fn parse_effort(text: &str) -> Option<Effort> {
    Effort::parse(&text.trim().to_ascii_lowercase())
}

/// The marker of what the provider caches for the next request, if it does.
fn cache_marker(
    config: &Config,
    provider: &str,
    host: &str,
    mode: ApiMode,
    model: &str,
) -> Option<Value> {
    let model = model.to_ascii_lowercase();
    let claude = model.contains("claude");
    let enabled = match mode {
        ApiMode::Anthropic => {
            claude || is_host(host, "api.anthropic.com") || provider.starts_with("minimax")
        }
        ApiMode::Chat => {
            let qwen_hosts = provider.starts_with("alibaba")
                || provider.starts_with("opencode")
                || provider == "qwen-oauth";
            (claude && is_host(host, "openrouter.ai")) || (model.contains("qwen") && qwen_hosts)
        }
        ApiMode::Responses => false,
    };
    enabled.then(|| match config.text("prompt_caching.cache_ttl") {
        "1h" => json!({"type": "ephemeral", "ttl": "1h"}),
        // For five minutes.
        _ => json!({"type": "ephemeral"}),
    })
}
