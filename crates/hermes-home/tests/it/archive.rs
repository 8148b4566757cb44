//! Export and import of profiles, with the archives nobody should accept.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use hermes_home::archive::{
    Error, ExportReport, ExportRequest, ImportLimits, ImportRequest, Unpacked, export_profile,
    unpack_profile,
};
use pretty_assertions::assert_eq;
use tar::{EntryType, Header};

use crate::test_root::name;
use crate::tree;

const CONFIG: &str = "\
model: # which one
  default: small
  api_key: sk-literal-canary
custom:
  token: ${TOKEN}
";

/// A profile with something of everything.
fn profile(home: &Path) {
    tree::put(home, "config.yaml", CONFIG);
    tree::put(home, ".env", "KEY=env-canary\n");
    tree::put(home, "auth.json", "{\"t\":\"auth-canary\"}");
    tree::put(home, "auth.lock", "");
    tree::put(home, "SOUL.md", "I am.");
    tree::put(home, "skills/a/.env", "KEY=nested-canary\n");
    tree::put_mode(home, "scripts/run.sh", "#!/bin/sh\n", 0o755);
    tree::put(home, "sessions/x.json.tmp", "half");
    tree::put(home, "cache/big", "x");
    tree::put(home, "gateway.pid", "1");
    tree::put(home, ".clean_shutdown", "");
    tree::put(home, "state-snapshots/20260101-000000/config.yaml", CONFIG);
    tree::put(home, &format!("skills/{}/deep.md", "n".repeat(180)), "long");
    tree::fifo(&home.join("pipe"));
    drop(std::os::unix::net::UnixListener::bind(home.join("sock")).unwrap());
    symlink("no-such-file", home.join("dangling")).unwrap();
    symlink("../SOUL.md", home.join("skills/soul")).unwrap();
    symlink("/etc/hostname", home.join("absolute")).unwrap();
    symlink("../../elsewhere", home.join("skills/outside")).unwrap();
    let mut database = database(&home.join("state.db"));
    add_row(&mut database);
}

fn database(path: &Path) -> hermes_store::Database {
    let database =
        hermes_store::Database::open(path, &hermes_store::OpenOptions::default()).unwrap();
    database
        .connection()
        .execute_batch("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY)")
        .unwrap();
    database
}

fn add_row(database: &mut hermes_store::Database) {
    let connection = database.connection();
    connection
        .execute_batch("INSERT INTO t DEFAULT VALUES")
        .unwrap();
}

fn rows(path: &Path) -> i64 {
    hermes_store::Database::open_read_only(path)
        .unwrap()
        .connection()
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap()
}

fn export(home: &Path, output: &Path) -> ExportReport {
    export_profile(&ExportRequest {
        home,
        name: "coder",
        is_default: false,
        output,
    })
    .unwrap()
}

fn unpack_limited(
    archive: &Path,
    profiles: &Path,
    limits: ImportLimits,
) -> Result<Unpacked, Error> {
    unpack_profile(&ImportRequest {
        archive,
        profiles_dir: profiles,
        limits,
    })
}

fn unpack(archive: &Path, profiles: &Path) -> Result<Unpacked, Error> {
    unpack_limited(archive, profiles, ImportLimits::default())
}

#[test]
fn a_profile_round_trips_without_its_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("profiles/coder");
    profile(&home);
    // A connection stays open: what is in the log must come along, and the log must not.
    let mut open = database(&home.join("state.db"));
    add_row(&mut open);
    let output = dir.path().join("coder.tar.gz");
    let report = export(&home, &output);

    assert_eq!(tree::mode(&output), 0o600);
    assert_eq!(report.blanked, ["model.api_key"]);
    let left_out: Vec<_> = report
        .left_out
        .iter()
        .map(|left| left.path.to_str().unwrap())
        .collect();
    assert_eq!(left_out, ["absolute", "skills/outside"]);
    assert_eq!(
        tree::names(dir.path())
            .iter()
            .filter(|name| name.contains(".tmp-"))
            .count(),
        0
    );

    let profiles = dir.path().join("new/profiles");
    let unpacked = unpack(&output, &profiles).unwrap();
    assert_eq!(unpacked.top, "coder");
    assert_eq!(
        (unpacked.files, unpacked.bytes),
        (report.files, report.bytes)
    );
    let imported = unpacked.publish(&name("second")).unwrap();
    assert_eq!(imported, profiles.join("second"));

    let found = tree::read(&profiles);
    let names: Vec<_> = found.keys().map(String::as_str).collect();
    let long = format!("second/skills/{}/", "n".repeat(180));
    let deep = format!("{long}deep.md");
    assert_eq!(
        names,
        [
            "second/",
            "second/SOUL.md",
            "second/config.yaml",
            "second/dangling",
            "second/scripts/",
            "second/scripts/run.sh",
            "second/sessions/",
            "second/skills/",
            "second/skills/a/",
            &long,
            &deep,
            "second/skills/soul",
            "second/state.db",
        ]
    );
    for (name, (mode, content)) in &found {
        let text = String::from_utf8_lossy(content);
        assert!(!text.contains("canary"), "{name} holds a secret");
        let expected = match name.as_str() {
            "second/dangling" | "second/skills/soul" => 0,
            "second/scripts/run.sh" => 0o700,
            name if name.ends_with('/') => 0o700,
            _ => 0o600,
        };
        assert_eq!(*mode, expected, "{name}");
    }
    let config = String::from_utf8(found["second/config.yaml"].1.clone()).unwrap();
    assert!(config.contains("# which one") && config.contains("${TOKEN}"));
    assert_eq!(found["second/dangling"].1, b"no-such-file");
    assert_eq!(rows(&imported.join("state.db")), 2);
}

#[test]
fn the_same_tree_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    profile(&home);
    std::fs::remove_file(home.join("state.db")).unwrap();
    let outputs = [dir.path().join("a.tgz"), dir.path().join("b.tgz")];
    for output in &outputs {
        export(&home, output);
    }
    assert_eq!(
        std::fs::read(&outputs[0]).unwrap(),
        std::fs::read(&outputs[1]).unwrap()
    );
}

#[test]
fn the_default_profile_exports_its_list_and_never_the_output_itself() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("root");
    profile(&home);
    tree::put(&home, "profiles/other/config.yaml", CONFIG);
    tree::put(&home, "memories/USER.md", "u");
    let output = home.join("scripts/out.tar.gz");
    export_profile(&ExportRequest {
        home: &home,
        name: "default",
        is_default: true,
        output: &output,
    })
    .unwrap();
    let unpacked = unpack(&output, &dir.path().join("p")).unwrap();
    assert_eq!(unpacked.top, "default");
    let imported = unpacked.publish(&name("x")).unwrap();
    let tops: Vec<_> = tree::names(&imported)
        .into_iter()
        .filter(|name| name.trim_end_matches('/').matches('/').count() == 0)
        .collect();
    assert_eq!(
        tops,
        [
            "SOUL.md",
            "config.yaml",
            "memories/",
            "scripts/",
            "sessions/",
            "skills/"
        ]
    );
    assert!(!imported.join("scripts/out.tar.gz").exists());
}

#[test]
fn an_unreadable_config_is_left_out_and_reported() {
    for broken in [
        "a: [1\napi_key: sk-canary",
        "\u{0}\u{1}",
        "a: b: c: sk-canary",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        tree::put(&home, "config.yaml", broken);
        tree::put(&home, "SOUL.md", "x");
        let output = dir.path().join("o.tgz");
        let report = export(&home, &output);
        assert_eq!(report.left_out.len(), 1, "{broken:?}");
        assert_eq!(report.left_out[0].path, Path::new("config.yaml"));
        let unpacked = unpack(&output, &dir.path().join("p")).unwrap();
        assert_eq!(tree::names(unpacked.path()), ["SOUL.md"]);
    }
}

#[test]
fn a_linked_config_is_blanked_and_its_file_kept_out() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    tree::put(&home, "scripts/real.yaml", CONFIG);
    symlink("scripts/real.yaml", home.join("config.yaml")).unwrap();
    let output = dir.path().join("o.tgz");
    assert_eq!(export(&home, &output).blanked, ["model.api_key"]);
    let unpacked = unpack(&output, &dir.path().join("p")).unwrap();
    assert_eq!(tree::names(unpacked.path()), ["config.yaml", "scripts/"]);
    let config = std::fs::read_to_string(unpacked.path().join("config.yaml")).unwrap();
    assert!(!config.contains("canary"));
}

#[test]
fn what_cannot_be_read_is_reported() {
    if hermes_testkit::ran_as_nobody("archive::what_cannot_be_read_is_reported") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    tree::put_mode(&home, "secret.txt", "x", 0o000);
    tree::put(&home, "junk.db", "no database at all, really none");
    tree::put(&home, "locked/f", "x");
    let locked = home.join("locked");
    std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let report = export(&home, &dir.path().join("o.tgz"));
    std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut left_out: Vec<_> = report
        .left_out
        .iter()
        .map(|left| left.path.clone())
        .collect();
    left_out.sort();
    assert_eq!(
        left_out,
        ["junk.db", "locked", "secret.txt"].map(PathBuf::from)
    );
}

/// A tar in the making that checks nothing.
struct Hostile(Vec<u8>);

impl Hostile {
    fn new() -> Self {
        Self(Vec::new())
    }

    fn add(mut self, kind: EntryType, name: &str, link: &str, content: &[u8]) -> Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o6777);
        header.set_mtime(1);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(content);
        let padding = content.len().next_multiple_of(512) - content.len();
        self.0.extend(std::iter::repeat_n(0, padding));
        self
    }

    fn file(self, name: &str) -> Self {
        self.add(EntryType::Regular, name, "", b"content")
    }

    fn link(self, name: &str, target: &str) -> Self {
        self.add(EntryType::Symlink, name, target, b"")
    }

    fn tar(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        self.0
    }

    fn write(self, path: &Path) {
        write_gzip(path, &self.tar());
    }
}

fn write_gzip(path: &Path, bytes: &[u8]) {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    std::fs::write(path, gzip.finish().unwrap()).unwrap();
}

/// Unpacks and gives the error; checks that nothing is left.
fn refusal(hostile: Hostile) -> String {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("x.tgz");
    hostile.write(&archive);
    let profiles = dir.path().join("profiles");
    let error = unpack(&archive, &profiles).unwrap_err();
    assert_eq!(tree::names(&profiles), Vec::<String>::new());
    assert_eq!(tree::names(dir.path()), ["profiles/", "x.tgz"]);
    error.to_string()
}

#[test]
fn paths_that_leave_the_profile_are_refused() {
    for name in [
        "p/../../x",
        "/etc/x",
        "..",
        "C:x",
        "C:/x",
        "p\\..\\..\\x",
        "p/a\\b",
        "../p/x",
    ] {
        let message = refusal(Hostile::new().file("p/ok").file(name));
        assert!(
            message.starts_with("Unsafe archive member path: "),
            "{name}: {message}"
        );
    }
}

#[test]
fn what_is_neither_file_nor_directory_is_refused() {
    for (kind, word) in [
        (EntryType::Link, "hard link"),
        (EntryType::Char, "device"),
        (EntryType::Block, "device"),
        (EntryType::Fifo, "FIFO"),
        (EntryType::GNUSparse, "sparse file"),
        (EntryType::new(b'V'), "unknown type"),
    ] {
        let message = refusal(Hostile::new().file("p/ok").add(kind, "p/odd", "p/ok", b""));
        assert_eq!(
            message,
            format!("Unsupported archive member type: p/odd ({word})")
        );
    }
    let sparse = b"22 GNU.sparse.major=1\n";
    let message = refusal(
        Hostile::new()
            .add(EntryType::XHeader, "pax", "", sparse)
            .file("p/odd"),
    );
    assert!(message.contains("sparse file"), "{message}");
}

#[test]
fn links_that_leave_are_refused_also_in_chains() {
    for links in [
        vec![("p/l", "/etc")],
        vec![("p/l", "..")],
        vec![("p/a/l", "../../x")],
        vec![("p/l", ".."), ("p/m", "l/x")],
        vec![("p/a", "."), ("p/b", "a/..")],
        vec![("p/l", "x\\y")],
    ] {
        let mut hostile = Hostile::new().file("p/ok");
        for (link, target) in &links {
            hostile = hostile.link(link, target);
        }
        let message = refusal(hostile);
        assert!(
            message.starts_with("Unsupported archive member type: "),
            "{links:?}: {message}"
        );
    }
}

#[test]
fn nothing_is_written_through_a_link_of_the_archive() {
    let message = refusal(Hostile::new().link("p/l", "d").file("p/l/x"));
    assert!(
        message.contains("p/l") || message.contains("l "),
        "{message}"
    );
    let message = refusal(
        Hostile::new()
            .file("p/d/x")
            .link("p/l", "d")
            .link("p/l/y", "x"),
    );
    assert_eq!(message, "Unsafe archive member path: l/y");
}

#[test]
fn one_path_twice_is_refused() {
    for hostile in [
        Hostile::new().file("p/a").file("p/a"),
        Hostile::new().file("p/a").file("p/./a"),
        Hostile::new().file("p/a").file("p/a/b"),
        Hostile::new().file("p/a/b").file("p/a"),
        Hostile::new().file("p/a").link("p/a", "b"),
        Hostile::new().link("p/a", "b").link("p/a", "c"),
        Hostile::new()
            .file("p/a")
            .add(EntryType::Directory, "p/a", "", b""),
    ] {
        let message = refusal(hostile);
        assert!(message.contains("twice"), "{message}");
    }
}

#[test]
fn an_archive_has_one_directory_at_its_top() {
    for hostile in [
        Hostile::new().file("a/x").file("b/x"),
        Hostile::new().file("a"),
        Hostile::new().link("a", "b"),
        Hostile::new().file("a/x").file("b"),
    ] {
        let message = refusal(hostile);
        assert!(
            message.contains("exactly one top-level directory"),
            "{message}"
        );
    }
}

#[test]
fn junk_is_not_an_archive() {
    let whole = Hostile::new()
        .add(EntryType::Regular, "p/a", "", &[7; 4000])
        .file("p/b");
    let tar = whole.tar();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&tar).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut flipped = gzip.clone();
    let end = flipped.len();
    flipped[end - 6] ^= 1;

    let dir = tempfile::tempdir().unwrap();
    let cut = |bytes: &[u8]| {
        let mut inner = GzEncoder::new(Vec::new(), Compression::fast());
        inner.write_all(bytes).unwrap();
        inner.finish().unwrap()
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("text", b"hello, this is text\n".repeat(100)),
        ("plain tar", tar.clone()),
        ("cut gzip", gzip[..gzip.len() - 9].to_vec()),
        ("half gzip", gzip[..gzip.len() / 2].to_vec()),
        ("bad checksum", flipped),
        ("gzip of junk", cut(&b"junk".repeat(1000))),
        ("gzip of little", cut(b"x")),
        ("gzip of nothing", cut(b"")),
        ("tar cut in a file", cut(&tar[..1500])),
        ("tar cut in a header", cut(&tar[..300])),
    ];
    for (what, bytes) in cases {
        let archive = dir.path().join("junk");
        std::fs::write(&archive, bytes).unwrap();
        let profiles = dir.path().join("profiles");
        let error = unpack(&archive, &profiles).unwrap_err();
        assert!(
            error.to_string().starts_with("not a valid profile archive"),
            "{what}: {error}"
        );
        assert_eq!(tree::names(&profiles), Vec::<String>::new(), "{what}");
    }
    assert!(unpack(dir.path(), &dir.path().join("profiles")).is_err());
    assert!(unpack(Path::new("/no/such/file"), &dir.path().join("q")).is_err());
    assert!(!dir.path().join("q").exists());
}

#[test]
fn limits_hold_for_what_is_really_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("x.tgz");
    Hostile::new()
        .file("p/a")
        .file("p/b")
        .file("p/c")
        .write(&archive);
    let profiles = dir.path().join("profiles");
    let attempt = |members, bytes| {
        unpack_limited(&archive, &profiles, ImportLimits { members, bytes }).map(|_| ())
    };
    attempt(3, 21).unwrap();
    assert!(matches!(
        attempt(2, 21),
        Err(Error::TooManyMembers { limit: 2 })
    ));
    assert!(matches!(attempt(3, 20), Err(Error::TooLarge { limit: 20 })));
    assert_eq!(tree::names(&profiles), Vec::<String>::new());

    // A bomb: a few kilobytes that unpack to 64 MiB, once as a file, once as a name, once behind
    // the end of the archive.
    let zeros = vec![0; 64 << 20];
    let limits = ImportLimits {
        members: 10,
        bytes: 1 << 20,
    };
    let name = Hostile::new().add(EntryType::GNULongName, "././@LongLink", "", &zeros);
    let mut behind = Hostile::new().file("p/a");
    behind.0.extend(&zeros);
    for bomb in [
        Hostile::new().add(EntryType::Regular, "p/a", "", &zeros),
        Hostile::new()
            .add(EntryType::Directory, "p/a", "", &zeros)
            .file("p/b"),
        name.file("p/x"),
        behind,
    ] {
        bomb.write(&archive);
        assert!(std::fs::metadata(&archive).unwrap().len() < 1 << 20);
        unpack_limited(&archive, &profiles, limits).unwrap_err();
        assert_eq!(tree::names(&profiles), Vec::<String>::new());
    }
}

#[test]
fn long_names_of_both_kinds_are_understood() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("x.tgz");
    let gnu = format!("p/{}", "g".repeat(200));
    let pax = format!("p/{}", "ä".repeat(110));
    let record = format!(" path={pax}\n");
    let length = record.len() + 3;
    Hostile::new()
        .add(
            EntryType::XGlobalHeader,
            "pax_global_header",
            "",
            b"16 comment=abcd\n",
        )
        .add(
            EntryType::GNULongName,
            "././@LongLink",
            "",
            format!("{gnu}\0").as_bytes(),
        )
        .file("short")
        .add(
            EntryType::XHeader,
            "p/PaxHeaders/x",
            "",
            format!("{length}{record}").as_bytes(),
        )
        .file("short")
        .add(EntryType::Directory, "./p/empty/", "", b"")
        .write(&archive);
    let unpacked = unpack(&archive, &dir.path().join("profiles")).unwrap();
    let found = tree::read(unpacked.path());
    let names: Vec<_> = found.keys().map(|name| format!("p/{name}")).collect();
    assert_eq!(names, ["p/empty/".to_owned(), gnu, pax]);
    // Neither set-user-id nor anything for others.
    assert!(found.values().all(|(mode, _)| *mode == 0o700));
}

#[test]
fn a_name_that_is_taken_is_refused_and_the_staging_removed() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("x.tgz");
    Hostile::new().file("p/a").write(&archive);
    let profiles = dir.path().join("profiles");
    tree::put(&profiles, "taken/f", "mine");
    let unpacked = unpack(&archive, &profiles).unwrap();
    let error = unpacked.publish(&name("taken")).unwrap_err();
    assert!(matches!(error, Error::NameTaken { .. }), "{error}");
    assert_eq!(tree::names(&profiles), ["taken/", "taken/f"]);
    assert_eq!(tree::names(dir.path()).len(), 4);
}
