//! Asks a server about its models: one request, in parallel to the first question.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hermes_proc::Wake;
use hermes_secret::SecretString;
use serde_json::{Value, json};

use crate::classify::limits::PLAUSIBLE_WINDOW;
use crate::http::{HttpRequest, Method, Next, Transport};
use crate::lenient_json::parse_lenient;
use crate::route::Route;
use crate::wire::tokens;

/// Largest list of models that is read.
const MAX_BYTES: usize = 8 << 20;

/// Timeout of one metadata request to a local server.
const LOCAL_LIMIT: Duration = Duration::from_secs(2);

/// The default port of Ollama, which has a metadata address of its own.
const OLLAMA_PORT: &str = ":11434";

/// Keys under which servers state the window, the most precise first.
const WINDOW_KEYS: &[&str] = &[
    "context_length",
    "context_window",
    "context_size",
    "max_context_length",
    "max_position_embeddings",
    "max_model_len",
    "max_input_tokens",
    "max_sequence_length",
    "max_seq_len",
    "n_ctx_train",
    "n_ctx",
    "ctx_size",
];

/// A context window that is certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatedWindow {
    pub(crate) window: u64,
    /// Whether the server is Ollama, which has to be told the window with every request.
    pub(crate) is_ollama: bool,
}

impl StatedWindow {
    /// The window of a server that need not be told.
    pub(crate) fn of(window: u64) -> Self {
        Self {
            window,
            is_ollama: false,
        }
    }
}

/// Asks the server of a route for the window of its model. Most servers state it in their list of
/// models; some local servers have a more precise address.
pub(crate) fn fetch_window(
    transport: &Transport,
    route: &Route,
    key: Option<&SecretString>,
    limit: Duration,
) -> Option<StatedWindow> {
    let query = LocalServerQuery {
        transport,
        key,
        limit,
        root: route.base_url.trim_end_matches("/v1"),
    };
    if route.is_local() && route.base_url.contains(OLLAMA_PORT) {
        return query.ollama(&route.model);
    }
    let models = fetch_models(transport, route, key, limit)?;
    let listed = model_list(&models);
    let named = |model: &&Value| {
        let id = model["id"].as_str().or_else(|| model["name"].as_str());
        id == Some(route.model.as_str())
    };
    let found = listed.iter().find(named);
    // A server with a single model serves it under any name.
    let only = match listed {
        [one] => Some(one),
        _ => None,
    };
    let model = found.or(only)?;
    let in_list = || window_of(model, 0).map(StatedWindow::of);
    if !route.is_local() {
        return in_list();
    }
    match LocalServer::of(model) {
        Some(LocalServer::Ollama) => query.ollama(&route.model).or_else(in_list),
        Some(LocalServer::LmStudio) => query.lm_studio(&route.model).or_else(in_list),
        Some(LocalServer::LlamaCpp) => query.llama_cpp().or_else(in_list),
        // Such as vLLM, whose list is precise.
        None => in_list(),
    }
}

/// Local servers with a more precise metadata address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LocalServer {
    Ollama,
    LmStudio,
    LlamaCpp,
}

impl LocalServer {
    /// Recognised by the owner in the list of models.
    fn of(model: &Value) -> Option<Self> {
        match model["owned_by"].as_str()? {
            "library" | "ollama" => Some(Self::Ollama),
            "organization_owner" | "lmstudio" => Some(Self::LmStudio),
            "llamacpp" | "llama.cpp" => Some(Self::LlamaCpp),
            _ => None,
        }
    }
}

/// Metadata requests to a local server.
struct LocalServerQuery<'a> {
    transport: &'a Transport,
    key: Option<&'a SecretString>,
    limit: Duration,
    root: &'a str,
}

impl LocalServerQuery<'_> {
    /// The window with which Ollama runs a model.
    fn ollama(&self, model: &str) -> Option<StatedWindow> {
        let body = json!({"model": model}).to_string();
        let shown = self.fetch(Method::POST, "/api/show", body)?;
        Some(StatedWindow {
            window: ollama_window(&shown)?,
            is_ollama: true,
        })
    }

    /// The window with which LM Studio has loaded, or could load, a model.
    fn lm_studio(&self, model: &str) -> Option<StatedWindow> {
        let models = self.fetch(Method::GET, "/api/v1/models", String::new())?;
        lm_studio_window(&models, model).map(StatedWindow::of)
    }

    /// The window llama.cpp was started with; its list has only the window of the model.
    fn llama_cpp(&self) -> Option<StatedWindow> {
        let props = self.fetch(Method::GET, "/props", String::new())?;
        let tokens = props["default_generation_settings"]["n_ctx"].as_u64()?;
        PLAUSIBLE_WINDOW
            .contains(&tokens)
            .then(|| StatedWindow::of(tokens))
    }

    fn fetch(&self, method: Method, path: &str, body: String) -> Option<Value> {
        let url = format!("{}{path}", self.root);
        let limit = self.limit.min(LOCAL_LIMIT);
        fetch(self.transport, method, url, body, self.key, limit)
    }
}

fn lm_studio_window(models: &Value, wanted: &str) -> Option<u64> {
    let listed = model_list(models).iter().find(|model| {
        let names = ["key", "id", "selected_variant"];
        let loaded = model["loaded_instances"].as_array().into_iter().flatten();
        let mut loaded = loaded.map(|one| one["id"].as_str());
        names.iter().any(|name| model[*name] == wanted) || loaded.any(|id| id == Some(wanted))
    })?;
    let loaded = listed["loaded_instances"].as_array().into_iter().flatten();
    let mut running = loaded.filter_map(|one| one["config"]["context_length"].as_u64());
    let tokens = running
        .next()
        .or_else(|| listed["loaded_context_length"].as_u64())
        .or_else(|| listed["max_context_length"].as_u64())?;
    PLAUSIBLE_WINDOW.contains(&tokens).then_some(tokens)
}

/// The only model of a server; `None` if it has none or several.
pub(crate) fn fetch_only_model(
    transport: &Transport,
    route: &Route,
    key: Option<&SecretString>,
    limit: Duration,
) -> Option<String> {
    let models = fetch_models(transport, route, key, limit)?;
    match model_list(&models) {
        [one] => one["id"].as_str().map(str::to_owned),
        _ => None,
    }
}

fn fetch_models(
    transport: &Transport,
    route: &Route,
    key: Option<&SecretString>,
    limit: Duration,
) -> Option<Value> {
    let url = route.with_query(format!("{}/models", route.base_url));
    fetch(transport, Method::GET, url, String::new(), key, limit)
}

fn model_list(models: &Value) -> &[Value] {
    let listed = models["data"]
        .as_array()
        .or_else(|| models["models"].as_array());
    listed
        .or_else(|| models.as_array())
        .map_or(&[], Vec::as_slice)
}

fn fetch(
    transport: &Transport,
    method: Method,
    url: String,
    body: String,
    key: Option<&SecretString>,
    limit: Duration,
) -> Option<Value> {
    let mut headers = vec![("accept", "application/json".to_owned())];
    if let Some(key) = key {
        headers.push(("authorization", format!("Bearer {}", key.expose())));
    }
    if !body.is_empty() {
        headers.push(("content-type", "application/json".to_owned()));
    }
    let exchange = transport
        .send(HttpRequest {
            method,
            url,
            headers,
            body: Bytes::from(body),
        })
        .ok()?;
    // Nobody interrupts this request; it ends by its timeout.
    let never = Wake::new().ok()?;
    let deadline = Instant::now() + limit;
    let mut bytes = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match exchange.next(&never, left) {
            Next::Head(head) if head.status == 200 => {}
            Next::Chunk(more) if bytes.len() + more.len() <= MAX_BYTES => {
                bytes.extend_from_slice(&more);
            }
            Next::End => return parse_lenient(&String::from_utf8_lossy(&bytes)),
            _ => return None,
        }
    }
}

/// The window stated in the description of a model, at up to three levels.
fn window_of(model: &Value, depth: usize) -> Option<u64> {
    let map = model.as_object().filter(|_| depth < 3)?;
    let stated = WINDOW_KEYS.iter().find_map(|key| {
        let stated = tokens(&model[*key])?;
        PLAUSIBLE_WINDOW.contains(&stated).then_some(stated)
    });
    stated.or_else(|| map.values().find_map(|inner| window_of(inner, depth + 1)))
}

/// `num_ctx` of the parameters, or the window of the model.
fn ollama_window(shown: &Value) -> Option<u64> {
    let set = shown["parameters"].as_str().and_then(|text| {
        text.lines().find_map(|line| {
            let value = line.trim().strip_prefix("num_ctx")?;
            value.trim().parse().ok()
        })
    });
    let of_model = || {
        let info = shown["model_info"].as_object()?;
        let (_, value) = info
            .iter()
            .find(|(key, _)| key.ends_with(".context_length"))?;
        value.as_u64()
    };
    set.or_else(of_model)
        .filter(|tokens| PLAUSIBLE_WINDOW.contains(tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_is_found_under_many_keys() {
        for (model, window) in [
            (json!({"id": "m", "context_length": 8192}), Some(8_192)),
            (
                json!({"id": "m", "meta": {"n_ctx_train": 40960}}),
                Some(40_960),
            ),
            (json!({"id": "m", "max_model_len": "32768"}), Some(32_768)),
            (json!({"id": "m", "context_length": 7}), None),
            (json!({"id": "m", "context_length": 1e12}), None),
            (json!("m"), None),
        ] {
            assert_eq!(window_of(&model, 0), window, "{model}");
        }
    }

    #[test]
    fn lm_studio_window_is_read() {
        let models = json!({"models": [
            {"key": "a", "max_context_length": 131_072, "loaded_instances": []},
            {"key": "b", "max_context_length": 131_072,
             "loaded_instances": [{"id": "b:2", "config": {"context_length": 8_192}}]},
        ]});
        assert_eq!(lm_studio_window(&models, "a"), Some(131_072));
        assert_eq!(lm_studio_window(&models, "b"), Some(8_192));
        assert_eq!(lm_studio_window(&models, "b:2"), Some(8_192));
        assert_eq!(lm_studio_window(&models, "c"), None);
        let data = json!({"data": [{"id": "a", "loaded_context_length": 4_096}]});
        assert_eq!(lm_studio_window(&data, "a"), Some(4_096));
    }

    #[test]
    fn ollama_window_is_read() {
        let info = json!({"llama.context_length": 131_072, "x": 1});
        let shown = json!({"parameters": "stop \"x\"\nnum_ctx    16384", "model_info": info});
        assert_eq!(ollama_window(&shown), Some(16_384));
        assert_eq!(ollama_window(&json!({"model_info": info})), Some(131_072));
        assert_eq!(ollama_window(&json!({"parameters": 3})), None);
    }
}
