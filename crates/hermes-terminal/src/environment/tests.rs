//! Settings, derived names and links, end to end without a process.
#![allow(clippy::disallowed_methods, reason = "tests access files directly")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hermes_config::dotenv::known_names;
use hermes_config::{Config, Environment, Sources};
use hermes_proc::SpawnClass;
use hermes_proc::env::{ACTIVATION_MARKERS, EnvPlan, Fate};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

struct TestProfile {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl TestProfile {
    fn new(config: &str, dotenv: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("hh")).unwrap();
        fs::create_dir_all(dir.path().join("users/u")).unwrap();
        fs::write(dir.path().join("hh/config.yaml"), config).unwrap();
        fs::write(dir.path().join("hh/.env"), dotenv).unwrap();
        let home = dir.path().join("users/u").display().to_string();
        let env = vec![("HOME".to_owned(), home)];
        Self { dir, env }
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn sources(&self) -> Sources {
        Sources {
            env: Environment::from_pairs(self.env.clone()),
            home: self.at("hh"),
            managed_dir: None,
            tighten_dotenv: true,
        }
    }

    fn facts(&self) -> EnvironmentFacts {
        EnvironmentFacts {
            root: self.at("hh"),
            program: self.at("bin/hermes"),
            is_container: false,
            account_home: None,
            file_system_root: self.at("fs"),
        }
    }

    fn builder(&self) -> EnvironmentBuilder {
        EnvironmentBuilder::new(&Config::load_read_only(&self.sources()), &self.facts())
    }

    fn plan(&self, class: SpawnClass) -> EnvPlan {
        self.builder().plan(class)
    }
}

fn text<'p>(plan: &'p EnvPlan, name: &str) -> Option<&'p str> {
    plan.get(name).and_then(OsStr::to_str)
}

#[test]
fn the_environment_beats_the_env_file_and_denied_names_stay_out() {
    let profile = TestProfile::new("", "A=file\nB=file\nC=file\nLD_PRELOAD=/x.so\nGH_TOKEN=t\n")
        .env("A", "process")
        .env("B", "");
    let plan = profile.plan(SpawnClass::ToolShell);
    assert_eq!(text(&plan, "A"), Some("process"));
    assert_eq!(text(&plan, "B"), Some("file"), "empty counts as unset");
    assert_eq!(text(&plan, "C"), Some("file"));
    assert_eq!(text(&plan, "LD_PRELOAD"), None);
    assert_eq!(text(&plan, "GH_TOKEN"), None);
    assert_eq!(
        text(&profile.plan(SpawnClass::Hermes), "GH_TOKEN"),
        Some("t")
    );
}

#[test]
fn credentials_named_in_the_settings_are_found_wherever_they_stand() {
    let profile = TestProfile::new(
        "\
model: {api_key: '${MY_KEY}', base_url: '${NOT_ONE}/v1'}
providers:
  corp: {key_env: CORP_KEY, api_key: ''}
custom_providers:
- {name: old, api_key: 'x-${OLD_KEY:-none}'}
mcp_servers:
  s: {url: u, headers: {Authorization: 'Bearer ${BEARER}'}}
platforms:
  p: {token: '${A}${B}', password: ['${LISTED}'], secret: {inner: '${DEEP}'}}
tts: {api_key: '${CLAUDE_CODE_OAUTH_TOKEN}', token: '${AWS_SESSION_TOKEN}'}
web: {api_key: '${BROKEN', token: '${1BAD}', key_env: 'not a name'}
",
        "",
    );
    let config = Config::load_read_only(&profile.sources());
    let names: Vec<_> = config_secret_names(&config).into_iter().collect();
    let expected = [
        "A", "B", "BEARER", "CORP_KEY", "DEEP", "LISTED", "MY_KEY", "OLD_KEY",
    ];
    assert_eq!(names, expected);
    let profile = profile
        .env("MY_KEY", "k")
        .env("NOT_ONE", "n")
        .env("CORP_KEY", "c");
    for class in SpawnClass::ALL {
        let keeps = class == SpawnClass::Hermes;
        let plan = profile.plan(class);
        assert_eq!(text(&plan, "MY_KEY").is_some(), keeps, "{class}");
        assert_eq!(text(&plan, "CORP_KEY").is_some(), keeps, "{class}");
    }
    assert_eq!(
        text(&profile.plan(SpawnClass::ToolShell), "NOT_ONE"),
        Some("n")
    );
}

#[test]
fn known_names_are_judged_by_what_they_are() {
    let profile = TestProfile::new("", "");
    let names = derived_secret_names(&Config::load_read_only(&profile.sources()));
    for known in known_names() {
        let expected = match (known.category, known.secret) {
            ("tool" | "messaging", _) | ("setting", true) => true,
            ("provider", true) => known.name != "CLAUDE_CODE_OAUTH_TOKEN",
            ("provider", false) => known.name.ends_with("_BASE_URL"),
            ("skill", _) | ("setting", false) => false,
            _ => continue,
        };
        assert_eq!(names.contains(known.name), expected, "{}", known.name);
    }
    assert!(names.contains("WEIXIN_TOKEN") && !names.contains("LANGFUSE_SECRET_KEY"));
}

#[test]
fn both_spellings_of_the_list_count_and_refusals_are_told() {
    let profile = TestProfile::new(
        "\
terminal: {env_passthrough: [VIRTUAL_ENV, OPENAI_API_KEY, '  ', 7], trusted_env_passthrough: [GH_TOKEN]}
tools: {env_passthrough: [CONDA_PREFIX, '*']}
",
        "",
    );
    let mut profile = profile.env("GH_TOKEN", "t").env("OPENAI_API_KEY", "k");
    for marker in ACTIVATION_MARKERS {
        profile = profile.env(marker, "/m");
    }
    for class in [SpawnClass::ToolShell, SpawnClass::ScriptSandbox] {
        let plan = profile.plan(class);
        for marker in ACTIVATION_MARKERS {
            let wanted = ["VIRTUAL_ENV", "CONDA_PREFIX"].contains(marker);
            assert_eq!(text(&plan, marker).is_some(), wanted, "{class} {marker}");
        }
        assert_eq!(text(&plan, "OPENAI_API_KEY"), None);
        assert_eq!(
            text(&plan, "GH_TOKEN").is_some(),
            class == SpawnClass::ToolShell
        );
    }
    assert_eq!(
        profile.builder().warnings(),
        [
            "env passthrough: refused *: wildcards are not allowed; give the full name (source: config)",
            "env passthrough: refused OPENAI_API_KEY: credential managed by Hermes (source: \
             config)",
        ]
    );
}

#[test]
fn what_is_wrong_is_told_and_the_default_holds() {
    let profile = TestProfile::new(
        "terminal: {env_passthrough: VIRTUAL_ENV, home_mode: nowhere, sudo_password: swordfish}\n",
        "",
    )
    .env("TERMINAL_TIMEOUT", "5m")
    .env("TERMINAL_DOCKER_VOLUMES", "{")
    .env("VIRTUAL_ENV", "/m");
    let config = Config::load_read_only(&profile.sources());
    assert_eq!(config.int("terminal.timeout"), Some(180));
    let builder = profile.builder();
    let told = builder.warnings().join("\n");
    for part in ["terminal.env_passthrough: expected a list", "home_mode"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    for part in ["DOCKER", "TIMEOUT"] {
        assert!(!told.contains(part), "told where it is used: {told}");
    }
    assert!(
        told.contains("terminal.sudo_password") && !told.contains("swordfish"),
        "{told}"
    );
    let plan = profile.plan(SpawnClass::ToolShell);
    assert_eq!(text(&plan, "VIRTUAL_ENV"), None);
    assert_eq!(text(&plan, "HOME"), profile.at("users/u").to_str());
}

#[test]
fn every_alias_of_a_home_mode_is_a_setting() {
    for (word, own) in [
        ("isolated", true),
        ("profile-home", true),
        ("host", false),
        ("user", false),
    ] {
        let profile = TestProfile::new(&format!("terminal: {{home_mode: {word}}}\n"), "");
        fs::create_dir_all(profile.at("hh/home")).unwrap();
        assert_eq!(profile.builder().warnings(), [] as [&str; 0], "{word}");
        let expected = profile.at(if own { "hh/home" } else { "users/u" });
        assert_eq!(
            text(&profile.plan(SpawnClass::ToolShell), "HOME"),
            expected.to_str(),
            "{word}"
        );
    }
}

#[test]
fn an_old_install_leaves_no_trace_in_the_shell() {
    let profile = TestProfile::new("", "");
    let venv = profile.at("hh/hermes-agent/venv");
    fs::create_dir_all(venv.join("bin")).unwrap();
    let bin = venv.join("bin");
    let path = format!("{}:/usr/bin", bin.display());
    let python_path = format!("{}:/mine", venv.display());
    let profile = profile
        .env("VIRTUAL_ENV", venv.to_str().unwrap())
        .env("PATH", &path)
        .env("PYTHONPATH", &python_path);
    let plan = profile.plan(SpawnClass::ToolShell);
    assert_eq!(text(&plan, "VIRTUAL_ENV"), None);
    assert_eq!(text(&plan, "PYTHONPATH"), Some("/mine"));
    let path = text(&plan, "PATH").unwrap();
    assert!(!path.contains("venv"), "{path}");
    assert!(
        path.starts_with(profile.at("hh/cache/bin").to_str().unwrap()),
        "{path}"
    );
}

#[test]
fn lists_are_read_again_when_the_file_changes() {
    let profile = TestProfile::new("", "").env("VIRTUAL_ENV", "/m");
    let live = LiveEnvironment::new(profile.sources(), profile.facts());
    let has = || {
        let plan = live.current().plan(SpawnClass::ToolShell);
        plan.get("VIRTUAL_ENV").is_some()
    };
    assert!(!has());
    let first = live.current();
    assert!(
        std::sync::Arc::ptr_eq(&first, &live.current()),
        "nothing changed, nothing read"
    );
    fs::write(
        profile.at("hh/config.yaml"),
        "terminal: {env_passthrough: [VIRTUAL_ENV]}\n",
    )
    .unwrap();
    assert!(has());
    fs::remove_file(profile.at("hh/config.yaml")).unwrap();
    assert!(!has());
}

#[test]
fn settings_that_were_read_before_are_taken_until_their_file_changes_for_good() {
    let deny = "terminal: {env_passthrough: []}\n";
    let profile = TestProfile::new(deny, "").env("VIRTUAL_ENV", "/m");
    let config = Config::load_read_only(&profile.sources());
    let live = LiveEnvironment::new(profile.sources(), profile.facts()).starting_with(&config);
    let has = || {
        let plan = live.current().plan(SpawnClass::ToolShell);
        plan.get("VIRTUAL_ENV").is_some()
    };
    assert!(!has());
    let allow = "terminal: {env_passthrough: [VIRTUAL_ENV]}\n";
    fs::write(profile.at("hh/config.yaml"), allow).unwrap();
    assert!(has(), "what was read before is outdated");
    fs::write(
        profile.at("hh/config.yaml"),
        "terminal: {env_passthrough: [",
    )
    .unwrap();
    assert!(has(), "a file that breaks changes nothing");
    fs::write(profile.at("hh/config.yaml"), deny).unwrap();
    assert!(!has());
}

#[test]
fn links_are_made_before_the_first_child_and_once_a_minute() {
    let profile = TestProfile::new(
        "terminal: {home_mode: profile, profile_home_links: [.claude]}\n",
        "",
    );
    for dir in ["hh/home", "users/u/Library/Keychains", "users/u/.claude"] {
        fs::create_dir_all(profile.at(dir)).unwrap();
    }
    let live = LiveEnvironment::new(profile.sources(), profile.facts());
    let start = Instant::now();
    live.ready(start);
    let keychain = profile.at("hh/home/Library/Keychains");
    assert_eq!(
        fs::read_link(&keychain).unwrap(),
        profile.at("users/u/Library/Keychains")
    );
    assert_eq!(
        fs::read_link(profile.at("hh/home/.claude")).unwrap(),
        profile.at("users/u/.claude")
    );
    assert_eq!(
        fs::read_link(profile.at("hh/cache/bin/hermes")).unwrap(),
        profile.at("bin/hermes")
    );
    fs::remove_file(&keychain).unwrap();
    live.ready(start + Duration::from_secs(59));
    assert!(!keychain.exists());
    live.ready(start + Duration::from_secs(61));
    assert!(keychain.exists());
}

#[test]
fn the_keychain_link_can_be_declined() {
    let profile = TestProfile::new(
        "terminal: {home_mode: profile, profile_home_keychain: false}\n",
        "",
    );
    for dir in ["hh/home", "users/u/Library/Keychains"] {
        fs::create_dir_all(profile.at(dir)).unwrap();
    }
    assert_eq!(profile.builder().make_links(), [] as [&str; 0]);
    assert!(!profile.at("hh/home/Library").exists());
}

#[test]
fn nothing_prints_a_value() {
    let profile = TestProfile::new("", "")
        .env("PLAIN", "hunter2")
        .env("GH_TOKEN", "hunter2");
    let live = LiveEnvironment::new(profile.sources(), profile.facts());
    let printed = format!("{:?} {:?}", live.current(), live);
    assert!(!printed.contains("hunter2"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any variable the settings use as a key, next to all listed ones: none reaches a child that
    /// is not ours or a model's.
    #[test]
    fn no_canary_escapes(
        derived in proptest::collection::btree_set("Q[A-Z0-9]{1,8}", 1..5),
        key in proptest::sample::select(vec!["api_key", "token", "secret", "password", "Authorization"]),
    ) {
        let lines = derived.iter().map(|name| format!("  p{name}: {{{key}: 'x ${{{name}}}'}}"));
        let references = lines.collect::<Vec<_>>().join("\n");
        let mut profile = TestProfile::new(&format!("providers:\n{references}\n"), "");
        let listed = include_str!("../../../hermes-proc/src/env/secret_names.txt");
        let names = listed.lines().map(str::to_owned).chain(derived.clone());
        for name in names {
            profile = profile.env(&name, "canary");
        }
        for class in SpawnClass::ALL {
            let plan = profile.plan(class);
            let found = plan.variables().values().any(|value| value == &OsString::from("canary"));
            let keeps = class == SpawnClass::Hermes;
            prop_assert_eq!(found, keeps, "class {}", class);
            prop_assert_eq!(
                derived.iter().all(|name| plan.receipt().of(name).is_some_and(|(fate, _)| fate == Fate::Stripped)),
                !keeps
            );
        }
    }
}
