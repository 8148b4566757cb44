//! What lasts from one command to the next, and what never leaves a session.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;
use serde_json::json;

use super::talk::Talk;
use super::{Place, text};

#[test]
fn the_directory_lasts_and_a_workdir_does_not() {
    // check 10
    let place = Place::new();
    std::fs::create_dir(place.work("sub")).unwrap();
    let sub = place.work("sub").display().to_string();
    let mut talk = place.talk();
    talk.output("cd sub");
    assert_eq!(talk.output("pwd"), sub);
    let elsewhere = talk.terminal(json!({"command": "pwd", "workdir": "/tmp"}));
    assert_eq!(elsewhere["output"], "/tmp");
    assert_eq!(talk.output("pwd"), sub);
    assert_eq!(talk.run("cd /tmp; exit 3")["exit_code"], 3);
    assert_eq!(talk.output("pwd"), "/tmp");
    assert_eq!(talk.run("set -e; cd /usr; false; cd /")["exit_code"], 1);
    assert_eq!(talk.output("pwd"), "/usr");
}

#[test]
fn functions_and_aliases_of_the_user_stay() {
    // check 11
    let place = Place::new();
    std::fs::write(
        place.home.user_home().join(".bashrc"),
        "greet() { echo hello; }\nalias shout='echo HELLO'\nexport FROM_RC=1\n",
    )
    .unwrap();
    let mut talk = place.talk();
    for _ in 0..10 {
        assert_eq!(talk.output("greet; shout"), "hello\nHELLO");
    }
    talk.output("later() { echo later; }");
    assert_eq!(talk.output("later"), "later");
    talk.output("unset FROM_RC");
    assert_eq!(talk.output("echo [$FROM_RC]"), "[]");
}

#[test]
fn commands_that_run_together_keep_what_each_exports() {
    // check 12
    let place = Place::that_approves();
    let mut talk = place.talk();
    // Each waits for all the others, so that they really run together.
    let printed = talk.printed(
        "import threading\n\
         from hermes_tools import terminal\n\
         def one(n):\n\
         \x20   terminal(f'export V{n}=1; touch here{n}; for i in $(seq 1000); do set -- here*; [ $# = 8 ] && break; read -t 0.01 < <(sleep 1); done; echo $#')\n\
         threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]\n\
         [t.start() for t in threads]\n\
         [t.join() for t in threads]\n\
         print(terminal('echo $V0$V1$V2$V3$V4$V5$V6$V7')['output'])",
    );
    assert_eq!(printed.trim(), "11111111");
}

#[test]
fn two_sessions_never_see_each_other() {
    // check 13
    let place = Place::new();
    let mut talk = place.talk();
    for session in ["a", "b"] {
        talk.output_in(
            session,
            &format!("mkdir {session}; cd {session}; export MINE={session}"),
        );
    }
    for _ in 0..2 {
        for session in ["a", "b"] {
            let seen = talk.output_in(
                session,
                "echo $MINE $HERMES_SESSION_ID ${PWD##*/} $HERMES_HOME",
            );
            let home = place.home.root();
            let wanted = format!("{session} {session} {session} {}", home.display());
            assert_eq!(seen, wanted);
        }
    }
}

/// Every file below a directory that holds these bytes.
fn files_with(directory: &Path, needle: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            files_with(&path, needle, found);
        } else if meta.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            if String::from_utf8_lossy(&bytes).contains(needle) {
                found.push(path.display().to_string());
            }
        }
    }
}

#[test]
fn exported_secrets_are_never_in_a_file() {
    // check 14
    let place = Place::new();
    let mut talk = place.talk();
    let secret = "hunter2-in-memory-only";
    talk.output(&format!("export SECRET_OF_SESSION={secret}"));
    talk.output("true");
    let look = |when: &str| {
        let mut found = Vec::new();
        for directory in [place.home.outside("tmp"), place.home.root()] {
            files_with(&directory, secret, &mut found);
        }
        assert_eq!(found, [] as [String; 0], "{when}");
    };
    look("alive");
    talk.hermes.kill();
    look("killed");
}

#[test]
fn old_session_files_of_the_reference_are_removed() {
    // check 14
    let place = Place::new();
    let old = SystemTime::now() - Duration::from_hours(25);
    for (name, age) in [
        ("hermes-snap-0123456789ab.sh", Some(old)),
        ("hermes-cwd-0123456789ab.txt", Some(old)),
        ("hermes-snap-ba9876543210.sh", None),
        ("other.sh", Some(old)),
    ] {
        let path = place.home.put_outside(&format!("tmp/{name}"), "x", 0o600);
        if let Some(age) = age {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_modified(age).unwrap();
        }
    }
    place.output("true");
    let mut left: Vec<String> = std::fs::read_dir(place.home.outside("tmp"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["hermes-snap-ba9876543210.sh", "other.sh"]);
}

#[test]
fn a_directory_that_is_gone_is_replaced_and_the_result_says_so() {
    // check 15
    let place = Place::new();
    let mut talk = place.talk();
    talk.output("mkdir -p a/b && cd a/b");
    std::fs::remove_dir_all(place.work("a")).unwrap();
    let result = talk.run("pwd -P");
    assert_eq!(
        text(&result, "output"),
        place.work("").to_str().unwrap().trim_end_matches('/')
    );
    assert!(text(&result, "cwd_note").contains("a/b"), "{result}");
}

#[test]
fn a_workdir_that_is_missing_runs_nothing_and_odd_names_are_names() {
    // check 15
    let place = Place::new();
    let mut talk = place.talk();
    let missing = place.work("missing").display().to_string();
    let result = talk.terminal(json!({"command": "touch ../ran ran", "workdir": missing}));
    assert_eq!(result["exit_code"], 126, "{result}");
    assert!(text(&result, "output").contains(&missing), "{result}");
    assert!(!place.work("ran").exists());
    let odd = place.work("it's $HOME `id` $(id)");
    std::fs::create_dir(&odd).unwrap();
    let odd = odd.display().to_string();
    let result = talk.terminal(json!({"command": "pwd", "workdir": odd}));
    assert_eq!(text(&result, "output"), odd);
}

/// Names and inodes below a directory.
fn entries(directory: &Path, found: &mut Vec<(String, u64)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        found.push((path.display().to_string(), meta.ino()));
        if meta.is_dir() {
            entries(&path, found);
        }
    }
    found.sort();
}

#[test]
fn a_command_is_one_process_and_no_file() {
    // check 39
    let place = Place::new();
    let mut talk = place.talk();
    let files = |place: &Place| {
        let mut found = Vec::new();
        for directory in ["user", "tmp", "work"] {
            entries(&place.home.outside(directory), &mut found);
        }
        found
    };
    talk.output("true");
    let before = files(&place);
    for _ in 0..50 {
        talk.output("true");
    }
    assert_eq!(files(&place), before);
    // A shell whose parent is the program itself, and that has no other child.
    let seen = talk.output("echo $PPID; cat /proc/$PPID/task/*/children");
    let (parent, children) = seen.split_once('\n').unwrap();
    assert_eq!(parent, talk.hermes.pid().to_string());
    let shells = talk.output("echo $$");
    assert!(!children.split_whitespace().any(|pid| pid == shells));
    // The guard that ends commands should the program die, and the shell.
    assert!(children.split_whitespace().count() <= 2, "{seen}");
}

#[test]
fn two_hundred_commands_are_two_hundred_processes() {
    // check 39
    let place = Place::new();
    let run = place.hermes(&["tools", "call", "--stdin"]);
    let mut talk = Talk::new(run.in_own_process_table().start());
    // Numbers are given out in order, to processes and threads alike. The second command starts the
    // thread that starts shells.
    talk.output("true");
    talk.output("true");
    let number = |talk: &mut Talk| talk.output("echo $$").parse::<u32>().unwrap();
    let before = number(&mut talk);
    for _ in 0..200 {
        talk.output("true");
    }
    assert_eq!(number(&mut talk) - before, 201);
}
