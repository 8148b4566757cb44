//! What lasts from one command to the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_terminal::shell::ShellFinder;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::world::World;

#[test]
fn the_directory_lasts_and_a_workdir_does_not() {
    let world = World::new();
    std::fs::create_dir(world.path("work/sub")).unwrap();
    let sub = world.path("work/sub").display().to_string();
    world.output("cd sub");
    assert_eq!(world.output("pwd"), sub);
    assert_eq!(
        world.call(json!({"command": "pwd", "workdir": "/tmp"}))["output"],
        "/tmp"
    );
    assert_eq!(world.output("pwd"), sub);
    assert_eq!(world.run("cd /tmp; exit 3")["exit_code"], 3);
    assert_eq!(world.output("pwd"), "/tmp");
    assert_eq!(world.run("set -e; cd /usr; false; cd /")["exit_code"], 1);
    assert_eq!(world.output("pwd"), "/usr");
    // A command that itself leaves its workdir takes the session along.
    world.call(json!({"command": "cd /var", "workdir": "/tmp"}));
    assert_eq!(world.output("pwd; cd - >/dev/null"), "/var");
    assert_eq!(world.output("pwd"), "/tmp");
    assert_eq!(
        world.call(json!({"command": "pwd", "workdir": "~"}))["output"],
        world.path("user").display().to_string()
    );
}

#[test]
fn odd_directory_names_are_names() {
    let world = World::new();
    for name in [
        "it's", "$HOME", "a b", "-x", "\"q\"", "`id`", "ünï", "*", "new;rm",
    ] {
        let path = world.path("work").join(name);
        std::fs::create_dir(&path).unwrap();
        let shown = path.display().to_string();
        assert_eq!(
            world.call(json!({"command": "pwd", "workdir": shown}))["output"],
            shown
        );
        assert_eq!(
            world.call(json!({"command": "pwd", "workdir": format!("./{name}")}))["output"],
            shown
        );
        world.call(json!({"command": format!("cd -- \"$D\""), "workdir": "/"}));
    }
    let bad = world.call(json!({"command": "echo ran > ran", "workdir": "/a\nb"}));
    assert_eq!(bad["status"], "blocked");
}

#[test]
fn a_directory_that_is_gone_is_replaced_and_the_result_says_so() {
    let world = World::new();
    world.output("mkdir -p a/b && cd a/b");
    std::fs::remove_dir_all(world.path("work/a")).unwrap();
    let result = world.run("pwd");
    assert_eq!(result["output"], world.path("work").display().to_string());
    assert!(result["cwd_note"].as_str().unwrap().contains("a/b"));
    assert_eq!(world.run("pwd").get("cwd_note"), None);
    let missing = world.call(json!({"command": "touch ran", "workdir": "/nowhere/at all"}));
    assert_eq!(missing["exit_code"], 126);
    assert!(
        missing["output"]
            .as_str()
            .unwrap()
            .contains("/nowhere/at all")
    );
    assert!(!world.path("work/ran").exists());
}

#[test]
fn variables_functions_and_aliases_last_and_the_rest_does_not() {
    let world = World::new();
    std::fs::write(
        world.path("user/.bashrc"),
        "greet() { echo \"hi $1\"; }\nalias ll='echo listed'\n_completion() { :; }\n__helper() { :; }\nexport FROM_RC=rc\ncd /\necho noise\n",
    )
    .unwrap();
    for _ in 0..10 {
        assert_eq!(
            world.output("greet you; ll; echo $FROM_RC; pwd"),
            format!("hi you\nlisted\nrc\n{}", world.path("work").display())
        );
    }
    assert_eq!(
        world.output("declare -F | cut -d' ' -f3"),
        "__helper\ngreet"
    );
    world.output("later() { cat <<E\n}\nlater () \nE\n}; alias two='echo 2'; export A=$'x\\ny' ODD=$'\\xff'; plain=1; set -f; umask 077; shopt -s nullglob");
    assert_eq!(world.output("later; two; echo \"$A\"; printf %s \"$ODD\" | od -An -tx1; echo [$plain] $-; umask; shopt nullglob || :"),
        "}\nlater () \n2\nx\ny\n ff\n[] hBc\n0022\nnullglob       \toff");
    world.output("unset A FROM_RC; unset -f greet; unalias ll");
    assert_eq!(
        world.output("echo [$A] [$FROM_RC]; type greet ll 2>&1 | grep -c 'not found'"),
        "[] []\n2"
    );
    world.output("export -f later");
    assert_eq!(world.output("bash -c later"), "}\nlater ()");
    world.output("exec true; :");
    world.output("export LOST=1; trap : EXIT");
    assert_eq!(world.output("echo [$LOST]"), "[]");
}

#[test]
fn commands_that_run_together_keep_what_each_exports() {
    let world = Arc::new(World::new());
    world.run("true");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let world = Arc::clone(&world);
            scope.spawn(move || world.output(&format!("export V{n}=1; sleep 0.2")));
        }
    });
    assert_eq!(world.output("echo $V0$V1$V2$V3$V4$V5$V6$V7"), "11111111");
}

#[test]
fn sessions_do_not_see_each_other_and_sub_agents_start_from_their_parent() {
    let world = World::new();
    let run = |session: &str, command: &str| {
        let result = world.call_in(session, json!({ "command": command }));
        result["output"].as_str().unwrap().to_owned()
    };
    for round in 0..3 {
        for session in ["a", "b"] {
            run(
                session,
                &format!(
                    "export MINE={session}{round}; f() {{ echo f-{session}; }}; mkdir -p {session}; cd {}/{session}",
                    world.path("work").display()
                ),
            );
        }
    }
    assert_eq!(
        run("a", "echo $MINE $(basename $PWD) $HERMES_SESSION_ID; f"),
        "a2 a a\nf-a"
    );
    assert_eq!(
        run("b", "echo $MINE $(basename $PWD) $HERMES_SESSION_ID; f"),
        "b2 b b\nf-b"
    );
}

#[test]
fn start_up_files_that_hang_exit_or_fail_cost_the_login_state_only() {
    for (file, limit) in [
        ("exit 3", 30),
        ("exit 0", 30),
        ("sleep 60", 1),
        ("set -e; false", 30),
        ("exec true", 30),
        ("kill -9 $$", 30),
        ("trap - EXIT", 30),
        ("printf '\\xff\\0' ; PATH=/nowhere", 30),
    ] {
        let world = World::with(|settings| settings.login_limit = Duration::from_secs(limit));
        std::fs::write(world.path("user/.bash_profile"), file).unwrap();
        let started = Instant::now();
        let result = world.run("echo works; export A=1");
        assert_eq!(result["output"], "works", "{file}: {result}");
        assert!(started.elapsed() < Duration::from_secs(10), "{file}");
        assert_eq!(world.run("echo $A")["output"], "1", "{file}");
    }
}

#[test]
fn init_files_can_be_named_and_switched_off() {
    let world =
        World::with(|settings| settings.init_files = vec!["~/own.sh".into(), "/missing".into()]);
    std::fs::write(world.path("user/own.sh"), "export OWN=1").unwrap();
    assert_eq!(world.output("echo $OWN"), "1");
    let world = World::with(|settings| settings.source_user_files = false);
    std::fs::write(world.path("user/.bashrc"), "export OWN=1").unwrap();
    assert_eq!(world.output("echo [$OWN]"), "[]");
}

#[test]
fn another_shell_keeps_directory_and_exports() {
    let world = World::with_shells(|_| {}, ShellFinder::among(vec!["/bin/sh".into()]));
    world.output("cd /usr; export A=\"it's $(printf 'two\nlines')\"; alias x=y");
    assert_eq!(
        world.output("pwd; echo \"$A\"; echo $0"),
        "/usr\nit's two\nlines\nsh"
    );
    assert_eq!(world.run("exit 4")["exit_code"], 4);
    assert_eq!(world.run("if")["exit_code"], 2);
}

#[test]
fn no_exported_value_is_ever_on_disk() {
    let world = World::new();
    world.output("export TOKEN=needle-on-disk; f() { echo needle-on-disk; }");
    let found = world.run(&format!(
        "grep -rl needle-on-disk {} /tmp/hermes-snap* /tmp/hermes-cwd* 2>/dev/null; true",
        world.dir.path().display()
    ));
    assert_eq!(found["output"], "");
}
