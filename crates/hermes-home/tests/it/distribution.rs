//! Profiles from distributions.

use std::ffi::OsStr;
use std::path::Path;

use hermes_home::profiles::{
    self, ConfigChoice, InstallPlan, InstallTools, apply_install, manifest_of, plan_install,
};
use hermes_home::{Error, Location, Result};
use hermes_testkit::git;
use pretty_assertions::assert_eq;

use crate::test_root::{TestRoot, is_private, mode, name, names_in, read, tree, write};

const MANIFEST: &str = "\
# by the author
name: Telemetry
version: 0.1.0
hermes_requires: \">=0.12.0\"
env_requires:
  - name: API_KEY
    description: the key
  - name: URL
    required: false
    default: http://localhost
";

fn with_tools<T>(run: impl FnOnce(InstallTools<'_>) -> T) -> T {
    let path = OsStr::new("/usr/local/bin:/usr/bin:/bin");
    let env = crate::helper_env(Some(path));
    run(InstallTools {
        env: &env,
        version: "0.19.0",
    })
}

fn plan(test: &TestRoot, source: &str, name: Option<&str>) -> Result<InstallPlan> {
    with_tools(|tools| plan_install(&test.location(), source, name, tools))
}

fn install(test: &TestRoot, source: &str, name: Option<&str>, force: bool) -> Result<Location> {
    let plan = plan(test, source, name)?;
    apply_install(&test.location(), &plan, force, &test.policy())
}

fn update(test: &TestRoot, profile: &str, config: ConfigChoice) -> Result<profiles::UpdateReport> {
    let (location, policy) = (test.location(), test.policy());
    with_tools(|tools| profiles::update(&location, &name(profile), config, tools, &policy))
}

/// A distribution that also ships what is none of its business.
fn furnish(source: &Path) {
    for (path, text) in [
        ("distribution.yaml", MANIFEST),
        ("SOUL.md", "soul 1"),
        ("config.yaml", "model: theirs\n"),
        ("mcp.json", "{}"),
        ("skills/a/SKILL.md", "a"),
        ("cron/jobs.json", "[]"),
        ("scripts/run.sh", "echo"),
        (".env", "STOLEN=1"),
        ("auth.json", "{\"theirs\":1}"),
        ("memories/MEMORY.md", "theirs"),
        ("state.db", "theirs"),
        ("gateway.lock", "1"),
        ("local/x", "theirs"),
    ] {
        write(&source.join(path), text);
    }
}

#[test]
fn a_directory_becomes_a_profile() {
    let test = TestRoot::new();
    let source = test.path("source");
    furnish(&source);
    let planned = plan(&test, source.to_str().unwrap(), None).unwrap();
    assert_eq!(planned.name, name("telemetry"));
    assert!(!planned.exists && planned.has_cron);
    assert_eq!(planned.skill_count, 1);
    assert_eq!(planned.manifest.variables.len(), 2);
    drop(planned);
    assert!(!test.root().exists());

    let profile = install(&test, source.to_str().unwrap(), None, false).unwrap();
    let home = &profile.home;
    assert_eq!(*home, test.profile("telemetry"));
    assert_eq!(read(&home.join("SOUL.md")), "soul 1");
    assert_eq!(read(&home.join("config.yaml")), "model: theirs\n");
    assert_eq!(read(&home.join("scripts/run.sh")), "echo");
    for (path, found) in tree(home) {
        let shared = path.file_name() == Some(OsStr::new("distribution.yaml"));
        assert!(shared || is_private(found), "{}", path.display());
    }
    assert!(!read(&home.join(".env")).contains("STOLEN"));
    for absent in [
        "auth.json",
        "memories/MEMORY.md",
        "state.db",
        "gateway.lock",
        "local",
    ] {
        assert!(!home.join(absent).exists(), "{absent}");
    }
    let example = read(&home.join(".env.EXAMPLE"));
    assert!(
        example.contains("\n# the key (required)\nAPI_KEY=\n"),
        "{example}"
    );
    assert!(
        example.contains("\n# optional\n# URL=http://localhost\n"),
        "{example}"
    );

    let text = read(&home.join("distribution.yaml"));
    assert!(text.starts_with("# by the author\n"), "{text}");
    assert_eq!(mode(&home.join("distribution.yaml")), 0o644);
    let manifest = manifest_of(&test.location(), &name("telemetry")).unwrap();
    assert_eq!(manifest.distribution.name, "telemetry");
    assert_eq!(manifest.distribution.version.as_deref(), Some("0.1.0"));
    let resolved = source.canonicalize().unwrap();
    assert_eq!(manifest.distribution.source.as_deref(), resolved.to_str());
    assert!(manifest.installed_at.is_some());
}

#[test]
fn an_update_replaces_what_is_the_authors() {
    let test = TestRoot::new();
    let source = test.path("source");
    furnish(&source);
    install(&test, source.to_str().unwrap(), Some("dist"), false).unwrap();
    let home = test.profile("dist");
    for (path, text) in [
        ("config.yaml", "model: mine\n"),
        ("memories/MEMORY.md", "mine"),
        (".env", "A=1"),
        ("auth.json", "{}"),
        ("skills/mine/SKILL.md", "mine"),
    ] {
        write(&home.join(path), text);
    }
    write(&source.join("SOUL.md"), "soul 2");
    write(&source.join("skills/b/SKILL.md"), "b");
    write(&source.join("extra.md"), "new");
    write(
        &source.join("distribution.yaml"),
        &MANIFEST.replace("0.1.0", "0.2.0"),
    );
    let report = update(&test, "dist", ConfigChoice::Keep).unwrap();
    assert_eq!(report.before.version.as_deref(), Some("0.1.0"));
    assert_eq!(report.after.version.as_deref(), Some("0.2.0"));
    assert_eq!(report.replaced.last().unwrap(), "distribution.yaml");
    assert_eq!(read(&home.join("SOUL.md")), "soul 2");
    assert_eq!(read(&home.join("extra.md")), "new");
    assert_eq!(names_in(&home.join("skills")), ["a", "b"]);
    assert_eq!(read(&home.join("config.yaml")), "model: mine\n");
    assert_eq!(read(&home.join("memories/MEMORY.md")), "mine");
    assert_eq!(read(&home.join(".env")), "A=1");
    assert_eq!(read(&home.join("auth.json")), "{}");
    let manifest = manifest_of(&test.location(), &name("dist")).unwrap();
    assert_eq!(manifest.distribution.version.as_deref(), Some("0.2.0"));
    assert_eq!(manifest.distribution.name, "dist");

    update(&test, "dist", ConfigChoice::Replace).unwrap();
    assert_eq!(read(&home.join("config.yaml")), "model: theirs\n");
    assert!(names_in(&home).iter().all(|name| !name.contains(".tmp-")));
}

#[test]
fn an_existing_profile_is_kept_unless_forced() {
    let test = TestRoot::new();
    let source = test.path("source");
    furnish(&source);
    test.create("telemetry").unwrap();
    let home = test.profile("telemetry");
    write(&home.join("memories/MEMORY.md"), "mine");
    let before = tree(&home);
    let error = install(&test, source.to_str().unwrap(), None, false).unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    assert_eq!(tree(&home), before);
    install(&test, source.to_str().unwrap(), None, true).unwrap();
    assert_eq!(read(&home.join("SOUL.md")), "soul 1");
    assert_eq!(read(&home.join("memories/MEMORY.md")), "mine");
}

fn commit(repository: &Path) {
    git(repository, &["add", "-A", "-f"]);
    git(repository, &["commit", "-q", "-m", "x"]);
}

#[test]
fn a_git_repository_becomes_a_profile_and_is_fetched_again() {
    let test = TestRoot::new();
    let repository = test.path("repo");
    furnish(&repository);
    git(&repository, &["init", "-q"]);
    commit(&repository);
    let url = format!("file://{}", repository.display());
    install(&test, &url, Some("dist"), false).unwrap();
    let home = test.profile("dist");
    assert_eq!(read(&home.join("SOUL.md")), "soul 1");
    assert!(!home.join(".git").exists());
    assert_eq!(test.on_disk(), ["dist"]);
    let manifest = manifest_of(&test.location(), &name("dist")).unwrap();
    assert_eq!(manifest.distribution.source, Some(url));

    write(&repository.join("SOUL.md"), "soul 2");
    commit(&repository);
    update(&test, "dist", ConfigChoice::Keep).unwrap();
    assert_eq!(read(&home.join("SOUL.md")), "soul 2");
    assert_eq!(test.on_disk(), ["dist"]);
}

#[test]
fn git_failures_are_told_in_one_line_and_leave_nothing() {
    let test = TestRoot::new();
    let url = format!("file://{}/none", test.user_home().display());
    let error = plan(&test, &url, None).unwrap_err();
    assert!(matches!(error, Error::Git { .. }), "{error}");
    assert!(!error.to_string().contains('\n'));
    assert_eq!(test.on_disk(), Vec::<String>::new());

    let env = crate::helper_env(None).with("PATH", "/nonexistent");
    let tools = InstallTools {
        env: &env,
        version: "0.19.0",
    };
    let error =
        plan_install(&test.location(), "https://u:tok@h.example/x", None, tools).unwrap_err();
    assert!(matches!(error, Error::NoGit { .. }), "{error}");
    assert!(!error.to_string().contains("tok"));
}

#[test]
fn sources_that_are_no_distributions_are_refused() {
    let test = TestRoot::new();
    let source = test.path("source");
    let refuse = |text: &str| {
        write(&source.join("distribution.yaml"), text);
        plan(&test, source.to_str().unwrap(), None).unwrap_err()
    };
    for text in [
        "a: [\n",
        "- x\n",
        "version: 1\n",
        "name: x\nenv_requires: 3\n",
        "name: x\nenv_requires: [{}]\n",
    ] {
        let error = refuse(text);
        assert!(
            matches!(error, Error::NotADistribution { .. }),
            "{text}: {error}"
        );
    }
    assert!(matches!(refuse("name: ../x\n"), Error::Name(_)));
    assert!(matches!(refuse("name: default\n"), Error::Name(_)));
    assert!(matches!(
        refuse("name: x\nhermes_requires: '>=99.0'\n"),
        Error::Version { .. }
    ));
    write(&source.join("distribution.yaml"), "name: x\n");
    std::os::unix::fs::symlink("/etc/passwd", source.join("SOUL.md")).unwrap();
    let error = plan(&test, source.to_str().unwrap(), None).unwrap_err();
    assert!(
        error.to_string().contains("symbolic link 'SOUL.md'"),
        "{error}"
    );

    std::fs::create_dir(test.path("empty")).unwrap();
    let error = plan(&test, test.path("empty").to_str().unwrap(), None).unwrap_err();
    assert!(
        error.to_string().contains("no distribution.yaml"),
        "{error}"
    );
    for unknown in ["", "/nonexistent", "ext::sh -c true", "-x"] {
        let error = plan(&test, unknown, None).unwrap_err();
        assert!(
            matches!(error, Error::UnknownSource { .. }),
            "{unknown}: {error}"
        );
    }
    assert!(!test.root().exists());
}

#[test]
fn only_installed_profiles_are_updated() {
    let test = TestRoot::new();
    test.create("plain").unwrap();
    let keep = ConfigChoice::Keep;
    assert!(matches!(
        update(&test, "plain", keep),
        Err(Error::NotInstalled { .. })
    ));
    assert!(matches!(
        update(&test, "gone", keep),
        Err(Error::Missing { .. })
    ));
    write(
        &test.profile("plain").join("distribution.yaml"),
        "name: plain\n",
    );
    assert!(matches!(
        update(&test, "plain", keep),
        Err(Error::NotInstalled { .. })
    ));
}
