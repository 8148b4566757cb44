//! The incident: a leaked activation marker let `uv sync` in another project rebuild the runtime's
//! own environment. With the real `uv`: without the marker the project gets its own environment, and
//! with the opt-in the damage is there again, so the test would notice if the rule did nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hermes_testkit::{TestHome, Tree};

use crate::reference::Reference;

const PROJECT: &str = "[project]
name = 'other'
version = '0.1.0'
requires-python = '>=3.8'
dependencies = []
[tool.uv]
package = false
";

/// A home, an environment that holds a runtime, and another project.
struct Scene {
    home: TestHome,
    runtime: PathBuf,
    project: PathBuf,
    uv: PathBuf,
}

impl Scene {
    fn set() -> Self {
        let uv = Reference::install_package("uv", "uv").tool("uv");
        let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
        let runtime = home.outside("runtime");
        let made = Command::new("python3")
            .args(["-m", "venv", "--without-pip"])
            .arg(&runtime)
            .status()
            .unwrap();
        assert!(made.success());
        let packages = site_packages(&runtime).join("hermes_agent-0.19.0.dist-info");
        fs::create_dir_all(&packages).unwrap();
        let metadata = "Metadata-Version: 2.1\nName: hermes-agent\nVersion: 0.19.0\n";
        fs::write(packages.join("METADATA"), metadata).unwrap();
        fs::write(packages.join("INSTALLER"), "pip\n").unwrap();
        let record: String = ["METADATA", "INSTALLER", "RECORD"]
            .map(|file| format!("hermes_agent-0.19.0.dist-info/{file},,\n"))
            .concat();
        fs::write(packages.join("RECORD"), record).unwrap();
        let project = home.outside("project");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join("pyproject.toml"), PROJECT).unwrap();
        Self {
            home,
            runtime,
            project,
            uv,
        }
    }

    /// `uv sync` as an agent would run it, in a process that was started from the runtime.
    fn sync(&self, marker: &str) {
        let line = format!("{} sync --active --offline", self.uv.display());
        let outcome = self
            .home
            .hermes(["exec", "--", &line])
            .env(marker, &self.runtime)
            .env("UV_CACHE_DIR", self.home.outside("uv-cache"))
            .in_directory(&self.project)
            .run();
        outcome.succeeds();
    }

    fn runtime_tree(&self) -> Tree {
        Tree::read(&self.runtime)
    }
}

fn site_packages(environment: &Path) -> PathBuf {
    let lib = environment.join("lib");
    let mut versions = fs::read_dir(&lib)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    versions
        .find(|path| path.is_dir())
        .unwrap()
        .join("site-packages")
}

#[test]
fn uv_sync_makes_the_projects_own_environment_and_leaves_the_runtime_alone() {
    for marker in ["VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"] {
        let scene = Scene::set();
        let before = scene.runtime_tree();
        scene.sync(marker);
        before.is_still(&scene.runtime_tree());
        assert!(scene.project.join(".venv/pyvenv.cfg").is_file(), "{marker}");
    }
}

#[test]
fn with_the_opt_in_the_marker_gets_through_and_the_runtime_is_damaged() {
    for marker in ["VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"] {
        let scene = Scene::set();
        let list = format!("terminal:\n  env_passthrough: [{marker}]\n");
        scene.home.put("config.yaml", list);
        scene.sync(marker);
        let packages = site_packages(&scene.runtime);
        assert!(
            !packages.join("hermes_agent-0.19.0.dist-info").exists(),
            "{marker}"
        );
        assert!(!scene.project.join(".venv").exists(), "{marker}");
    }
}
