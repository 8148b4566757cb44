use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::host_paths::HostPaths;
use crate::plan::{HostFacts, SandboxRequest};
use crate::settings::DockerSettings;
use crate::settings::tests::defaults;

type Change = fn(&mut DockerSettings);

fn plan_with(change: impl FnOnce(&mut DockerSettings)) -> SandboxPlan {
    let home = Path::new("/nowhere/hermes");
    let mut settings = defaults(home);
    settings.image = "img".to_owned();
    settings.volumes = vec!["/tmp:/data".to_owned()];
    change(&mut settings);
    let facts = HostFacts {
        hermes_home: home.to_owned(),
        profile: "default".to_owned(),
        user_home: PathBuf::from("/nowhere/user"),
        protected: hermes_policy::ProtectedHomes::default(),
        start_directory: None,
        is_container: false,
        file_system_root: PathBuf::from("/"),
    };
    let request = SandboxRequest::of("default");
    SandboxPlan::new(&settings, &request, &facts, &HostPaths::same(&[])).unwrap()
}

/// What `inspect` says of a container made from a plan.
fn made_from(plan: &SandboxPlan, labelled: bool) -> Value {
    let mounts: Vec<Value> = plan
        .mounts
        .iter()
        .map(|mount| {
            json!({
                "Type": "bind", "Source": mount.engine_source(),
                "Destination": mount.target, "RW": !mount.is_read_only(),
            })
        })
        .collect();
    let env: Vec<String> = plan.env.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let labels = if labelled {
        json!({"hermes-fingerprint": fingerprint(plan)})
    } else {
        json!({})
    };
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    let nano_cpus = (plan.limits.cpus * 1e9) as i64;
    json!({
        "Id": "x",
        "Config": {
            "Image": plan.image, "Env": env, "Labels": labels,
            "User": plan.user.map(|(u, g)| format!("{u}:{g}")).unwrap_or_default(),
        },
        "HostConfig": {
            "NetworkMode": if plan.network { "default" } else { "none" },
            "CapAdd": capabilities(plan), "NanoCpus": nano_cpus,
            "Memory": plan.limits.memory_mb * MEGABYTE, "PidsLimit": plan.limits.pids,
        },
        "Mounts": mounts,
    })
}

fn drift(wanted: &SandboxPlan, container: &Value) -> Drift {
    Drift::between(wanted, &ContainerFacts::read(container).unwrap())
}

#[test]
fn a_container_made_from_the_plan_has_none() {
    let plan = plan_with(|_| {});
    for labelled in [true, false] {
        assert_eq!(drift(&plan, &made_from(&plan, labelled)), Drift::default());
    }
    let user = plan_with(|s| s.run_as_host_user = true);
    assert_eq!(drift(&user, &made_from(&user, false)), Drift::default());
}

#[test]
fn limits_are_changed_in_place() {
    let old = plan_with(|_| {});
    let new = plan_with(|s| {
        s.cpus = 0.5;
        s.memory_mb = 1024;
        s.pids_limit = 99;
    });
    let found = drift(&new, &made_from(&old, true));
    assert_eq!(
        found.update.join(" "),
        "--cpus 0.5 --memory 1024m --memory-swap 2048m --pids-limit 99"
    );
    assert_eq!(found.keys, [] as [&str; 0]);
    assert_eq!(
        found.all_keys(),
        ["container_cpu", "container_memory", "docker_pids_limit"]
    );
    let unlimited = plan_with(|s| {
        s.cpus = 0.0;
        s.memory_mb = 0;
        s.pids_limit = 0;
    });
    let found = drift(&unlimited, &made_from(&old, true));
    assert_eq!(
        found.update,
        ["--pids-limit", "-1"],
        "others cannot be lifted"
    );
    let own = plan_with(|s| {
        s.memory_mb = 7;
        s.cpus = 7.0;
        s.pids_limit = 7;
        s.extra_args = ["--memory", "1g", "--cpus=2", "--pids-limit", "5"]
            .map(str::to_owned)
            .into();
    });
    let found = drift(&own, &made_from(&old, true));
    assert_eq!(
        found.update,
        [] as [&str; 0],
        "the user's own arguments decide"
    );
}

#[test]
fn less_rights_than_before_mean_a_new_container() {
    let before = plan_with(|s| {
        s.extra_args = vec!["--cap-add".to_owned(), "SYS_ADMIN".to_owned()];
    });
    let cases: [(Change, &str); 5] = [
        (|s| s.network = false, "docker_network"),
        (|s| s.volumes.clear(), "docker_volumes"),
        (
            |s| s.volumes = vec!["/tmp:/data:ro".to_owned()],
            "docker_volumes",
        ),
        (|s| s.run_as_host_user = true, "docker_run_as_host_user"),
        (|s| s.extra_args.clear(), "docker_extra_args"),
    ];
    for (change, key) in cases {
        for labelled in [true, false] {
            let after = plan_with(|s| {
                s.extra_args = vec!["--cap-add".to_owned(), "SYS_ADMIN".to_owned()];
                change(s);
            });
            let found = drift(&after, &made_from(&before, labelled));
            assert!(found.tightened.contains(&key), "{key}: {found:?}");
        }
    }
    let mut privileged = made_from(&plan_with(|_| {}), true);
    privileged["HostConfig"]["Privileged"] = json!(true);
    privileged["Config"]["Labels"]["hermes-fingerprint"] = json!("0000000000000000");
    assert_eq!(
        drift(&plan_with(|_| {}), &privileged).tightened,
        ["docker_extra_args"]
    );
}

#[test]
fn a_network_that_cannot_be_read_counts_as_one() {
    let plan = plan_with(|s| s.network = false);
    let mut container = made_from(&plan, true);
    container["HostConfig"]["NetworkMode"] = json!(null);
    assert_eq!(drift(&plan, &container).tightened, ["docker_network"]);
    let open = plan_with(|_| {});
    let closed = made_from(&plan, true);
    let found = drift(&open, &closed);
    assert_eq!(found.tightened, [] as [&str; 0], "a closed one is kept");
}

#[test]
fn a_disk_that_is_not_plugged_in_is_no_reason_to_throw_a_sandbox_away() {
    let before = plan_with(|_| {});
    let mut container = made_from(&before, true);
    let binds = container["Mounts"].as_array_mut().unwrap();
    binds.push(
        json!({"Type": "bind", "Source": "/missing/disk", "Destination": "/disk", "RW": true}),
    );
    let now = plan_with(|s| s.volumes.push("/missing/disk:/disk".to_owned()));
    assert_eq!(now.missing.len(), 1);
    assert_eq!(drift(&now, &container).tightened, [] as [&str; 0]);
    let removed = plan_with(|_| {});
    let mut relabelled = container.clone();
    relabelled["Config"]["Labels"]["hermes-fingerprint"] = json!("0");
    assert_eq!(drift(&removed, &relabelled).tightened, ["docker_volumes"]);
}

#[test]
fn everything_else_is_named_and_left_to_the_user() {
    let before = plan_with(|_| {});
    let cases: [(Change, &[&str]); 5] = [
        (|s| s.image = "other".to_owned(), &["docker_image"]),
        (
            |s| s.volumes.push("/var:/var2".to_owned()),
            &["docker_volumes"],
        ),
        (
            |s| s.env = [("A".to_owned(), "1".to_owned())].into(),
            &["docker_env"],
        ),
        (
            |s| s.extra_args = vec!["--shm-size=1g".to_owned()],
            &["docker_env", "docker_extra_args"],
        ),
        (
            |s| s.container_persistent = false,
            &["container_persistent"],
        ),
    ];
    for (change, keys) in cases {
        let found = drift(&plan_with(change), &made_from(&before, true));
        assert_eq!(found.keys, keys);
        assert_eq!(found.tightened, [] as [&str; 0]);
    }
}

#[test]
fn one_image_has_several_names() {
    for (one, other) in [
        ("debian", "docker.io/library/debian:latest"),
        ("me/img:1", "docker.io/me/img:1"),
        ("img:1", "localhost/img:1"),
        ("localhost:5000/img", "localhost:5000/img:latest"),
    ] {
        assert_eq!(full_image_name(one), full_image_name(other));
    }
    assert_ne!(full_image_name("a:1"), full_image_name("a:2"));
    assert_ne!(full_image_name("a"), full_image_name("a@sha256:00"));
}

#[test]
fn turned_off_automatic_mounts_are_taken_away() {
    let before = plan_with(|_| {});
    let mut container = made_from(&before, true);
    let binds = container["Mounts"].as_array_mut().unwrap();
    binds.push(json!({
        "Type": "bind", "Source": "/nowhere/hermes/skills",
        "Destination": "/root/.hermes/skills", "RW": false,
    }));
    container["Config"]["Labels"]["hermes-fingerprint"] = json!("0");
    let off = plan_with(|s| s.auto_mounts = false);
    assert_eq!(drift(&off, &container).tightened, ["docker_auto_mounts"]);
    assert_eq!(drift(&before, &container).tightened, [] as [&str; 0]);
}
