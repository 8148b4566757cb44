//! What a command on a remote host sees, prints and leaves.

use std::time::{Duration, Instant};

use hermes_terminal::SessionKey;
use hermes_terminal::backend::{Backend, BackendCommand, CommandEnd};
use hermes_terminal::remote::{RemoteSettings, ScriptRequest, ScriptRunner};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::hosts::{Container, Kind, RemoteWorld, applets, busybox};

on_each_host!(
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
    mark_of_an_agent_is_in_every_shell,
    internal_scripts_touch_no_session,
    detaching_keeps_the_sessions,
);

fn a_command_runs_once_and_an_export_survives_its_exit(host: &RemoteWorld) {
    host.world.output("export EARLIER=yes");
    let count = format!("{}/count", host.scratch);
    let result = host.world.run(&format!(
        "echo \"foo is not running\"; echo ran >> {count}; exit 3"
    ));
    assert_eq!(result["exit_code"], 3);
    assert_eq!(result["output"], "foo is not running");
    assert_eq!(host.file(&count), "ran\n");
    assert_eq!(host.world.output("echo $EARLIER"), "yes");
}

fn output_and_errors_keep_their_order(host: &RemoteWorld) {
    let output = host
        .world
        .output("for i in 1 2 3; do echo o$i; echo e$i >&2; done");
    assert_eq!(output, "o1\ne1\no2\ne2\no3\ne3");
}

fn exit_keeps_directory_and_exports(host: &RemoteWorld) {
    let result = host.world.run("cd /tmp; export Z=1; exit 5");
    assert_eq!(result["exit_code"], 5);
    assert_eq!(host.world.output("echo $Z; pwd"), "1\n/tmp");
    host.world.output("unset Z; set -e; cd /usr; true");
    assert_eq!(
        host.world.output("echo ${Z-none}; pwd; cd -"),
        "none\n/usr\n/tmp"
    );
    // Another session has its own.
    let other = host.world.call_in("other", json!({"command": "pwd"}));
    assert_eq!(other["output"], host.scratch.as_str());
}

fn functions_aliases_and_odd_directories_last(host: &RemoteWorld) {
    let odd = "a b'c\"d$e";
    let quoted = format!("{}/a b'\\''c\"d$e", host.scratch);
    host.world.output(&format!(
        "greet() {{ echo \"hello $1\"; }}; alias ll='echo listed'; mkdir -p '{quoted}'; cd '{quoted}'"
    ));
    assert_eq!(host.world.output("printf x"), "x");
    assert_eq!(host.world.output("greet you; ll"), "hello you\nlisted");
    assert_eq!(host.world.output("pwd"), format!("{}/{odd}", host.scratch));
    host.world.output("unset -f greet; unalias ll");
    assert_eq!(host.world.run("greet")["exit_code"], 127);
}

fn a_lost_directory_is_replaced_and_a_missing_workdir_refused(host: &RemoteWorld) {
    let lost = format!("{}/lost/deep", host.scratch);
    host.world.output(&format!(
        "mkdir -p {lost}; cd {lost}; rm -rf {}/lost",
        host.scratch
    ));
    let result = host.world.run("pwd");
    assert_eq!(
        (&result["exit_code"], &result["output"]),
        (&json!(0), &json!(host.scratch))
    );
    let note = result["cwd_note"].as_str().unwrap();
    assert!(
        note.contains(&lost) && note.contains(&host.scratch),
        "{note}"
    );
    assert_eq!(host.world.run("pwd")["cwd_note"], json!(null));
    let refused = host
        .world
        .call(json!({"command": "echo ran", "workdir": "/nope/it's"}));
    assert_eq!(refused["exit_code"], 126);
    assert_eq!(refused["output"], "/nope/it's: no such directory");
    let other = host
        .world
        .call(json!({"command": "pwd; cd /", "workdir": "/usr"}));
    assert_eq!(other["output"], "/usr");
    assert_eq!(host.world.output("pwd"), "/");
    let home = host.world.call(json!({"command": "pwd", "workdir": "~"}));
    assert_eq!(home["output"], host.scratch.as_str());
}

fn long_commands_and_inputs_arrive_whole(host: &RemoteWorld) {
    for size in [300 * 1024, 1024 * 1024] {
        let long = format!(
            "x='{}'; printf %s \"$x\" | wc -c",
            "long text with\nlines é ".repeat(size / 24)
        );
        assert_eq!(
            host.world.output(&long),
            (size / 24 * "long text with\nlines é ".len()).to_string()
        );
    }
    let input: Vec<u8> = (0..1024 * 1024).map(|n: u32| (n % 251) as u8).collect();
    let mut output = Vec::new();
    let command = BackendCommand {
        confinement: hermes_terminal::backend::Confinement::None,
        session: &host.world.terminal.session(&SessionKey::new("main")),
        command: &format!("cksum; : '{}'", "y".repeat(300 * 1024)),
        workdir: None,
        timeout: Duration::from_mins(1),
        input: &input,
        interrupt: &host.world.interrupt,
        shutdown: &host.world.interrupt,
    };
    let outcome = host
        .remote
        .run(&command, &mut |bytes| output.extend_from_slice(bytes))
        .unwrap();
    assert_eq!(outcome.end, CommandEnd::Exited(0));
    let output = String::from_utf8(output).unwrap();
    assert!(output.trim_end().ends_with(" 1048576"), "{output}");
    // The command that reads nothing is not fed with what was meant for another.
    assert_eq!(host.world.output("cat; echo done"), "done");
}

fn output_is_cut_and_memory_bounded(host: &RemoteWorld) {
    host.world.run("true");
    let before = peak_memory();
    let result = host
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
fn results_are_the_same_without_a_persistent_shell(host: &RemoteWorld) {
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
    let once = RemoteWorld::with(
        match &host.transport.kind {
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
        let with = host.world.run(command);
        let without = once.world.run(command);
        assert_eq!(with, without, "{command}");
    }
    let launched = host.launches();
    // The control channel may be on its way; beyond that, one channel serves them all.
    assert!(launched <= 3, "{launched}");
    assert!(once.launches() > commands.len());
    let mut times: Vec<Duration> = (0..30)
        .map(|_| {
            let begun = Instant::now();
            assert_eq!(host.world.run("true")["exit_code"], 0);
            begun.elapsed()
        })
        .collect();
    times.sort();
    println!("median of `true`: {:?}", times[15]);
    assert!(times[15] < Duration::from_millis(200), "{times:?}");
}

fn what_is_left_behind_never_speaks_in_another_command(host: &RemoteWorld) {
    let marker = format!("{}/late", host.scratch);
    for leave in [
        format!("(sleep 1; echo late; echo late > {marker}1) &"),
        format!("setsid sh -c 'sleep 1; echo late; echo late > {marker}2' &"),
        format!("(setsid sh -c 'sleep 1; echo late >&2; echo late > {marker}3' &)"),
    ] {
        let result = host.world.run(&format!("{leave}\necho at once"));
        assert_eq!(result["output"], "at once", "{leave}");
    }
    let begun = Instant::now();
    let mut heard = String::new();
    while begun.elapsed() < Duration::from_secs(3) {
        heard.push_str(&host.world.output("sleep 0.05; echo tick"));
    }
    assert!(!heard.contains("late"), "{heard}");
    // They were left alone all the same, up to what they wrote to a stream nobody holds.
    assert!(heard.contains("tick"));
}

fn many_commands_at_once(host: &RemoteWorld) {
    host.world.run("true");
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..20)
            .map(|n| {
                scope.spawn(move || {
                    host.world
                        .output(&format!("export V{n}=x; sleep 0.2; echo {n}"))
                })
            })
            .collect();
        for (n, handle) in running.into_iter().enumerate() {
            assert_eq!(handle.join().unwrap(), n.to_string());
        }
    });
    assert_eq!(host.world.output("env | grep -c '^V[0-9]*=x'"), "20");
}

fn bytes_that_are_no_text(host: &RemoteWorld) {
    assert_eq!(
        host.world.output(r"printf 'a\xff\xfeb\n\0c\xc3\xa9'"),
        "a\u{fffd}\u{fffd}b\n\0cé"
    );
    host.world
        .output("export ODD=$'\\xff\\n\\x01'; mkdir -p $'/tmp/\\xff'; cd $'/tmp/\\xff'");
    assert_eq!(
        host.world
            .output("printf %s \"$ODD\" | od -An -tx1; pwd | od -An -tx1; rmdir $'/tmp/\\xff'"),
        "ff 0a 01\n 2f 74 6d 70 2f ff 0a"
    );
}

fn surroundings_of_a_command(host: &RemoteWorld) {
    assert_eq!(host.world.output("echo \"$0/$#/$@/\""), "bash/0//");
    assert_eq!(host.world.output("\n\necho $LINENO"), "3");
    let error = host.world.run("true\nif fi");
    assert!(
        error["output"].as_str().unwrap().contains("line 2"),
        "{error}"
    );
    assert_eq!(host.world.output("readlink /proc/self/fd/0"), "/dev/null");
    // Programs get the three standard descriptors and nothing of ours.
    assert_eq!(
        host.world.output("ls /proc/self/fd | tr '\\n' ' '"),
        "0 1 2 3"
    );
    assert_eq!(host.world.output("set | grep -c '^_h_'; true"), "0");
    assert_eq!(
        host.world
            .output("ps -o pid=,pgid=,sid= -p $$ | tr -s ' ' '\\n' | sort -u | grep -c ."),
        "1"
    );
    assert_eq!(host.world.run("kill -INT $$; echo no")["exit_code"], 130);
    assert_eq!(host.world.run("kill -TERM $$")["exit_code"], 143);
    assert_eq!(
        host.world.run("trap 'echo bye' EXIT; exit 6")["output"],
        "bye"
    );
}

fn session_variables_are_there_and_nowhere_in_arguments(host: &RemoteWorld) {
    let kind = match &host.transport.kind {
        Kind::Docker(_) => Kind::Docker(Container::run(&[])),
        _ => Kind::Child,
    };
    let host = RemoteWorld::with(
        kind,
        RemoteSettings::default(),
        &[("TOKEN", "it's a secret-value"), ("SECOND", "")],
    );
    assert_eq!(
        host.world
            .output("printf '%s|%s' \"$TOKEN\" \"${SECOND-unset}\""),
        "it's a secret-value|"
    );
    std::thread::scope(|scope| {
        let run = scope.spawn(|| host.world.output("echo $$ > ~/pid; sleep 1; unset TOKEN"));
        hermes_testkit::eventually("it runs", || {
            !host.file(&format!("{}/pid", host.scratch)).is_empty()
        });
        assert!(!host.is_running("secret-value"));
        run.join().unwrap();
    });
    assert_eq!(host.world.output("echo ${TOKEN-gone}"), "gone");
}

fn mark_of_an_agent_is_in_every_shell(host: &RemoteWorld) {
    let look = "sh -c 'echo ${HERMES_AGENT_SHELL-none}'";
    assert_eq!(host.world.output(look), "none");
    let kind = match &host.transport.kind {
        Kind::Docker(_) => Kind::Docker(Container::run(&[])),
        _ => Kind::Child,
    };
    let settings = RemoteSettings {
        of_agent: true,
        ..RemoteSettings::default()
    };
    let host = RemoteWorld::with(kind, settings, &[("HERMES_AGENT_SHELL", "")]);
    assert_eq!(host.world.output(look), "1");
    // It cannot be taken from the session.
    host.world.output("unset HERMES_AGENT_SHELL");
    assert_eq!(host.world.output(look), "1");
    host.world.output("export HERMES_AGENT_SHELL=");
    assert_eq!(host.world.output(look), "1");
}

fn internal_scripts_touch_no_session(host: &RemoteWorld) {
    host.world.output("export HIDDEN=1; cd /usr");
    let run = ScriptRequest {
        script: "pwd; echo \"${HIDDEN-none}\"; echo unheard >&2; cd /tmp; export HIDDEN=2; exit 7",
        input: b"",
        directory: None,
        limit: Duration::from_secs(20),
        most_output: 1000,
        interrupt: None,
    };
    let output = host.remote.run_script(&run).unwrap();
    assert_eq!(
        (output.stdout.as_slice(), output.exit_code),
        (b"/\nnone\n".as_slice(), 7)
    );
    assert_eq!(host.world.output("echo $HIDDEN; pwd"), "1\n/usr");
    let bytes: Vec<u8> = (0..=255).cycle().take(600_000).collect();
    let path = format!("{}/bytes", host.scratch);
    let write = ScriptRequest {
        script: &format!("cat > {path}"),
        input: &bytes,
        ..run
    };
    assert_eq!(host.remote.run_script(&write).unwrap().exit_code, 0);
    let read = ScriptRequest {
        script: &format!("cat {path}"),
        most_output: 1_000_000,
        ..run
    };
    let output = host.remote.run_script(&read).unwrap();
    assert!(output.stdout == bytes && !output.is_cut);
    let part = host
        .remote
        .run_script(&ScriptRequest {
            most_output: 10,
            ..read
        })
        .unwrap();
    assert!(part.stdout == bytes[..10] && part.is_cut);
    let nowhere = ScriptRequest {
        directory: Some("/nope".as_ref()),
        ..run
    };
    assert_eq!(host.remote.run_script(&nowhere).unwrap().exit_code, 126);
    let slow = ScriptRequest {
        script: "sleep 60",
        limit: Duration::from_millis(300),
        ..run
    };
    assert!(host.remote.run_script(&slow).is_err());
}

fn detaching_keeps_the_sessions(host: &RemoteWorld) {
    host.world.output("cd /usr; export KEPT=1");
    host.remote.detach();
    host.remote.detach();
    assert!(!host.remote.is_busy());
    assert_eq!(host.world.output("pwd; echo $KEPT"), "/usr\n1");
}

#[test]
fn a_place_with_nothing_but_busybox() {
    let host = busybox();
    let first = host.world.run("echo one");
    assert_eq!(first["output"], "one");
    assert!(
        first["shell_note"]
            .as_str()
            .unwrap()
            .contains("Bash is missing"),
        "{first}"
    );
    let second = host
        .world
        .run("cd /tmp; export Z='a b'; echo two >&2; exit 5");
    assert_eq!(
        (&second["output"], &second["exit_code"]),
        (&json!("two"), &json!(5))
    );
    assert_eq!(second["shell_note"], json!(null));
    assert_eq!(
        host.world.output("echo \"$Z\"; pwd; echo $0:$#"),
        "a b\n/tmp\nsh:0"
    );
    let long = format!("x='{}'; echo ${{#x}}", "long\ntext ".repeat(100_000));
    assert_eq!(host.world.output(&long), "1000000");
    let odd: Vec<u8> = (1..=255_u8).filter(|byte| *byte != b'\'').collect();
    let run = ScriptRequest {
        script: "cat; cd /nowhere || echo $?",
        input: &odd,
        directory: None,
        limit: Duration::from_secs(20),
        most_output: 1000,
        interrupt: None,
    };
    assert_eq!(
        host.remote.run_script(&run).unwrap().stdout,
        [odd.as_slice(), b"2\n"].concat()
    );
    assert_eq!(
        host.world
            .call(json!({"command": "true", "workdir": "/nope"}))["exit_code"],
        126
    );
    for _ in 0..3 {
        assert_eq!(host.world.output("cat"), "");
    }
    // One channel, another for the input, the attempt with bash, and control.
    assert!(host.launches() <= 6, "{}", host.launches());
}

#[test]
fn a_place_without_setsid() {
    let host = RemoteWorld::new(Kind::Busybox(applets(&["setsid"])));
    assert_eq!(host.world.output("cd /tmp; echo one"), "one");
    assert_eq!(host.world.output("pwd"), "/tmp");
    let result = host
        .world
        .call(json!({"command": "sleep 5711 & sleep 5712", "timeout": 1}));
    assert_eq!(result["exit_code"], 124);
    assert!(!host.is_running("sleep 571"));
    assert_eq!(host.world.output("echo again"), "again");
}

#[test]
fn a_place_without_a_process_table() {
    let host = RemoteWorld::new(Kind::NoProc);
    assert_eq!(host.world.output("cd /tmp; ls /proc; echo one"), "one");
    assert_eq!(host.world.output("pwd"), "/tmp");
    let command = "trap '' TERM; sleep 4713 & while :; do sleep 4714; done";
    let result = host.world.call(json!({"command": command, "timeout": 1}));
    assert_eq!(result["output"], "[Command timed out after 1s]");
    assert!(!host.is_running("sleep 471"));
}
