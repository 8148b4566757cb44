//! What a container gets to see of the host, against an engine that notes its calls.

use hermes_config::{Config, Environment, Sources};
use hermes_docker::{DockerError, DockerSettings};
use hermes_terminal::remote::Transport;
use hermes_testkit::FakeEngine;
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, full_id};

#[test]
fn forwarded_values_are_in_no_argument() {
    // check 29
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    world.settings.forward = vec!["GITHUB_TOKEN".to_owned(), "EMPTY".to_owned()];
    world.settings.env = [("GITHUB_TOKEN", "of-docker-env"), ("A", "1")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    std::fs::write(
        world.home().join(".env"),
        "GITHUB_TOKEN=of-env-file\nEMPTY=filled\n",
    )
    .unwrap();
    world.set("GITHUB_TOKEN", "of-process");
    world.set("EMPTY", "");
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    let pairs: Vec<(String, String)> = sandbox
        .session_variables()
        .into_iter()
        .map(|variable| (variable.name, variable.value.expose().to_owned()))
        .collect();
    let expected = [
        ("A", "1"),
        ("GITHUB_TOKEN", "of-docker-env"),
        ("EMPTY", "filled"),
        ("GITHUB_TOKEN", "of-process"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(pairs, expected);
    let launch = sandbox.launch(&["true"]).unwrap();
    let mut lines: Vec<String> = engine
        .calls()
        .iter()
        .map(hermes_testkit::EngineCall::line)
        .collect();
    lines.push(format!("{:?} {:?}", launch.program, launch.args));
    for line in lines {
        assert!(
            !line.contains("of-process") && !line.contains("of-env-file"),
            "{line}"
        );
    }
}

#[test]
fn volumes_are_checked_and_nothing_is_created_for_them() {
    // check 30
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    std::fs::create_dir(world.at("user/data")).unwrap();
    let missing = world.at("missing");
    let yaml = format!(
        "terminal:\n  docker_volumes: [nocolon, 7, '', '~/data:/data:ro', '{}:/m']\n",
        missing.display()
    );
    world.settings = settings(&world, &yaml, &[]).unwrap();
    world.settings.orphan_reaper = false;
    let sandbox = world.sandbox();
    let plan = sandbox.host().plan(sandbox.request()).unwrap();
    assert_eq!(plan.warnings.len(), 3, "{:?}", plan.warnings);
    sandbox.ensure().unwrap();
    let line = engine.calls_of("run")[0].line();
    let mounted = format!("-v {}:/data:ro", world.at("user/data").display());
    assert!(line.contains(&mounted), "{line}");
    assert!(!line.contains(":/m"), "{line}");
    assert!(!missing.exists());
}

pub(crate) fn settings(
    world: &DockerWorld,
    yaml: &str,
    env: &[(&str, &str)],
) -> Result<DockerSettings, DockerError> {
    std::fs::write(world.home().join("config.yaml"), yaml).unwrap();
    let sources = Sources {
        env: Environment::from_pairs(env.iter().copied()),
        home: world.home(),
        managed_dir: None,
        tighten_dotenv: false,
    };
    DockerSettings::from_config(&Config::load_read_only(&sources))
}

#[test]
fn credentials_are_mounted_read_only_or_not_at_all() {
    // check 37
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    for name in ["google_token.json", "auth.json"] {
        std::fs::write(world.home().join(name), "{}").unwrap();
    }
    std::fs::write(world.at("outside"), "x").unwrap();
    std::os::unix::fs::symlink(world.at("outside"), world.home().join("link")).unwrap();
    world.settings.credential_files = [
        "google_token.json",
        "../../.ssh/id_rsa",
        "/etc/passwd",
        "auth.json",
        "link",
    ]
    .map(str::to_owned)
    .into();
    let sandbox = world.sandbox_of("t");
    let plan = sandbox.host().plan(sandbox.request()).unwrap();
    assert_eq!(plan.warnings.len(), 4, "{:?}", plan.warnings);
    sandbox.ensure().unwrap();
    let line = engine.calls_of("run")[0].line();
    let token = world.home().join("google_token.json");
    let mounted = format!("-v {}:/root/.hermes/google_token.json:ro", token.display());
    assert!(line.contains(&mounted), "{line}");
    for part in ["auth.json", "id_rsa", "passwd", "link"] {
        assert!(!line.contains(part), "{part} in {line}");
    }
}

#[test]
fn skills_with_links_are_mounted_as_a_copy() {
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    let skills = world.home().join("skills");
    std::fs::create_dir(&skills).unwrap();
    std::fs::write(skills.join("a.md"), "a").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", skills.join("b.md")).unwrap();
    world.sandbox().ensure().unwrap();
    let line = engine.calls_of("run")[0].line();
    let copies = world.home().join("cache/sandbox-skills");
    let copy = std::fs::read_dir(&copies)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mounted = format!("-v {}:/root/.hermes/skills:ro", copy.display());
    assert!(line.contains(&mounted), "{line}");
    assert!(copy.join("a.md").exists() && !copy.join("b.md").exists());
}

#[test]
fn in_a_container_sources_are_those_of_the_host() {
    // check 38
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    world.is_container = true;
    std::fs::create_dir(world.home().join("skills")).unwrap();
    std::fs::create_dir_all(world.at("fs/etc")).unwrap();
    std::fs::write(world.at("fs/etc/hostname"), "0123456789ab\n").unwrap();
    let own = serde_json::json!([{"Id": full_id('0'), "Mounts": [
        {"Type": "bind", "Source": "/srv/hermes", "Destination": world.home()},
    ]}]);
    engine.print("inspect", &own.to_string());
    world.sandbox().ensure().unwrap();
    let line = engine.calls_of("run")[0].line();
    assert!(
        line.contains("-v /srv/hermes/skills:/root/.hermes/skills:ro"),
        "{line}"
    );
    assert!(
        line.contains("-v /srv/hermes/sandboxes/docker/default/home:/root"),
        "{line}"
    );

    engine.fail("inspect", 1, "Error: No such object: 0123456789ab");
    engine.forget();
    let sandbox = world.sandbox();
    let plan = sandbox.host().plan(sandbox.request()).unwrap();
    assert_eq!(plan.warnings.len(), 3, "{:?}", plan.warnings);
    sandbox.ensure().unwrap();
    let line = engine.calls_of("run")[0].line();
    assert!(!line.contains(" -v "), "{line}");
}
