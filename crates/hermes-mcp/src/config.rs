//! The settings of servers: `mcp_servers` of `config.yaml`, read as people and the reference write
//! them, with errors that name the server and the key.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hermes_addons::NodePackage;
use hermes_config::Config;
use hermes_secret::SecretString;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::fields::{ConfigError, Fields};
use crate::sampling::SamplingConfig;

/// Longest wait for an answer to a call.
const CALL_SECONDS: f64 = 300.0;
/// Longest wait for a server that is starting.
const CONNECT_SECONDS: f64 = 60.0;
const KEEPALIVE_SECONDS: f64 = 180.0;
const MIN_KEEPALIVE_SECONDS: f64 = 5.0;
/// Nothing waits longer than this, whatever the settings say.
const MAX_SECONDS: f64 = 7.0 * 24.0 * 3600.0;

/// One server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    pub name: String,
    pub enabled: bool,
    pub transport: Transport,
    /// Longest wait for an answer to a call.
    pub timeout: Duration,
    /// Longest wait for the server to start.
    pub connect_timeout: Duration,
    /// After so long without a request the server is asked whether it is still there.
    pub keepalive: Duration,
    /// After so long without a call the connection is closed; the next call opens another.
    pub idle_timeout: Option<Duration>,
    /// A connection this old is replaced before the next call.
    pub max_lifetime: Option<Duration>,
    /// Whether several of its tools may be called at once by one answer of a model.
    pub parallel_calls: bool,
    pub filter: ToolFilter,
    /// What the server may ask of the model; nothing unless the settings allow it.
    pub sampling: Option<SamplingConfig>,
    fingerprint: String,
    /// The entry as it was read, with the values of variables.
    entry: SecretString,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Transport {
    Stdio(StdioConfig),
    Remote(RemoteConfig),
}

/// A server that is a program.
#[derive(Clone, PartialEq, Eq)]
pub struct StdioConfig {
    /// Empty for the program of an add-on.
    pub command: String,
    /// An installed package of npm that is the server, as `npm:<name>`; or the packages of a plugin, whose
    /// interpreter is the program then.
    pub addon: Option<String>,
    pub args: Vec<String>,
    /// What it gets beside the variables that every server gets.
    pub env: BTreeMap<String, String>,
    pub cwd: Option<PathBuf>,
}

impl std::fmt::Debug for StdioConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.env.keys().collect();
        f.debug_struct("StdioConfig")
            .field("command", &self.command)
            .field("addon", &self.addon)
            .field("env", &names)
            .finish_non_exhaustive()
    }
}

/// A server that is an address.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteConfig {
    pub url: String,
    pub headers: Vec<(String, SecretString)>,
    /// Whether it speaks the older transport with a stream beside the requests.
    pub is_sse: bool,
    pub verify: Verify,
    pub client_certificate: Option<ClientCertificate>,
    pub auth: Auth,
    /// `oauth` as it stands in the settings.
    pub oauth: Value,
}

/// How the certificate of a server is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verify {
    Usual,
    /// Not at all.
    Off,
    /// Against this file of certificates.
    Against(PathBuf),
}

/// Who we are to a server that asks for a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    pub certificate: PathBuf,
    /// `None` if the file of the certificate has the key as well.
    pub key: Option<PathBuf>,
}

/// How requests are authorised, beside the headers of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    None,
    OAuth,
}

/// Which tools of a server are offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Not empty: only these.
    pub include: Vec<String>,
    /// All but these, unless `include` says which.
    pub exclude: Vec<String>,
    pub no_resources: bool,
    pub no_prompts: bool,
}

impl ToolFilter {
    /// Whether a tool of this name, as the server has it, is offered.
    pub fn allows(&self, tool: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| name == tool);
        if self.include.is_empty() {
            !is_in(&self.exclude)
        } else {
            is_in(&self.include)
        }
    }
}

/// The servers of a profile, and what is wrong with those that cannot be used.
#[derive(Debug, Default)]
pub struct ConfiguredServers {
    /// All that can be used, also those that are switched off, in the order of the file.
    pub servers: Vec<ServerConfig>,
    pub problems: Vec<ConfigError>,
}

impl ConfiguredServers {
    /// Reads the settings. A server that cannot be used never keeps the others from being used.
    pub fn resolve(config: &Config) -> Self {
        let mut found = Self::default();
        let Some(Value::Object(entries)) = config.get("mcp_servers") else {
            return found;
        };
        for (name, entry) in entries {
            let entry = with_named_variables(entry, config);
            match ServerConfig::parse(name, &entry) {
                Ok(server) => found.servers.push(server),
                Err(problem) => found.problems.push(problem),
            }
        }
        found
    }

    /// The servers that are switched on.
    pub fn enabled(&self) -> impl Iterator<Item = &ServerConfig> {
        self.servers.iter().filter(|server| server.enabled)
    }

    /// The server of this name.
    pub fn get(&self, name: &str) -> Option<&ServerConfig> {
        self.servers.iter().find(|server| server.name == name)
    }
}

/// `${env:NAME}` as other programs write `${NAME}`; the plain form was expanded with the settings.
fn with_named_variables(value: &Value, config: &Config) -> Value {
    match value {
        Value::String(text) => Value::String(expand(text, config)),
        Value::Array(items) => items
            .iter()
            .map(|item| with_named_variables(item, config))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), with_named_variables(value, config)))
            .collect(),
        other => other.clone(),
    }
}

fn expand(text: &str, config: &Config) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${env:") {
        out.push_str(before);
        let known = after.split_once('}').and_then(|(name, tail)| {
            let value = config.secret(name.trim())?;
            Some((value, tail))
        });
        match known {
            Some((value, tail)) => {
                out.push_str(value.expose());
                rest = tail;
            }
            None => {
                out.push_str("${env:");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

impl ServerConfig {
    /// Reads the settings of one server. Variables in them are expanded already.
    pub fn parse(name: &str, entry: &Value) -> Result<Self, ConfigError> {
        let fields = Fields::of_server(name, entry)?;
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            return Err(fields.error(
                "",
                "the name of a server has letters, and no control characters".to_owned(),
            ));
        }
        let transport = transport(&fields)?;
        let seconds = |key: &str, usual: f64| -> Result<Duration, ConfigError> {
            let seconds = fields.seconds(key)?.unwrap_or(usual);
            Ok(Duration::from_secs_f64(seconds.clamp(0.001, MAX_SECONDS)))
        };
        let lifecycle = fields.section("lifecycle")?;
        let limit = |key: &str| -> Result<Option<Duration>, ConfigError> {
            let seconds = match fields.seconds(key)? {
                None => lifecycle.seconds(key)?,
                some => some,
            };
            let seconds = seconds.filter(|seconds| *seconds > 0.0);
            Ok(seconds.map(|seconds| Duration::from_secs_f64(seconds.min(MAX_SECONDS))))
        };
        let keepalive = seconds("keepalive_interval", KEEPALIVE_SECONDS)?;
        let sampling = SamplingConfig::parse(&fields.section("sampling")?)?;
        Ok(Self {
            enabled: fields.flag("enabled")?.unwrap_or(true),
            timeout: seconds("timeout", CALL_SECONDS)?,
            connect_timeout: seconds("connect_timeout", CONNECT_SECONDS)?,
            keepalive: keepalive.max(Duration::from_secs_f64(MIN_KEEPALIVE_SECONDS)),
            idle_timeout: limit("idle_timeout_seconds")?,
            max_lifetime: limit("max_lifetime_seconds")?,
            parallel_calls: fields
                .flag("supports_parallel_tool_calls")?
                .unwrap_or(false),
            filter: filter(&fields.section("tools")?)?,
            fingerprint: fingerprint(&transport, sampling.is_some()),
            sampling,
            entry: SecretString::new(entry.to_string()),
            name: name.to_owned(),
            transport,
        })
    }

    /// Changes when what the server offers may have changed with its settings. Holds no value of a
    /// variable or header.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Changes with every word of the settings, values of variables included. Without the salt it
    /// says nothing of them.
    pub(crate) fn salted_digest(&self, salt: &str) -> String {
        let mut digest = Sha256::new();
        digest.update(salt);
        digest.update(self.entry.expose());
        hermes_fs::hex(&digest.finalize())
    }

    /// Whether the server is an address.
    pub fn is_remote(&self) -> bool {
        matches!(self.transport, Transport::Remote(_))
    }

    /// How the server is reached, in a few words: its command or its address without a query.
    pub fn summary(&self) -> String {
        match &self.transport {
            Transport::Stdio(stdio) => {
                let first = stdio.addon.as_ref().unwrap_or(&stdio.command);
                let words = std::iter::once(first.as_str());
                let words = words.chain(stdio.args.iter().map(String::as_str));
                words.collect::<Vec<_>>().join(" ")
            }
            Transport::Remote(remote) => {
                let (address, _) = remote.url.split_once('?').unwrap_or((&remote.url, ""));
                address.to_owned()
            }
        }
    }

    /// `stdio`, `http` or `sse`.
    pub fn transport_name(&self) -> &'static str {
        match &self.transport {
            Transport::Stdio(_) => "stdio",
            Transport::Remote(remote) if remote.is_sse => "sse",
            Transport::Remote(_) => "http",
        }
    }
}

fn transport(fields: &Fields<'_>) -> Result<Transport, ConfigError> {
    // An address wins where both are given.
    if let Some(url) = fields.text("url")? {
        return remote(fields, url).map(Transport::Remote);
    }
    let addon = fields.text("addon")?.map(|addon| addon.trim().to_owned());
    let command = match (&addon, fields.text("command")?) {
        (Some(addon), _) => {
            if let Err(error) = NodePackage::parse(addon) {
                return Err(fields.error("addon", error.to_string()));
            }
            ""
        }
        (None, Some(command)) => command.trim(),
        (None, None) => {
            return Err(fields.error(
                "",
                "expected `command` (a program), `addon` (a package of npm) or `url` (an address)"
                    .to_owned(),
            ));
        }
    };
    if command.is_empty() && addon.is_none() {
        return Err(fields.error("command", "the command is empty".to_owned()));
    }
    Ok(Transport::Stdio(StdioConfig {
        command: command.to_owned(),
        addon,
        args: fields.texts("args")?,
        env: fields.map("env")?.into_iter().collect(),
        cwd: fields.text("cwd")?.map(PathBuf::from),
    }))
}

fn remote(fields: &Fields<'_>, url: &str) -> Result<RemoteConfig, ConfigError> {
    let url = url.trim();
    let parsed = reqwest::Url::parse(url).map_err(|error| {
        let problem = format!("'{}' is not an address: {error}", shown_url(url));
        fields.error("url", problem)
    })?;
    if !matches!(parsed.scheme(), "http" | "https") {
        let scheme = parsed.scheme();
        return Err(fields.error(
            "url",
            format!("an address begins with http:// or https://, not with {scheme}:"),
        ));
    }
    if parsed.host_str().is_none_or(str::is_empty) {
        return Err(fields.error("url", format!("'{}' has no host", shown_url(url))));
    }
    let is_sse = match fields.text("transport")?.map(str::trim) {
        None | Some("" | "http" | "streamable_http" | "streamable-http") => false,
        Some("sse") => true,
        Some(other) => {
            let problem = format!("expected `http` or `sse`, got '{other}'");
            return Err(fields.error("transport", problem));
        }
    };
    let auth = match fields.text("auth")?.map(str::trim) {
        None | Some("" | "none" | "header") => Auth::None,
        Some("oauth") => Auth::OAuth,
        Some(other) => {
            let problem = format!("expected `oauth` or `header`, got '{other}'");
            return Err(fields.error("auth", problem));
        }
    };
    let headers = fields.map("headers")?.into_iter();
    Ok(RemoteConfig {
        url: url.to_owned(),
        headers: headers
            .map(|(name, value)| (name, SecretString::new(value)))
            .collect(),
        is_sse,
        verify: verify(fields)?,
        client_certificate: client_certificate(fields)?,
        auth,
        oauth: fields.get("oauth").cloned().unwrap_or(Value::Null),
    })
}

/// What of an address may be shown: a query may hold a key.
fn shown_url(url: &str) -> &str {
    url.split_once('?').map_or(url, |(address, _)| address)
}

fn verify(fields: &Fields<'_>) -> Result<Verify, ConfigError> {
    match fields.get("ssl_verify") {
        Some(Value::String(path)) if fields.flag("ssl_verify").is_err() => {
            Ok(Verify::Against(PathBuf::from(path.trim())))
        }
        _ => Ok(match fields.flag("ssl_verify")? {
            Some(false) => Verify::Off,
            Some(true) | None => Verify::Usual,
        }),
    }
}

fn client_certificate(fields: &Fields<'_>) -> Result<Option<ClientCertificate>, ConfigError> {
    let key = fields.text("client_key")?;
    let (certificate, key) = match fields.get("client_cert") {
        None => match key {
            None => return Ok(None),
            Some(_) => {
                let problem = "a key without `client_cert` has no use".to_owned();
                return Err(fields.error("client_key", problem));
            }
        },
        Some(Value::Array(_)) => {
            let parts = fields.texts("client_cert")?;
            if key.is_some() {
                let problem = "give a list, or `client_cert` and `client_key`, not both".to_owned();
                return Err(fields.error("client_cert", problem));
            }
            match parts.as_slice() {
                [certificate, key] => (certificate.clone(), Some(key.clone())),
                [_, _, _] => {
                    let problem = "keys with a passphrase cannot be used; decrypt the key, for \
                                   example with `openssl pkey`"
                        .to_owned();
                    return Err(fields.error("client_cert", problem));
                }
                _ => {
                    let problem = "expected a list of a certificate and a key".to_owned();
                    return Err(fields.error("client_cert", problem));
                }
            }
        }
        Some(_) => {
            let certificate = fields.text("client_cert")?.unwrap_or_default();
            (certificate.to_owned(), key.map(str::to_owned))
        }
    };
    Ok(Some(ClientCertificate {
        certificate: fields.file("client_cert", &certificate)?,
        key: match key {
            Some(key) => Some(fields.file("client_key", &key)?),
            None => None,
        },
    }))
}

fn filter(fields: &Fields<'_>) -> Result<ToolFilter, ConfigError> {
    Ok(ToolFilter {
        include: fields.texts("include")?,
        exclude: fields.texts("exclude")?,
        no_resources: fields.flag("resources")? == Some(false),
        no_prompts: fields.flag("prompts")? == Some(false),
    })
}

fn fingerprint(transport: &Transport, has_sampling: bool) -> String {
    let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Value>();
    let mut facts = Map::new();
    match transport {
        Transport::Stdio(stdio) => {
            facts.insert("command".to_owned(), stdio.command.clone().into());
            facts.insert("args".to_owned(), stdio.args.clone().into());
            if let Some(addon) = &stdio.addon {
                facts.insert("addon".to_owned(), addon.clone().into());
            }
            facts.insert("env".to_owned(), names(stdio.env.keys().collect()));
        }
        Transport::Remote(remote) => {
            let headers = remote.headers.iter().map(|(name, _)| name).collect();
            facts.insert("url".to_owned(), remote.url.clone().into());
            facts.insert("headers".to_owned(), names(headers));
        }
    }
    // Some servers have more tools for those they can ask.
    if has_sampling {
        facts.insert("sampling".to_owned(), true.into());
    }
    let digest = Sha256::digest(Value::Object(facts).to_string());
    let mut text = hermes_fs::hex(&digest);
    text.truncate(16);
    text
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
