use pretty_assertions::assert_eq;

use super::*;
use crate::host_access::host_access;
use crate::settings::tests::defaults;

struct TestHome {
    dir: tempfile::TempDir,
    settings: DockerSettings,
}

impl TestHome {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["hh", "user", "project"] {
            hermes_fs::create_dir(&dir.path().join(name), 0o700).unwrap();
        }
        let settings = defaults(&dir.path().join("hh"));
        Self { dir, settings }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn plan_for(&self, task: &str, host_paths: &HostPaths) -> Result<SandboxPlan> {
        let facts = HostFacts {
            hermes_home: self.at("hh"),
            profile: "default".to_owned(),
            user_home: self.at("user"),
            protected: hermes_policy::ProtectedHomes::default(),
            start_directory: Some(self.at("project")),
            is_container: false,
            file_system_root: PathBuf::from("/"),
        };
        SandboxPlan::new(
            &self.settings,
            &SandboxRequest::of(task),
            &facts,
            host_paths,
        )
    }

    fn plan(&self) -> SandboxPlan {
        self.plan_for("default", &HostPaths::same(&[])).unwrap()
    }

    /// Arguments of the mounts, with the directory of the test left out.
    fn mounts(&self, plan: &SandboxPlan) -> Vec<String> {
        let base = self.dir.path().display().to_string();
        let arguments = plan.mounts.iter().map(Mount::argument);
        arguments
            .map(|argument| argument.replace(&base, ""))
            .collect()
    }
}

#[test]
fn the_current_directory_takes_the_place_of_the_workspace() {
    let mut home = TestHome::new();
    home.settings.mount_cwd = true;
    let plan = home.plan();
    assert_eq!(
        home.mounts(&plan),
        [
            "/hh/sandboxes/docker/default/home:/root",
            "/project:/workspace"
        ]
    );
    assert_eq!(plan.directory, "/workspace");
    assert_eq!(plan.identity.bound_directory, Some(home.at("project")));
    assert_eq!(host_access(&plan, &[]), ["docker_mount_cwd_to_workspace"]);
}

#[test]
fn the_workspace_of_a_card_is_bound_and_its_container_goes() {
    let mut home = TestHome::new();
    hermes_fs::create_dir_all(&home.at("attached"), 0o700).unwrap();
    let facts = HostFacts {
        hermes_home: home.at("hh"),
        profile: "default".to_owned(),
        user_home: home.at("user"),
        protected: hermes_policy::ProtectedHomes::default(),
        start_directory: Some(home.at("user")),
        is_container: false,
        file_system_root: PathBuf::from("/"),
    };
    let request = SandboxRequest {
        workspace: Some(home.at("project")),
        attachments: Some(home.at("attached")),
        ..SandboxRequest::of("default")
    };
    let plan = |home: &TestHome| {
        SandboxPlan::new(&home.settings, &request, &facts, &HostPaths::same(&[])).unwrap()
    };
    let own = plan(&home);
    assert_eq!(
        home.mounts(&own),
        [
            "/hh/sandboxes/docker/default/home:/root",
            "/project:/workspace",
            "/attached:/root/.hermes/kanban/attachments:ro",
        ]
    );
    assert_eq!(
        (own.directory.as_str(), own.is_shared),
        ("/workspace", false)
    );
    // Where the user mounts something else there, it is the container of the profile.
    let other = home.at("attached").display().to_string();
    home.settings.volumes = vec![format!("{other}:/workspace")];
    let shared = plan(&home);
    assert!(shared.is_shared && shared.identity.bound_directory.is_none());
    assert!(home.plan().is_shared);
    // A whole home is not mounted for a card; for a conversation the user may want that.
    let user = home.at("user").display().to_string();
    home.settings.volumes = vec![format!("{user}:/all:ro"), "/:/host".to_owned()];
    let plan = plan(&home);
    assert_eq!(home.mounts(&plan), home.mounts(&own));
    for part in [
        "is the user's home directory",
        "is the root of the file system",
    ] {
        assert!(
            plan.warnings.iter().any(|text| text.contains(part)),
            "{part}"
        );
    }
    assert!(
        home.mounts(&home.plan())
            .contains(&"/user:/all:ro".to_owned())
    );
}

#[test]
fn a_volume_below_the_workspace_keeps_it_and_one_at_it_replaces_it() {
    let mut home = TestHome::new();
    let project = home.at("project").display().to_string();
    home.settings.volumes = vec![format!("{project}:/workspace/projects")];
    let mounts = home.mounts(&home.plan());
    assert!(mounts.contains(&"/hh/sandboxes/docker/default/workspace:/workspace".to_owned()));
    assert!(mounts.contains(&"/project:/workspace/projects".to_owned()));
    home.settings.volumes = vec![format!("{project}:/workspace")];
    assert_eq!(
        home.mounts(&home.plan()),
        [
            "/hh/sandboxes/docker/default/home:/root",
            "/project:/workspace"
        ]
    );
}

#[test]
fn no_task_makes_directories_elsewhere() {
    let home = TestHome::new();
    for task in ["task/with:weird*chars", "../../etc", "", ".."] {
        let plan = home.plan_for(task, &HostPaths::same(&[])).unwrap();
        let boxes = home.at("hh/sandboxes/docker");
        assert_eq!(
            plan.sandbox_directory.parent(),
            Some(boxes.as_path()),
            "{task}"
        );
    }
}

#[test]
fn a_network_of_the_users_own_contradicts_none_at_all() {
    let mut home = TestHome::new();
    home.settings.network = false;
    for argument in ["--network=host", "--network", "--net=bridge"] {
        home.settings.extra_args = vec![argument.to_owned()];
        let error = home
            .plan_for("t", &HostPaths::same(&[]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("docker_network") && error.contains("docker_extra_args"),
            "{error}"
        );
    }
}

#[test]
fn a_user_has_a_home_unless_the_settings_name_another() {
    let mut home = TestHome::new();
    home.settings.run_as_host_user = true;
    assert_eq!(
        home.plan().env.get("HOME").map(String::as_str),
        Some("/root")
    );
    home.settings.env = [("HOME".to_owned(), "/mine".to_owned())].into();
    assert_eq!(
        home.plan().env.get("HOME").map(String::as_str),
        Some("/mine")
    );
}

#[test]
fn sources_are_translated_or_left_out_with_a_warning() {
    let mut home = TestHome::new();
    hermes_fs::create_dir(&home.at("hh/skills"), 0o700).unwrap();
    home.settings.mount_cwd = true;
    home.settings.volumes = vec!["/on/the/host:/data".to_owned()];
    let paths = HostPaths::in_unknown_container(&[(home.at("hh"), "/srv/hermes".into())]);
    let plan = home.plan_for("default", &paths).unwrap();
    assert_eq!(
        home.mounts(&plan),
        [
            "/srv/hermes/sandboxes/docker/default/home:/root",
            "/on/the/host:/data",
            "/srv/hermes/skills:/root/.hermes/skills:ro",
        ]
    );
    assert_eq!(plan.warnings.len(), 1, "{:?}", plan.warnings);
    assert!(plan.warnings[0].contains("docker_host_path_map"));
    assert_eq!(plan.identity.bound_directory, None);
    let engine_dir = plan.engine_sandbox_dir.as_deref();
    assert_eq!(engine_dir, Some(Path::new("/srv/hermes/sandboxes/docker")));
}

#[test]
fn mounts_of_hermes_can_be_declined() {
    let mut home = TestHome::new();
    hermes_fs::create_dir(&home.at("hh/skills"), 0o700).unwrap();
    assert_eq!(home.plan().mounts.len(), 3);
    home.settings.auto_mounts = false;
    assert_eq!(home.plan().mounts.len(), 2);
}

#[test]
fn every_way_to_the_host_is_named() {
    let mut home = TestHome::new();
    let ways =
        |settings: &DockerSettings, home: &TestHome| host_access(&home.plan(), &settings.volumes);
    assert_eq!(ways(&home.settings, &home), [] as [&str; 0]);
    home.settings.volumes = vec!["named:/v".to_owned()];
    assert_eq!(ways(&home.settings, &home), [] as [&str; 0]);
    home.settings.volumes = vec!["~/x:/v".to_owned(), "C:\\x:/w".to_owned()];
    home.settings.extra_args = vec!["--privileged".to_owned()];
    assert_eq!(
        ways(&home.settings, &home),
        [
            "docker_volumes: ~/x:/v",
            "docker_volumes: C:\\x:/w",
            "docker_extra_args: --privileged"
        ]
    );
    home.settings.volumes.clear();
    home.settings.extra_args = vec!["-v".to_owned(), "/data:/data".to_owned()];
    assert_eq!(ways(&home.settings, &home).len(), 1);
}
