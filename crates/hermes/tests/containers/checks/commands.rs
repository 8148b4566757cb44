//! Commands and sessions, the same in every place that is not this machine.

use hermes_testkit::Running;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::place::{Somewhere, eventually, text};

/// check 17
pub(crate) fn a_command_is_run_once_whatever_it_says(place: &dyn Somewhere) {
    let mut talk = place.talk();
    talk.output("export KEPT=1");
    let lies = [
        "foo is not running",
        "Error response from daemon: No such container: 0123456789ab",
        "Error: no container with name or ID \\\"x\\\" found: no such container",
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.",
        "ssh: connect to host x port 22: Connection refused",
    ];
    for words in lies {
        for stream in [1, 2] {
            let command = format!("echo \"{words}\" >&{stream}; echo ran >> ~/count; exit 3");
            let result = talk.run(&command);
            assert_eq!(result["exit_code"], 3, "{result}");
            assert_eq!(text(&result, "output"), words.replace('\\', ""));
        }
    }
    assert_eq!(talk.output("wc -l < ~/count; echo $KEPT"), "10\n1");
}

/// check 19
pub(crate) fn output_and_errors_come_in_the_order_they_were_written(place: &dyn Somewhere) {
    let mut talk = place.talk();
    let command = "for i in 1 2 3; do echo o$i; echo e$i >&2; done";
    assert_eq!(talk.output(command), "o1\ne1\no2\ne2\no3\ne3");
}

/// check 20
pub(crate) fn an_exit_keeps_directory_and_variables(place: &dyn Somewhere) {
    let mut talk = place.talk();
    let result = talk.run("cd /tmp; export Z=1; exit 5");
    assert_eq!(result["exit_code"], 5, "{result}");
    assert_eq!(talk.output("echo $Z; pwd"), "1\n/tmp");
    // One session is not another.
    assert_ne!(talk.output_in("other", "echo $Z; pwd"), "1\n/tmp");
}

/// check 21
pub(crate) fn functions_and_aliases_last_and_nothing_is_added(place: &dyn Somewhere) {
    let mut talk = place.talk();
    talk.output("greet() { echo \"hello $1\"; }; alias shout='echo LOUD'");
    talk.output("true");
    assert_eq!(talk.output("greet you; shout"), "hello you\nLOUD");
    assert_eq!(talk.output("printf x"), "x");
    assert_eq!(talk.output("true"), "");
    talk.output("cd \"$(mktemp -d)\" && mkdir \"it's a \\\"d\\\" \\$x\" && cd it*");
    let directory = talk.output("pwd");
    assert!(directory.ends_with("/it's a \"d\" $x"), "{directory}");
    assert_eq!(talk.output("pwd"), directory);
}

/// check 22
pub(crate) fn a_directory_that_is_gone_is_left_for_the_nearest_one(place: &dyn Somewhere) {
    let mut talk = place.talk();
    let base = talk.output("cd \"$(mktemp -d)\" && mkdir d && pwd");
    talk.output("cd d; rmdir ../d");
    let result = talk.run("pwd");
    assert_eq!(result["exit_code"], 0, "{result}");
    assert_eq!(text(&result, "output"), base);
    assert!(
        text(&result, "cwd_note").contains(&format!("{base}/d")),
        "{result}"
    );
    assert_eq!(talk.run("pwd")["cwd_note"], Value::Null);

    let result = talk.terminal(json!({"command": "pwd", "workdir": "/nope"}));
    assert_eq!(result["exit_code"], 126, "{result}");
    let result = talk.terminal(json!({"command": "pwd", "workdir": "/"}));
    assert_eq!(text(&result, "output"), "/");
    assert_eq!(talk.output("pwd"), base, "a workdir is for one command");
}

/// check 23
pub(crate) fn commands_may_be_long(place: &dyn Somewhere) {
    let mut talk = place.talk();
    let length = place.longest_word();
    let long = "x".repeat(length);
    let command = format!("word={long}; echo ${{#word}}; pwd >/dev/null; export LONG=1");
    let result = talk.run(&command);
    assert_eq!(result["output"], length.to_string(), "{}", result["error"]);
    assert_eq!(talk.output("echo $LONG"), "1");
    // What goes in besides a command: a file of a megabyte.
    let content = "line of a file\n".repeat(70_000);
    let args = json!({"path": "~/large", "content": content});
    let result = talk.call("write_file", args);
    assert_eq!(result["error"], Value::Null, "{result}");
    let size = talk.output("wc -c < ~/large; rm ~/large");
    assert_eq!(size, content.len().to_string());
}

/// check 23
pub(crate) fn output_may_be_long_and_costs_little_memory(place: &dyn Somewhere) {
    let mut talk = place.talk();
    talk.output("true");
    let before = resident_kilobytes(&talk.hermes);
    let command = "echo first; head -c 50000000 /dev/zero | tr '\\0' '\\n'; echo last";
    let result = talk.run(command);
    let after = resident_kilobytes(&talk.hermes);
    assert_eq!(result["exit_code"], 0, "{result}");
    let output = text(&result, "output");
    assert!(output.len() < 60_000, "{}", output.len());
    assert!(output.starts_with("first\n") && output.trim_end().ends_with("last"));
    assert!(after < before + 5 * 1024, "{before} kB, then {after} kB");

    let numbers = "i=0; while [ $i -lt 20000 ]; do echo \"line $i\"; i=$((i+1)); done";
    let output = text(&talk.run(numbers), "output").to_owned();
    // Of what is kept, two fifths are from the beginning and the rest from the end.
    let (head, tail) = output.split_once("OUTPUT TRUNCATED").unwrap();
    let share = head.len() * 100 / (head.len() + tail.len());
    assert!((35..=45).contains(&share), "{share} %");
}

fn resident_kilobytes(program: &Running) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse().unwrap()
}

/// Everything about a result that somebody could see.
const TELLING: [&str; 22] = [
    "true",
    "false",
    "exit 7",
    "echo out; echo err >&2; exit 2",
    "printf 'no line end'",
    "printf '\\377\\376 bad bytes'",
    "printf '\\033[31mred\\033[0m'",
    "cd /tmp && pwd",
    "pwd",
    "export A=b C='d e'",
    "echo \"$A-$C\"",
    "f() { echo in f $1; }; f 1",
    "f 2",
    "nosuchprogram",
    "echo 'unclosed",
    "if true; then echo yes; fi; [ 1 = 2 ]",
    "kill -9 $$",
    "cat; echo no input",
    "set -e; false; echo not reached",
    "echo still well; umask",
    "for i in 1 2 3; do echo $i; done | tail -n 1",
    "tty; test -t 1; echo $?",
];

/// check 35
pub(crate) fn results_are_the_same_with_and_without_lasting_shells(place: &dyn Somewhere) {
    let [with, without] = [true, false].map(|lasting| {
        place.configure(json!({"persistent_shell": lasting}));
        let mut talk = place.talk();
        let results: Vec<(&str, Value)> = TELLING
            .iter()
            .map(|command| (*command, talk.run(command)))
            .collect();
        assert_eq!(talk.end(), Some(0));
        results
    });
    assert_eq!(with, without);
    assert_eq!(with[3].1["output"], "out\nerr");
    assert_eq!(with[12].1["output"], "in f 2");
}

/// check 35
pub(crate) fn late_output_never_appears_in_another_command(place: &dyn Somewhere) {
    place.configure(json!({"foreground_guard": false}));
    let mut talk = place.talk();
    talk.output("true");
    let result = talk.run("(sleep 1; touch ~/said; echo late) & echo early");
    assert_eq!(text(&result, "output"), "early", "{result}");
    let mut look = || {
        let output = talk.output("sleep 0.1; ls ~/said 2>/dev/null | wc -l");
        assert!(output == "0" || output == "1", "{output}");
        output == "1"
    };
    eventually("it is late", &mut look);
    assert!(look() && look() && look());
}

/// Whatever it does to leave: two forks, sessions of its own, no environment, no descriptor.
pub(crate) fn a_daemon_ends_with_the_command_that_started_it(place: &dyn Somewhere) {
    place.configure(json!({"foreground_guard": false}));
    let mut talk = place.talk();
    talk.output("true");
    // A duration that nobody else sleeps for tells it from others.
    let time = format!("57.{}", std::process::id());
    let command = format!(
        "env -i PATH=\"$PATH\" setsid sh -c 'exec </dev/null >/dev/null 2>&1; (setsid sleep {time} &)'; \
         sleep 58"
    );
    let result = talk.terminal(json!({"command": command, "timeout": 2}));
    assert_eq!(result["exit_code"], 124, "{result}");
    let (first, rest) = time.split_at(1);
    let look = format!(
        "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -x '[{first}]{rest}' || true"
    );
    assert_eq!(talk.output(&look), "");
}
