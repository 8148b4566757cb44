//! Managing sandboxes, against an engine that notes its calls.

use std::time::Duration;

use hermes_docker::manage::{self, PruneRequest, Scope};
use hermes_docker::{DockerError, HomeOf, labels};
use hermes_terminal::remote::Transport;
use hermes_testkit::{EngineCall, FakeEngine};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::docker_world::{DockerWorld, FakeEngineExt, full_id, made_by};

fn used_once() -> (FakeEngine, DockerWorld, EngineCall) {
    let engine = FakeEngine::new();
    let world = DockerWorld::faked(&engine);
    world.sandbox().ensure().unwrap();
    let run = engine.calls_of("run")[0].clone();
    engine.forget();
    (engine, world, run)
}

fn finished(mut container: Value, seconds_ago: i64) -> Value {
    let then = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds_ago);
    container["State"]["FinishedAt"] = json!(then.to_string());
    container
}

#[test]
fn the_list_has_the_fields_that_scripts_read() {
    let (engine, mut world, run) = used_once();
    let mut other = made_by(&run, &full_id('b'), "exited");
    other["Config"]["Labels"][labels::HOME] = json!("bbbbbbbbbbbb");
    engine.have(&[made_by(&run, &full_id('a'), "running"), other]);
    world.settings.image = "other".to_owned();
    let listing = manage::list(&world.host(), &Scope::ThisProfile).unwrap();
    let shown = serde_json::to_value(&listing).unwrap();
    assert_eq!(
        shown["engine"],
        json!({"binary": engine.program(), "kind": "docker", "version": "20.10"})
    );
    let first = &shown["sandboxes"][0];
    let fields: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "id",
            "name",
            "state",
            "task_id",
            "profile",
            "image",
            "created_at",
            "finished_at",
            "last_used_at",
            "network",
            "mounts",
            "drift",
            "home",
        ]
    );
    assert_eq!(first["task_id"], "default");
    assert_eq!(first["drift"], json!(["docker_image"]));
    assert_eq!(first["home"], "this");
    assert!(first["last_used_at"].is_string());
    assert_eq!(
        first["mounts"][0],
        json!({
            "source": world.home().join("sandboxes/docker/default/home"),
            "target": "/root", "ro": false,
        })
    );
    assert_eq!(
        shown["sandboxes"].as_array().unwrap().len(),
        1,
        "of another home"
    );
    assert_eq!(shown.get("left_out"), None);
}

#[test]
fn containers_of_other_homes_are_listed_on_request_and_marked() {
    let (engine, world, run) = used_once();
    let labelled = |digit, home: &str| {
        let mut container = made_by(&run, &full_id(digit), "exited");
        container["Config"]["Labels"][labels::HOME] = json!(home);
        container
    };
    let sibling = world.home().join("profiles/sibling");
    let mut untold = labelled('d', "");
    untold["Mounts"] = json!([]);
    engine.have(&[
        made_by(&run, &full_id('a'), "running"),
        labelled('b', "bbbbbbbbbbbb"),
        labelled('c', &labels::home_key(&sibling)),
        untold,
    ]);
    let listed = |scope: &Scope| {
        let listing = manage::list(&world.host(), scope).unwrap();
        let shown = listing.sandboxes.iter();
        let digits: String = shown.map(|row| row.id.chars().next().unwrap()).collect();
        (digits, listing.left_out)
    };
    assert_eq!(listed(&Scope::ThisProfile), ("ad".to_owned(), 2));
    let profiles = Scope::AllProfiles {
        homes: vec![sibling],
    };
    assert_eq!(listed(&profiles), ("acd".to_owned(), 1));
    let asked = engine.calls_of("ps").last().unwrap().line();
    assert!(!asked.contains("hermes-profile"), "{asked}");
    assert_eq!(listed(&Scope::AllHomes), ("abcd".to_owned(), 0));
    let all = manage::list(&world.host(), &Scope::AllHomes).unwrap();
    let homes: Vec<HomeOf> = all.sandboxes.iter().map(|row| row.home).collect();
    assert_eq!(
        homes,
        [HomeOf::This, HomeOf::Other, HomeOf::Other, HomeOf::Unknown]
    );
    assert_eq!(all.sandboxes[1].drift, Vec::<String>::new());
}

#[test]
fn an_engine_that_does_not_answer_is_a_missing_part() {
    let engine = FakeEngine::new();
    engine.fail("version", 1, "Cannot connect to the Docker daemon");
    let world = DockerWorld::faked(&engine);
    let error = manage::list(&world.host(), &Scope::ThisProfile).unwrap_err();
    assert!(error.is_missing_part());
}

#[test]
fn stop_and_reset_act_on_this_task_of_this_home_only() {
    let (engine, world, run) = used_once();
    let mut other = made_by(&run, &full_id('b'), "running");
    other["Config"]["Labels"][labels::HOME] = json!("bbbbbbbbbbbb");
    let ours = made_by(&run, &full_id('a'), "running");
    let ended = made_by(&run, &full_id('c'), "exited");
    engine.have(&[ours, other, ended]);
    let ids =
        |changed: &[manage::Changed]| changed.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    assert_eq!(
        ids(&manage::stop(&world.host(), "default").unwrap()),
        [full_id('a')]
    );
    assert_eq!(
        ids(&manage::reset(&world.host(), "default").unwrap()),
        [full_id('a'), full_id('c')]
    );
    let removed: Vec<String> = engine.calls_of("rm").iter().map(EngineCall::line).collect();
    assert_eq!(
        removed,
        [
            format!("rm -f {}", full_id('a')),
            format!("rm -f {}", full_id('c'))
        ]
    );
    assert!(world.home().join("sandboxes/docker/default/home").is_dir());
    engine.fail("stop", 1, "no");
    assert!(manage::stop(&world.host(), "default").is_err());
}

#[test]
fn purge_takes_the_directory_unless_someone_uses_it() {
    let (engine, world, run) = used_once();
    engine.have(&[made_by(&run, &full_id('a'), "running")]);
    let directory = world.home().join("sandboxes/docker/default");
    std::fs::write(directory.join("home/file"), "x").unwrap();
    let user = world.sandbox();
    user.ensure().unwrap();
    let refused = manage::purge(&world.host(), "default").unwrap_err();
    assert!(matches!(refused, DockerError::InUse { .. }), "{refused}");
    assert!(directory.join("home/file").exists());
    assert_eq!(engine.calls_of("rm").len(), 0);
    drop(user);
    let removed = manage::purge(&world.host(), "default").unwrap();
    assert_eq!(removed.directory.as_deref(), Some(directory.as_path()));
    assert_eq!(removed.containers.len(), 1);
    assert!(!directory.exists());
    assert!(world.home().join("sandboxes/docker").exists());
}

#[test]
fn prune_removes_the_old_and_says_why_it_keeps_the_rest() {
    let (engine, world, run) = used_once();
    let of = |digit: char, state: &str| made_by(&run, &full_id(digit), state);
    let mut foreign = finished(of('d', "exited"), 9000);
    foreign["Config"]["Labels"][labels::HOME] = json!("bbbbbbbbbbbb");
    engine.have(&[
        finished(of('a', "exited"), 9000),
        finished(of('b', "exited"), 10),
        of('c', "running"),
        foreign,
    ]);
    let request = |dry_run, running| PruneRequest {
        scope: Scope::ThisProfile,
        older_than: None,
        running,
        dry_run,
    };
    let dry = manage::prune(&world.host(), &request(true, false)).unwrap();
    assert_eq!(dry.removed, [full_id('a')]);
    assert_eq!(engine.calls_of("rm").len(), 0, "a dry run changes nothing");
    let kept: Vec<&str> = dry.kept.iter().map(|kept| kept.reason.as_str()).collect();
    assert!(kept[0].starts_with("it ended 1"), "{kept:?}");
    assert_eq!(kept[1..], ["it is running", "it belongs to another home"]);
    let shown = serde_json::to_value(&dry).unwrap();
    let fields: Vec<&String> = shown["kept"][0].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["id", "reason"]);

    let done = manage::prune(&world.host(), &request(false, true)).unwrap();
    assert_eq!(done.removed, [full_id('a')]);
    assert!(done.kept[1].reason.contains("last used"), "{:?}", done.kept);
    let all = PruneRequest {
        older_than: Some(Duration::ZERO),
        ..request(false, true)
    };
    engine.forget();
    let done = manage::prune(&world.host(), &all).unwrap();
    assert_eq!(done.removed, [full_id('a'), full_id('b'), full_id('c')]);
    let user = world.sandbox();
    user.ensure().unwrap();
    let done = manage::prune(&world.host(), &all).unwrap();
    assert_eq!(done.removed, [] as [&str; 0], "{done:?}");
    assert_eq!(done.kept[0].reason, "a running Hermes process uses it");
}

#[test]
fn homes_of_the_installation_count_as_its_own_when_all_profiles_are_meant() {
    let (engine, world, run) = used_once();
    let mut profile = finished(made_by(&run, &full_id('a'), "exited"), 9000);
    profile["Config"]["Labels"][labels::HOME] = json!(labels::home_key(&world.at("project")));
    engine.have(&[profile]);
    let prune = |scope| {
        let request = PruneRequest {
            scope,
            older_than: None,
            running: false,
            dry_run: true,
        };
        manage::prune(&world.host(), &request)
            .unwrap()
            .removed
            .len()
    };
    assert_eq!(prune(Scope::ThisProfile), 0);
    assert_eq!(prune(Scope::AllProfiles { homes: Vec::new() }), 0);
    let homes = vec![world.at("project")];
    assert_eq!(prune(Scope::AllProfiles { homes }), 1);
}

#[test]
fn processes_and_idle_sandboxes_are_counted() {
    let (engine, world, run) = used_once();
    engine.have(&[made_by(&run, &full_id('a'), "running")]);
    engine.print(
        "top",
        "UID PID CMD\nroot 1 /sbin/docker-init -- sleep infinity\nroot 2 sleep infinity\nroot 3 make\n",
    );
    assert_eq!(manage::processes(&world.host(), "default").unwrap(), 1);
    assert_eq!(
        manage::idle(&world.host(), Duration::from_mins(1)).unwrap(),
        []
    );
    let stamp = world.home().join("sandboxes/docker/default/.last_used");
    let long_ago = std::time::SystemTime::now() - Duration::from_hours(200);
    std::fs::File::options()
        .write(true)
        .open(stamp)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    let idle = manage::idle(&world.host(), Duration::from_hours(168)).unwrap();
    assert_eq!(idle.len(), 1);
}
