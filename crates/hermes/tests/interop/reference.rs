//! Installs the reference, once per version and target directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A released version of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) number: &'static str,
    /// Whether it has `config get` and `config unset`.
    pub(crate) has_config_get: bool,
}

pub(crate) const V0_15_1: Version = Version {
    number: "0.15.1",
    has_config_get: false,
};

pub(crate) const V0_19_0: Version = Version {
    number: "0.19.0",
    has_config_get: true,
};

/// An installed reference.
#[derive(Debug)]
pub(crate) struct Reference {
    directory: PathBuf,
}

impl Reference {
    /// The reference of this version, installed by whichever test comes first.
    pub(crate) fn install(version: Version) -> Self {
        Self::install_package(version.number, &format!("hermes-agent=={}", version.number))
    }

    /// Any other package, in an environment of this name.
    pub(crate) fn install_package(name: &str, package: &str) -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let all = target.join("reference");
        fs::create_dir_all(&all).unwrap();
        let directory = all.join(name);
        let complete = directory.join(".complete");
        let this = Self { directory };
        let _lock = this.lock();
        // The interpreter of an environment is a link, which may have gone stale.
        if complete.exists() && this.python().exists() {
            return this;
        }
        if this.directory.exists() {
            fs::remove_dir_all(&this.directory).unwrap();
        }
        must(
            "create a Python environment (Debian: apt-get install python3-venv)",
            Command::new("python3")
                .args(["-m", "venv"])
                .arg(&this.directory),
        );
        must(
            "install a package",
            Command::new(this.python())
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                ])
                .arg(package),
        );
        fs::write(complete, package).unwrap();
        this
    }

    /// Keeps other tests, and the benchmark, from changing what is kept of this version.
    pub(crate) fn lock(&self) -> File {
        let lock = File::create(self.beside("lock")).unwrap();
        lock.lock().unwrap();
        lock
    }

    /// A file kept beside the installation, such as `0.19.0.lock`.
    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.directory.clone().into_os_string();
        name.push(format!(".{suffix}"));
        name.into()
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.directory.join("bin/hermes")
    }

    /// A program it brought.
    pub(crate) fn tool(&self, name: &str) -> PathBuf {
        self.directory.join("bin").join(name)
    }

    /// Its interpreter, with the libraries it reads our files with.
    pub(crate) fn python(&self) -> PathBuf {
        self.directory.join("bin/python")
    }
}

fn must(step: &str, command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("could not {step}: {command:?}: {error}"));
    assert!(
        output.status.success(),
        "could not {step}: {command:?}\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
