//! Keys of `.env`, masked.

use std::collections::BTreeMap;

use askama::Template;
use serde::Deserialize;
use serde_json::json;

use super::frame::{self, html};
use super::shell::{Shell, Trouble};
use super::shown::nullable;
use super::source::Source;
use crate::call::{Answered, Call};

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    shell: Shell,
    trouble: Option<Trouble>,
    groups: Vec<Group>,
    any_set: bool,
}

struct Group {
    name: String,
    label: String,
    keys: Vec<KeyRow>,
}

struct KeyRow {
    name: String,
    description: String,
    is_set: bool,
    shown: String,
}

impl KeyRow {
    fn search_text(&self) -> String {
        format!("{} {}", self.name, self.description).to_lowercase()
    }

    fn body(&self) -> String {
        json!({"key": self.name}).to_string()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EnvEntry {
    is_set: bool,
    redacted_value: Option<String>,
    #[serde(deserialize_with = "nullable")]
    description: String,
    #[serde(deserialize_with = "nullable")]
    category: String,
}

fn label(category: &str) -> &str {
    match category {
        "" | "other" => "Others",
        "provider" => "Model providers",
        "tool" => "Tools",
        "messaging" => "Chat platforms",
        "setting" => "Settings",
        "custom" => "Your own",
        other => other,
    }
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let answer: Result<BTreeMap<String, EnvEntry>, Trouble> = source.get("/api/env").await;
    let (entries, trouble) = match answer {
        Ok(entries) => (entries, None),
        Err(trouble) => (BTreeMap::new(), Some(trouble)),
    };
    let any_set = entries.values().any(|entry| entry.is_set);
    let mut groups: BTreeMap<String, Vec<KeyRow>> = BTreeMap::new();
    for (name, entry) in entries {
        groups.entry(entry.category).or_default().push(KeyRow {
            name,
            description: entry.description,
            is_set: entry.is_set,
            shown: entry.redacted_value.unwrap_or_else(|| "set".to_owned()),
        });
    }
    let groups = groups.into_iter().map(|(name, keys)| Group {
        label: label(&name).to_owned(),
        name,
        keys,
    });
    let mut shell = frame::shell(&call, "Keys", "keys");
    shell.module = Some("keys");
    shell.body = "text";
    let page = KeysPage {
        shell,
        trouble,
        groups: groups.collect(),
        any_set,
    };
    html(&page)
}
