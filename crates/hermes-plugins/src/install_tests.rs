use hermes_proc::{EnvPolicy, EnvRequest, SpawnClass};
use hermes_testkit::git;
use pretty_assertions::assert_eq;

use super::*;

/// Nothing is wrong with a manifest.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the store asks for a verdict that can be a refusal"
)]
fn any(_: &Manifest) -> Result<()> {
    Ok(())
}

struct World {
    directory: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "a test runs the git of its machine"
    )]
    fn store(&self) -> PluginStore {
        let base = vec![
            ("HOME".into(), self.path("").into_os_string()),
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
        ];
        let policy = EnvPolicy::default();
        let plan = EnvPlan::build(&EnvRequest::new(SpawnClass::Helper, &base, &policy));
        PluginStore::new(&self.path("home"), &self.path(""), plan)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        hermes_fs::create_dir_all(path.parent().unwrap(), 0o700).unwrap();
        hermes_fs::write_atomic_exact(&path, text.as_bytes(), 0o600).unwrap();
    }

    /// A repository `repo` with a plugin `notes` of this version.
    fn commit(&self, version: &str) -> String {
        let repository = self.path("repo");
        if !repository.join(".git").is_dir() {
            hermes_fs::create_dir_all(&repository, 0o700).unwrap();
            git(&repository, &["init", "--quiet"]);
        }
        let manifest = format!("name: notes\nversion: '{version}'\n");
        self.put("repo/plugin.yaml", &manifest);
        git(&repository, &["add", "."]);
        git(&repository, &["commit", "--quiet", "-m", version]);
        git(&repository, &["rev-parse", "HEAD"]).trim().to_owned()
    }

    fn install(&self, identifier: &str, force: bool) -> Result<Installed> {
        self.store()
            .install(identifier, &self.path(""), force, &any)
    }

    /// What is below `plugins`, and what is left in the directory of the state.
    fn names(&self, directory: &str) -> Vec<String> {
        let entries = hermes_fs::read_dir(&self.path(directory)).unwrap_or_default();
        let names = entries
            .iter()
            .map(|one| one.name.to_string_lossy().into_owned());
        names.filter(|name| name != "lock").collect()
    }

    fn version(&self) -> String {
        let manifest = Manifest::of_directory(&self.path("home/plugins/notes"));
        manifest.unwrap().unwrap().version
    }
}

#[test]
fn an_update_keeps_the_earlier_copy_for_a_rollback() {
    let world = World::new();
    let first = world.commit("1");
    let installed = world.install("./repo", false).unwrap();
    assert_eq!(installed.commit.as_deref(), Some(first.as_str()));
    assert!(!installed.replaced);
    let store = world.store();
    assert!(matches!(
        store.update("notes", &any).unwrap(),
        Updated::Current { commit } if commit == first
    ));
    let second = world.commit("2");
    let Updated::Changed { from, to, version } = store.update("notes", &any).unwrap() else {
        panic!("there is a newer commit");
    };
    assert_eq!(
        (from, to, version),
        (Some(first.clone()), Some(second.clone()), "2".to_owned())
    );
    assert_eq!(world.version(), "2");
    let Updated::Changed { from, to, version } = store.rollback("notes").unwrap() else {
        panic!("there is an earlier copy");
    };
    assert_eq!(
        (from, to, version),
        (Some(second), Some(first), "1".to_owned())
    );
    assert_eq!(world.version(), "1");
    store.rollback("notes").unwrap();
    assert_eq!(world.version(), "2");
    assert_eq!(
        store.remove("notes").unwrap(),
        world.path("home/plugins/notes")
    );
    assert!(world.names("home/plugins").is_empty());
    assert!(world.names("home/.plugins/previous").is_empty());
    assert!(store.rollback("notes").is_err());
}

#[test]
fn a_name_that_is_taken_needs_force() {
    let world = World::new();
    world.put("one/plugin.yaml", "name: notes\nversion: '1'");
    world.put("two/plugin.yaml", "name: notes\nversion: '2'");
    world.install("./one", false).unwrap();
    let error = world.install("./two", false).unwrap_err();
    assert!(error.to_string().contains("A plugin 'notes' is installed"));
    assert!(error.hint().unwrap().contains("--force"));
    assert_eq!(world.version(), "1");
    assert!(world.install("./two", true).unwrap().replaced);
    assert_eq!(world.version(), "2");
    world.store().rollback("notes").unwrap();
    assert_eq!(world.version(), "1");
}

#[test]
fn what_must_not_be_installed_changes_nothing() {
    let world = World::new();
    world.put("up/plugin.yaml", "name: ../up");
    world.put("newer/plugin.yaml", "manifest_version: 2");
    world.put("garbage/plugin.yaml", "\0\u{1}{{{");
    world.put("none/readme.md", "x");
    world.put("leading/plugin.yaml", "name: leading");
    let link = world.path("leading/out");
    hermes_fs::symlink(Path::new("/etc/passwd"), &link).unwrap();
    world.put("devious/plugin.yaml", "name: devious");
    world.put("devious/sub/x", "x");
    hermes_fs::symlink(Path::new(".."), &world.path("devious/sub/top")).unwrap();
    let devious = world.path("devious/sub/out");
    hermes_fs::symlink(Path::new("top/../one"), &devious).unwrap();
    world.put("one", "x");
    world.commit("1");
    for (identifier, problem) in [
        ("./up", "cannot have"),
        ("./newer", "manifest_version is 2"),
        ("./garbage", "plugin.yaml"),
        ("./none", "no plugin.yaml"),
        ("./leading", "leads out"),
        ("./devious", "leads out"),
        ("./missing", "is not a directory"),
        ("../x\ny", "does not name"),
        ("https://x.org/a.git#../..", "leads out of the repository"),
    ] {
        let error = world.install(identifier, true).unwrap_err();
        assert!(error.to_string().contains(problem), "{identifier}: {error}");
        assert!(world.names("home/plugins").is_empty(), "{identifier}");
        assert!(world.names("home/.plugins").is_empty(), "{identifier}");
    }
}

#[test]
fn a_subdirectory_of_a_repository_can_be_a_plugin() {
    let world = World::new();
    world.put("repo/tools/deep/plugin.yaml", "name: deep");
    world.put("repo/tools/deep/skills/x/SKILL.md", "x");
    world.commit("1");
    let links = world.path("repo/link");
    hermes_fs::symlink(Path::new("/etc"), &links).unwrap();
    git(&world.path("repo"), &["add", "."]);
    git(&world.path("repo"), &["commit", "--quiet", "-m", "link"]);
    let address = format!("file://{}", world.path("repo").display());
    world
        .install(&format!("{address}#tools/deep"), false)
        .unwrap();
    assert_eq!(world.names("home/plugins"), ["deep"]);
    assert!(world.path("home/plugins/deep/skills/x/SKILL.md").is_file());
    assert!(!world.path("home/plugins/deep/.git").exists());
    for (path, problem) in [
        ("link", "leads out of the repository"),
        ("tools", "no plugin.yaml"),
        ("absent", "no directory 'absent'"),
    ] {
        let error = world
            .install(&format!("{address}#{path}"), true)
            .unwrap_err();
        assert!(error.to_string().contains(problem), "{path}: {error}");
    }
    assert_eq!(world.names("home/plugins"), ["deep"]);
    assert!(matches!(
        world.store().update("deep", &any).unwrap(),
        Updated::Current { .. }
    ));
}

#[test]
fn a_clone_without_a_record_is_updated_from_its_origin() {
    let world = World::new();
    world.commit("1");
    let plugins = world.path("home/plugins");
    hermes_fs::create_dir_all(&plugins, 0o700).unwrap();
    let from = world.path("repo").display().to_string();
    git(&plugins, &["clone", "--quiet", &from, "notes"]);
    assert!(matches!(
        world.store().update("notes", &any).unwrap(),
        Updated::Current { .. }
    ));
    world.commit("2");
    world.store().update("notes", &any).unwrap();
    assert_eq!(world.version(), "2");
    world.put("home/plugins/byhand/plugin.yaml", "");
    let error = world.store().update("byhand", &any).unwrap_err();
    assert!(error.to_string().contains("not known where"), "{error}");
    let error = world.store().update("../../repo", &any).unwrap_err();
    assert!(error.to_string().contains("No plugin"), "{error}");
}

#[test]
fn an_unreachable_repository_is_an_error_outside() {
    let world = World::new();
    let error = world
        .install("file:///nowhere/at/all.git", false)
        .unwrap_err();
    assert!(error.is_outside(), "{error}");
    assert!(error.to_string().contains("cannot be fetched"));
    assert!(world.names("home/.plugins").is_empty());
}

#[test]
fn a_manifest_that_is_not_accepted_changes_nothing() {
    let world = World::new();
    world.commit("1");
    let refuse = |_: &Manifest| -> Result<()> { Err(Error::refused("not this one")) };
    let store = world.store();
    let refused = store.install("./repo", &world.path(""), false, &refuse);
    assert_eq!(refused.unwrap_err().to_string(), "not this one");
    assert_eq!(world.names("home/plugins"), Vec::<String>::new());
    world.install("./repo", false).unwrap();
    world.commit("2");
    let refused = store.update("notes", &refuse);
    assert_eq!(refused.unwrap_err().to_string(), "not this one");
    assert_eq!(store.own("notes").unwrap().manifest.unwrap().version, "1");
}
