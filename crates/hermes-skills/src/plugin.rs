//! Skills that come with plugins: in `plugins/<plugin>/skills/<name>/`, called `<plugin>:<name>`. They
//! are never offered or listed; whoever knows the name can have them, once the plugin is enabled.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hermes_home::each_skill_below;

/// The plugins of a profile, as far as skills are concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginSkills {
    /// The directory of all plugins.
    pub directory: PathBuf,
    pub enabled: BTreeSet<String>,
    pub disabled: BTreeSet<String>,
}

/// What a name means among the skills of plugins.
pub(crate) enum PluginMatch {
    /// The plugin of this name is not enabled.
    Off(String),
    /// The plugin has these skills instead.
    Other { plugin: String, skills: Vec<String> },
    /// The directory of the plugin's skills, and that of the one.
    Found { root: PathBuf, directory: PathBuf },
}

impl PluginSkills {
    /// What a name means; `None` if it is not that of a plugin with skills, so that it may mean something
    /// else.
    pub(crate) fn find(&self, name: &str) -> Option<PluginMatch> {
        let (plugin, bare) = name.split_once(':')?;
        let root = self.directory.join(plugin).join("skills");
        if !is_name(plugin) || !is_name(bare) || !root.is_dir() {
            return None;
        }
        if self.disabled.contains(plugin) || !self.enabled.contains(plugin) {
            return Some(PluginMatch::Off(plugin.to_owned()));
        }
        let directory = root.join(bare);
        if directory.join("SKILL.md").is_file() {
            return Some(PluginMatch::Found { root, directory });
        }
        Some(PluginMatch::Other {
            plugin: plugin.to_owned(),
            skills: names_below(&root),
        })
    }
}

fn names_below(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    each_skill_below(root, &mut |directory| {
        let name = directory.file_name().unwrap_or_default();
        names.push(name.to_string_lossy().into_owned());
        true
    });
    names.sort();
    names
}

fn is_name(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.bytes().all(is_known)
}
