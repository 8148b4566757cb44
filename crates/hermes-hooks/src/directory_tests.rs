//! Directories with a `HOOK.yaml`: what is understood, and what is named and left out.

use pretty_assertions::assert_eq;

use super::*;

fn put(home: &Path, name: &str, text: &str) {
    let path = home.join("hooks").join(name);
    hermes_fs::create_dir_all(path.parent().unwrap(), 0o700).unwrap();
    hermes_fs::write_atomic(&path, text.as_bytes(), 0o700).unwrap();
}

#[test]
fn events_of_a_directory_become_hooks_of_its_handler() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    put(
        home,
        "b log/HOOK.yaml",
        "name: log\nevents: [agent:start, 'agent:end']\n",
    );
    put(home, "b log/handler.py", "");
    put(home, "b log/handler", "");
    put(home, "a/HOOK.yaml", "events: [gateway:startup]\n");
    put(home, "a/handler.sh", "");
    put(home, "no-manifest/handler.py", "");
    let found = hooks_of_directories(home);
    let hooks: Vec<(&str, bool)> = found
        .hooks
        .iter()
        .map(|hook| (hook.event.name(), hook.command.contains("handler.py")))
        .collect();
    let expected = [
        ("gateway:startup", false),
        ("agent:start", true),
        ("agent:end", true),
    ];
    assert_eq!(hooks, expected);
    assert_eq!(found.problems, Vec::<String>::new());
    let words = shlex::split(&found.hooks[1].command).unwrap();
    assert_eq!(
        words,
        [home.join("hooks/b log/handler.py").to_str().unwrap()]
    );
}

#[test]
fn what_cannot_be_used_is_named() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    put(
        home,
        "a/HOOK.yaml",
        "events: [agent:strat, command:*, nonsense, 7]\n",
    );
    put(home, "a/handler", "");
    put(home, "b/HOOK.yaml", "events: [agent:end]\n");
    put(home, "c/HOOK.yaml", "- 1\n");
    put(home, "d/HOOK.yaml", "a: [\n");
    put(home, "e/HOOK.yaml", "events: agent:end\n");
    put(home, "e/handler", "");
    put(home, "f/HOOK.yaml", &"#".repeat(100_000));
    let found = hooks_of_directories(home);
    assert_eq!(found.hooks.len(), 0);
    let parts = [
        "agent:strat is no event; did you mean 'agent:start'?",
        "command:* is never told",
        "nonsense is no event; the events are gateway:startup",
        "hooks/b/HOOK.yaml has no handler",
        "hooks/c/HOOK.yaml is not a mapping",
        "hooks/d/HOOK.yaml is not YAML",
        "hooks/e/HOOK.yaml has no list of events",
        "hooks/f/HOOK.yaml",
    ];
    for (problem, part) in found.problems.iter().zip(parts) {
        assert!(problem.contains(part), "{problem} / {part}");
    }
    assert_eq!(found.problems.len(), parts.len());
}

#[test]
fn a_home_without_hooks_has_none() {
    let home = tempfile::tempdir().unwrap();
    let found = hooks_of_directories(home.path());
    assert_eq!((found.hooks.len(), found.problems.len()), (0, 0));
}
