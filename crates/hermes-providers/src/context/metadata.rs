//! Asks a server about its models: one request, in parallel to the first question.

use std::time::Duration;

use bytes::Bytes;
use hermes_secret::SecretString;
use serde_json::{Value, json};

use super::family::family_window;
use super::listed_model::ListedModel;
use crate::classify::error_message;
use crate::classify::limits::PLAUSIBLE_WINDOW;
use crate::http::{HttpRequest, Method, Transport, whole_answer};
use crate::lenient_json::parse_lenient;
use crate::route::{Route, is_host};
use crate::wire::tokens;

/// Timeout of one metadata request to a local server.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The default port of Ollama, which has a metadata address of its own.
const OLLAMA_PORT: &str = ":11434";

/// Keys under which servers state the window, the most precise first.
const WINDOW_KEYS: &[&str] = &[
    // What Copilot takes of a window that is larger.
    "max_prompt_tokens",
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

/// A server to ask about its models.
pub(crate) struct ModelServer<'a> {
    pub(crate) transport: &'a Transport,
    pub(crate) route: &'a Route,
    pub(crate) key: Option<&'a SecretString>,
    pub(crate) timeout: Duration,
}

impl ModelServer<'_> {
    /// The window of the route's model. Most servers state it in their list of models; some local
    /// servers have a more precise address.
    pub(crate) fn window(&self) -> Option<StatedWindow> {
        let route = self.route;
        if route.is_local() && route.base_url.contains(OLLAMA_PORT) {
            return self.ollama();
        }
        let models = self.models()?;
        let named = |model: &&Value| {
            let id = model["id"].as_str().or_else(|| model["name"].as_str());
            id == Some(route.model.as_str())
        };
        let model = match model_list(&models) {
            // A server with a single model serves it under any name.
            [one] => one,
            several => several.iter().find(named)?,
        };
        let precise = match model["owned_by"].as_str() {
            _ if !route.is_local() => None,
            Some("library" | "ollama") => self.ollama(),
            Some("organization_owner" | "lmstudio") => self.lm_studio(),
            Some("llamacpp" | "llama.cpp") => self.llama_cpp(),
            // Such as vLLM, whose list is precise.
            _ => None,
        };
        precise.or_else(|| window_of(model, 0).map(StatedWindow::of))
    }

    /// The only model; `None` if there is none or several.
    pub(crate) fn only_model(&self) -> Option<String> {
        match model_list(&self.models()?) {
            [one] => one["id"].as_str().map(str::to_owned),
            _ => None,
        }
    }

    /// The window with which Ollama runs the model.
    fn ollama(&self) -> Option<StatedWindow> {
        let body = json!({"model": self.route.model}).to_string();
        let shown = self.fetch_local(Method::POST, "/api/show", body)?;
        Some(StatedWindow {
            window: ollama_window(&shown)?,
            is_ollama: true,
        })
    }

    /// The window with which LM Studio has loaded, or could load, the model.
    fn lm_studio(&self) -> Option<StatedWindow> {
        let models = self.fetch_local(Method::GET, "/api/v1/models", String::new())?;
        lm_studio_window(&models, &self.route.model).map(StatedWindow::of)
    }

    /// The window llama.cpp was started with; its list has only the window of the model.
    fn llama_cpp(&self) -> Option<StatedWindow> {
        let props = self.fetch_local(Method::GET, "/props", String::new())?;
        let tokens = props["default_generation_settings"]["n_ctx"].as_u64()?;
        PLAUSIBLE_WINDOW
            .contains(&tokens)
            .then(|| StatedWindow::of(tokens))
    }

    fn models(&self) -> Option<Value> {
        let url = self.route.model_list(self.key);
        self.fetch(Method::GET, url, String::new(), self.timeout)
    }

    fn fetch_local(&self, method: Method, path: &str, body: String) -> Option<Value> {
        let url = format!("{}{path}", self.route.base_url.trim_end_matches("/v1"));
        self.fetch(method, url, body, self.timeout.min(LOCAL_TIMEOUT))
    }

    fn fetch(&self, method: Method, url: String, body: String, timeout: Duration) -> Option<Value> {
        match self.exchange(method, url, body, timeout) {
            Ok((200, text)) => parse_lenient(&text),
            Ok(_) | Err(_) => None,
        }
    }

    /// The models, for a person who wants to know whether the server answers and takes the key, or to
    /// choose one.
    pub(crate) fn list(&self) -> Result<Vec<ListedModel>, ServerRefusal> {
        // The list of this vendor is open to everybody; this address is not.
        if is_host(&self.route.host, "openrouter.ai") && self.key.is_some() {
            self.ask(
                self.route
                    .with_query(format!("{}/key", self.route.base_url)),
            )?;
        }
        let models = self.ask(self.route.model_list(self.key))?;
        Ok(listed_models(&models))
    }

    fn ask(&self, url: String) -> Result<Value, ServerRefusal> {
        match self.exchange(Method::GET, url, String::new(), self.timeout) {
            Ok((200, text)) => parse_lenient(&text).ok_or(ServerRefusal::NotJson),
            Ok((status, text)) => Err(ServerRefusal::Status {
                status,
                message: self.without_key(error_message(&text)),
            }),
            Err(reason) => Err(ServerRefusal::Unreachable(reason)),
        }
    }

    /// A server may repeat the key in what it says about it.
    fn without_key(&self, message: String) -> String {
        match self.key {
            Some(key) => message.replace(key.expose(), "***"),
            None => message,
        }
    }

    /// The status and the text of an answer.
    fn exchange(
        &self,
        method: Method,
        url: String,
        body: String,
        timeout: Duration,
    ) -> Result<(u16, String), String> {
        let mut headers = vec![("accept", "application/json".to_owned())];
        if let Some(key) = self.key {
            headers.extend(self.route.key_headers(key.expose()));
        }
        if !body.is_empty() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        let request = HttpRequest {
            method,
            url,
            headers,
            body: Bytes::from(body),
        };
        let answer = whole_answer(&self.transport.send(request)?, timeout)?;
        Ok((answer.status, answer.text))
    }
}

/// Why a server did not list its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerRefusal {
    Status {
        status: u16,
        /// What the server says about it: one line without the key.
        message: String,
    },
    /// The answer is something else, such as the page of a proxy.
    NotJson,
    /// There was no answer, and why.
    Unreachable(String),
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

/// The models of a server's list.
pub(crate) fn listed_models(models: &Value) -> Vec<ListedModel> {
    model_list(models)
        .iter()
        .filter_map(|model| {
            let mut listed = ListedModel::read(model, window_of(model, 0))?;
            listed.window = listed.window.or_else(|| family_window(&listed.name));
            Some(listed)
        })
        .collect()
}

fn model_list(models: &Value) -> &[Value] {
    let mut places = [&models["data"], &models["models"], models].into_iter();
    let listed = places.find_map(Value::as_array);
    listed.map_or(&[], Vec::as_slice)
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
