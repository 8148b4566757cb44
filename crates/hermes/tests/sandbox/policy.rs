//! Settings, refusals and what people are told.

use std::os::unix::fs::symlink;

use serde_json::Value;

use super::world::{User, World};

fn policy(world: &World) -> Value {
    let output = world.hermes(&["sandbox", "policy", "--json"]).run();
    assert_eq!(output.code, Some(0), "{output:?}");
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn the_policy_is_printed_for_people_and_programs() {
    let world = World::new(User::Own, "terminal: {sandbox_network: off}\n");
    let shown = policy(&world);
    assert_eq!(shown["mode"], "auto");
    assert_eq!(shown["network"], "off");
    assert!(
        shown["enforced"]["landlock"].as_u64().unwrap() >= 1,
        "{shown}"
    );
    let workspace = world.work("");
    let workspace = workspace.display().to_string();
    let workspace = workspace.trim_end_matches('/');
    assert_eq!(shown["writable"][0]["path"], workspace);
    assert_eq!(shown["writable"][0]["reason"], "workspace");
    let hidden = shown["hidden"].to_string();
    for name in [".ssh", ".aws", ".netrc", "profiles/other", ".env"] {
        assert!(hidden.contains(name), "{name}: {hidden}");
    }
    let text = world.hermes(&["sandbox", "policy"]).run();
    for part in [
        "May be written",
        "Cannot be seen",
        "network: off",
        workspace,
    ] {
        assert!(text.stdout.contains(part), "{part}: {}", text.stdout);
    }
    let receipt = world
        .hermes(&["doctor", "--child-env", "A", "--json"])
        .run();
    let receipt: Value = serde_json::from_str(&receipt.stdout).unwrap();
    assert_eq!(receipt["sandbox"]["writable"], shown["writable"]);
    let doctor = world.hermes(&["doctor", "--json"]).run();
    assert!(doctor.stdout.contains("\"sandbox\""), "{}", doctor.stdout);
}

#[test]
fn a_workspace_that_holds_a_home_is_not_writable_and_named() {
    let world = World::new(User::Own, "");
    let user_home = world.home.user_home();
    symlink(&user_home, world.work("link")).unwrap();
    for directory in [user_home, world.home.root(), "/".into(), world.work("link")] {
        let call = world
            .hermes(&["exec", "--sandbox", "on", "--", "echo x > escaped"])
            .in_directory(&directory);
        let output = call.run();
        assert_eq!(output.code, Some(1), "{}: {output:?}", directory.display());
        assert!(!directory.join("escaped").exists());
        let shown = world
            .hermes(&["sandbox", "policy", "--json"])
            .in_directory(&directory)
            .run();
        assert!(
            shown
                .stdout
                .contains("sandboxed commands cannot write there"),
            "{}: {}",
            directory.display(),
            shown.stdout
        );
    }
}

#[test]
fn a_write_list_loses_what_is_not_allowed_and_says_so() {
    let world = World::new(User::Own, "");
    let data = world.home.outside("data");
    std::fs::create_dir(&data).unwrap();
    world.home.put(
        "config.yaml",
        format!(
            "terminal:\n  sandbox: on\n  sandbox_write: ['{}', /, relative, /missing/dir, ~/.ssh, 3]\n",
            data.display()
        ),
    );
    let shown = policy(&world);
    let warnings = shown["warnings"].to_string();
    for part in [
        "root of the file system",
        "not an absolute path",
        "does not exist",
        "keys",
        "3 is not a path",
    ] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    let mut talk = world.talk();
    talk.works(&format!("echo x > '{}/f'", data.display()));
    assert_ne!(talk.run("echo x > ~/.ssh/new")["exit_code"], 0);
}

#[test]
#[cfg(debug_assertions)]
fn a_kernel_without_means_is_refused_or_named() {
    let without = |parts: &str| World::new(User::Own, "").env("HERMES_TEST_SANDBOX_WITHOUT", parts);
    let world = without("landlock,namespaces");
    let output = world
        .hermes(&["exec", "--sandbox", "on", "--", "touch made"])
        .run();
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(
        output.stderr.contains("cannot confine commands"),
        "{}",
        output.stderr
    );
    assert!(!world.work("made").exists());
    // What nobody can approve is refused as ever.
    let denied = world.run("python3 -c 'print(1)'");
    assert_eq!(denied["status"], "blocked", "{denied}");
    let doctor = world.hermes(&["doctor", "--json"]).run();
    assert!(
        doctor.stdout.contains("cannot confine commands"),
        "{}",
        doctor.stdout
    );
    for (parts, gap, wall) in [
        ("namespaces", "sockets", "Permission denied"),
        ("landlock", "signals", "Read-only file system"),
        ("landlock-3", "abstract-sockets", "Read-only file system"),
    ] {
        let world = without(parts);
        let shown = policy(&world);
        assert!(
            shown["not_enforced"].to_string().contains(gap),
            "{parts}: {shown}"
        );
        let doctor = world.hermes(&["doctor", "--json"]).run();
        assert!(
            doctor.stdout.contains("not enforced: "),
            "{}",
            doctor.stdout
        );
        let output = world
            .hermes(&[
                "exec",
                "--sandbox",
                "on",
                "--",
                "echo x > ~/outside/canary; cat ~/.ssh/id_rsa",
            ])
            .run();
        assert_ne!(output.code, Some(0), "{parts}: {output:?}");
        assert!(output.stdout.contains(wall), "{parts}: {}", output.stdout);
        assert!(
            !output.stdout.contains("canary\n"),
            "{parts}: {}",
            output.stdout
        );
        let inside = world
            .hermes(&["exec", "--sandbox", "on", "--", "echo x > f && cat f"])
            .run();
        assert_eq!(inside.code, Some(0), "{parts}: {inside:?}");
    }
}

#[test]
fn flagged_commands_of_scripts_run_sandboxed_and_others_plainly() {
    let world = World::new(User::Own, "");
    let mut talk = world.talk();
    for command in [
        "python3 -c 'print(1)'",
        "mkdir build; rm -rf build",
        "git init -q .; git reset --hard",
    ] {
        let result = talk.run(command);
        assert_eq!(result["sandboxed"], true, "{command}: {result}");
        assert!(
            result["approval"].to_string().contains("sandbox"),
            "{result}"
        );
    }
    assert!(talk.run("echo plain").get("sandboxed").is_none());
    // What is never allowed stays so.
    let hardline = talk.run("rm -rf /");
    assert_eq!(hardline["hardline"], true, "{hardline}");
    world.home.put("config.yaml", "terminal: {sandbox: off}\n");
    let denied = world.run("python3 -c 'print(1)'");
    assert_eq!(denied["status"], "blocked", "{denied}");
    world.home.put(
        "config.yaml",
        "terminal: {sandbox: on}\napprovals: {deny: ['curl *']}\n",
    );
    let denied = world.run("curl http://localhost");
    assert_eq!(denied["status"], "blocked", "{denied}");
    let hardline = world.run("rm -rf /");
    assert_eq!(hardline["hardline"], true, "{hardline}");
}

#[test]
fn the_wall_is_named_with_the_setting_that_opens_it() {
    let world = World::new(User::Own, "terminal: {sandbox: on, sandbox_network: off}\n");
    let mut talk = world.talk();
    for (command, part) in [
        ("echo x > /opt/x", "terminal.sandbox_write"),
        ("cat ~/.ssh/id_rsa", "is private"),
        ("echo x > ~/x", "no setting allows it"),
        (
            "bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'",
            "terminal.sandbox_network is off",
        ),
    ] {
        let result = talk.run(command);
        let hint = result["hint"].as_str().unwrap_or_default();
        assert!(
            hint.contains(part) && !hint.contains('\n'),
            "{command}: {result}"
        );
    }
    assert!(talk.run("false").get("hint").is_none());
}
