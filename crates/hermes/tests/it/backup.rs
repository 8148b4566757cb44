//! Backups of a home in use, and the way back.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_store::{Database, Integrity, OpenOptions, integrity_check};
use hermes_testkit::TestHome;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::gateway_stand_in::Gateway;
use crate::{configured, fresh};

fn open(path: &Path) -> Database {
    let database = Database::open(path, &OpenOptions::default()).unwrap();
    database
        .connection()
        .execute_batch("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY)")
        .unwrap();
    database
}

fn rows(path: &Path) -> i64 {
    Database::open_read_only(path)
        .unwrap()
        .connection()
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap()
}

fn back_up(home: &TestHome) -> PathBuf {
    let path = home.outside("backup.zip");
    home.hermes(["backup", "-o"]).arg(&path).run().succeeds();
    path
}

// check 39
#[test]
fn a_backup_beside_a_writer_holds_what_was_committed() {
    let home = configured("terminal: {timeout: 5} # mine\n");
    home.put(".env", "OPENROUTER_API_KEY=v\n");
    home.run(["profile", "create", "coder"]).succeeds();
    let database = open(&home.path("state.db"));
    for _ in 0..50 {
        let connection = database.connection();
        connection
            .execute_batch("INSERT INTO t DEFAULT VALUES")
            .unwrap();
    }
    // Committed rows are in the log beside the file, and a writer is in the middle of something.
    assert!(hermes_store::wal_size(&home.path("state.db")).unwrap() > 0);
    let unfinished = "BEGIN IMMEDIATE; INSERT INTO t DEFAULT VALUES";
    database.connection().execute_batch(unfinished).unwrap();

    let zip = back_up(&home);
    let mode = std::fs::metadata(&zip).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    drop(database);

    let other = fresh();
    let imported = other.hermes(["import"]).arg(&zip).run();
    imported.succeeds().prints_part(" into ~/.hermes\n");
    let restored = other.path("state.db");
    assert_eq!(integrity_check(&restored).unwrap(), Integrity::Sound);
    assert_eq!(rows(&restored), 50);
    assert_eq!(other.read("config.yaml"), "terminal: {timeout: 5} # mine\n");
    assert_eq!(other.mode(".env"), 0o600);
    assert_eq!(other.mode("state.db"), 0o600);
    assert!(other.has("profiles/coder/SOUL.md"));
    assert!(other.alias_dir().join("coder").is_file());
}

// check 39
#[test]
fn an_import_waits_for_no_gateway_and_overwrites_nothing_under_it() {
    let source = configured("terminal: {timeout: 5}\n");
    drop(open(&source.path("state.db")));
    let zip = back_up(&source);

    let home = configured("terminal: {timeout: 6}\n");
    let before = home.read("config.yaml");
    let gateway = Gateway::start(&home, &home.root());
    let status = home.run(["status", "--json"]).succeeds().json();
    assert_eq!(status["gateway"]["pid"], gateway.process.pid());

    let outcome = home.hermes(["import"]).arg(&zip).run();
    outcome
        .exits(1)
        .prints("")
        .says_part("Error: a gateway is running (default)\n");
    assert_eq!(home.read("config.yaml"), before);
    assert!(!home.has("state.db"));

    // By force: all but the databases.
    let outcome = home.hermes(["import", "--force"]).arg(&zip).run();
    outcome.exits(1).says_part("state.db");
    assert_eq!(home.read("config.yaml"), "terminal: {timeout: 5}\n");
    assert!(!home.has("state.db"));
}

// check 39
#[test]
fn a_partial_restore_says_so_and_is_exit_code_1() {
    let source = configured("terminal: {timeout: 5}\n");
    source.put("skills/one/SKILL.md", "do it");
    let zip = back_up(&source);
    let home = fresh();
    std::fs::create_dir_all(home.root()).unwrap();
    std::fs::create_dir(home.outside("elsewhere")).unwrap();
    std::os::unix::fs::symlink(home.outside("elsewhere"), home.path("skills")).unwrap();
    let outcome = home.hermes(["import"]).arg(&zip).run();
    outcome
        .exits(1)
        .prints("")
        .says_part("warning: skipped skills/one/SKILL.md: ")
        .says_part("Restore incomplete: ");
    assert_eq!(home.read("config.yaml"), "terminal: {timeout: 5}\n");
    assert_eq!(
        std::fs::read_dir(home.outside("elsewhere"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn settings_are_not_overwritten_unasked() {
    let source = configured("terminal: {timeout: 5}\n");
    let zip = back_up(&source);
    let home = configured("terminal: {timeout: 6}\n");
    let before = home.tree();
    let outcome = home.hermes(["import"]).arg(&zip).run();
    outcome.exits(1).says_part(
        "Error: settings already exist, and there is no terminal to ask for confirmation\n",
    );
    before.is_still(&home.tree());
    home.hermes(["import", "--force"])
        .arg(&zip)
        .run()
        .succeeds();
    assert_eq!(home.read("config.yaml"), "terminal: {timeout: 5}\n");
}

#[test]
fn the_target_of_an_import_is_the_root_of_the_home_in_use() {
    let source = configured("terminal: {timeout: 5}\n");
    let zip = back_up(&source);
    let home = fresh();
    let root = home.outside("data");
    let outcome = home
        .hermes(["import"])
        .arg(&zip)
        .env("HERMES_HOME", &root)
        .run();
    outcome
        .succeeds()
        .prints_part(&format!(" into {}\n", root.display()));
    assert!(root.join("config.yaml").is_file());
    assert!(!home.root().exists());
}

/// A zip with members as named, whatever they are.
fn zip_of(home: &TestHome, members: &[&str]) -> PathBuf {
    let path = home.outside("crafted.zip");
    let mut zip = ZipWriter::new(std::fs::File::create(&path).unwrap());
    for member in members {
        zip.start_file(*member, SimpleFileOptions::default())
            .unwrap();
        zip.write_all(b"x: 1\n").unwrap();
    }
    zip.finish().unwrap();
    path
}

#[test]
fn what_is_no_backup_changes_nothing() {
    let home = fresh();
    let junk = home.put_outside("junk.zip", "no zip at all", 0o644);
    let outcome = home.hermes(["import"]).arg(&junk).run();
    outcome
        .exits(1)
        .prints("")
        .says_part("junk.zip is not a valid zip file");
    let foreign = zip_of(&home, &["photos/one.jpg"]);
    home.hermes(["import"]).arg(&foreign).run().refuses(
        1,
        &format!(
            "{} does not look like a Hermes backup: it contains no config.yaml, .env or state.db",
            foreign.display()
        ),
    );
    let missing = home.outside("missing.zip");
    home.hermes(["import"]).arg(&missing).run().exits(1);
    assert!(!home.root().exists());
}

#[test]
fn members_that_point_outside_are_skipped() {
    let home = fresh();
    let zip = zip_of(
        &home,
        &[
            "config.yaml",
            "../evil",
            "/abs/evil",
            "gateway.pid",
            "a/../../evil",
        ],
    );
    let outcome = home.hermes(["import"]).arg(&zip).run();
    outcome.exits(1).says_part("Restore incomplete: ");
    assert_eq!(home.read("config.yaml"), "x: 1\n");
    assert!(!home.user_home().join("evil").exists() && !home.outside("evil").exists());
    assert!(!Path::new("/abs/evil").exists());
    assert!(!home.has("gateway.pid"));
}

#[test]
fn a_snapshot_keeps_the_essentials_inside_the_home() {
    let home = configured("terminal: {timeout: 5}\n");
    home.put(".env", "OPENROUTER_API_KEY=v\n");
    drop(open(&home.path("state.db")));
    let taken = home.run(["backup", "-q", "-l", "before-work"]);
    taken.succeeds().prints_part("✓ Snapshot ");
    let tree = home.tree();
    let manifest = tree
        .paths()
        .into_iter()
        .find(|path| path.ends_with("-before-work/manifest.json"))
        .unwrap()
        .to_owned();
    let text = std::fs::read_to_string(home.user_home().join(manifest)).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["label"], "before-work");
    let files: Vec<&String> = manifest["files"].as_object().unwrap().keys().collect();
    assert_eq!(files, ["state.db", "config.yaml", ".env"]);
    home.run(["backup", "-q", "-l", "Bad/Label"])
        .exits(1)
        .says_part("cannot be a label");
    home.run(["backup", "-l", "x"]).exits(2);
}
