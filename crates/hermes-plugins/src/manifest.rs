//! One manifest: `plugin.yaml` or `plugin.yml`, read within bounds and checked.
//!
//! What the reference reads counts here as well. `runtime` and `command` say how a plugin runs without
//! an interpreter in this process; what cannot be used is an error that names the key.

use std::path::Path;

use hermes_config::yaml::Document;
use serde_json::{Map, Value};

use crate::name;

/// The files that can be a manifest, the first that is there counts.
const FILES: [&str; 2] = ["plugin.yaml", "plugin.yml"];
/// Most bytes of a manifest.
const MOST_BYTES: u64 = 64 * 1024;
/// The newest version of the format that is understood.
const NEWEST: i64 = 1;
/// Most characters of a version and of a description.
const MOST_VERSION: usize = 40;
const MOST_DESCRIPTION: usize = 400;
/// Most entries of a list.
const MOST_ENTRIES: usize = 256;

/// What a plugin is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Standalone,
    Backend,
    Platform,
    /// One of a category, chosen by `<category>.provider`.
    Exclusive,
    ModelProvider,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Standalone,
        Self::Backend,
        Self::Platform,
        Self::Exclusive,
        Self::ModelProvider,
    ];

    /// The name in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standalone => "standalone",
            Self::Backend => "backend",
            Self::Platform => "platform",
            Self::Exclusive => "exclusive",
            Self::ModelProvider => "model-provider",
        }
    }
}

/// How a plugin runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// Not at all: it brings skills or files only.
    Files,
    /// A program that speaks MCP over its standard streams.
    Mcp(Vec<String>),
    /// A program that is started for each event of its hooks.
    Exec(Vec<String>),
    /// Python code that would have to run inside of Hermes.
    Python,
}

impl Runtime {
    /// The name in a manifest; `files` where there is none.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Mcp(_) => "mcp",
            Self::Exec(_) => "exec",
            Self::Python => "python",
        }
    }
}

/// A variable that a plugin needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredVariable {
    pub name: String,
    pub description: String,
    /// Where to get a value.
    pub url: String,
}

/// What a plugin says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    pub description: String,
    pub kind: Kind,
    pub runtime: Runtime,
    pub requires_env: Vec<RequiredVariable>,
    pub provides_hooks: Vec<String>,
    /// Packages of Python that it wants to have.
    pub python_dependencies: Vec<String>,
    /// What was odd and is not an error, a sentence each.
    pub warnings: Vec<String>,
}

impl Manifest {
    /// The manifest of a directory; `None` if it has none. The error says what is wrong with it.
    pub(crate) fn of_directory(directory: &Path) -> Option<Result<Self, String>> {
        let file = FILES
            .into_iter()
            .find(|file| hermes_fs::exists_no_follow(&directory.join(file)))?;
        Some(Self::load(directory, file).map_err(|problem| format!("{file}: {problem}")))
    }

    fn load(directory: &Path, file: &str) -> Result<Self, String> {
        let path = directory.join(file);
        let about = hermes_fs::symlink_metadata(&path).map_err(|error| error.to_string())?;
        if !about.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        if about.len() > MOST_BYTES {
            return Err(format!("it is larger than {} KiB", MOST_BYTES / 1024));
        }
        let bytes = hermes_fs::read_capped(&path, MOST_BYTES).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let directory_name = directory.file_name().unwrap_or_default();
        let has_python = directory.join("__init__.py").is_file();
        Self::parse(&text, &directory_name.to_string_lossy(), has_python)
    }

    /// Reads a manifest. `directory` is the name of its directory, which counts where it has none.
    fn parse(text: &str, directory: &str, has_python: bool) -> Result<Self, String> {
        let document = Document::parse(text).map_err(|error| error.to_string())?;
        let empty = Map::new();
        let fields = match document.value() {
            Value::Null => &empty,
            Value::Object(fields) => fields,
            _ => return Err("it is not a mapping of keys to values".to_owned()),
        };
        let mut reader = Reader {
            fields,
            warnings: Vec::new(),
        };
        reader.check_version()?;
        let name = match reader.text("name", name_limit())? {
            text if text.is_empty() => directory.to_owned(),
            text => text,
        };
        name::check(&name)?;
        let kind = reader.kind();
        let runtime = reader.runtime(has_python)?;
        let provides_hooks = reader.texts("provides_hooks")?;
        if matches!(runtime, Runtime::Exec(_)) && provides_hooks.is_empty() {
            return Err(
                "runtime: exec needs provides_hooks, the list of events to be called for"
                    .to_owned(),
            );
        }
        let wanted = match reader.texts("python_dependencies")? {
            named if named.is_empty() => reader.texts("pip_dependencies")?,
            named => named,
        };
        Ok(Self {
            name,
            version: reader.text("version", MOST_VERSION)?,
            description: reader.text("description", MOST_DESCRIPTION)?,
            kind,
            runtime,
            requires_env: reader.variables()?,
            provides_hooks,
            python_dependencies: wanted,
            warnings: reader.warnings,
        })
    }

    /// Why the plugin cannot be used here, if so.
    pub fn obstacle(&self) -> Option<String> {
        match self.runtime {
            Runtime::Python => Some(
                "it is Python code for the inside of the Python runtime, and Hermes runs no \
                 interpreter; a plugin runs here as a program of its own (runtime: mcp or exec)"
                    .to_owned(),
            ),
            Runtime::Files | Runtime::Mcp(_) | Runtime::Exec(_) => None,
        }
    }
}

/// A name may be longer than a name can be, so that the error can say so.
fn name_limit() -> usize {
    200
}

struct Reader<'a> {
    fields: &'a Map<String, Value>,
    warnings: Vec<String>,
}

impl Reader<'_> {
    fn check_version(&self) -> Result<(), String> {
        let version = match self.fields.get("manifest_version") {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_i64(),
        };
        match version {
            Some(version) if version <= NEWEST => Ok(()),
            Some(version) => Err(format!(
                "manifest_version is {version}, and this version of Hermes understands {NEWEST}"
            )),
            None => Err("manifest_version must be a whole number".to_owned()),
        }
    }

    /// A text of one line; a number counts as one.
    fn text(&self, key: &str, most: usize) -> Result<String, String> {
        match self.fields.get(key) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(hermes_text::one_line(text.trim(), most)),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(_) => Err(format!("{key} must be text")),
        }
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("{key} must be a list of texts");
        let items = match self.fields.get(key) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(wrong()),
        };
        if items.len() > MOST_ENTRIES {
            return Err(format!("{key} has more than {MOST_ENTRIES} entries"));
        }
        let items = items.iter().map(|item| item.as_str().map(str::to_owned));
        items.collect::<Option<_>>().ok_or_else(wrong)
    }

    fn kind(&mut self) -> Kind {
        let Some(given) = self.fields.get("kind").filter(|kind| !kind.is_null()) else {
            return Kind::default();
        };
        let name = given.as_str().unwrap_or_default().trim().to_lowercase();
        let known = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        known.unwrap_or_else(|| {
            let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            let given = hermes_text::shown(&given.to_string(), 40);
            self.warnings.push(format!(
                "unknown kind {given}; it counts as standalone (the kinds are {})",
                names.join(", ")
            ));
            Kind::default()
        })
    }

    fn runtime(&self, has_python: bool) -> Result<Runtime, String> {
        let runtime = self.text("runtime", 40)?;
        match runtime.as_str() {
            "mcp" => Ok(Runtime::Mcp(self.command("mcp")?)),
            "exec" => Ok(Runtime::Exec(self.command("exec")?)),
            "python" => Ok(Runtime::Python),
            "" if has_python => Ok(Runtime::Python),
            "" => Ok(Runtime::Files),
            other => Err(format!(
                "runtime is '{other}'; it can be mcp, exec or python"
            )),
        }
    }

    fn command(&self, runtime: &str) -> Result<Vec<String>, String> {
        let command = self.texts("command")?;
        let first = command.first().map(|word| word.trim()).unwrap_or_default();
        if first.is_empty() {
            return Err(format!(
                "runtime: {runtime} needs a command, a list of the program and its arguments"
            ));
        }
        if command.iter().any(|word| word.contains('\0')) {
            return Err("command has a NUL character in it".to_owned());
        }
        Ok(command)
    }

    fn variables(&self) -> Result<Vec<RequiredVariable>, String> {
        let wrong = || {
            "requires_env must be a list of names, or of mappings with a name, a description and a url"
                .to_owned()
        };
        let items = match self.fields.get("requires_env") {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(items)) if items.len() <= MOST_ENTRIES => items,
            Some(_) => return Err(wrong()),
        };
        let mut variables = Vec::new();
        for item in items {
            let part = |key: &str| {
                let text = item.get(key).and_then(Value::as_str).unwrap_or_default();
                hermes_text::one_line(text.trim(), MOST_DESCRIPTION)
            };
            let name = item.as_str().map_or_else(|| part("name"), str::to_owned);
            if !is_variable(&name) {
                if name.is_empty() {
                    return Err(wrong());
                }
                return Err(format!(
                    "requires_env: '{}' is not the name of a variable",
                    hermes_text::shown(&name, 60)
                ));
            }
            variables.push(RequiredVariable {
                description: part("description"),
                url: part("url"),
                name,
            });
        }
        Ok(variables)
    }
}

fn is_variable(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.len() <= 200
        && name.bytes().all(is_plain)
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
