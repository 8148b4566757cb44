use pretty_assertions::assert_eq;

use super::*;

fn put(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    hermes_fs::create_dir_all(path.parent().unwrap(), 0o700).unwrap();
    hermes_fs::write_atomic_exact(&path, text.as_bytes(), 0o600).unwrap();
}

fn roots(directory: &Path) -> Roots {
    Roots {
        bundled: Some(directory.join("bundled")),
        user: directory.join("user"),
        project: Some(directory.join("project")),
    }
}

#[test]
fn later_sources_win_and_keys_say_the_category() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    put(root, "bundled/a/plugin.yaml", "name: one\nversion: 1");
    put(root, "user/a/plugin.yml", "name: one\nversion: 2");
    put(root, "user/a/.git/HEAD", "");
    put(root, "project/other/plugin.yaml", "name: one\nversion: 3");
    put(root, "user/memory/b/plugin.yaml", "name: two");
    put(root, "user/memory/deep/c/plugin.yaml", "name: three");
    put(root, "user/.hidden/plugin.yaml", "name: four");
    put(root, "user/file.txt", "");
    let found = discover(&roots(root));
    let shown: Vec<_> = found
        .plugins
        .iter()
        .map(|plugin| (plugin.key.as_str(), plugin.name(), plugin.source.name()))
        .collect();
    assert_eq!(
        shown,
        [("memory/b", "two", "user"), ("one", "one", "project")]
    );
    assert_eq!(found.find("b").unwrap().key, "memory/b");
    assert_eq!(found.find("two").unwrap().key, "memory/b");
    assert!(found.find("three").is_none());
    assert!(
        found
            .trace
            .iter()
            .any(|line| line.contains("takes the place"))
    );
}

#[test]
fn broken_manifests_are_listed_with_their_error() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    put(root, "user/bad/plugin.yaml", "name: [");
    put(root, "user/evil/plugin.yaml", "name: ../../x");
    put(root, "user/good/plugin.yaml", "");
    put(root, "user/a:b/plugin.yaml", "name: fine");
    let found = discover(&roots(root));
    let keys: Vec<_> = found.plugins.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["bad", "evil", "fine", "good"]);
    let problem = |key: &str| found.find(key).unwrap().problem();
    assert!(problem("bad").unwrap().starts_with("plugin.yaml: line 1"));
    assert!(problem("evil").unwrap().contains("cannot have"));
    assert_eq!(problem("good"), None);
}

#[test]
fn a_bare_name_of_two_plugins_means_neither() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    put(root, "user/tts/x/plugin.yaml", "name: speech");
    put(root, "user/stt/x/plugin.yaml", "name: hearing");
    let found = discover(&roots(root));
    assert!(found.find("x").is_none());
    assert_eq!(found.find("stt/x").unwrap().name(), "hearing");
}
