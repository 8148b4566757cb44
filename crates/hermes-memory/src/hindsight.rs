//! Hindsight, hosted or on a server that runs already: banks of facts, recalled and reasoned about.

use std::sync::Arc;
use std::time::Duration;

use hermes_http::HttpSettings;
use hermes_proc::Wake;
use serde_json::{Value, json};

use crate::api::Api;
use crate::backend::{CompletedTurn, Failure, MemoryBackend, MemoryTool};
use crate::settings::{Identity, ServiceSettings};

const BASE: &str = "https://api.hindsight.vectorize.io";
const LOCAL_BASE: &str = "http://localhost:8888";
/// Seconds for a request: the hosted service may take half a minute.
const SECONDS: f64 = 120.0;
/// Tokens of what is recalled.
const MOST_TOKENS: u64 = 4_096;

/// Hindsight.
pub(crate) struct Hindsight {
    api: Api,
    bank: String,
    budget: String,
    tags: Vec<String>,
    user_prefix: String,
    assistant_prefix: String,
    platform: String,
    recalls: bool,
    keeps: bool,
    has_tools: bool,
    most_tokens: u64,
}

impl Hindsight {
    pub(crate) fn open(
        settings: &ServiceSettings<'_>,
        identity: &Identity,
        http: HttpSettings,
    ) -> Result<Self, String> {
        let mode = settings.text(&["mode"], Some("HINDSIGHT_MODE"));
        let is_local = match mode.as_deref().unwrap_or("cloud") {
            "cloud" => false,
            "local_external" => true,
            "local" | "local_embedded" => {
                return Err("its embedded mode runs inside the Python runtime only".to_owned());
            }
            other => {
                let other = hermes_text::one_line(other, 40);
                return Err(format!(
                    "its mode '{other}' is neither cloud nor local_external"
                ));
            }
        };
        let key = settings.key();
        if key.is_none() && !is_local {
            return Err(settings.no_key());
        }
        let base = settings.text(&["api_url", "apiUrl"], Some("HINDSIGHT_API_URL"));
        let base = base
            .as_deref()
            .unwrap_or(if is_local { LOCAL_BASE } else { BASE });
        let bearer = key.map(|key| format!("Bearer {key}"));
        let headers: Vec<(&'static str, &str)> = bearer
            .iter()
            .map(|bearer| ("authorization", bearer.as_str()))
            .collect();
        let seconds = settings.number(&["timeout"], Some("HINDSIGHT_TIMEOUT"));
        let limit = Duration::from_secs_f64(seconds.unwrap_or(SECONDS).clamp(1.0, 600.0));
        let bank = settings
            .text(&["bank_id", "bankId"], None)
            .or_else(|| settings.part("banks/hermes/bankId"))
            .or_else(|| settings.text(&[], Some("HINDSIGHT_BANK_ID")));
        let budget = settings
            .text(&["recall_budget", "budget"], None)
            .or_else(|| settings.part("banks/hermes/budget"))
            .or_else(|| settings.text(&[], Some("HINDSIGHT_BUDGET")));
        let budget = budget.filter(|budget| ["low", "mid", "high"].contains(&budget.as_str()));
        let memory_mode = settings.text(&["memory_mode"], None);
        let memory_mode = memory_mode.as_deref().unwrap_or("hybrid");
        let prefix = |key: &str, variable: &str, usual: &str| {
            settings
                .text(&[key], Some(variable))
                .unwrap_or_else(|| usual.to_owned())
        };
        let tokens = settings.text(&["recall_max_tokens"], None);
        Ok(Self {
            api: Api::new(base, &headers, limit, http)?,
            bank: bank.unwrap_or_else(|| "hermes".to_owned()),
            budget: budget.unwrap_or_else(|| "mid".to_owned()),
            tags: settings.words("retain_tags", Some("HINDSIGHT_RETAIN_TAGS")),
            user_prefix: prefix("retain_user_prefix", "HINDSIGHT_RETAIN_USER_PREFIX", "User"),
            assistant_prefix: prefix(
                "retain_assistant_prefix",
                "HINDSIGHT_RETAIN_ASSISTANT_PREFIX",
                "Assistant",
            ),
            platform: identity.platform.clone(),
            recalls: settings.flag(&["auto_recall"], true) && memory_mode != "tools",
            keeps: settings.flag(&["auto_retain"], true),
            has_tools: memory_mode != "context",
            most_tokens: tokens
                .and_then(|tokens| tokens.parse().ok())
                .unwrap_or(MOST_TOKENS),
        })
    }

    fn path<'p>(&'p self, rest: &[&'p str]) -> Vec<&'p str> {
        let mut path = vec!["v1", "default", "banks", self.bank.as_str()];
        path.extend(rest);
        path
    }

    fn found(&self, query: &str, stop: &Wake) -> Result<Vec<String>, Failure> {
        let body = json!({
            "query": query,
            "budget": self.budget,
            "max_tokens": self.most_tokens,
        });
        let answer = self
            .api
            .post(&self.path(&["memories", "recall"]), &body, stop)?;
        let Some(results) = answer["results"].as_array() else {
            return Err(Failure::new("its answer has no results"));
        };
        let facts = results.iter().filter_map(|fact| fact["text"].as_str());
        Ok(facts.map(str::to_owned).collect())
    }

    fn retain(&self, mut item: Value, tags: &[String], stop: &Wake) -> Result<(), Failure> {
        if !tags.is_empty() {
            item["tags"] = json!(tags);
        }
        let body = json!({"items": [item], "async": true});
        self.api
            .post(&self.path(&["memories"]), &body, stop)
            .map(drop)
    }
}

impl MemoryBackend for Hindsight {
    fn name(&self) -> &'static str {
        "hindsight"
    }

    fn recall(&self, query: &str, _: &str, stop: &Wake) -> Result<Vec<String>, Failure> {
        if !self.recalls {
            return Ok(Vec::new());
        }
        self.found(query, stop)
    }

    /// Each turn is a document of its own, so that none replaces another.
    fn keep(&self, turn: &CompletedTurn, stop: &Wake) -> Result<(), Failure> {
        if !self.keeps {
            return Ok(());
        }
        let now = jiff::Timestamp::now();
        let content = format!(
            "{}: {}\n\n{}: {}",
            self.user_prefix, turn.user, self.assistant_prefix, turn.assistant
        );
        let item = json!({
            "content": content,
            "timestamp": now.to_string(),
            "document_id": format!("{}-{}", turn.session, now.as_millisecond()),
            "metadata": {"session_id": turn.session, "platform": self.platform},
        });
        let mut tags = self.tags.clone();
        tags.push(format!("session:{}", turn.session));
        self.retain(item, &tags, stop)
    }

    fn tools(&self) -> Vec<MemoryTool> {
        if !self.has_tools {
            return Vec::new();
        }
        let query = |what: &str| {
            Arc::new(json!({
                "type": "object",
                "properties": {"query": {"type": "string", "description": what}},
                "required": ["query"],
            }))
        };
        vec![
            MemoryTool {
                name: "hindsight_retain",
                description: "Remembers something for later conversations; facts and names in it are \
                 found again.",
                schema: Arc::new(json!({
                    "type": "object",
                    "properties": {
                        "content": {"type": "string", "description": "What to remember."},
                        "context": {"type": "string", "description": "What it is, in a few words."},
                        "tags": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Tags of this memory.",
                        },
                    },
                    "required": ["content"],
                })),
                only_reads: false,
            },
            MemoryTool {
                name: "hindsight_recall",
                description: "Searches long-term memory by meaning, words and names.",
                schema: query("What to look for."),
                only_reads: true,
            },
            MemoryTool {
                name: "hindsight_reflect",
                description: "Answers a question from everything that is remembered. Slower than \
                 hindsight_recall.",
                schema: query("The question."),
                only_reads: true,
            },
        ]
    }

    fn call(&self, tool: &str, args: &Value, stop: &Wake) -> Result<Value, Failure> {
        let text = |name: &str| match args[name].as_str().map(str::trim) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(Failure::of_request(format!("{name} is missing"))),
        };
        match tool {
            "hindsight_retain" => {
                let mut item = json!({"content": text("content")?});
                if let Ok(context) = text("context") {
                    item["context"] = context.into();
                }
                let more = args["tags"].as_array().into_iter().flatten();
                let more = more.filter_map(Value::as_str).map(str::to_owned);
                let tags: Vec<String> = self.tags.iter().cloned().chain(more).collect();
                self.retain(item, &tags, stop)?;
                Ok(json!({"result": "Memory stored successfully."}))
            }
            "hindsight_recall" => {
                let facts = self.found(text("query")?, stop)?;
                if facts.is_empty() {
                    return Ok(json!({"result": "No relevant memories found."}));
                }
                let lines = facts.iter().enumerate();
                let lines: Vec<String> = lines
                    .map(|(index, fact)| format!("{}. {fact}", index + 1))
                    .collect();
                Ok(json!({"result": lines.join("\n")}))
            }
            "hindsight_reflect" => {
                let body = json!({"query": text("query")?, "budget": self.budget});
                let answer = self.api.post(&self.path(&["reflect"]), &body, stop)?;
                match answer["text"].as_str() {
                    Some(text) if !text.trim().is_empty() => Ok(json!({"result": text})),
                    _ => Ok(json!({"result": "No relevant memories found."})),
                }
            }
            _ => Err(Failure::of_request(format!("there is no tool {tool}"))),
        }
    }

    fn check(&self, stop: &Wake) -> Result<String, Failure> {
        match self.found("preferences", stop) {
            Ok(facts) => Ok(format!(
                "bank {}, {} facts recalled",
                self.bank,
                facts.len()
            )),
            // A bank is made with the first thing that is kept in it.
            Err(failure) if failure.is_of_request => Ok(format!("bank {} is empty", self.bank)),
            Err(failure) => Err(failure),
        }
    }
}

#[cfg(test)]
#[path = "hindsight_tests.rs"]
mod tests;
