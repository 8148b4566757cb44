//! One list of jobs, two programs: what either makes, the other lists and runs, and both together run
//! a job once.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::reference::Version;
use crate::world::World;

with_each_reference!(
    jobs_of_either_are_listed_by_both,
    both_take_turns_on_one_list,
    a_single_run_is_run_by_one_of_them,
);

const TICK: &str = "from cron.scheduler import tick\nprint(tick(verbose=False))";

fn jobs(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(world.root("cron/jobs.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    file["jobs"].as_array().unwrap().clone()
}

fn ours(world: &World) -> Value {
    serde_json::from_str(&world.ours(&["cron", "list", "--all", "--json"])).unwrap()
}

/// Lets every job be due since this many seconds.
fn make_due(world: &World, seconds: i64) {
    let then = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds);
    let then = then.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string();
    let path = world.root("cron/jobs.json");
    let mut file: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for job in file["jobs"].as_array_mut().unwrap() {
        job["next_run_at"] = json!(then);
        if job["schedule"]["kind"] == "once" {
            job["schedule"]["run_at"] = json!(then);
        }
    }
    fs::write(&path, file.to_string()).unwrap();
}

fn script(world: &World, name: &str) {
    fs::create_dir_all(world.root("scripts")).unwrap();
    let count = world.home().join("count");
    let text = format!("echo {name} >> {}\necho {name}\n", count.display());
    fs::write(world.root(&format!("scripts/{name}.sh")), text).unwrap();
}

fn count(world: &World) -> usize {
    let text = fs::read_to_string(world.home().join("count")).unwrap_or_default();
    text.lines().count()
}

fn jobs_of_either_are_listed_by_both(version: Version) {
    let world = World::empty(version);
    world.theirs(&["cron", "create", "every 30m", "say hi", "--name", "theirs"]);
    world.ours(&["cron", "create", "0 9 * * MON", "say ho", "--name", "mine"]);
    world.ours(&["cron", "create", "every monday 9am", "x", "--name", "third"]);
    world.theirs(&["cron", "create", "2h", "once", "--name", "fourth"]);
    let listed = ours(&world);
    let names: Vec<&Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|job| &job["name"])
        .collect();
    assert_eq!(names, ["theirs", "mine", "third", "fourth"]);
    let text = world.theirs(&["cron", "list"]);
    for name in ["theirs", "mine", "third", "fourth"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    // Every field that they write, we write.
    let keys = |job: &Value| -> Vec<String> { job.as_object().unwrap().keys().cloned().collect() };
    let all = jobs(&world);
    let (theirs, mine) = (keys(&all[0]), keys(&all[1]));
    for key in theirs {
        assert!(mine.contains(&key), "{key}");
    }
    // Their next run of our schedules is ours.
    let script = "import json, sys\nfrom cron.jobs import load_jobs, compute_next_run\n\
                  print(json.dumps([compute_next_run(j['schedule']) for j in load_jobs()]))";
    let next: Value = serde_json::from_str(&world.python(script, &[])).unwrap();
    let at = |text: &Value| -> jiff::Timestamp { text.as_str().unwrap().parse().unwrap() };
    for number in [1, 2] {
        assert_eq!(
            at(&next[number]),
            at(&all[number]["next_run_at"]),
            "{}",
            all[number]
        );
    }
    world.theirs(&["cron", "pause", all[1]["id"].as_str().unwrap()]);
    world.ours(&["cron", "remove", all[0]["id"].as_str().unwrap()]);
    assert_eq!(ours(&world)[0]["state"], "paused");
}

fn both_take_turns_on_one_list(version: Version) {
    let world = World::empty(version);
    script(&world, "a");
    script(&world, "b");
    for name in ["a.sh", "b.sh"] {
        world.ours(&["cron", "create", "every 1h", "--script", name, "--no-agent"]);
    }
    let mut expected = 0;
    for round in 0..6 {
        make_due(&world, 5);
        match round {
            0 => drop(world.ours(&["cron", "tick"])),
            1 => drop(world.python(TICK, &[])),
            _ => std::thread::scope(|scope| {
                scope.spawn(|| world.ours(&["cron", "tick"]));
                scope.spawn(|| world.python(TICK, &[]));
            }),
        }
        // Whoever came second found nothing, or the lock; now nothing is left.
        world.ours(&["cron", "tick"]);
        expected += 2;
        assert_eq!(count(&world), expected, "round {round}");
        for job in jobs(&world) {
            assert_eq!(job["last_status"], "ok", "{job}");
            assert_eq!(job["repeat"]["completed"], round + 1, "{job}");
        }
    }
    let text = world.theirs(&["cron", "list"]);
    assert!(text.contains("a.sh"), "{text}");
}

fn a_single_run_is_run_by_one_of_them(version: Version) {
    let world = World::empty(version);
    script(&world, "once");
    for round in 1..=3 {
        world.ours(&["cron", "create", "5m", "--script", "once.sh", "--no-agent"]);
        make_due(&world, 30);
        std::thread::scope(|scope| {
            scope.spawn(|| world.ours(&["cron", "tick"]));
            scope.spawn(|| world.python(TICK, &[]));
        });
        world.ours(&["cron", "tick"]);
        assert_eq!(count(&world), round);
        assert_eq!(jobs(&world), Vec::<Value>::new());
    }
}
