//! What a start does in the home as the runtime user: directories, first files, migration of the
//! settings, the login that was handed in.
//!
//! Nothing that exists is changed but modes and the schema of the settings, and nothing that fails
//! stops the start: a home that cannot be written is still good for looking at.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_config::settings::{Sources, migrate};
use hermes_config::{Environment, schema, vars};
use hermes_fs::Directory;
use hermes_home::{ENV_SEED, SOUL_SEED};
use serde_json::Value;

use crate::Log;
use crate::ownership::TREES;

/// Directories of a home in a container, besides the trees that are handed over.
const MORE_DIRECTORIES: [&str; 2] = ["backups", "logs/gateways"];

/// All directories of a home in a container.
fn directories() -> impl Iterator<Item = &'static str> {
    TREES.into_iter().chain(MORE_DIRECTORIES)
}

/// Files whose modes are the same after every start.
const MODES: [(&str, u32); 2] = [("config.yaml", 0o640), (".env", 0o600)];

/// The state that makes the gateway of the default profile start with the container.
const RUNNING: &str = "running";

/// Prepares the home. Best effort: what fails is told.
pub(crate) fn seed(home: &Path, env: &Environment, log: &mut Log<'_>) {
    let top = match Directory::open(home) {
        Ok(top) => top,
        Err(error) => return log(&format!("warning: {error}")),
    };
    let mut seeder = Seeder {
        top,
        failed: 0,
        first: None,
    };
    for directory in directories() {
        seeder.directory(directory);
    }
    seeder.file(".env", ENV_SEED, 0o600);
    seeder.file("config.yaml", &config_seed(), 0o640);
    seeder.file("SOUL.md", SOUL_SEED, 0o600);
    seeder.modes();
    seeder.remove_legacy_stamp();
    seeder.bootstrap_state(env);
    if let Some(reason) = &seeder.first {
        log(&format!(
            "warning: the home {} is not complete ({} steps failed); the first: {reason}",
            home.display(),
            seeder.failed
        ));
    }
    if let Some(sentence) = seeder.bootstrap_login(env) {
        log(&sentence);
    }
    if !env.flag(&vars::HERMES_SKIP_CONFIG_MIGRATION) {
        migrate_settings(home, env, log);
    }
}

struct Seeder {
    top: Directory,
    failed: usize,
    first: Option<String>,
}

impl Seeder {
    fn directory(&mut self, relative: &str) {
        let path = Path::new(relative);
        match self.top.metadata(path) {
            // Whatever has the name is the user's choice, a link to another disk for instance.
            Ok(_) | Err(hermes_fs::Error::SymlinkInPath { .. }) => {}
            Err(_) => {
                let made = self.top.create_directories(path, 0o700);
                self.note(made.map(drop));
            }
        }
    }

    /// Writes a file that is not there. A link of that name counts as one that is.
    fn file(&mut self, name: &str, text: &str, mode: u32) {
        let written = self.create(name, text.as_bytes(), mode);
        self.note(written.map(drop));
    }

    /// Says whether the file was new. One that cannot be written whole is not there.
    fn create(&self, name: &str, bytes: &[u8], mode: u32) -> hermes_fs::Result<bool> {
        let path = Path::new(name);
        if self.top.metadata(path).is_ok() {
            return Ok(false);
        }
        let staged = PathBuf::from(format!(".{name}.boot-{}", std::process::id()));
        let full = self.top.path().join(name);
        let written = (|| {
            let mut file = self.top.create_file(&staged, mode)?;
            file.write_all(bytes)
                .and_then(|()| file.sync_all())
                .map_err(hermes_fs::Error::io("write", &full))?;
            self.top.rename_unsynced(&staged, &self.top, path)
        })();
        if written.is_err() {
            // The reason is told; what is left of the attempt is not worth another one.
            drop(self.top.remove_file(&staged));
        }
        written.map(|()| true)
    }

    fn modes(&mut self) {
        for (name, mode) in MODES {
            let path = Path::new(name);
            let Ok(meta) = self.top.metadata(path) else {
                continue;
            };
            if meta.is_file() && meta.mode() & 0o7777 != mode {
                let set = self.top.set_file_mode(path, mode);
                self.note(set);
            }
        }
    }

    /// An install method of `docker` in the home would stop updates of an install on the host that
    /// shares it.
    fn remove_legacy_stamp(&mut self) {
        use std::io::Read;

        let name = Path::new(".install_method");
        let Ok((file, _)) = self.top.open_file(name) else {
            return;
        };
        let mut text = String::new();
        if file.take(64).read_to_string(&mut text).is_ok() && text.trim() == "docker" {
            let removed = self.top.remove_file(name);
            self.note(removed.map(drop));
        }
    }

    fn bootstrap_state(&mut self, env: &Environment) {
        if env.text(&vars::HERMES_GATEWAY_BOOTSTRAP_STATE) == Some(RUNNING) {
            let text = format!("{{\"gateway_state\":\"{RUNNING}\"}}");
            self.file("gateway_state.json", &text, 0o600);
        }
    }

    /// Writes the login that the container was given, exactly, if there is none: one that exists may
    /// hold a newer token.
    fn bootstrap_login(&self, env: &Environment) -> Option<String> {
        let text = env.os(&vars::HERMES_AUTH_JSON_BOOTSTRAP)?;
        let bytes = text.as_encoded_bytes();
        let name = vars::HERMES_AUTH_JSON_BOOTSTRAP.name;
        if self.top.metadata(Path::new("auth.json")).is_ok() {
            return None;
        }
        if serde_json::from_slice::<Value>(bytes).is_err() {
            return Some(format!(
                "warning: {name} is not valid JSON; auth.json was not written"
            ));
        }
        match self.create("auth.json", bytes, 0o600) {
            Ok(_) => Some(format!("wrote auth.json from {name}")),
            Err(error) => Some(format!("warning: {name} is not used: {error}")),
        }
    }

    fn note(&mut self, done: hermes_fs::Result<()>) {
        if let Err(error) = done {
            self.failed += 1;
            self.first.get_or_insert(error.to_string());
        }
    }
}

fn migrate_settings(home: &Path, env: &Environment, log: &mut Log<'_>) {
    match migrate(&Sources::new(env, home), false) {
        Ok(report) if report.from < report.to => log(&format!(
            "migrated config.yaml from version {} to {}",
            report.from, report.to
        )),
        Ok(_) => {}
        Err(error) => log(&format!("warning: config.yaml was not migrated: {error}")),
    }
}

/// A first `config.yaml`: nothing set, and how to set something.
fn config_seed() -> String {
    format!(
        "\
# Settings of this profile. `hermes config set KEY VALUE` changes them and keeps comments;
# `hermes config show` prints what is in effect and from where; `hermes setup` asks step by step.
# Secrets belong in .env, not here.
#
# model:
#   provider: openrouter
#   default: MODEL
_config_version: {}
",
        schema::CONFIG_VERSION
    )
}

#[cfg(test)]
#[path = "seed_tests.rs"]
mod tests;
