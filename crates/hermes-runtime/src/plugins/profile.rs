//! Which plugins a profile has, and which of them are in use.

use hermes_config::{Config, vars};
use hermes_hooks::HookEvent;
use hermes_plugins::{Discovery, Manifest, Plugin, PluginSettings, Roots, Status, discover};

use crate::context::Context;

/// The plugins of a profile.
#[derive(Debug)]
pub struct ProfilePlugins {
    pub discovery: Discovery,
    pub settings: PluginSettings,
    /// Whether none is used, because of `HERMES_SAFE_MODE`.
    pub is_off: bool,
}

impl ProfilePlugins {
    /// Looks for plugins. Reads manifests and settings, and starts nothing.
    pub fn of(context: &Context) -> Self {
        Self {
            discovery: discover(&roots(context)),
            settings: PluginSettings::resolve(context.config()),
            is_off: context.env.flag(&vars::HERMES_SAFE_MODE),
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
        })
    }

    /// The plugins that are in use, with their manifests.
    pub fn active(&self) -> impl Iterator<Item = (&Plugin, &Manifest)> {
        self.enabled().filter_map(|plugin| {
            let manifest = plugin.manifest.as_ref().ok()?;
            plugin.problem().is_none().then_some((plugin, manifest))
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
