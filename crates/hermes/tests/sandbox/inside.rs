//! The sandbox where something else confines Hermes already: in a container, and in a sandbox.

use std::path::Path;

use hermes_testkit::{EngineImage, RealEngine};

use crate::world::{User, World, read};

/// Tries the workspace, the user's secret and a file outside; prints what is enforced.
const SCRIPT: &str = "mkdir -p ~/work ~/.ssh && echo canary > ~/.ssh/id_rsa && cd ~/work || exit
hermes exec --sandbox on -- 'echo inside > f; cat f; cat ~/.ssh/id_rsa; echo x > ~/made; echo x > /tmp/made'
ls ~/made /tmp/made
hermes sandbox policy";

/// What the script prints in a container with these options.
fn in_container(options: &[&str]) -> String {
    let program = format!("{}:/hermes/hermes:ro", env!("CARGO_BIN_EXE_hermes"));
    let mut args = vec![
        "run",
        "--rm",
        "-e",
        "HOME=/tmp/user",
        "-v",
        program.as_str(),
    ];
    // The libraries that the program was built against.
    let libraries: Vec<String> = ["/usr", "/lib", "/lib64"]
        .into_iter()
        .filter(|directory| Path::new(directory).is_dir())
        .map(|directory| format!("{directory}:{directory}:ro"))
        .collect();
    for library in &libraries {
        args.extend(["-v", library.as_str()]);
    }
    args.extend(options);
    let script = format!("export PATH=/hermes:/usr/bin:/bin; exec 2>&1\n{SCRIPT}");
    args.extend([EngineImage::Shell.name(), "bash", "-c", script.as_str()]);
    RealEngine::Docker.ask(&args).1
}

#[track_caller]
fn assert_confined(shown: &str) {
    assert!(shown.starts_with("inside\n"), "{shown}");
    assert!(!shown.contains("canary"), "{shown}");
    for made in ["/tmp/user/made", "/tmp/made"] {
        let missing = format!("cannot access '{made}'");
        assert!(shown.contains(&missing), "{made}: {shown}");
    }
}

#[test]
fn docker_containers_get_a_smaller_protection_that_is_named() {
    for options in [
        &[][..],
        &["--user", "65534:65534"],
        &["--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
    ] {
        let shown = in_container(options);
        assert_confined(&shown);
        assert!(shown.contains("not enforced: sockets"), "{shown}");
        assert!(shown.contains("no mount namespace"), "{shown}");
    }
}

#[test]
fn docker_containers_that_may_make_namespaces_get_the_whole_protection() {
    let shown = in_container(&["--security-opt", "seccomp=unconfined"]);
    assert_confined(&shown);
    assert!(shown.contains("a mount namespace"), "{shown}");
    assert!(!shown.contains("not enforced"), "{shown}");
}

#[test]
fn a_sandbox_in_a_sandbox_takes_away_more_and_names_what_it_lacks() {
    for user in [User::Own, User::Nobody] {
        let world = World::new(user, "");
        let inner_home = world.home.outside("inner");
        std::fs::create_dir(&inner_home).unwrap();
        world.home.put(
            "config.yaml",
            format!(
                "terminal: {{sandbox: on, sandbox_write: ['{}']}}\n",
                inner_home.display()
            ),
        );
        world.give();
        // The build may lie where only root gets to.
        let hermes = world.home.outside("hermes");
        std::fs::copy(env!("CARGO_BIN_EXE_hermes"), &hermes).unwrap();
        let hermes = hermes.display();
        let inner = format!("HERMES_HOME='{}' {hermes}", inner_home.display());
        let mut talk = world.talk();
        let shown = talk.works(&format!(
            "{inner} exec --sandbox on -- 'echo inside > f; cat f; echo x > sub/../../outer'; \
             {inner} sandbox policy"
        ));
        assert_eq!(read(&world.work("f")), "inside\n");
        assert!(!world.home.outside("outer").exists());
        assert!(shown.contains("not enforced: sockets"), "{user:?}: {shown}");
        // Its own home is out of reach, and that is said instead of running unprotected.
        let shown = talk.run(&format!("{hermes} exec --sandbox on -- 'touch made'"));
        assert_eq!(shown["exit_code"], 3, "{shown}");
        assert!(!world.work("made").exists());
    }
}
