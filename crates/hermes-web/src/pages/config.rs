//! Settings: every one that is known, its value, and where that comes from.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use askama::Template;
use hermes_config::Config;
use hermes_config::schema::{self, Key, Kind};
use hermes_config::settings::{
    Candidate, Layer, SetRequest, is_secret_path, masked, plain_text, set,
};
use hermes_runtime::Context;
use serde::Deserialize;
use serde_json::{Value, json};

use super::frame::{self, html};
use super::shell::{Shell, Trouble};
use super::source::Source;
use crate::app::off_loop;
use crate::call::{Answered, Call, json as answer};
use crate::http::ApiError;

/// Longest value in a field.
const MOST_VALUE: usize = 2_000;

/// One change at a time, so that whoever comes second is told.
static CHANGING: Mutex<()> = Mutex::new(());

#[derive(Template)]
#[template(path = "config.html")]
struct ConfigPage {
    shell: Shell,
    trouble: Option<Trouble>,
    is_raw: bool,
    raw: String,
    groups: Vec<Group>,
}

struct Group {
    name: String,
    label: String,
    settings: Vec<Setting>,
}

struct Setting {
    key: String,
    kind: &'static str,
    description: &'static str,
    options: Vec<String>,
    value: String,
    origin: String,
    is_set: bool,
    is_locked: bool,
}

impl Setting {
    fn read(key: String, spec: &Key, config: &Config, home: &Path) -> Self {
        let candidates = config.candidates(&key);
        let winner = candidates.first();
        let is_secret = spec.secret || is_secret_path(&key.split('.').collect::<Vec<_>>());
        let options = match spec.kind {
            Kind::Choice(words) => words.iter().map(|word| (*word).to_owned()).collect(),
            _ => Vec::new(),
        };
        let kind = match spec.kind {
            Kind::Bool | Kind::Switch => "boolean",
            Kind::Int | Kind::Positive | Kind::Number => "number",
            Kind::Choice(_) => "select",
            _ => "text",
        };
        let layer = winner.map_or(Layer::Default, |winner| winner.layer);
        Self {
            kind,
            description: spec.doc,
            options,
            value: shown(config, &key),
            origin: winner.map_or_else(|| "not set".to_owned(), |winner| origin(winner, home)),
            is_set: layer != Layer::Default,
            // What another layer decides would be written to the file and change nothing; a mapping is
            // a matter of the file.
            is_locked: is_secret
                || matches!(layer, Layer::Managed | Layer::Environment)
                || config.get(&key).is_some_and(Value::is_object),
            key,
        }
    }

    fn id(&self) -> String {
        format!("s-{}", self.key.replace('.', "-"))
    }

    fn is_locked(&self) -> bool {
        self.is_locked
    }

    fn has_other_value(&self) -> bool {
        !self.options.contains(&self.value)
    }

    fn search_text(&self) -> String {
        format!("{} {}", self.key, self.description).to_lowercase()
    }
}

/// A setting as people read and write it.
fn shown(config: &Config, key: &str) -> String {
    let Some(value) = config.get(key) else {
        return String::new();
    };
    let path: Vec<&str> = key.split('.').collect();
    let value = match value {
        Value::Null => return String::new(),
        Value::String(text) if is_secret_path(&path) && !text.is_empty() => {
            json!(hermes_secret::display_mask(text))
        }
        other => masked(other),
    };
    let text = match &value {
        Value::Array(_) | Value::Object(_) => value.to_string(),
        other => plain_text(other),
    };
    hermes_text::cut(&text, MOST_VALUE).to_owned()
}

/// Where a value comes from, in words.
fn origin(candidate: &Candidate, home: &Path) -> String {
    let place = candidate.file.as_deref().map(|file| {
        let short = file.strip_prefix(home).unwrap_or(file);
        match candidate.line {
            Some(line) => format!("{}, line {line}", short.display()),
            None => short.display().to_string(),
        }
    });
    let variable = candidate.variable.as_deref().unwrap_or_default();
    match candidate.layer {
        Layer::Managed => format!(
            "Set by the administrator in {}",
            place.unwrap_or_else(|| "a managed file".to_owned())
        ),
        Layer::Environment => format!("Set by {variable} in the environment of the dashboard"),
        Layer::File => format!(
            "Set in {}",
            place.unwrap_or_else(|| "config.yaml".to_owned())
        ),
        Layer::DotEnv => format!("Set by {variable} in .env"),
        Layer::Default => "Default".to_owned(),
    }
}

/// All settings that have one place, by section.
fn groups(context: &Context) -> Vec<Group> {
    let config = context.config();
    let home = &context.location.home;
    let mut groups: Vec<Group> = Vec::new();
    for (key, spec) in schema::keys() {
        // Names of the user's own are a matter of the file.
        if key.contains('*') {
            continue;
        }
        let name = key.split('.').next().unwrap_or_default().to_owned();
        let setting = Setting::read(key, spec, config, home);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.settings.push(setting),
            None => groups.push(Group {
                label: name.replace('_', " "),
                name,
                settings: vec![setting],
            }),
        }
    }
    groups
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Raw {
    yaml: String,
}

pub(super) async fn page(call: Call) -> Answered {
    let is_raw = call.query("view").as_deref() == Some("raw");
    let mut trouble = None;
    let mut raw = String::new();
    let mut shown = Vec::new();
    if is_raw {
        let read: Result<Raw, Trouble> = Source::of(&call).get("/api/config/raw").await;
        match read {
            Ok(read) => raw = read.yaml,
            Err(reason) => trouble = Some(reason),
        }
    } else {
        let context = call.context();
        let problems = context.config().problems();
        trouble = problems.first().map(|problem| Trouble {
            title: "A setting cannot be used".to_owned(),
            detail: problem.to_string(),
            hint: Some(
                "The default stands in for it. `hermes config check` lists all of them.".to_owned(),
            ),
        });
        shown = off_loop(move || Ok(groups(&context))).await?;
    }
    let mut shell = frame::shell(&call, "Config", "config");
    shell.module = Some("config");
    shell.body = "text";
    let page = ConfigPage {
        shell,
        trouble,
        is_raw,
        raw,
        groups: shown,
    };
    html(&page)
}

/// `PUT /api/config/value {key, value, was?}`: one setting. With `was`, only if it still has the value
/// that the page showed.
pub(crate) fn set_value(call: &Call) -> Answered {
    let key = call.required_text("key")?;
    let value = call.required_text("value")?;
    let was = call.text("was")?;
    let path: Vec<&str> = key.split('.').collect();
    if schema::find(&path).is_none() {
        let shown = hermes_text::shown(key, 120);
        return Err(ApiError::not_found(format!("no such setting: {shown}")));
    }
    if is_secret_path(&path) {
        let message = format!("{key} is a secret: set it with `hermes config set {key}`");
        return Err(ApiError::bad_request(message));
    }
    let changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let context = call.context();
    let current = shown(context.config(), key);
    if was.is_some_and(|was| was != current) {
        let message = format!("{key} was changed meanwhile; it is {current} now");
        return Err(ApiError::conflict(message).field("current", current));
    }
    let failed = |error: &dyn std::fmt::Display, hint: Option<String>| {
        let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        ApiError::bad_request(format!("{error}{hint}"))
    };
    context
        .ensure_home()
        .map_err(|error| failed(&error, None))?;
    let request = SetRequest {
        key,
        value,
        force: false,
    };
    let outcome = set(&context.sources_to_write(), &request);
    let outcome = outcome.map_err(|error| {
        let hint = error.hint().filter(|hint| !hint.contains("--force"));
        failed(&error, hint)
    })?;
    drop(changing);
    tracing::info!(key = outcome.key, "setting changed in the dashboard");
    let context = call.context();
    let config = context.config();
    let candidates = config.candidates(key);
    let warning = candidates.first().filter(|one| one.layer != Layer::File);
    let mut body = json!({
        "ok": true,
        "key": key,
        "shown": shown(config, key),
        "origin": candidates.first().map(|one| origin(one, &context.location.home)),
    });
    if let Some(winner) = warning {
        let place = origin(winner, &context.location.home);
        body["warning"] = json!(format!("Saved, but without effect. {place}."));
    }
    answer(&body)
}
