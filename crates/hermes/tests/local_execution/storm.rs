//! Two hundred commands, twenty at a time, that end by themselves, run into time limits, fork away
//! and lose the program that started them. Afterwards nothing of them runs, and what was reported is
//! what happened.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::{Duration, Instant};

use hermes_testkit::ProgramCall;
use serde_json::{Value, json};

use super::talk::Talk;
use hermes_testkit::eventually;

use super::Place;

const COMMANDS: u64 = 200;
const AT_ONCE: u64 = 20;
/// A script may make eight calls at a time, so it gets fewer.
const IN_ONE: u64 = 80;
/// Twenty trees are killed at once, each with a look at every process of the machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A number below `limit` that differs in every run.
fn random(seed: &RandomState, what: (u64, &str), limit: u64) -> u64 {
    seed.hash_one(what) % limit
}

/// A command that leaves `N.begun` when it begins and `N.ended` with its code when it comes to its
/// end, and how it should end: `Some(code)` or by its time limit.
fn command(seed: &RandomState, n: u64) -> (String, Option<i64>) {
    let code = i64::try_from(random(seed, (n, "code"), 100)).unwrap();
    let (work, ends) = match random(seed, (n, "kind"), 8) {
        0..=2 => ("true", true),
        3 => ("sleep 300", false),
        4 => ("setsid sleep 300 & wait", false),
        5 => ("(setsid sh -c '(setsid sleep 300 &)'); sleep 300", false),
        6 => (
            "trap '' TERM; (trap '' TERM; exec sleep 300) & wait; sleep 300",
            false,
        ),
        _ => (
            "(setsid sh -c \"trap '' TERM; sleep 300\" >/dev/null 2>&1 &); sleep 300",
            false,
        ),
    };
    let text = format!(
        "echo {n} > begun.{n}; echo here {n}; {work}; echo {code} > ended.{n}; exit {code}"
    );
    (text, ends.then_some(code))
}

fn place() -> Place {
    let place = Place::with_config(
        "terminal: {foreground_guard: false}\n\
         approvals: {noninteractive_mode: approve}\n\
         code_execution: {max_tool_calls: 1000}\n",
    );
    std::fs::create_dir(place.work("seen")).unwrap();
    // Puts the program in its place before twenty want to start it.
    drop(hermes(&place, &[]));
    place
}

/// The program from a place of its own, so that its processes can be told from those of other tests.
fn hermes(place: &Place, args: &[&str]) -> ProgramCall {
    place
        .hermes(args)
        .in_directory(&place.work("seen"))
        .reachable_by_all()
}

/// What a result says is what the files say.
#[track_caller]
fn is_true(directory: &Path, n: u64, expected: Option<i64>, result: &Value) {
    let ended = std::fs::read_to_string(directory.join(format!("ended.{n}"))).ok();
    let ended: Option<i64> = ended.map(|text| text.trim().parse().unwrap());
    assert_eq!(result["error"], Value::Null, "{n}: {result}");
    assert!(
        directory.join(format!("begun.{n}")).exists(),
        "{n}: {result}"
    );
    assert_eq!(ended, expected, "{n}: {result}");
    let output = result["output"].as_str().unwrap();
    assert!(output.starts_with(&format!("here {n}")), "{n}: {result}");
    match expected {
        Some(code) => assert_eq!(result["exit_code"], code, "{n}: {result}"),
        None => {
            assert_eq!(result["exit_code"], 124, "{n}: {result}");
            assert!(
                output.contains("[Command timed out after "),
                "{n}: {result}"
            );
        }
    }
}

/// Processes that have to do with this home, by environment or by program.
fn left(place: &Place) -> Vec<String> {
    let home = place.home.outside("");
    let home = home.to_str().unwrap().trim_end_matches('/');
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let path = entry.unwrap().path();
        let read = |name: &str| {
            let bytes = std::fs::read(path.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let (command, variables) = (read("cmdline"), read("environ"));
        if command.contains(home) || variables.contains(home) {
            found.push(format!("{}: {command}", path.display()));
        }
    }
    found
}

#[track_caller]
fn nobody_is_left(place: &Place) {
    let deadline = Instant::now() + PATIENCE;
    let mut found = left(place);
    while !found.is_empty() {
        assert!(Instant::now() < deadline, "still there: {found:#?}");
        std::thread::sleep(Duration::from_millis(20));
        found = left(place);
    }
}

/// Runs the commands of one of the twenty, one after the other. Now and then the program is killed in
/// the middle of one, and another goes on.
fn one_of_twenty(place: &Place, seed: &RandomState, numbers: impl Iterator<Item = u64>) -> u64 {
    let start = || Talk::new(hermes(place, &["tools", "call", "--stdin"]).start());
    let directory = place.work("seen");
    let mut talk = start();
    let mut killed = 0;
    for n in numbers {
        let (text, expected) = command(seed, n);
        let timeout = 1 + random(seed, (n, "timeout"), 2);
        let session = format!("s{}", n % 3);
        let args = json!({"command": text, "timeout": timeout});
        talk.send(&session, "terminal", &args);
        if expected.is_none() && random(seed, (n, "kill"), 4) == 0 {
            eventually("it has begun", || {
                directory.join(format!("begun.{n}")).exists()
            });
            talk.hermes.kill();
            killed += 1;
            talk = start();
        } else {
            is_true(&directory, n, expected, &talk.answer());
        }
    }
    talk.hermes.close_stdin();
    assert_eq!(talk.hermes.wait().code(), Some(0));
    killed
}

#[test]
fn a_storm_over_many_programs_leaves_nobody_and_every_result_is_true() {
    // check 16, 17
    let (place, seed) = (place(), RandomState::new());
    let killed: u64 = std::thread::scope(|scope| {
        let twenty: Vec<_> = (0..AT_ONCE)
            .map(|first| {
                let numbers = (first..COMMANDS).step_by(AT_ONCE.try_into().unwrap());
                let (place, seed) = (&place, &seed);
                scope.spawn(move || one_of_twenty(place, seed, numbers))
            })
            .collect();
        twenty.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert!(killed > 0, "no program was killed");
    nobody_is_left(&place);
}

/// A script that makes this many calls itself, as many at a time as one may, and keeps the results.
fn script(seed: &RandomState, commands: u64) -> String {
    let calls: Vec<Value> = (0..commands)
        .map(|n| {
            let timeout = 1 + random(seed, (n, "timeout"), 2);
            json!([command(seed, n).0, timeout])
        })
        .collect();
    format!(
        "import json\n\
         from concurrent.futures import ThreadPoolExecutor\n\
         from hermes_tools import terminal\n\
         calls = json.loads({:?})\n\
         with ThreadPoolExecutor({AT_ONCE}) as pool:\n\
         \x20   results = list(pool.map(lambda call: terminal(call[0], timeout=call[1]), calls))\n\
         with open('results', 'w') as file: json.dump(results, file)\n",
        json!(calls).to_string()
    )
}

#[test]
fn a_storm_in_one_program_leaves_nobody_and_every_result_is_true() {
    // check 12, 16
    let (place, seed) = (place(), RandomState::new());
    let mut talk = Talk::new(hermes(&place, &["tools", "call", "--stdin"]).start());
    talk.printed(&script(&seed, IN_ONE));
    let directory = place.work("seen");
    let results = std::fs::read(directory.join("results")).unwrap();
    let results: Vec<Value> = serde_json::from_slice(&results).unwrap();
    assert_eq!(results.len() as u64, IN_ONE);
    for (n, result) in (0..).zip(&results) {
        is_true(&directory, n, command(&seed, n).1, result);
    }
    talk.hermes.close_stdin();
    talk.hermes.wait();
    nobody_is_left(&place);
}

#[test]
fn a_program_that_is_killed_in_the_middle_of_a_storm_leaves_nobody() {
    // check 16, 17
    let (place, seed) = (place(), RandomState::new());
    let mut talk = Talk::new(hermes(&place, &["tools", "call", "--stdin"]).start());
    let args = json!({"code": script(&seed, COMMANDS)});
    talk.send("main", "execute_code", &args);
    let directory = place.work("seen");
    eventually("a good part of them have begun", || {
        let names = std::fs::read_dir(&directory).unwrap();
        let begun = names.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_str().unwrap().starts_with("begun.")
        });
        begun.count() as u64 > COMMANDS / 10
    });
    talk.hermes.kill();
    nobody_is_left(&place);
}
