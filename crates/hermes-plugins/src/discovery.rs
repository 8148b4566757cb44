//! All plugins of a profile: looked for in a few directories, later ones before earlier ones.
//!
//! `<root>/<name>/plugin.yaml` has the key `<name>`, as the manifest says it;
//! `<root>/<category>/<name>/plugin.yaml` has the key `<category>/<name>`; nothing deeper is looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hermes_config::{Environment, vars};
use hermes_fs::Kind as EntryKind;

use crate::manifest::Manifest;
use crate::name;

/// Most directories of one level that are looked at.
const MOST_DIRECTORIES: usize = 1_000;

/// Where a plugin was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// In the directory that the installation names.
    Bundled,
    /// In the home, put there by hand.
    User,
    /// In the home, a clone of a repository.
    Git,
    /// In the project that the program was started in.
    Project,
}

impl Source {
    /// The name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bundled => "bundled",
            Self::User => "user",
            Self::Git => "git",
            Self::Project => "project",
        }
    }
}

/// The directories in which plugins are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    pub bundled: Option<PathBuf>,
    pub user: PathBuf,
    pub project: Option<PathBuf>,
}

impl Roots {
    /// Those of a home, for a program that was started in this directory.
    pub fn resolve(env: &Environment, home: &Path, start: Option<&Path>) -> Self {
        let bundled = env.os(&vars::HERMES_BUNDLED_PLUGINS).map(PathBuf::from);
        let with_project = env.flag(&vars::HERMES_ENABLE_PROJECT_PLUGINS);
        let project = start.filter(|_| with_project);
        Self {
            bundled: bundled.filter(|path| path.is_absolute()),
            user: home.join("plugins"),
            project: project.map(|directory| directory.join(".hermes").join("plugins")),
        }
    }

    fn in_order(&self) -> impl Iterator<Item = (&Path, Source)> {
        let bundled = self.bundled.as_deref().map(|path| (path, Source::Bundled));
        let user = (self.user.as_path(), Source::User);
        let project = self.project.as_deref().map(|path| (path, Source::Project));
        bundled.into_iter().chain([user]).chain(project)
    }
}

/// A plugin that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// `name`, or `category/name`.
    pub key: String,
    pub directory: PathBuf,
    pub source: Source,
    /// The manifest, or what is wrong with it.
    pub manifest: Result<Manifest, String>,
}

impl Plugin {
    /// The name that the manifest gives, or the last part of the key.
    pub fn name(&self) -> &str {
        match &self.manifest {
            Ok(manifest) => &manifest.name,
            Err(_) => self.bare_key(),
        }
    }

    /// The last part of the key.
    pub fn bare_key(&self) -> &str {
        self.key
            .rsplit_once('/')
            .map_or(&self.key, |(_, name)| name)
    }

    /// The category, if the plugin has one.
    pub(crate) fn category(&self) -> Option<&str> {
        self.key.split_once('/').map(|(category, _)| category)
    }

    /// Why the plugin cannot be used, if so.
    pub fn problem(&self) -> Option<String> {
        match &self.manifest {
            Ok(manifest) => manifest.obstacle(),
            Err(problem) => Some(problem.clone()),
        }
    }

    /// Whether a name means this plugin: its key, or the name of its manifest.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.key == name || self.name() == name
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Sorted by key.
    pub plugins: Vec<Plugin>,
    /// What was looked at, a line each, for `HERMES_PLUGINS_DEBUG`.
    pub trace: Vec<String>,
}

impl Discovery {
    /// The plugin that a name means: its key or its name, else the only one whose key ends with it.
    pub fn find(&self, name: &str) -> Option<&Plugin> {
        let exact = self.plugins.iter().find(|plugin| plugin.is_called(name));
        exact.or_else(|| {
            let mut same = self.plugins.iter().filter(|one| one.bare_key() == name);
            match (same.next(), same.next()) {
                (Some(one), None) => Some(one),
                _ => None,
            }
        })
    }
}

/// Looks for plugins. Reads manifests and nothing else.
pub fn discover(roots: &Roots) -> Discovery {
    let mut search = Search::default();
    for (root, source) in roots.in_order() {
        search.root(root, source);
    }
    let mut trace = search.trace;
    trace.push(format!("{} found", search.found.len()));
    Discovery {
        plugins: search.found.into_values().collect(),
        trace,
    }
}

#[derive(Default)]
struct Search {
    found: BTreeMap<String, Plugin>,
    trace: Vec<String>,
}

impl Search {
    fn root(&mut self, root: &Path, source: Source) {
        let name = source.name();
        self.trace
            .push(format!("looking in {} ({name})", root.display()));
        for directory in self.directories(root) {
            if self.plugin(&directory, source, None) {
                continue;
            }
            let category = directory.file_name().unwrap_or_default().to_string_lossy();
            if name::check(&category).is_err() {
                continue;
            }
            for below in self.directories(&directory) {
                self.plugin(&below, source, Some(&category));
            }
        }
    }

    /// Notes the plugin of a directory; whether there is one.
    fn plugin(&mut self, directory: &Path, source: Source, category: Option<&str>) -> bool {
        let Some(manifest) = Manifest::of_directory(directory) else {
            return false;
        };
        let own_name = directory.file_name().unwrap_or_default().to_string_lossy();
        let key = match (category, &manifest) {
            (Some(category), _) => format!("{category}/{own_name}"),
            (None, Ok(manifest)) => manifest.name.clone(),
            (None, Err(_)) => own_name.into_owned(),
        };
        let manifest = if name::is_key(&key) {
            manifest
        } else {
            Err(format!(
                "its directory cannot be the name of a plugin: '{}'",
                hermes_text::shown(&key, 80)
            ))
        };
        let is_clone = source == Source::User && directory.join(".git").exists();
        let plugin = Plugin {
            source: if is_clone { Source::Git } else { source },
            directory: directory.to_owned(),
            manifest,
            key,
        };
        let line = match plugin.problem() {
            None => format!("{}: {}", plugin.key, directory.display()),
            Some(problem) => format!("{}: {}: {problem}", plugin.key, directory.display()),
        };
        self.trace.push(line);
        if let Some(earlier) = self.found.insert(plugin.key.clone(), plugin) {
            let path = earlier.directory.display();
            self.trace.push(format!("it takes the place of {path}"));
        }
        true
    }

    fn directories(&mut self, root: &Path) -> Vec<PathBuf> {
        let entries = match hermes_fs::read_dir(root) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => return Vec::new(),
            Err(error) => {
                self.trace.push(error.to_string());
                return Vec::new();
            }
        };
        let is_wanted = |entry: &hermes_fs::Entry| {
            let is_hidden = entry.name.as_encoded_bytes().starts_with(b".");
            !is_hidden
                && match entry.kind {
                    EntryKind::Dir => true,
                    // A user may keep the directory elsewhere.
                    EntryKind::Symlink => entry.path.is_dir(),
                    EntryKind::File | EntryKind::Special => false,
                }
        };
        let wanted = entries.into_iter().filter(is_wanted);
        wanted
            .map(|entry| entry.path)
            .take(MOST_DIRECTORIES)
            .collect()
    }
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
