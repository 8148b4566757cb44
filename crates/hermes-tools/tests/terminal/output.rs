//! What becomes of output.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::world::World;

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_hundred_megabytes_are_cut_with_bounded_memory_and_kept_in_part() {
    let world = World::new();
    world.run("true");
    let before = resident_kib();
    let result =
        world.run("head -c 100000000 /dev/zero | tr '\\0' 'x' | fold -w 99; echo; echo the-end");
    let grown = resident_kib() - before;
    assert!(grown < 64 * 1024, "{grown} KiB");
    let output = result["output"].as_str().unwrap();
    assert!(output.contains("[OUTPUT TRUNCATED - "));
    assert!(output.contains(" total]"));
    assert!(output.starts_with("xxxx") && output.ends_with("the-end"));
    let shown = output.chars().count();
    assert!((50_000..50_200).contains(&shown), "{shown}");
    let path = std::path::PathBuf::from(result["full_output_path"].as_str().unwrap());
    let meta = std::fs::metadata(&path).unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    assert_eq!(meta.len(), 10 * 1024 * 1024);
    assert!(path.starts_with(world.path("home/cache/terminal")));
}

#[test]
fn a_secret_is_masked_in_the_result_and_in_the_file() {
    let world = World::with(|settings| settings.shown_output = 1000);
    let result = world
        .run("for i in $(seq 200); do echo \"line $i correct-horse-\"\"battery-staple end\"; done");
    let file = std::fs::read_to_string(result["full_output_path"].as_str().unwrap()).unwrap();
    assert_eq!(file.lines().count(), 200);
    for text in [result["output"].as_str().unwrap(), &file] {
        assert!(!text.contains("horse") && text.contains("***"), "{text}");
    }
    let short = world.run("echo correct-horse-battery-staple");
    assert_eq!(short["output"], "***");
    assert_eq!(short.get("full_output_path"), None);
}

#[test]
fn odd_bytes_come_out_as_text() {
    let world = World::new();
    assert_eq!(
        world.output("printf 'a\\xff\\x00b\\033[31mred\\033[0m no newline'"),
        "a\u{fffd}\0bred no newline"
    );
    assert_eq!(world.output("printf 'é' | head -c 1"), "\u{fffd}");
}

#[test]
fn known_exit_codes_are_explained() {
    let world = World::new();
    assert!(world.run("echo a | grep b")["exit_code_meaning"].is_string());
    assert_eq!(world.run("echo a | grep a").get("exit_code_meaning"), None);
    assert_eq!(world.run("(exit 1)").get("exit_code_meaning"), None);
    let result = world.call(json!({"command": "grep b", "pty": true}));
    assert!(result["pty_note"].is_string());
}
