//! Plugins of a home come and go: fetched into a stage, put in place by one rename. The copy that was
//! there before is kept for a rollback.

use std::path::{Path, PathBuf};

use hermes_fs::{FileLock, LockOptions, Staging};
use hermes_proc::{EnvPlan, Git};

use crate::discovery::{Discovery, Plugin, Roots, discover};
use crate::error::{Error, Result};
use crate::fetch::{Fetched, STAGE, fetch};
use crate::manifest::Manifest;
use crate::origin::Origin;
use crate::record::{PluginRecord, Records};

/// The plugins of a home, to be changed.
#[derive(Debug)]
pub struct PluginStore {
    /// `<home>/plugins`.
    plugins: PathBuf,
    /// `<home>/.plugins`: the record, earlier copies, and stages.
    state: PathBuf,
    user_home: PathBuf,
    /// The environment of git.
    git: EnvPlan,
}

/// A plugin that was installed.
#[derive(Debug)]
pub struct Installed {
    pub manifest: Manifest,
    pub directory: PathBuf,
    /// Where it came from, without a password.
    pub origin: String,
    pub commit: Option<String>,
    /// Whether another copy was there before.
    pub replaced: bool,
}

/// What came of an update or a rollback.
#[derive(Debug)]
pub enum Updated {
    /// There is nothing newer.
    Current { commit: String },
    /// Another copy is in place.
    Changed {
        from: Option<String>,
        to: Option<String>,
        /// The version of the copy that is in place now.
        version: String,
    },
}

impl PluginStore {
    /// The store of a home. Changes nothing.
    pub fn new(home: &Path, user_home: &Path, git: EnvPlan) -> Self {
        Self {
            plugins: home.join("plugins"),
            state: home.join(".plugins"),
            user_home: user_home.to_owned(),
            git,
        }
    }

    /// Installs a plugin for somebody in the directory `base`, if `accept` finds nothing wrong with its
    /// manifest. One of the same name is replaced only with `force`.
    pub fn install(
        &self,
        identifier: &str,
        base: &Path,
        force: bool,
        accept: &dyn Fn(&Manifest) -> Result<()>,
    ) -> Result<Installed> {
        let origin = Origin::parse(identifier, base, &self.user_home)?;
        self.prepare()?;
        let fetched = fetch(&origin, &self.state, &self.git)?;
        accept(&fetched.manifest)?;
        let name = fetched.manifest.name.clone();
        let lock = self.lock()?;
        let known = self.installed();
        let there = known.plugins.iter().find(|plugin| plugin.key == name);
        let directory = match there {
            Some(plugin) => plugin.directory.clone(),
            None => self.plugins.join(&name),
        };
        let replaced = hermes_fs::exists_no_follow(&directory);
        if replaced && !force {
            return Err(Error::refused_with(
                format!("A plugin '{name}' is installed in {}.", directory.display()),
                format!("`hermes plugins update {name}` updates it, --force installs it anew"),
            ));
        }
        let manifest = fetched.manifest.clone();
        let commit = fetched.commit.clone();
        let shown = origin.shown();
        self.put_in_place(fetched, &name, &directory, origin)?;
        drop(lock);
        Ok(Installed {
            manifest,
            directory,
            origin: shown,
            commit,
            replaced,
        })
    }

    /// Fetches a plugin again from where it came from, if `accept` finds nothing wrong with its manifest.
    /// `key` is that of one of the home's plugins.
    pub fn update(&self, key: &str, accept: &dyn Fn(&Manifest) -> Result<()>) -> Result<Updated> {
        let plugin = self.own(key)?;
        let records = self.records();
        let record = records.plugins.get(&plugin.key);
        let origin = match record {
            Some(record) => record.origin.clone(),
            None => self.origin_of_clone(&plugin)?,
        };
        self.prepare()?;
        let fetched = fetch(&origin, &self.state, &self.git)?;
        let before = match record {
            Some(record) => record.commit.clone(),
            None => self.commit_of_clone(&plugin.directory),
        };
        if let Some(commit) = fetched.commit.clone()
            && before.as_ref() == Some(&commit)
        {
            return Ok(Updated::Current { commit });
        }
        accept(&fetched.manifest)?;
        let is_flat = !plugin.key.contains('/');
        if is_flat && fetched.manifest.name != plugin.key {
            return Err(Error::refused(format!(
                "The plugin '{}' is not updated: it is called '{}' now.",
                plugin.key, fetched.manifest.name
            )));
        }
        let version = fetched.manifest.version.clone();
        let to = fetched.commit.clone();
        let _lock = self.lock()?;
        self.put_in_place(fetched, &plugin.key, &plugin.directory, origin)?;
        Ok(Updated::Changed {
            from: before,
            to,
            version,
        })
    }

    /// Puts the copy in place that was there before the last update. Done twice, it undoes itself.
    pub fn rollback(&self, key: &str) -> Result<Updated> {
        let plugin = self.own(key)?;
        let previous = self.previous(&plugin.key);
        if !hermes_fs::exists_no_follow(&previous) {
            return Err(Error::refused(format!(
                "There is no earlier copy of the plugin '{}'.",
                plugin.key
            )));
        }
        let _lock = self.lock()?;
        hermes_fs::exchange(&previous, &plugin.directory)?;
        let mut records = self.records();
        let (mut from, mut to) = (None, None);
        if let Some(record) = records.plugins.get_mut(&plugin.key) {
            std::mem::swap(&mut record.commit, &mut record.previous);
            from.clone_from(&record.previous);
            to.clone_from(&record.commit);
            records.save(&self.record_file())?;
        }
        let manifest = Manifest::of_directory(&plugin.directory).and_then(std::result::Result::ok);
        Ok(Updated::Changed {
            from,
            to,
            version: manifest
                .map(|manifest| manifest.version)
                .unwrap_or_default(),
        })
    }

    /// Removes a plugin and its earlier copy. Gives its directory.
    pub fn remove(&self, key: &str) -> Result<PathBuf> {
        let plugin = self.own(key)?;
        self.prepare()?;
        let _lock = self.lock()?;
        let staging = Staging::begin(&self.state, STAGE)?;
        // Gone by one rename; what follows may take its time.
        hermes_fs::rename(&plugin.directory, &staging.path().join("plugin"))?;
        let mut records = self.records();
        if records.plugins.remove(&plugin.key).is_some() {
            records.save(&self.record_file())?;
        }
        let previous = self.previous(&plugin.key);
        if hermes_fs::exists_no_follow(&previous) {
            hermes_fs::remove_tree(&previous)?;
        }
        Ok(plugin.directory)
    }

    /// The plugins of the home.
    fn installed(&self) -> Discovery {
        discover(&Roots {
            bundled: None,
            user: self.plugins.clone(),
            project: None,
        })
    }

    fn own(&self, name: &str) -> Result<Plugin> {
        let found = self.installed();
        found.find(name).cloned().ok_or_else(|| {
            let shown = hermes_text::shown(name, 80);
            let keys = found.plugins.iter().map(|plugin| plugin.key.as_str());
            let hint = match hermes_text::closest(name, keys) {
                Some(near) => format!("did you mean '{near}'?"),
                None => "`hermes plugins list` shows what is installed".to_owned(),
            };
            Error::refused_with(format!("No plugin '{shown}' is installed here."), hint)
        })
    }

    /// Puts a fetched plugin in place. The copy that was there becomes the earlier one.
    fn put_in_place(
        &self,
        fetched: Fetched,
        key: &str,
        directory: &Path,
        origin: Origin,
    ) -> Result<()> {
        let mut records = self.records();
        let old = records
            .plugins
            .get(key)
            .and_then(|record| record.commit.clone());
        let (tree, commit) = (fetched.tree().to_owned(), fetched.commit.clone());
        hermes_fs::create_dir_all(&self.plugins, 0o700)?;
        let replaced = hermes_fs::exists_no_follow(directory);
        if replaced {
            hermes_fs::exchange(&tree, directory)?;
        } else {
            hermes_fs::rename_exclusive(&tree, directory)?;
        }
        let record = PluginRecord {
            origin,
            commit,
            previous: old.filter(|_| replaced),
            installed_at: hermes_time::now()
                .strftime("%Y-%m-%dT%H:%M:%S%:z")
                .to_string(),
        };
        records.plugins.insert(key.to_owned(), record);
        records.save(&self.record_file())?;
        if replaced {
            let previous = self.previous(key);
            if let Some(parent) = previous.parent() {
                hermes_fs::create_dir_all(parent, 0o700)?;
            }
            if hermes_fs::exists_no_follow(&previous) {
                hermes_fs::remove_tree(&previous)?;
            }
            // In the stage is the old copy now.
            hermes_fs::rename(&tree, &previous)?;
        }
        drop(fetched.staging);
        Ok(())
    }

    /// Where a clone came from that we have no record of, as those of the reference.
    fn origin_of_clone(&self, plugin: &Plugin) -> Result<Origin> {
        let unknown = || {
            Error::refused_with(
                format!(
                    "It is not known where the plugin '{}' came from.",
                    plugin.key
                ),
                format!(
                    "change it in {}, or install it anew with `hermes plugins install … --force`",
                    plugin.directory.display()
                ),
            )
        };
        if !plugin.directory.join(".git").exists() {
            return Err(unknown());
        }
        let git = Git::find(self.git.clone()).map_err(|_| unknown())?;
        let ask = ["config", "--get", "remote.origin.url"];
        let address = git.run(&plugin.directory, ask).map_err(|_| unknown())?;
        if address.is_empty() {
            return Err(unknown());
        }
        Origin::parse(&address, &plugin.directory, &self.user_home)
    }

    fn commit_of_clone(&self, directory: &Path) -> Option<String> {
        let git = Git::find(self.git.clone()).ok()?;
        git.run(directory, ["rev-parse", "HEAD"]).ok()
    }

    /// Makes the directory of stages, and removes what killed processes left in it.
    fn prepare(&self) -> Result<()> {
        hermes_fs::create_dir_all(&self.state, 0o700)?;
        Ok(Staging::sweep(&self.state, STAGE)?)
    }

    fn lock(&self) -> Result<FileLock> {
        let options = LockOptions::new("the plugins of this profile");
        Ok(FileLock::acquire(&self.state.join("lock"), &options)?)
    }

    fn records(&self) -> Records {
        Records::load(&self.record_file())
    }

    fn record_file(&self) -> PathBuf {
        self.state.join("installed.json")
    }

    fn previous(&self, key: &str) -> PathBuf {
        self.state.join("previous").join(key)
    }
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
