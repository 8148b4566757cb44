//! What a command elsewhere sees, prints and leaves.

use std::time::{Duration, Instant};

use hermes_terminal::remote::{InternalRun, RemoteSettings};
use hermes_terminal::session::SessionKey;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::places::{Container, Elsewhere, Kind, applets, busybox};

in_each_place!(
    a_command_runs_once_and_an_export_survives_its_exit,
    output_and_errors_keep_their_order,
    exit_keeps_directory_and_exports,
    functions_aliases_and_odd_directories_last,
    a_lost_directory_is_replaced_and_a_missing_workdir_refused,
    long_commands_and_inputs_arrive_whole,
    output_is_cut_and_memory_bounded,
    results_are_the_same_without_a_persistent_shell,
    what_is_left_behind_never_speaks_in_another_command,
    many_commands_at_once,
    bytes_that_are_no_text,
    surroundings_of_a_command,
    session_variables_are_there_and_nowhere_in_arguments,
    internal_scripts_touch_no_session,
    detaching_keeps_the_sessions,
);

fn a_command_runs_once_and_an_export_survives_its_exit(place: &Elsewhere) {
    place.world.output("export EARLIER=yes");
    let count = format!("{}/count", place.scratch);
    let result = place.world.run(&format!(
        "echo \"foo is not running\"; echo ran >> {count}; exit 3"
    ));
    assert_eq!(result["exit_code"], 3);
    assert_eq!(result["output"], "foo is not running");
    assert_eq!(place.file(&count), "ran\n");
    assert_eq!(place.world.output("echo $EARLIER"), "yes");
}

fn output_and_errors_keep_their_order(place: &Elsewhere) {
    let output = place
        .world
        .output("for i in 1 2 3; do echo o$i; echo e$i >&2; done");
    assert_eq!(output, "o1\ne1\no2\ne2\no3\ne3");
}

fn exit_keeps_directory_and_exports(place: &Elsewhere) {
    let result = place.world.run("cd /tmp; export Z=1; exit 5");
    assert_eq!(result["exit_code"], 5);
    assert_eq!(place.world.output("echo $Z; pwd"), "1\n/tmp");
    place.world.output("unset Z; set -e; cd /usr; true");
    assert_eq!(
        place.world.output("echo ${Z-none}; pwd; cd -"),
        "none\n/usr\n/tmp"
    );
    // Another session has its own.
    let other = place.world.call_in("other", json!({"command": "pwd"}));
    assert_eq!(other["output"], place.scratch.as_str());
}

fn functions_aliases_and_odd_directories_last(place: &Elsewhere) {
    let odd = "a b'c\"d$e";
    let quoted = format!("{}/a b'\\''c\"d$e", place.scratch);
    place.world.output(&format!(
        "greet() {{ echo \"hello $1\"; }}; alias ll='echo listed'; mkdir -p '{quoted}'; cd '{quoted}'"
    ));
    assert_eq!(place.world.output("printf x"), "x");
    assert_eq!(place.world.output("greet you; ll"), "hello you\nlisted");
    assert_eq!(
        place.world.output("pwd"),
        format!("{}/{odd}", place.scratch)
    );
    place.world.output("unset -f greet; unalias ll");
    assert_eq!(place.world.run("greet")["exit_code"], 127);
}

fn a_lost_directory_is_replaced_and_a_missing_workdir_refused(place: &Elsewhere) {
    let lost = format!("{}/lost/deep", place.scratch);
    place.world.output(&format!(
        "mkdir -p {lost}; cd {lost}; rm -rf {}/lost",
        place.scratch
    ));
    let result = place.world.run("pwd");
    assert_eq!(
        (&result["exit_code"], &result["output"]),
        (&json!(0), &json!(place.scratch))
    );
    let note = result["cwd_note"].as_str().unwrap();
    assert!(
        note.contains(&lost) && note.contains(&place.scratch),
        "{note}"
    );
    assert_eq!(place.world.run("pwd")["cwd_note"], json!(null));
    let refused = place
        .world
        .call(json!({"command": "echo ran", "workdir": "/nope/it's"}));
    assert_eq!(refused["exit_code"], 126);
    assert_eq!(refused["output"], "/nope/it's: no such directory");
    let elsewhere = place
        .world
        .call(json!({"command": "pwd; cd /", "workdir": "/usr"}));
    assert_eq!(elsewhere["output"], "/usr");
    assert_eq!(place.world.output("pwd"), "/");
    let home = place.world.call(json!({"command": "pwd", "workdir": "~"}));
    assert_eq!(home["output"], place.scratch.as_str());
}

fn long_commands_and_inputs_arrive_whole(place: &Elsewhere) {
    for size in [300 * 1024, 1024 * 1024] {
        let long = format!(
            "x='{}'; printf %s \"$x\" | wc -c",
            "long text with\nlines é ".repeat(size / 24)
        );
        assert_eq!(
            place.world.output(&long),
            (size / 24 * "long text with\nlines é ".len()).to_string()
        );
    }
    let session = SessionKey::new("main");
    let context = place.world.context(&session);
    let input: Vec<u8> = (0..1024 * 1024).map(|n: u32| (n % 251) as u8).collect();
    let foreground = hermes_terminal::local::Foreground {
        command: &format!("cksum; : '{}'", "y".repeat(300 * 1024)),
        workdir: None,
        limit: Duration::from_mins(1),
        input: &input,
        redactor: None,
    };
    let result = place.remote.run_foreground(foreground, &context);
    assert_eq!(result.exit_code, 0);
    assert!(result.output.ends_with(" 1048576"), "{}", result.output);
    // The command that reads nothing is not fed with what was meant for another.
    assert_eq!(place.world.output("cat; echo done"), "done");
}

fn output_is_cut_and_memory_bounded(place: &Elsewhere) {
    place.world.run("true");
    let before = peak_memory();
    let result = place
        .world
        .run("echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last");
    let output = result["output"].as_str().unwrap();
    assert!(output.starts_with("first\nxxx") && output.ends_with("xxx\nlast"));
    assert!(output.contains("OUTPUT TRUNCATED"));
    assert!(output.chars().count() < 50_200);
    let grown = peak_memory() - before;
    assert!(grown < 20_000, "{grown} KiB more");
}

/// The most memory this process ever used, in KiB.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[expect(clippy::print_stdout, reason = "the figure is for people")]
fn results_are_the_same_without_a_persistent_shell(place: &Elsewhere) {
    let commands = [
        "true",
        "echo \"$0:$#:$-:${BASH_SUBSHELL}\"",
        "nonsense; echo $LINENO",
        "export A='x y'; cd /usr; f() { echo f; }; alias g='echo g'",
        "echo \"$A\"; pwd; f; g; exit 9",
        "echo $SHLVL; set -u; echo $NOPE",
        "if then",
        "cat; read x; echo $?",
        "kill -9 $$",
        "exec sh -c 'echo replaced; exit 4'",
    ];
    let once = Elsewhere::with(
        match &place.place.kind {
            Kind::Docker(_) => Kind::Docker(Container::run(&[])),
            _ => Kind::Child,
        },
        RemoteSettings {
            persistent_shell: false,
            ..RemoteSettings::default()
        },
        &[],
    );
    for command in commands {
        let with = place.world.run(command);
        let without = once.world.run(command);
        assert_eq!(with, without, "{command}");
    }
    let launched = place.launches();
    // The control channel may be on its way; beyond that, one channel serves them all.
    assert!(launched <= 3, "{launched}");
    assert!(once.launches() > commands.len());
    let mut times: Vec<Duration> = (0..30)
        .map(|_| {
            let begun = Instant::now();
            assert_eq!(place.world.run("true")["exit_code"], 0);
            begun.elapsed()
        })
        .collect();
    times.sort();
    println!("median of `true`: {:?}", times[15]);
    assert!(times[15] < Duration::from_millis(200), "{times:?}");
}

fn what_is_left_behind_never_speaks_in_another_command(place: &Elsewhere) {
    let marker = format!("{}/late", place.scratch);
    for leave in [
        format!("(sleep 1; echo late; echo late > {marker}1) &"),
        format!("setsid sh -c 'sleep 1; echo late; echo late > {marker}2' &"),
        format!("(setsid sh -c 'sleep 1; echo late >&2; echo late > {marker}3' &)"),
    ] {
        let result = place.world.run(&format!("{leave}\necho at once"));
        assert_eq!(result["output"], "at once", "{leave}");
    }
    let begun = Instant::now();
    let mut heard = String::new();
    while begun.elapsed() < Duration::from_secs(3) {
        heard.push_str(&place.world.output("sleep 0.05; echo tick"));
    }
    assert!(!heard.contains("late"), "{heard}");
    // They were left alone all the same, up to what they wrote to a stream nobody holds.
    assert!(heard.contains("tick"));
}

fn many_commands_at_once(place: &Elsewhere) {
    place.world.run("true");
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..20)
            .map(|n| {
                scope.spawn(move || {
                    place
                        .world
                        .output(&format!("export V{n}=x; sleep 0.2; echo {n}"))
                })
            })
            .collect();
        for (n, handle) in running.into_iter().enumerate() {
            assert_eq!(handle.join().unwrap(), n.to_string());
        }
    });
    assert_eq!(place.world.output("env | grep -c '^V[0-9]*=x'"), "20");
}

fn bytes_that_are_no_text(place: &Elsewhere) {
    assert_eq!(
        place.world.output(r"printf 'a\xff\xfeb\n\0c\xc3\xa9'"),
        "a\u{fffd}\u{fffd}b\n\0cé"
    );
    place
        .world
        .output("export ODD=$'\\xff\\n\\x01'; mkdir -p $'/tmp/\\xff'; cd $'/tmp/\\xff'");
    assert_eq!(
        place
            .world
            .output("printf %s \"$ODD\" | od -An -tx1; pwd | od -An -tx1; rmdir $'/tmp/\\xff'"),
        "ff 0a 01\n 2f 74 6d 70 2f ff 0a"
    );
}

fn surroundings_of_a_command(place: &Elsewhere) {
    assert_eq!(place.world.output("echo \"$0/$#/$@/\""), "bash/0//");
    assert_eq!(place.world.output("\n\necho $LINENO"), "3");
    let error = place.world.run("true\nif fi");
    assert!(
        error["output"].as_str().unwrap().contains("line 2"),
        "{error}"
    );
    assert_eq!(place.world.output("readlink /proc/self/fd/0"), "/dev/null");
    // Programs get the three standard descriptors and nothing of ours.
    assert_eq!(
        place.world.output("ls /proc/self/fd | tr '\\n' ' '"),
        "0 1 2 3"
    );
    assert_eq!(place.world.output("set | grep -c '^_h_'; true"), "0");
    assert_eq!(
        place
            .world
            .output("ps -o pid=,pgid=,sid= -p $$ | tr -s ' ' '\\n' | sort -u | grep -c ."),
        "1"
    );
    assert_eq!(place.world.run("kill -INT $$; echo no")["exit_code"], 130);
    assert_eq!(place.world.run("kill -TERM $$")["exit_code"], 143);
    assert_eq!(
        place.world.run("trap 'echo bye' EXIT; exit 6")["output"],
        "bye"
    );
}

fn session_variables_are_there_and_nowhere_in_arguments(place: &Elsewhere) {
    let kind = match &place.place.kind {
        Kind::Docker(_) => Kind::Docker(Container::run(&[])),
        _ => Kind::Child,
    };
    let place = Elsewhere::with(
        kind,
        RemoteSettings::default(),
        &[("TOKEN", "it's a secret-value"), ("SECOND", "")],
    );
    assert_eq!(
        place
            .world
            .output("printf '%s|%s' \"$TOKEN\" \"${SECOND-unset}\""),
        "it's a secret-value|"
    );
    std::thread::scope(|scope| {
        let run = scope.spawn(|| place.world.output("echo $$ > ~/pid; sleep 1; unset TOKEN"));
        hermes_testkit::eventually("it runs", || {
            !place.file(&format!("{}/pid", place.scratch)).is_empty()
        });
        assert!(!place.is_running("secret-value"));
        run.join().unwrap();
    });
    assert_eq!(place.world.output("echo ${TOKEN-gone}"), "gone");
}

fn internal_scripts_touch_no_session(place: &Elsewhere) {
    place.world.output("export HIDDEN=1; cd /usr");
    let run = InternalRun {
        script: "pwd; echo \"${HIDDEN-none}\"; echo unheard >&2; cd /tmp; export HIDDEN=2; exit 7",
        input: b"",
        directory: None,
        limit: Duration::from_secs(20),
        most_bytes: 1000,
        interrupt: None,
    };
    let output = place.remote.run_internal(run).unwrap();
    assert_eq!(
        (output.stdout.as_slice(), output.exit_code),
        (b"/\nnone\n".as_slice(), 7)
    );
    assert_eq!(place.world.output("echo $HIDDEN; pwd"), "1\n/usr");
    let bytes: Vec<u8> = (0..=255).cycle().take(600_000).collect();
    let path = format!("{}/bytes", place.scratch);
    let write = InternalRun {
        script: &format!("cat > {path}"),
        input: &bytes,
        ..run
    };
    assert_eq!(place.remote.run_internal(write).unwrap().exit_code, 0);
    let read = InternalRun {
        script: &format!("cat {path}"),
        most_bytes: 1_000_000,
        ..run
    };
    let output = place.remote.run_internal(read).unwrap();
    assert!(output.stdout == bytes && !output.is_cut);
    let part = place
        .remote
        .run_internal(InternalRun {
            most_bytes: 10,
            ..read
        })
        .unwrap();
    assert!(part.stdout == bytes[..10] && part.is_cut);
    let nowhere = InternalRun {
        directory: Some("/nope".as_ref()),
        ..run
    };
    assert_eq!(place.remote.run_internal(nowhere).unwrap().exit_code, 126);
    let slow = InternalRun {
        script: "sleep 60",
        limit: Duration::from_millis(300),
        ..run
    };
    assert!(place.remote.run_internal(slow).is_err());
}

fn detaching_keeps_the_sessions(place: &Elsewhere) {
    place.world.output("cd /usr; export KEPT=1");
    place.remote.detach();
    place.remote.detach();
    assert!(!place.remote.is_busy());
    assert_eq!(place.world.output("pwd; echo $KEPT"), "/usr\n1");
}

#[test]
fn a_place_with_nothing_but_busybox() {
    let place = busybox();
    let first = place.world.run("echo one");
    assert_eq!(first["output"], "one");
    assert!(
        first["shell_note"].as_str().unwrap().contains("no bash"),
        "{first}"
    );
    let second = place
        .world
        .run("cd /tmp; export Z='a b'; echo two >&2; exit 5");
    assert_eq!(
        (&second["output"], &second["exit_code"]),
        (&json!("two"), &json!(5))
    );
    assert_eq!(second["shell_note"], json!(null));
    assert_eq!(
        place.world.output("echo \"$Z\"; pwd; echo $0:$#"),
        "a b\n/tmp\nsh:0"
    );
    let long = format!("x='{}'; echo ${{#x}}", "long\ntext ".repeat(100_000));
    assert_eq!(place.world.output(&long), "1000000");
    let odd: Vec<u8> = (1..=255_u8).filter(|byte| *byte != b'\'').collect();
    let run = InternalRun {
        script: "cat; cd /nowhere || echo $?",
        input: &odd,
        directory: None,
        limit: Duration::from_secs(20),
        most_bytes: 1000,
        interrupt: None,
    };
    assert_eq!(
        place.remote.run_internal(run).unwrap().stdout,
        [odd.as_slice(), b"2\n"].concat()
    );
    assert_eq!(
        place
            .world
            .call(json!({"command": "true", "workdir": "/nope"}))["exit_code"],
        126
    );
    for _ in 0..3 {
        assert_eq!(place.world.output("cat"), "");
    }
    // One channel, another for the input, the attempt with bash, and control.
    assert!(place.launches() <= 6, "{}", place.launches());
}

#[test]
fn a_place_without_setsid() {
    let place = Elsewhere::new(Kind::Busybox(applets(&["setsid"])));
    assert_eq!(place.world.output("cd /tmp; echo one"), "one");
    assert_eq!(place.world.output("pwd"), "/tmp");
    let result = place
        .world
        .call(json!({"command": "sleep 5711 & sleep 5712", "timeout": 1}));
    assert_eq!(result["exit_code"], 124);
    assert!(!place.is_running("sleep 571"));
    assert_eq!(place.world.output("echo again"), "again");
}

#[test]
fn a_place_without_a_process_table() {
    let place = Elsewhere::new(Kind::NoProc);
    assert_eq!(place.world.output("cd /tmp; ls /proc; echo one"), "one");
    assert_eq!(place.world.output("pwd"), "/tmp");
    let command = "trap '' TERM; sleep 4713 & while :; do sleep 4714; done";
    let result = place.world.call(json!({"command": command, "timeout": 1}));
    assert_eq!(result["output"], "[Command timed out after 1s]");
    assert!(!place.is_running("sleep 471"));
}
