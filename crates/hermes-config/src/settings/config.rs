//! The settings in effect.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_secret::SecretString;
use serde_json::Value;

use super::file::{FileState, SettingsFile};
use super::merged::Merged;
use super::normalise::source_paths;
use super::origin::{Candidate, Layer};
use super::overlay::FileOverlay;
use super::problem::Problem;
use super::reporter::ProblemReporter;
use super::stamps::FileStamps;
use super::value_text::secret_values;
use crate::dotenv::{DotEnv, DotEnvError, is_denied_name};
use crate::environment::Environment;
use crate::schema::{self, Kind};
use crate::vars;
use crate::yaml::{put, value_at};

/// Where an administrator's settings are unless a variable says otherwise.
const MANAGED_DIR: &str = "/etc/hermes";

/// Where settings are read from.
#[derive(Debug, Clone)]
pub struct Sources {
    pub env: Environment,
    pub home: PathBuf,
    /// Directory of the administrator's file, if there is one.
    pub managed_dir: Option<PathBuf>,
    /// Whether writing `.env` also closes it to others. Off where modes are not ours to set.
    pub tighten_dotenv: bool,
}

impl Sources {
    /// The sources of a profile.
    pub fn new(env: &Environment, home: &Path) -> Self {
        let managed_dir = match env.text(&vars::HERMES_MANAGED_DIR) {
            Some(dir) => Some(PathBuf::from(dir)),
            None => Some(PathBuf::from(MANAGED_DIR)),
        };
        Self {
            env: env.clone(),
            home: home.to_owned(),
            managed_dir: managed_dir.filter(|dir| dir.is_dir()),
            tighten_dotenv: false,
        }
    }

    /// The profile's `config.yaml`.
    pub fn config_path(&self) -> PathBuf {
        self.home.join("config.yaml")
    }

    /// The profile's `.env`.
    pub fn dotenv_path(&self) -> PathBuf {
        self.home.join(".env")
    }

    /// The home of the default profile, for the home of another one.
    pub fn default_home(&self) -> Option<PathBuf> {
        let profiles = self.home.parent()?;
        let root = profiles.parent()?;
        (profiles.file_name()? == "profiles").then(|| root.to_owned())
    }

    /// The administrator's file.
    pub fn managed_path(&self) -> Option<PathBuf> {
        self.managed_dir.as_ref().map(|dir| dir.join("config.yaml"))
    }

    /// Every file that settings are read from.
    fn files(&self) -> Vec<PathBuf> {
        let own = [self.config_path(), self.dotenv_path()];
        own.into_iter().chain(self.managed_path()).collect()
    }
}

/// Settings in effect for one profile. Loading never fails: what cannot be used is a [`Problem`],
/// and defaults stand in. Copies share what was read.
#[derive(Debug, Clone)]
pub struct Config {
    read: Arc<ReadSettings>,
    reporter: Option<ProblemReporter>,
}

/// What was read.
#[derive(Debug)]
struct ReadSettings {
    sources: Sources,
    /// Of the files, just before they were read.
    stamps: FileStamps,
    user: SettingsFile,
    managed: Option<SettingsFile>,
    dotenv: DotEnv,
    merged: Merged,
    problems: Vec<Problem>,
}

impl Config {
    /// Reads all layers and changes nothing on disk. From then on, whoever reads a setting hears of
    /// an unusable value of it.
    pub fn load_reporting(sources: &Sources, reporter: &ProblemReporter) -> Self {
        Self {
            reporter: Some(reporter.clone()),
            ..Self::load_read_only(sources)
        }
    }

    /// Reads all layers and changes nothing on disk, whatever is found.
    pub fn load_read_only(sources: &Sources) -> Self {
        let stamps = FileStamps::of(&sources.files());
        let mut problems = Vec::new();
        let user = if sources.env.flag(&vars::HERMES_IGNORE_USER_CONFIG) {
            SettingsFile {
                path: sources.config_path(),
                state: FileState::Absent,
            }
        } else {
            SettingsFile::load(&sources.config_path())
        };
        let managed = sources.managed_path().map(|path| SettingsFile::load(&path));
        let dotenv = read_dotenv(sources, &mut problems);
        for file in [Some(&user), managed.as_ref()].into_iter().flatten() {
            if let FileState::Broken(reason) = &file.state {
                problems.push(Problem::Broken {
                    file: file.path.clone(),
                    reason: reason.clone(),
                });
            }
        }
        let mut merged = Merged::new();
        let lookup = |name: &str| sources.env.lookup(name).or_else(|| dotenv.get(name));
        let filled = |value: &&str| !value.trim().is_empty();
        overlay_variables(&mut merged, &mut problems, &|name| {
            dotenv.get(name).filter(filled)
        });
        FileOverlay {
            file: &user,
            lookup: &lookup,
            problems: &mut problems,
        }
        .apply(&mut merged);
        overlay_variables(&mut merged, &mut problems, &|name| {
            sources.env.lookup(name).filter(filled)
        });
        if let Some(file) = &managed {
            FileOverlay {
                file,
                lookup: &lookup,
                problems: &mut problems,
            }
            .apply(&mut merged);
        }
        let read = ReadSettings {
            sources: sources.clone(),
            stamps,
            user,
            managed,
            dotenv,
            merged,
            problems,
        };
        Self {
            read: Arc::new(read),
            reporter: None,
        }
    }

    /// The same settings; nobody hears of unusable values.
    #[must_use]
    pub fn unreported(&self) -> Self {
        Self {
            read: Arc::clone(&self.read),
            reporter: None,
        }
    }

    /// Whether the files are still those that were read.
    pub fn is_current(&self) -> bool {
        self.read.stamps == FileStamps::of(&self.read.sources.files())
    }

    /// Where this was read from.
    pub fn sources(&self) -> &Sources {
        &self.read.sources
    }

    /// The profile's own file.
    pub fn user_file(&self) -> &SettingsFile {
        &self.read.user
    }

    /// The administrator's file.
    pub fn managed_file(&self) -> Option<&SettingsFile> {
        self.read.managed.as_ref()
    }

    /// The profile's `.env`.
    pub fn dotenv(&self) -> &DotEnv {
        &self.read.dotenv
    }

    /// What is wrong.
    pub fn problems(&self) -> &[Problem] {
        &self.read.problems
    }

    /// All settings as one tree, `${…}` expanded. Holds secrets.
    pub fn tree(&self) -> &Value {
        self.read.merged.whole()
    }

    /// The value at a dotted path.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.report(key);
        let path: Vec<&str> = key.split('.').collect();
        self.read.merged.at(&path)
    }

    /// Every secret text among the settings, so that it can be masked wherever it turns up.
    pub fn secret_values(&self) -> Vec<String> {
        // No default is a secret.
        secret_values(self.read.merged.set())
    }

    fn report(&self, key: &str) {
        if let Some(reporter) = &self.reporter {
            let concerned = self.read.problems.iter().filter(|one| one.concerns(key));
            concerned.for_each(|problem| reporter.tell(problem));
        }
    }

    /// The value at a dotted path for people: settings of open sections that nobody has set are
    /// there with the reference's defaults. An empty path means everything.
    pub fn shown(&self, key: &str) -> Option<Value> {
        let own = if key.is_empty() {
            Some(self.tree())
        } else {
            self.get(key)
        };
        if own.is_some_and(|own| !own.is_object()) {
            return own.cloned();
        }
        let Some(mut tree) = schema::reference_defaults(key) else {
            return own.cloned();
        };
        let path: Vec<&str> = key.split('.').filter(|s| !s.is_empty()).collect();
        if let Some(own) = own {
            let mut over = Value::Object(serde_json::Map::new());
            if path.is_empty() {
                over = own.clone();
            } else {
                put(&mut over, &path, own.clone());
            }
            lay_over(&mut tree, over);
        }
        value_at(&tree, &path).cloned()
    }

    /// A text setting; empty if unset.
    pub fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// A boolean setting; false if unset.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    /// A whole number; `None` if unset or null.
    pub fn int(&self, key: &str) -> Option<i64> {
        let value = self.get(key)?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the schema admits whole floats only"
        )]
        value
            .as_i64()
            .or_else(|| value.as_f64().map(|float| float as i64))
    }

    /// A number; `None` if unset or null.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.as_f64()
    }

    /// A list of texts; other elements are left out.
    pub fn texts(&self, key: &str) -> Vec<&str> {
        let items = self.get(key).and_then(Value::as_array);
        items
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// The name of the model and its provider, if set.
    pub fn model(&self) -> (Option<&str>, Option<&str>) {
        let at = |key| {
            self.get(key)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        (
            at("model.default").or_else(|| at("model")),
            at("model.provider"),
        )
    }

    /// A secret by its variable: process environment, then `.env`, then a root key of that name in
    /// `config.yaml`.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.report(name);
        let root = || match self.read.user.document()?.value().get(name)? {
            Value::String(text) if !is_denied_name(name) => Some(text.clone()),
            Value::Number(number) if !is_denied_name(name) => Some(number.to_string()),
            _ => None,
        };
        let filled = |text: &&str| !text.is_empty();
        let found = self.read.sources.env.lookup(name).filter(filled);
        let found = found
            .or_else(|| self.read.dotenv.get(name).filter(filled))
            .map(str::to_owned);
        found.or_else(root).map(SecretString::new)
    }

    /// Names that the environment and `.env` both set, to different values; the environment wins.
    pub fn conflicting_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .read
            .dotenv
            .names()
            .filter(|name| {
                let env = self
                    .read
                    .sources
                    .env
                    .lookup(name)
                    .filter(|value| !value.is_empty());
                env.is_some_and(|env| Some(env) != self.read.dotenv.get(name))
            })
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Every layer that has a value for a key, the winner first.
    pub fn candidates(&self, key: &str) -> Vec<Candidate> {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        let spec = schema::find(&path);
        let by_variable = |layer, text: Option<&str>, file: Option<PathBuf>, line| {
            let key = spec?;
            let value = key
                .kind
                .from_text(text.filter(|text| !text.trim().is_empty())?)?;
            Some(Candidate {
                layer,
                value,
                file,
                line,
                variable: key.var.map(str::to_owned),
            })
        };
        let mut found = Vec::new();
        if let Some(file) = &self.read.managed {
            found.extend(file_candidate(Layer::Managed, file, &path));
        }
        let name = spec.and_then(|key| key.var).unwrap_or_default();
        let text = self.read.sources.env.lookup(name);
        found.extend(by_variable(Layer::Environment, text, None, None));
        found.extend(file_candidate(Layer::File, &self.read.user, &path));
        let (file, line) = (
            self.read.sources.dotenv_path(),
            self.read.dotenv.line_of(name),
        );
        let text = self.read.dotenv.get(name);
        found.extend(by_variable(Layer::DotEnv, text, Some(file), line));
        let default = match spec {
            Some(key) => key.default.value(),
            None => Merged::new().at(&path).cloned(),
        };
        let of_reference = || value_at(&schema::reference_defaults(key)?, &path).cloned();
        found.extend(default.or_else(of_reference).map(|value| Candidate {
            layer: Layer::Default,
            value,
            file: None,
            line: None,
            variable: None,
        }));
        found
    }
}

/// Lays one tree over another: mappings key by key, nothing over something leaves that.
fn lay_over(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (base, over) => *base = over,
    }
}

fn overlay_variables<'v>(
    merged: &mut Merged,
    problems: &mut Vec<Problem>,
    lookup: &dyn Fn(&str) -> Option<&'v str>,
) {
    let overridable = schema::sections().flat_map(|section| {
        let keys = section.keys.iter();
        keys.filter_map(move |key| Some((section, key, key.var?)))
    });
    for (section, key, var) in overridable {
        let Some(text) = lookup(var) else {
            continue;
        };
        let path = section.path_of(key);
        match key.kind.from_text(text) {
            Some(value) => {
                let tree = merged.changeable(section.name);
                put(tree, &path.split('.').collect::<Vec<_>>(), value);
            }
            None => problems.push(Problem::BadVariable {
                variable: var,
                key: path,
                expected: key.kind.expected(),
                found: showable(key, text),
            }),
        }
    }
}

/// The text of a bad variable for a message: a mistyped number or word is, a list or a mapping may
/// hold anything.
pub(super) fn showable(key: &schema::Key, text: &str) -> Option<String> {
    let scalar = matches!(
        key.kind,
        Kind::Bool
            | Kind::Switch
            | Kind::Int
            | Kind::Positive
            | Kind::Number
            | Kind::Choice(_)
            | Kind::BoolOr(_)
            | Kind::IntOr(_)
    );
    let text = text.trim();
    let short = text.chars().count() <= 24 && !text.chars().any(char::is_control);
    (scalar && short && !key.secret).then(|| text.to_owned())
}

/// The value a file has for a path, if it fits the schema.
fn file_candidate(layer: Layer, file: &SettingsFile, path: &[String]) -> Option<Candidate> {
    let document = file.document()?;
    source_paths(path).iter().find_map(|source| {
        let node = document.find(source)?;
        let value = value_at(document.value(), source)?;
        // `model` as a mapping is not the value of `model.default`.
        if source != path && value.is_object() {
            return None;
        }
        let value = match schema::find(path) {
            Some(key) => key.kind.accept(value).filter(|value| !value.is_null())?,
            None => value.clone(),
        };
        Some(Candidate {
            layer,
            value,
            file: Some(file.path.clone()),
            line: Some(node.line),
            variable: None,
        })
    })
}

fn read_dotenv(sources: &Sources, problems: &mut Vec<Problem>) -> DotEnv {
    let file = sources.dotenv_path();
    match DotEnv::read(&file, &|name| sources.env.lookup(name)) {
        Ok((dotenv, notes)) => {
            problems.extend(notes.into_iter().map(|note| Problem::DotEnvLine {
                file: file.clone(),
                note,
            }));
            dotenv
        }
        Err(error) => {
            problems.push(dotenv_problem(&file, &error));
            DotEnv::default()
        }
    }
}

fn dotenv_problem(path: &Path, error: &DotEnvError) -> Problem {
    let (message, hint) = match error {
        DotEnvError::File(error) => (error.to_string(), error.hint()),
        DotEnvError::Encoding(_) => (
            format!("{} cannot be used: {error}", path.display()),
            Some("save the file as UTF-8".to_owned()),
        ),
    };
    Problem::DotEnv { message, hint }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
