//! What a new profile takes over from the default one: provider and model, never a key.

use std::path::Path;

use hermes_config::blank_secrets;
use hermes_config::schema::CONFIG_VERSION;
use hermes_config::yaml::{Document, to_block_text};
use hermes_home::{ProfileName, StepError};
use serde_json::{Map, Value, json};

use crate::context::Context;

/// Largest file of settings.
const MAX_BYTES: u64 = 4 << 20;

/// Settings that a new profile begins with.
pub(super) struct FirstSettings {
    /// The block `model`.
    model: Map<String, Value>,
    /// Endpoint of the user's own that the model is at, as the section and its content.
    endpoint: Option<(&'static str, Value)>,
    /// Whether provider or model come from the default profile.
    pub(super) is_inherited: bool,
}

/// What the command line says about the model of a new profile.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ModelArgs {
    /// Provider of the profile, instead of that of the default profile
    #[arg(long, value_name = "PROVIDER", conflicts_with_all = CLONES)]
    provider: Option<String>,
    /// Model of the profile, instead of that of the default profile
    #[arg(long, value_name = "MODEL", conflicts_with_all = CLONES)]
    model: Option<String>,
    /// Begin without the provider and model of the default profile
    #[arg(long, conflicts_with_all = CLONES)]
    no_inherit: bool,
    /// Use the provider keys of the default profile as well; nothing is copied
    #[arg(long, conflicts_with_all = CLONES)]
    pub(super) inherit_keys: bool,
}

/// A clone has the settings and keys of its source.
const CLONES: [&str; 3] = ["clone", "clone_all", "clone_from"];

impl FirstSettings {
    /// The settings that the flags ask for, with what is configured in the default profile.
    pub(super) fn resolve(args: &ModelArgs, context: &Context) -> Self {
        let mut settings = Self {
            model: Map::new(),
            endpoint: None,
            is_inherited: false,
        };
        // Another provider has other models.
        if !args.no_inherit && args.provider.is_none() {
            settings.inherit(context);
        }
        for (key, given) in [("provider", &args.provider), ("default", &args.model)] {
            if let Some(given) = given {
                settings.model.insert(key.to_owned(), json!(given.trim()));
            }
        }
        if args.inherit_keys {
            settings
                .model
                .insert("inherit_keys".to_owned(), json!(true));
        }
        settings
    }

    fn inherit(&mut self, context: &Context) {
        let default = context
            .location
            .profile_home(&ProfileName::default_profile());
        // A file that is missing or broken has nothing to inherit; other commands report it.
        let file = hermes_fs::read_text_capped(&default.join("config.yaml"), MAX_BYTES);
        let blanked = file.ok().and_then(|text| blank_secrets(&text).ok());
        let document = blanked.and_then(|(text, _)| Document::parse(&text).ok());
        let Some(mut tree) = document.map(|document| document.value().clone()) else {
            return;
        };
        self.model = match tree["model"].take() {
            Value::Object(model) => model,
            Value::String(name) if !name.trim().is_empty() => {
                Map::from_iter([("default".to_owned(), json!(name))])
            }
            _ => return,
        };
        self.model.remove("api_key");
        self.model.remove("inherit_keys");
        self.model
            .retain(|_, value| !value.is_null() && *value != json!(""));
        self.is_inherited = !self.model.is_empty();
        let provider = self.model.get("provider").and_then(Value::as_str);
        self.endpoint = provider.and_then(|name| endpoint(&tree, name));
    }

    /// The provider, if there is one.
    pub(super) fn provider(&self) -> Option<&str> {
        self.model.get("provider").and_then(Value::as_str)
    }

    /// The model, if there is one.
    pub(super) fn model(&self) -> Option<&str> {
        ["default", "model", "name"]
            .iter()
            .find_map(|key| self.model.get(*key).and_then(Value::as_str))
    }

    /// Whether keys of the default profile are used.
    pub(super) fn inherits_keys(&self) -> bool {
        self.model.get("inherit_keys") == Some(&json!(true))
    }

    /// Writes the settings into a new profile.
    pub(super) fn write(&self, staged: &Path) -> std::result::Result<(), StepError> {
        if self.model.is_empty() {
            return Ok(());
        }
        let mut tree = json!({"_config_version": CONFIG_VERSION, "model": self.model});
        if let Some((section, content)) = &self.endpoint {
            tree[*section] = content.clone();
        }
        let text = to_block_text(&tree);
        let text = format!("{}\n", text.trim_end());
        hermes_fs::write_atomic(&staged.join("config.yaml"), text.as_bytes(), 0o600)?;
        Ok(())
    }
}

/// The endpoint of this name that the user has configured, without its key.
fn endpoint(tree: &Value, provider: &str) -> Option<(&'static str, Value)> {
    let name = provider.strip_prefix("custom:").unwrap_or(provider);
    let without_key = |entry: &Value| {
        let mut entry = entry.clone();
        if let Value::Object(fields) = &mut entry {
            fields.remove("api_key");
        }
        entry
    };
    if let Some(entry) = tree["providers"].get(name) {
        let content = Map::from_iter([(name.to_owned(), without_key(entry))]);
        return Some(("providers", Value::Object(content)));
    }
    let mut listed = tree["custom_providers"].as_array().into_iter().flatten();
    let entry = listed.find(|entry| entry["name"].as_str() == Some(name))?;
    Some(("custom_providers", json!([without_key(entry)])))
}
