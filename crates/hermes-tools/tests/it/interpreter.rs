//! Which Python is taken.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_tools::{CodeSettings, Interpreters, ScriptMode};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::execute_code::{stage, stage_with};
use crate::stage::{FixedSession, Stage};

/// A program that answers as this version, and counts how often it was asked.
fn fake_python(path: &Path, version: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let log = path.with_extension("asked");
    let text = format!("#!/bin/sh\necho x >> {}\necho '{version}'\n", log.display());
    // Under another name first: a file that is being written cannot be executed.
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(new, path).unwrap();
}

struct Scene {
    stage: Stage,
    settings: CodeSettings,
    interpreters: Interpreters,
}

impl Scene {
    fn new() -> Self {
        let mut scene = Self {
            stage: stage(),
            settings: CodeSettings::default(),
            interpreters: Interpreters::default(),
        };
        scene.session(&[]);
        scene
    }

    /// A session in `work/sub` of a repository whose PATH has `bin1` and `bin2`.
    fn session(&mut self, markers: &[(&str, PathBuf)]) {
        std::fs::create_dir_all(self.stage.work("sub")).unwrap();
        std::fs::create_dir_all(self.stage.work(".git")).unwrap();
        let bins = [self.stage.root("bin1"), self.stage.root("bin2")];
        // `sh` and friends are found through these.
        let path = std::env::join_paths(bins.iter().chain([&"/usr/bin/nothing".into()])).unwrap();
        let mut variables = vec![("PATH".into(), path)];
        for (name, value) in markers {
            variables.push(((*name).into(), value.clone().into()));
        }
        self.stage.context.session = Arc::new(FixedSession {
            cwd: self.stage.work("sub"),
            variables,
        });
    }

    fn found(&self) -> Option<PathBuf> {
        self.interpreters
            .find(&self.settings, &self.stage.context)
            .ok()
    }
}

#[test]
fn the_order_is_setting_activated_path() {
    let mut scene = Scene::new();
    assert_eq!(scene.found(), None);
    let on_path = scene.stage.root("bin2/python3");
    fake_python(&on_path, "3 8");
    assert_eq!(scene.found(), Some(on_path.clone()));
    let conda = scene.stage.root("conda/bin/python");
    let active = scene.stage.root("active/bin/python");
    fake_python(&conda, "3 12");
    fake_python(&active, "3 12");
    scene.session(&[("CONDA_PREFIX", scene.stage.root("conda"))]);
    assert_eq!(scene.found(), Some(conda));
    scene.session(&[
        ("CONDA_PREFIX", scene.stage.root("conda")),
        ("VIRTUAL_ENV", scene.stage.root("active")),
    ]);
    assert_eq!(scene.found(), Some(active));
    let set = scene.stage.root("set/python");
    fake_python(&set, "3 12");
    scene.settings.python = Some(set.clone());
    assert_eq!(scene.found(), Some(set));
    // Strict knows only the setting and the path.
    scene.settings.python = None;
    scene.settings.mode = ScriptMode::Strict;
    assert_eq!(scene.found(), Some(on_path));
}

#[test]
fn interpreter_of_a_repository_is_not_taken_by_itself() {
    let mut scene = Scene::new();
    let brought = [
        "venv/bin/python",
        ".venv/bin/python",
        "sub/.venv/bin/python",
        "sub/venv/bin/python",
        "tools/python3",
        "sub/python3",
    ]
    .map(|path| scene.stage.work(path));
    for python in &brought {
        fake_python(python, "3 12");
    }
    assert_eq!(scene.found(), None);
    // Nor where PATH leads into the repository, or is relative to it.
    let mine = scene.stage.root("bin2/python3");
    fake_python(&mine, "3 12");
    let path = std::env::join_paths([
        scene.stage.work("tools"),
        PathBuf::from("."),
        PathBuf::from("tools"),
        scene.stage.root("bin2"),
    ]);
    scene.stage.context.session = Arc::new(FixedSession {
        cwd: scene.stage.work("sub"),
        variables: vec![("PATH".into(), path.unwrap())],
    });
    assert_eq!(scene.found(), Some(mine));
    for python in &brought {
        assert!(!python.with_extension("asked").exists(), "{python:?}");
    }
    // The user may name it, and the session may activate it.
    scene.settings.python = Some(brought[0].clone());
    assert_eq!(scene.found(), Some(brought[0].clone()));
    scene.settings.python = None;
    scene.session(&[("VIRTUAL_ENV", scene.stage.work(".venv"))]);
    assert_eq!(scene.found(), Some(brought[1].clone()));
}

#[test]
fn old_broken_and_own_interpreters_are_passed_over() {
    let mut scene = Scene::new();
    let own = scene.stage.root("bin1/python3");
    fake_python(&own, "3 12");
    fake_python(&scene.stage.root("old/bin/python"), "2 7");
    fake_python(&scene.stage.root("odd/bin/python"), "no idea");
    scene.session(&[
        ("VIRTUAL_ENV", scene.stage.root("old")),
        ("CONDA_PREFIX", scene.stage.root("odd")),
    ]);
    let mine = scene.stage.root("bin2/python3");
    fake_python(&mine, "3 12");
    scene.settings.own_install_roots = vec![scene.stage.root("bin1")];
    assert_eq!(scene.found(), Some(mine.clone()));
    assert!(
        !own.with_extension("asked").exists(),
        "it was not even asked"
    );
    std::fs::remove_file(mine).unwrap();
    let error = scene
        .interpreters
        .find(&scene.settings, &scene.stage.context)
        .unwrap_err();
    let text = error;
    assert!(
        text.contains("Python 3.8 or newer") && text.contains("old/bin/python"),
        "{text}"
    );
}

#[test]
fn a_program_whose_name_tells_the_version_is_not_started() {
    let scene = Scene::new();
    let link = scene.stage.root("bin1/python3");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    // It could not answer if it were.
    for (name, is_taken) in [
        ("python3.12", true),
        ("python3.7", false),
        ("python3.x", false),
    ] {
        let program = scene.stage.root(name);
        std::fs::copy("/bin/true", &program).unwrap();
        std::os::unix::fs::symlink(&program, &link).unwrap();
        assert_eq!(scene.found(), is_taken.then(|| link.clone()), "{name}");
        std::fs::remove_file(&link).unwrap();
    }
    let script = scene.stage.root("python3.13");
    fake_python(&script, "2 7");
    std::os::unix::fs::symlink(&script, &link).unwrap();
    assert_eq!(scene.found(), None, "a script may lead anywhere");
}

#[test]
fn an_interpreter_is_asked_once_until_it_changes() {
    let scene = Scene::new();
    let python = scene.stage.root("bin1/python3");
    fake_python(&python, "3 12");
    let asked = || {
        std::fs::read_to_string(python.with_extension("asked"))
            .unwrap()
            .lines()
            .count()
    };
    for _ in 0..3 {
        scene.found();
    }
    assert_eq!(asked(), 1);
    let file = std::fs::File::options().append(true).open(&python).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    drop(file);
    scene.found();
    assert_eq!(asked(), 2);
}

#[test]
fn without_python_the_tool_is_absent_and_says_why() {
    let mut stage = stage_with(CodeSettings::default());
    stage.context.session = Arc::new(FixedSession {
        cwd: stage.work(""),
        variables: vec![("PATH".into(), stage.root("empty").into())],
    });
    let message = stage.refused("execute_code", json!({"code": "print(1)"}));
    assert!(message.contains("Python 3.8 or newer"), "{message}");
    let tool = stage.context.registry.get("execute_code").unwrap();
    assert!(
        tool.unavailable(&stage.context)
            .unwrap()
            .contains("Python 3.8")
    );
}

#[test]
fn whether_scripts_are_offered_is_told_by_looking() {
    let mut scene = Scene::new();
    let look = |scene: &Scene| Interpreters::look(&scene.settings, &scene.stage.context);
    // A project may be a stranger's.
    let theirs = [
        scene.stage.work("sub/.venv/bin/python"),
        scene.stage.root("active/bin/python"),
    ];
    for python in &theirs {
        fake_python(python, "3 12");
    }
    scene.session(&[("VIRTUAL_ENV", scene.stage.root("active"))]);
    assert!(look(&scene).is_err(), "what the project brings is none");
    let shim = scene.stage.root("bin2/python");
    fake_python(&shim, "3 12");
    assert_eq!(look(&scene), Ok(()));
    for python in theirs.iter().chain([&shim]) {
        let asked = python.with_extension("asked");
        assert!(!asked.exists(), "{} was started", python.display());
    }
    scene.settings.own_install_roots = vec![scene.stage.root("bin2")];
    assert!(look(&scene).is_err(), "one of ours is none");
    let old = scene.stage.root("bin1/python3");
    std::fs::create_dir_all(old.parent().unwrap()).unwrap();
    std::fs::copy("/bin/true", scene.stage.root("python3.7")).unwrap();
    std::os::unix::fs::symlink(scene.stage.root("python3.7"), &old).unwrap();
    let error = look(&scene).unwrap_err();
    assert!(
        error.contains(&format!("(not usable: {})", old.display())),
        "its name says that it is too old: {error}"
    );
    scene.settings.python = Some(theirs[0].clone());
    assert_eq!(look(&scene), Ok(()), "the setting was made by the user");
}
