//! Model servers on this machine, looked for where they listen unless told otherwise.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hermes_config::{Config, vars};
use hermes_http::HttpSettings;
use serde_json::Value;

use crate::context::{ListedModel, listed_models};
use crate::http::{Exchange, HttpRequest, Method, Transport, whole_answer};
use crate::lenient_json::parse_lenient;
use crate::setup::variable;

/// What runs on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalServerKind {
    Ollama,
    LmStudio,
    LlamaCpp,
    Vllm,
    /// It lists models and does not say what it is.
    Other,
}

impl LocalServerKind {
    /// The name that its makers use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::LlamaCpp => "llama.cpp",
            Self::Vllm => "vLLM",
            Self::Other => "A model server",
        }
    }

    /// The provider that speaks with it.
    pub fn provider(self) -> &'static str {
        match self {
            Self::LmStudio => "lmstudio",
            Self::Ollama | Self::LlamaCpp | Self::Vllm | Self::Other => "custom",
        }
    }
}

/// A model server on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalServer {
    pub kind: LocalServerKind,
    /// The address of its API, ending in `/v1`.
    pub base_url: String,
    pub models: Vec<ListedModel>,
}

/// Where servers listen by default: Ollama, LM Studio, vLLM, llama.cpp.
const PORTS: [u16; 4] = [11434, 1234, 8000, 8080];

/// What tells the servers apart, with the key that the answer has.
const FINGERPRINTS: [(&str, &str, LocalServerKind); 4] = [
    (
        "/props",
        "default_generation_settings",
        LocalServerKind::LlamaCpp,
    ),
    ("/api/tags", "models", LocalServerKind::Ollama),
    ("/api/v1/models", "", LocalServerKind::LmStudio),
    ("/version", "version", LocalServerKind::Vllm),
];

/// Looks for servers, at all addresses at once, for `limit` in all.
pub fn find_local_servers(config: &Config, limit: Duration) -> Vec<LocalServer> {
    let transport = Transport::new(HttpSettings::resolve(config));
    let deadline = Instant::now() + limit;
    let asked: Vec<_> = roots(config)
        .into_iter()
        .map(|root| {
            let list = send(&transport, format!("{root}/v1/models"));
            let prints = FINGERPRINTS.map(|(path, key, kind)| {
                let exchange = send(&transport, format!("{root}{path}"));
                (exchange, key, kind)
            });
            (root, list, prints)
        })
        .collect();
    let found = asked.into_iter().filter_map(|(root, list, prints)| {
        let models = listed_models(&answer(list?, deadline)?);
        let kind = prints.into_iter().find_map(|(exchange, key, kind)| {
            let said = answer(exchange?, deadline)?;
            (key.is_empty() || said.get(key).is_some()).then_some(kind)
        });
        Some(LocalServer {
            kind: kind.unwrap_or(LocalServerKind::Other),
            base_url: format!("{root}/v1"),
            models: models.into_iter().filter(|one| one.is_for_agents).collect(),
        })
    });
    found.collect()
}

/// The addresses to ask, without a path. What a variable names replaces the default.
fn roots(config: &Config) -> Vec<String> {
    let mut roots: Vec<String> = PORTS
        .iter()
        .map(|port| format!("http://127.0.0.1:{port}"))
        .collect();
    let ollama = variable(config, vars::OLLAMA_HOST.name).and_then(|host| ollama_root(&host));
    let lm_studio = variable(config, "LM_BASE_URL");
    let lm_studio = lm_studio.map(|url| {
        let url = url.trim_end_matches('/');
        url.strip_suffix("/v1").unwrap_or(url).to_owned()
    });
    for (at, named) in [ollama, lm_studio].into_iter().enumerate() {
        if let (Some(root), Some(named)) = (roots.get_mut(at), named) {
            *root = named;
        }
    }
    let mut seen = Vec::new();
    roots.retain(|root| {
        let is_new = !seen.contains(root);
        seen.push(root.clone());
        is_new
    });
    roots
}

/// `OLLAMA_HOST` as its own programs read it: a host, a port, or both; it may also say where to listen.
fn ollama_root(host: &str) -> Option<String> {
    let host = host.trim().trim_end_matches('/');
    if host.is_empty() {
        return None;
    }
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (name, port) = match rest.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, port),
        _ => (rest, "11434"),
    };
    let name = match name {
        "" | "0.0.0.0" | "[::]" => "127.0.0.1",
        name => name,
    };
    Some(format!("{scheme}://{name}:{port}"))
}

fn send(transport: &Transport, url: String) -> Option<Exchange> {
    let request = HttpRequest {
        method: Method::GET,
        url,
        headers: vec![("accept", "application/json".to_owned())],
        body: Bytes::new(),
    };
    transport.send(request).ok()
}

fn answer(exchange: Exchange, deadline: Instant) -> Option<Value> {
    let left = deadline.saturating_duration_since(Instant::now());
    match whole_answer(&exchange, left) {
        Ok(answer) if answer.status == 200 => parse_lenient(&answer.text),
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_host_is_read_as_ollama_does() {
        for (given, root) in [
            ("0.0.0.0", Some("http://127.0.0.1:11434")),
            ("127.0.0.1:9", Some("http://127.0.0.1:9")),
            (":9", Some("http://127.0.0.1:9")),
            ("https://box/", Some("https://box:11434")),
            ("  ", None),
        ] {
            assert_eq!(ollama_root(given).as_deref(), root, "{given}");
        }
    }
}
