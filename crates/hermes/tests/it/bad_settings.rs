//! Settings files that nobody should have written: one sentence, nothing changed, little memory.

use std::io::Write;

use hermes_testkit::TestHome;

use crate::configured;

/// More address space than this is never asked for; the program itself has the greater part of it,
/// and what is in memory is less.
const MEGABYTES: u64 = 128;

/// `get` goes on with the default and warns; everything that writes refuses with `message`.
#[track_caller]
fn is_survived(home: &TestHome, message: &str) {
    let file = home.path("config.yaml");
    let before = std::fs::metadata(&file).unwrap();
    let untouched = |home: &TestHome| {
        let tree = home.tree().without_directory_times();
        tree.only(|path| !path.contains(".corrupt."))
    };
    let tree = untouched(home);
    let get = home
        .hermes(["config", "get", "terminal.timeout"])
        .within_megabytes(MEGABYTES)
        .run();
    get.succeeds().prints("180\n");
    assert_eq!(get.stderr.lines().count(), 2, "{get}");
    for args in [
        ["config", "set", "terminal.timeout", "9"].as_slice(),
        &["config", "unset", "terminal.timeout"],
        &["config", "migrate", "--yes"],
    ] {
        let outcome = home.hermes(args).within_megabytes(MEGABYTES).run();
        outcome.refuses(1, message);
    }
    for args in [["doctor"].as_slice(), &["config", "check"]] {
        let outcome = home.hermes(args).within_megabytes(MEGABYTES).run();
        outcome.exits(1).says("");
    }
    let status = home.hermes(["status"]).within_megabytes(MEGABYTES).run();
    status.succeeds();
    tree.is_still(&untouched(home));
    let after = std::fs::metadata(&file).unwrap();
    assert_eq!(after.len(), before.len());
    assert_eq!(after.modified().unwrap(), before.modified().unwrap());
}

fn shown(home: &TestHome) -> String {
    home.path("config.yaml").display().to_string()
}

#[test]
fn the_limit_of_these_tests_is_felt() {
    let home = configured("");
    let outcome = home
        .hermes(["config", "get", "terminal.timeout"])
        .within_megabytes(4)
        .run();
    assert_ne!(outcome.code, Some(0), "{outcome}");
}

#[test]
fn text_that_is_not_utf8() {
    let home = configured("");
    home.put("config.yaml", b"terminal:\n  cwd: \xff\xfe\n");
    let message = format!(
        "{} is not UTF-8 text (first bad byte at offset 17); it is not changed",
        shown(&home)
    );
    is_survived(&home, &message);
}

#[test]
fn a_hundred_megabytes() {
    let home = configured("");
    let mut file = std::fs::File::create(home.path("config.yaml")).unwrap();
    let chunk = "key: [1, 2, 3]\n".repeat(70_000);
    let mut size = 0;
    while size < 100 << 20 {
        file.write_all(chunk.as_bytes()).unwrap();
        size += chunk.len();
    }
    drop(file);
    let message = format!(
        "{} is too large: {size} bytes, at most 4194304 are read",
        shown(&home)
    );
    is_survived(&home, &message);
}

#[test]
fn ten_thousand_levels() {
    let depth = 10_000;
    for (content, place) in [
        (
            format!("a: {}{}\n", "[".repeat(depth), "]".repeat(depth)),
            "line 1, column 259",
        ),
        (
            format!("a: {}1{}\n", "{a: ".repeat(depth), "}".repeat(depth)),
            "line 1, column ",
        ),
        (
            format!("a:\n  {}1\n", "- ".repeat(depth)),
            "line 2, column ",
        ),
        (format!("{}1\n", "? ".repeat(depth)), "line 1, column "),
    ] {
        let home = configured(&content);
        let set = home.run(["config", "set", "terminal.timeout", "9"]);
        set.exits(1).says_part(place);
        let message = set.stderr.lines().next().unwrap();
        let message = message.strip_prefix("Error: ").unwrap().to_owned();
        assert!(
            message.starts_with(&format!("{} cannot be parsed: {place}", shown(&home)))
                && message
                    .ends_with(": lists and mappings are nested too deeply; it is not changed"),
            "{message}"
        );
        is_survived(&home, &message);
    }
}

#[test]
fn a_few_aliases_that_mean_billions() {
    let mut content = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(10);
        content.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            below.trim_end_matches(", ")
        ));
    }
    let home = configured(&content);
    let message = format!(
        "{} cannot be parsed: line 1, column 1: aliases expand to more than 200000 values; it \
         is not changed",
        shown(&home)
    );
    is_survived(&home, &message);
}

#[test]
fn four_megabytes_of_values() {
    // Below the cap on bytes, and as many values as fit.
    let home = configured(&format!("a: [{}]\n", "1,".repeat(2_000_000)));
    let before = home.tree().only(|path| path.ends_with("config.yaml"));
    home.hermes(["config", "set", "terminal.timeout", "9"])
        .within_megabytes(MEGABYTES)
        .run()
        .refuses(
            1,
            &format!(
                "{} cannot be parsed: line 1, column 400003: the file contains more than 200000 \
                 values; it is not changed",
                shown(&home)
            ),
        );
    before.is_still(&home.tree().only(|path| path.ends_with("config.yaml")));
}

#[test]
fn a_file_that_may_not_be_read() {
    let home = configured("terminal: {timeout: 5}\n");
    home.give_to_nobody();
    let mode = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(home.path("config.yaml"), mode).unwrap();
    };
    mode(0o000);
    let file = shown(&home);
    let denied = format!("could not open {file}: permission denied");
    let hint = format!("hint: check the owner and mode of {file} and of its directory\n");
    home.hermes(["config", "get", "terminal.timeout"])
        .as_nobody()
        .run()
        .succeeds()
        .prints("180\n")
        .says(&format!(
            "⚠️  hermes config: {denied}; defaults are in effect\n{hint}"
        ));
    for args in [
        ["config", "set", "terminal.timeout", "9"].as_slice(),
        &["config", "unset", "terminal.timeout"],
        &["config", "migrate"],
    ] {
        home.hermes(args)
            .as_nobody()
            .run()
            .refuses(1, &denied)
            .says_part(&hint);
    }
    home.hermes(["doctor"])
        .as_nobody()
        .run()
        .exits(1)
        .prints_part(&denied);
    mode(0o600);
    assert_eq!(home.read("config.yaml"), "terminal: {timeout: 5}\n");
}

#[test]
fn a_directory_or_a_pipe_in_the_place_of_the_file() {
    let home = configured("");
    let file = home.path("config.yaml");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    home.run(["config", "set", "terminal.timeout", "9"])
        .refuses(
            1,
            &format!("could not read {}: it is a directory", file.display()),
        );
    home.run(["config", "get", "terminal.timeout"])
        .succeeds()
        .prints("180\n");

    std::fs::remove_dir(&file).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &file, fifo, mode, 0).unwrap();
    // Nobody writes into the pipe: whoever waits for that waits for ever.
    home.run(["config", "set", "terminal.timeout", "9"])
        .refuses(
            1,
            &format!(
                "could not write {}: it is not a regular file",
                file.display()
            ),
        );
    home.run(["config", "get", "terminal.timeout"])
        .succeeds()
        .prints("180\n");
}
