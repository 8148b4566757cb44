//! Homes that cannot be used: a file, someone else's, read-only, or on a full disk.

use hermes_testkit::{TestHome, Tree};

use crate::{configured, fresh};

/// Commands that write into the home.
const WRITERS: [&[&str]; 5] = [
    &["config", "set", "terminal.timeout", "9"],
    &["config", "set", "A_TOKEN", "two"],
    &["profile", "create", "x", "--no-alias"],
    &["backup", "--quick"],
    &["config", "migrate", "--yes"],
];

#[test]
fn a_home_that_is_a_file() {
    let home = fresh();
    std::fs::write(home.root(), "precious").unwrap();
    let message = format!("{} is not a directory", home.root().display());
    let readers: [&[&str]; 5] = [
        &["config", "get", "terminal.timeout"],
        &["profile", "list"],
        &["status"],
        &["logs"],
        &["backup"],
    ];
    for args in WRITERS.iter().chain(&readers) {
        home.run(*args).refuses(1, &message).says_part(&format!(
            "hint: move {} away, or set HERMES_HOME to another directory\n",
            home.root().display()
        ));
    }
    home.run(["doctor"])
        .exits(1)
        .prints_part("✗ ~/.hermes is not a directory\n");
    assert_eq!(std::fs::read_to_string(home.root()).unwrap(), "precious");
    assert_eq!(home.tree().paths(), [".hermes"]);
}

#[test]
fn a_home_below_a_file() {
    let home = fresh();
    std::fs::write(home.outside("file"), "precious").unwrap();
    let outcome = home
        .hermes(["config", "set", "terminal.timeout", "9"])
        .env("HERMES_HOME", home.outside("file/home"))
        .run();
    outcome.refuses(
        1,
        &format!("{} is not a directory", home.outside("file").display()),
    );
}

/// A home of root's that others may look at, or not.
fn foreign(mode: u32) -> TestHome {
    let home = configured("terminal: {timeout: 5}\n");
    let set = |name: &str, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(home.path(name), mode).unwrap();
    };
    set("config.yaml", 0o644);
    set("", mode);
    home
}

#[test]
fn a_home_of_another_user() {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test needs root, to have a home that belongs to someone else"
    );
    for mode in [0o755, 0o700] {
        let home = foreign(mode);
        let before = home.tree();
        let message = format!(
            "{} belongs to user 0 and cannot be written by user 65534",
            home.root().display()
        );
        for key in ["terminal.timeout", "A_TOKEN"] {
            home.hermes(["config", "set", key, "9"])
                .as_nobody()
                .run()
                .refuses(1, &message)
                .says_part("hint: run the command as user 0, or set HERMES_HOME to a directory");
        }
        home.hermes(["profile", "create", "x", "--no-alias"])
            .as_nobody()
            .run()
            .refuses(
                1,
                &format!(
                    "could not create the directory {}: permission denied",
                    home.path("profiles").display()
                ),
            );
        home.hermes(["doctor"])
            .as_nobody()
            .run()
            .exits(1)
            .prints_part("✗ ~/.hermes is not writable\n")
            .prints_part("⚠ ~/.hermes is owned by user 0, but you are user 65534\n");
        before.is_still(&home.tree());
    }
    // What may be read is read.
    foreign(0o755)
        .hermes(["config", "get", "terminal.timeout"])
        .as_nobody()
        .run()
        .succeeds()
        .prints("5\n");
}

#[test]
fn a_read_only_home() {
    let home = configured("terminal: {timeout: 5}\n");
    home.put(".env", "A_TOKEN=one\n");
    home.put("active_profile", "default\n");
    let before = home.tree();
    let run = |args: &[&str]| {
        home.hermes(args)
            .in_mount_namespace(
                "mount --bind \"$HOME\" \"$HOME\"
                 mount -o remount,bind,ro \"$HOME\"
                 cd /
                 exec \"$0\" \"$@\"",
            )
            .run()
    };
    for args in WRITERS
        .iter()
        .chain([["profile", "use", "default"].as_slice(), &["backup"]].iter())
    {
        let outcome = run(args);
        outcome
            .exits(1)
            .prints("")
            .says_part(": the file system is read-only\n")
            .says_part("hint: remount it writable or set HERMES_HOME elsewhere\n");
        assert!(outcome.stderr.starts_with("Error: could not "), "{outcome}");
        assert_eq!(outcome.stderr.lines().count(), 2, "{outcome}");
    }
    run(&["config", "get", "terminal.timeout"])
        .succeeds()
        .prints("5\n")
        .says("");
    run(&["status"]).succeeds().says("");
    run(&["profile", "list"]).succeeds().says("");
    before.is_still(&home.tree());
}

#[test]
fn a_full_disk() {
    let home = configured("_config_version: 24\nterminal: {timeout: 5} # mine\n");
    home.put(".env", "A_TOKEN=one\n");
    for args in WRITERS.iter().chain([["backup"].as_slice()].iter()) {
        // The disk is gone with the namespace, so what is on it is copied out for a look.
        let after = home.outside("after");
        std::fs::create_dir_all(&after).unwrap();
        let outcome = home
            .hermes(*args)
            .env("AFTER", &after)
            .in_mount_namespace(
                "seed=$(mktemp -d)
                 cp -a \"$HOME/.\" \"$seed\"
                 mount -t tmpfs -o size=256k tmpfs \"$HOME\"
                 cp -a \"$seed/.\" \"$HOME\"
                 rm -r \"$seed\"
                 cd \"$HOME\"
                 dd if=/dev/zero of=filler bs=1k 2>/dev/null || true
                 if echo more > probe 2>/dev/null; then echo 'not full' >&2; exit 99; fi
                 rm -f probe
                 code=0
                 \"$0\" \"$@\" || code=$?
                 rm filler
                 cp -a . \"$AFTER\"
                 exit $code",
            )
            .run();
        outcome
            .exits(3)
            .prints("")
            .says_part(": no space left on the disk\n");
        assert!(outcome.stderr.starts_with("Error: could not "), "{outcome}");
        assert_eq!(outcome.stderr.lines().count(), 2, "{outcome}");
        // Empty directories and locks may have been made; of content nothing has changed.
        let files = |tree: Tree| {
            tree.without_times()
                .without_extensions(&["lock"])
                .only(|path| !path.ends_with('/'))
        };
        pretty_assertions::assert_eq!(
            files(home.tree()),
            files(Tree::read(&after)),
            "after {outcome}"
        );
        std::fs::remove_dir_all(&after).unwrap();
    }
}

/// Runs a command on a disk of 64 MB, and says what is on it afterwards.
fn on_small_disk(home: &TestHome, args: &[&str]) -> hermes_testkit::ProgramOutput {
    home.hermes(args)
        .in_mount_namespace(
            "seed=$(mktemp -d)
             cp -a \"$HOME/.\" \"$seed\"
             mount -t tmpfs -o size=64m tmpfs \"$HOME\"
             cp -a \"$seed/.\" \"$HOME\"
             rm -r \"$seed\"
             cd \"$HOME\"
             code=0
             \"$0\" \"$@\" || code=$?
             find .hermes -type f -size +100k
             find . -name '*tmp-*'
             exit $code",
        )
        .run()
}

/// 200 MB of zeros, packed.
fn bomb(home: &TestHome, script: &str) -> String {
    let path = home.outside("bomb");
    let script = format!(
        "set -e; d=$(mktemp -d); mkdir $d/p; cd $d; truncate -s 200M p/zeros; \
         echo 'a: 1' > p/config.yaml; {script}; rm -r $d"
    );
    let done = std::process::Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(&path)
        .status();
    assert!(done.unwrap().success());
    assert!(path.metadata().unwrap().len() < 1 << 20);
    path.display().to_string()
}

#[test]
fn archives_are_refused_before_they_fill_the_disk() {
    let home = configured("terminal: {timeout: 5}\n");
    let archive = bomb(&home, "tar -czf \"$1\" p");
    let outcome = on_small_disk(&home, &["profile", "import", &archive]);
    outcome
        .exits(3)
        .prints("")
        .says_part("Error: the archive unpacks to more than the ")
        .says_part("hint: nothing was imported; free some space\n");

    let zip = "python3 -c 'import sys,zipfile,os; z=zipfile.ZipFile(sys.argv[1],\"w\",\
               zipfile.ZIP_DEFLATED); z.write(\"p/config.yaml\",\"config.yaml\"); \
               z.write(\"p/zeros\",\"zeros\"); z.close()' \"$1\"";
    let backup = bomb(&home, zip);
    let outcome = on_small_disk(&home, &["import", &backup, "--force"]);
    outcome.exits(3).says_part("has room for");
    assert!(!outcome.stdout.contains("zeros"), "{outcome}");

    // The same where the directory of the zip lies about the size.
    let mut bytes = std::fs::read(&backup).unwrap();
    let size = (200u32 << 20).to_le_bytes();
    let lie = 10u32.to_le_bytes();
    while let Some(at) = bytes.windows(4).position(|window| window == size) {
        bytes[at..at + 4].copy_from_slice(&lie);
    }
    std::fs::write(&backup, bytes).unwrap();
    let outcome = on_small_disk(&home, &["import", &backup, "--force"]);
    outcome.exits(1);
    assert!(!outcome.stdout.contains("zeros"), "{outcome}");
}
