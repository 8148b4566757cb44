//! Which plugins a profile has, and which of them are in use.

use std::collections::BTreeSet;

use hermes_addons::{AddonError, Addons, PluginPackages, State};
use hermes_config::{Config, vars};
use hermes_hooks::HookEvent;
use hermes_plugins::{
    Discovery, Manifest, Plugin, PluginSettings, Roots, Runtime, Status, discover,
};

use super::packages::python_words;
use crate::addons::addons_of;
use crate::context::Context;

/// The plugins of a profile.
#[derive(Debug)]
pub struct ProfilePlugins {
    pub discovery: Discovery,
    pub settings: PluginSettings,
    /// Whether none is used, because of `HERMES_SAFE_MODE`.
    pub is_off: bool,
    /// Where the packages of plugins are.
    pub addons: Addons,
}

impl ProfilePlugins {
    /// Looks for plugins. Reads manifests and settings, and starts nothing.
    pub fn of(context: &Context) -> Self {
        Self {
            discovery: discover(&roots(context)),
            settings: PluginSettings::resolve(context.config()),
            is_off: context.env.flag(&vars::HERMES_SAFE_MODE),
            addons: addons_of(context),
        }
    }

    /// The same for a conversation: nothing is looked for where nothing can be in use.
    pub(super) fn of_conversation(context: &Context) -> Option<Self> {
        let settings = PluginSettings::resolve(context.config());
        let roots = roots(context);
        let is_off = context.env.flag(&vars::HERMES_SAFE_MODE);
        let can_be = settings.can_have_any() || roots.bundled.is_some();
        (can_be && !is_off).then(|| Self {
            discovery: discover(&roots),
            settings,
            is_off,
            addons: addons_of(context),
        })
    }

    /// The plugins that are in use, with their manifests.
    pub fn active(&self) -> impl Iterator<Item = (&Plugin, &Manifest)> {
        self.enabled().filter_map(|plugin| {
            let manifest = plugin.manifest.as_ref().ok()?;
            let is_usable = plugin.problem().is_none() && self.lack_of_packages(plugin).is_none();
            is_usable.then_some((plugin, manifest))
        })
    }

    /// The packages of Python that a plugin declares; `None` if it declares none.
    pub fn packages(&self, plugin: &Plugin) -> Option<Result<PluginPackages, AddonError>> {
        let manifest = plugin.manifest.as_ref().ok()?;
        let specs = &manifest.python_dependencies;
        (!specs.is_empty()).then(|| self.addons.plugin_packages(&plugin.key, specs))
    }

    /// The keys of all plugins that are installed or enabled. One of a project is known by the settings
    /// where the project is not looked at.
    pub fn known_keys(&self) -> BTreeSet<String> {
        let found = self.discovery.plugins.iter();
        let found = found.map(|plugin| plugin.key.clone());
        found.chain(self.settings.enabled.iter().cloned()).collect()
    }

    /// The plugin that the name of an environment means, as `plugin:<key>`.
    pub fn of_environment(&self, name: &str) -> Option<&Plugin> {
        let mut plugins = self.discovery.plugins.iter();
        plugins.find(|plugin| {
            name == self.addons.plugin_feature(&plugin.key)
                || name.strip_prefix("plugin:") == Some(&plugin.key)
        })
    }

    /// Why a plugin cannot do with the packages that it declares, or without those that are missing.
    fn lack_of_packages(&self, plugin: &Plugin) -> Option<String> {
        let packages = match self.packages(plugin)? {
            Ok(packages) => packages,
            Err(error) => return Some(error.reason),
        };
        if let Ok(manifest) = &plugin.manifest
            && let Some(problem) = Self::unfit_command(manifest)
        {
            return Some(problem);
        }
        let (state, failure) = self.addons.plugin_state(&packages);
        let what = match state {
            State::Installed | State::Stale => return None,
            _ => match failure {
                Some(failure) => format!("could not be installed: {}", failure.message),
                None => "are not installed".to_owned(),
            },
        };
        Some(format!(
            "its packages of Python {what}; `hermes plugins enable {}` installs them",
            plugin.key
        ))
    }

    /// Why the command of a manifest cannot use the packages that the manifest declares, if so.
    pub fn unfit_command(manifest: &Manifest) -> Option<String> {
        let command = match &manifest.runtime {
            Runtime::Mcp(command) | Runtime::Exec(command) => command,
            Runtime::Files | Runtime::Python => return None,
        };
        let is_unfit = !manifest.python_dependencies.is_empty() && python_words(command).is_none();
        is_unfit.then(|| {
            "it declares packages of Python, and its command is not python3 with a script, a module or \
             a .py file of its own"
                .to_owned()
        })
    }

    /// The plugins that are enabled, whether they can be used or not.
    pub fn enabled(&self) -> impl Iterator<Item = &Plugin> {
        let plugins = self.discovery.plugins.iter();
        plugins.filter(|plugin| !self.is_off && self.settings.status(plugin) == Status::Enabled)
    }

    /// What is wrong with a plugin that is enabled, a sentence each.
    pub fn problems(&self, plugin: &Plugin) -> Vec<String> {
        let mut problems: Vec<String> = plugin.problem().into_iter().collect();
        if let Ok(manifest) = &plugin.manifest {
            problems.extend(manifest.warnings.iter().cloned());
            let unknown = manifest.provides_hooks.iter();
            let unknown = unknown.filter(|name| HookEvent::named(name).is_none());
            problems.extend(unknown.map(|name| {
                let name = hermes_text::shown(name, 60);
                format!("its hook '{name}' is no event here, and is never called")
            }));
        }
        if self.settings.status(plugin) == Status::Enabled && problems.is_empty() {
            problems.extend(self.lack_of_packages(plugin));
        }
        problems.extend(self.settings.entry(plugin).1);
        problems
    }

    /// Names of variables that a plugin needs and that have no value.
    pub fn missing_variables<'m>(manifest: &'m Manifest, config: &Config) -> Vec<&'m str> {
        let names = manifest.requires_env.iter().map(|one| one.name.as_str());
        names.filter(|name| config.secret(name).is_none()).collect()
    }
}

fn roots(context: &Context) -> Roots {
    let start = context.system.start_dir.as_deref();
    Roots::resolve(&context.env, &context.location.home, start)
}
