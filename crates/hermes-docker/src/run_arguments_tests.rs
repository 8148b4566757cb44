use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;

use super::*;
use crate::host_paths::HostPaths;
use crate::plan::{HostFacts, SandboxRequest};
use crate::settings::DockerSettings;
use crate::settings::tests::defaults;

const PLAIN: Circumstance = Circumstance {
    init: InitSource::Engine,
    limits: true,
    quota: false,
};

type Change = fn(&mut DockerSettings);

fn plan_with(change: impl FnOnce(&mut DockerSettings)) -> SandboxPlan {
    let home = Path::new("/nowhere/hermes");
    let mut settings = defaults(home);
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

fn run(plan: &SandboxPlan, circumstance: Circumstance) -> String {
    run_arguments(plan, "hermes-01234567", None, circumstance).join(" ")
}

#[test]
fn the_defaults_give_the_arguments_of_the_reference_in_its_order() {
    let plan = plan_with(|_| {});
    let print = fingerprint(&plan);
    let home = labels::home_key(Path::new("/nowhere/hermes"));
    let task = labels::task_key("default");
    let version = env!("CARGO_PKG_VERSION");
    let boxes = "/nowhere/hermes/sandboxes/docker/default";
    let expected = format!(
        "run -d --init --name hermes-01234567 \
         --label hermes-agent=1 --label hermes-task-id=default --label hermes-profile=default \
         --label hermes-home={home} --label hermes-fingerprint={print} \
         --label hermes-version={version} --label hermes-task-key={task} \
         -w /root \
         --cap-drop ALL --cap-add DAC_OVERRIDE --cap-add CHOWN --cap-add FOWNER \
         --security-opt no-new-privileges \
         --tmpfs /tmp:rw,nosuid,size=512m,exec --tmpfs /var/tmp:rw,noexec,nosuid,size=256m \
         --tmpfs /run:rw,noexec,nosuid,size=64m \
         --cap-add SETUID --cap-add SETGID \
         -v {boxes}/home:/root -v {boxes}/workspace:/workspace \
         --cpus 1 --memory 5120m --pids-limit 256 \
         nikolaik/python-nodejs:python3.11-nodejs20 sleep infinity"
    );
    assert_eq!(run(&plan, PLAIN), expected);
}

#[test]
fn everything_has_its_place() {
    let plan = plan_with(|settings| {
        settings.network = false;
        settings.run_as_host_user = true;
        settings.container_persistent = false;
        settings.cpus = 0.5;
        settings.memory_mb = 0;
        settings.pids_limit = 0;
        settings.volumes = vec!["data:/data".to_owned(), "more:/more:ro".to_owned()];
        settings.env = [("B", "2"), ("A", "1 2")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        settings.extra_args = vec!["--shm-size=1g".to_owned()];
        settings.image = "img".to_owned();
    });
    let (uid, gid) = plan.user.unwrap();
    let owner = format!("uid={uid},gid={gid},mode=0755");
    let args = run(
        &plan,
        Circumstance {
            quota: true,
            ..PLAIN
        },
    );
    let (_, tail) = args.split_once("size=64m ").unwrap();
    assert_eq!(
        tail,
        format!(
            "--user {uid}:{gid} \
             --tmpfs /workspace:rw,exec,size=10g,{owner} --tmpfs /home:rw,exec,size=1g,{owner} \
             --tmpfs /root:rw,exec,size=1g,{owner} \
             --cpus 0.5 --storage-opt size=51200m --network=none \
             -v data:/data -v more:/more:ro \
             -e A=1 2 -e B=2 -e HOME=/root \
             --shm-size=1g img sleep infinity"
        )
    );
    assert!(!args.contains("SETUID"));
}

#[test]
fn an_s6_image_keeps_its_own_init() {
    let circumstance = Circumstance {
        init: InitSource::Image,
        limits: false,
        ..PLAIN
    };
    let args = run(&plan_with(|_| {}), circumstance);
    assert!(
        !args.contains("--init") && !args.contains("--cpus"),
        "{args}"
    );
    assert!(
        args.contains("--tmpfs /run:rw,exec,nosuid,size=64m"),
        "{args}"
    );
    let forced = plan_with(|settings| settings.init = InitMode::Fixed(true));
    assert!(run(&forced, circumstance).contains("-d --init --name"));
    let without = plan_with(|settings| settings.init = InitMode::Fixed(false));
    assert!(!run(&without, PLAIN).contains("--init"));
}

#[test]
fn the_owner_is_a_label_of_containers_that_are_not_shared() {
    let plan = plan_with(|_| {});
    let args = run_arguments(&plan, "n", Some("m.b.n.1.2"), PLAIN).join(" ");
    assert!(args.contains("--label hermes-owner=m.b.n.1.2 -w"), "{args}");
}

#[test]
fn the_fingerprint_follows_what_a_container_is_made_of() {
    let before = fingerprint(&plan_with(|_| {}));
    assert_eq!(before.len(), 16);
    assert_eq!(before, fingerprint(&plan_with(|_| {})));
    let relevant: [Change; 8] = [
        |s| s.image = "other".to_owned(),
        |s| s.network = false,
        |s| s.run_as_host_user = true,
        |s| s.env = [("A".to_owned(), "1".to_owned())].into(),
        |s| s.extra_args = vec!["--shm-size=1g".to_owned()],
        |s| s.volumes = vec!["data:/data".to_owned()],
        |s| s.container_persistent = false,
        |s| s.init = InitMode::Fixed(false),
    ];
    let mut seen = vec![before.clone()];
    for change in relevant {
        let print = fingerprint(&plan_with(change));
        assert!(!seen.contains(&print));
        seen.push(print);
    }
    let irrelevant: [Change; 6] = [
        |s| s.cpus = 2.0,
        |s| s.memory_mb = 1,
        |s| s.pids_limit = 9,
        |s| s.cwd = "/srv".to_owned(),
        |s| s.forward = vec!["X".to_owned()],
        |s| s.disk_mb = 0,
    ];
    for change in irrelevant {
        assert_eq!(fingerprint(&plan_with(change)), before);
    }
}

#[test]
fn the_order_of_volumes_does_not_change_the_fingerprint_and_values_do() {
    let of = |volumes: &[&str]| {
        fingerprint(&plan_with(|settings| {
            settings.volumes = volumes.iter().map(|v| (*v).to_owned()).collect();
        }))
    };
    assert_eq!(of(&["a:/a", "b:/b"]), of(&["b:/b", "a:/a"]));
    assert_ne!(of(&["a:/a"]), of(&["a:/a:ro"]));
    let secret = plan_with(|settings| {
        settings.env = [("T".to_owned(), "s3cret".to_owned())].into();
    });
    let other = plan_with(|settings| {
        settings.env = [("T".to_owned(), "other".to_owned())].into();
    });
    assert_ne!(fingerprint(&secret), fingerprint(&other));
}
