//! Nothing outside this crate starts a process: the environment builder cannot be gone around.

use std::path::{Path, PathBuf};

/// Crates that may name the standard library's way: this one, and what only tests and chores use.
const EXEMPT: [&str; 3] = ["hermes-proc", "hermes-soak", "hermes-testkit"];

#[test]
fn only_this_crate_starts_processes() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut looked_at = 0;
    let mut offenders = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let entry = entry.unwrap();
        if EXEMPT.contains(&entry.file_name().to_str().unwrap()) {
            continue;
        }
        for file in sources(&entry.path().join("src")) {
            looked_at += 1;
            let text = std::fs::read_to_string(&file).unwrap();
            if let Some(line) = spawning_line(&text) {
                offenders.push(format!("{}: {line}", file.display()));
            }
        }
    }
    assert!(
        looked_at > 100,
        "only {looked_at} files: the search is broken"
    );
    assert_eq!(offenders, [] as [String; 0], "use hermes_proc::ChildSpec");
}

/// The first line of production code that names a process builder.
fn spawning_line(text: &str) -> Option<&str> {
    let production = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    production.lines().find(|line| {
        let code = line.split("//").next().unwrap_or_default();
        let imported = code.contains("process::{") && code.contains("Command");
        imported
            || code.contains("process::Command")
            || (code.contains("Command::new(") && !code.contains("clap::Command::new("))
            || code.contains("posix_spawn")
            || code.contains("execve")
    })
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs")
            && !name.ends_with("_tests.rs")
            && name != "tests.rs"
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_search_finds_what_it_looks_for() {
    for bad in [
        "    let child = Command::new(\"git\");",
        "use std::process::Command;",
        "use std::process::{Child, Command};",
        "tokio::process::Command::new(x)",
    ] {
        assert!(spawning_line(bad).is_some(), "{bad}");
    }
    for fine in [
        "use std::process::ExitCode;",
        "// Command::new is elsewhere",
        "let tree = clap::Command::new(\"hermes\");",
        "#[cfg(test)]\nmod tests { use std::process::Command; }",
    ] {
        assert!(spawning_line(fine).is_none(), "{fine}");
    }
}
