use std::path::PathBuf;

use hermes_config::{Environment, Sources};
use pretty_assertions::assert_eq;

use super::*;
use crate::manifest::{Manifest, Runtime};

fn settings(yaml: &str) -> PluginSettings {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.yaml");
    hermes_fs::write_atomic_exact(&file, yaml.as_bytes(), 0o600).unwrap();
    let sources = Sources::new(&Environment::from_pairs::<&str, &str>([]), home.path());
    PluginSettings::resolve(&Config::load_read_only(&sources))
}

fn plugin(key: &str, name: &str, kind: Kind, source: Source) -> Plugin {
    Plugin {
        key: key.to_owned(),
        directory: PathBuf::from("/x"),
        source,
        manifest: Ok(Manifest {
            name: name.to_owned(),
            version: String::new(),
            description: String::new(),
            kind,
            runtime: Runtime::Files,
            requires_env: Vec::new(),
            provides_hooks: Vec::new(),
            python_dependencies: Vec::new(),
            warnings: Vec::new(),
        }),
    }
}

#[test]
fn disabled_wins_over_enabled_by_key_and_by_name() {
    let listed = settings("plugins: {enabled: [tts/a, two, three], disabled: [two]}");
    let of =
        |key: &str, name: &str| listed.status(&plugin(key, name, Kind::Standalone, Source::User));
    assert_eq!(of("tts/a", "a"), Status::Enabled);
    assert_eq!(of("x/two", "two"), Status::Disabled);
    assert_eq!(of("x/other", "three"), Status::Enabled);
    assert_eq!(of("stt/a", "a"), Status::NotEnabled);
}

#[test]
fn parts_of_the_installation_and_chosen_providers_need_no_listing() {
    let none = settings("");
    let status = |settings: &PluginSettings, key, kind, source| {
        settings.status(&plugin(key, "p", kind, source))
    };
    assert_eq!(
        status(&none, "p", Kind::Backend, Source::Bundled),
        Status::Enabled
    );
    assert_eq!(
        status(&none, "p", Kind::Backend, Source::User),
        Status::NotEnabled
    );
    assert_eq!(
        status(&none, "p", Kind::Standalone, Source::Bundled),
        Status::NotEnabled
    );
    assert_eq!(
        status(&none, "memory/p", Kind::Exclusive, Source::User),
        Status::NotEnabled
    );
    let chosen = settings("memory: {provider: p}");
    assert_eq!(
        status(&chosen, "memory/p", Kind::Exclusive, Source::User),
        Status::Enabled
    );
    assert_eq!(
        status(&chosen, "tts/p", Kind::Exclusive, Source::User),
        Status::NotEnabled
    );
}

#[test]
fn entries_of_the_wrong_kind_grant_nothing() {
    let odd = settings(
        "plugins:\n  entries:\n    a: {allow_tool_override: 'yes', fail_closed: perhaps, hook_timeout_seconds: 90}\n    b: 7\n    c: {allow_tool_override: true, fail_closed: true, hook_timeout_seconds: 0.5}\n",
    );
    let entry = |key: &str| odd.entry(&plugin(key, key, Kind::Standalone, Source::User));
    let (a, problems) = entry("a");
    assert_eq!(problems.len(), 3);
    assert_eq!(
        a,
        Entry {
            allow_tool_override: false,
            hook_timeout: Duration::from_secs(30),
            fail_closed: true,
        }
    );
    let (b, problems) = entry("b");
    assert_eq!(problems, ["plugins.entries.b must be a mapping"]);
    assert!(!b.allow_tool_override);
    let (c, problems) = entry("c");
    assert!(problems.is_empty(), "{problems:?}");
    assert!(c.allow_tool_override && c.fail_closed);
    assert_eq!(c.hook_timeout, Duration::from_millis(500));
    let (usual, _) = entry("d");
    assert_eq!(usual.hook_timeout, Duration::from_secs(2));
}
