//! Profiles in files, and the files nobody should accept.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use hermes_testkit::TestHome;
use tar::{EntryType, Header};

use crate::{fresh, with_coder};

fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

// check 8
#[test]
fn an_export_holds_no_secret_and_comes_back_under_another_name() {
    let home = with_coder();
    let coder = home.path("profiles/coder");
    home.put(
        "profiles/coder/config.yaml",
        "model: # which\n  default: small\n  api_key: sk-literal-canary-0123456789\n",
    );
    home.put("profiles/coder/.env", "OPENROUTER_API_KEY=env-canary\n");
    home.put("profiles/coder/auth.json", "{\"token\":\"auth-canary\"}");
    home.put("profiles/coder/skills/one/SKILL.md", "do it");
    home.put("profiles/coder/skills/one/.env", "X=nested-canary");
    fifo(&coder.join("pipe"));
    std::os::unix::fs::symlink("no-such-file", coder.join("dangling")).unwrap();

    let archive = home.outside("coder.tar.gz");
    let exported = home
        .hermes(["profile", "export", "coder", "-o"])
        .arg(&archive)
        .run();
    exported
        .succeeds()
        .prints_part(&format!("✓ Exported 'coder' to {}\n", archive.display()))
        .says_part("model.api_key")
        .never_shows("canary");
    let mode = std::fs::metadata(&archive).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let mut bytes = Vec::new();
    std::io::copy(
        &mut GzDecoder::new(std::fs::File::open(&archive).unwrap()),
        &mut bytes,
    )
    .unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(!text.contains("canary"), "a secret is in the archive");
    let mut members = tar::Archive::new(bytes.as_slice());
    let names: Vec<String> = members
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().display().to_string())
        .collect();
    assert!(names.iter().all(|name| name.starts_with("coder")));
    for absent in ["pipe", ".env", "auth.json"] {
        assert!(
            !names.iter().any(|name| name.ends_with(absent)),
            "{absent} in {names:?}"
        );
    }
    assert!(names.iter().any(|name| name == "coder/dangling"));

    home.hermes(["profile", "import"])
        .arg(&archive)
        .args(["--name", "copy"])
        .run()
        .succeeds()
        .prints_part("✓ Imported profile 'copy' at ~/.hermes/profiles/copy\n");
    assert_eq!(
        home.read("profiles/copy/config.yaml"),
        "model: # which\n  default: small\n  api_key: ''\n"
    );
    assert_eq!(home.read("profiles/copy/skills/one/SKILL.md"), "do it");
    let link = std::fs::read_link(home.path("profiles/copy/dangling")).unwrap();
    assert_eq!(link, Path::new("no-such-file"));
    assert!(home.alias_dir().join("copy").is_file());
}

/// A member whose name is written as it stands, checks of the library or not.
fn member(tar: &mut tar::Builder<impl Write>, name: &str, kind: EntryType, content: &[u8]) {
    let mut header = Header::new_gnu();
    let field = &mut header.as_old_mut().name;
    field[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    tar.append(&header, content).unwrap();
}

fn archive(home: &TestHome, members: &[(&str, EntryType)]) -> PathBuf {
    let path = home.outside("bad.tar.gz");
    let file = std::fs::File::create(&path).unwrap();
    let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
    for (name, kind) in members {
        let content: &[u8] = if *kind == EntryType::Regular {
            b"x"
        } else {
            b""
        };
        member(&mut tar, name, *kind, content);
    }
    tar.into_inner().unwrap().finish().unwrap();
    path
}

#[track_caller]
fn is_refused(home: &TestHome, archive: &Path, message: &str) {
    let before = home.tree().without_directory_times();
    home.hermes(["profile", "import"])
        .arg(archive)
        .args(["--name", "copy"])
        .run()
        .refuses(1, message);
    before.is_still(&home.tree().without_directory_times());
}

// check 8
#[test]
fn hostile_archives_leave_nothing_behind() {
    let home = with_coder();
    let file = EntryType::Regular;
    for (members, message) in [
        (
            vec![("a/ok", file), ("a/../../x", file)],
            "Unsafe archive member path: a/../../x",
        ),
        (
            vec![("a/ok", file), ("/etc/evil", file)],
            "Unsafe archive member path: /etc/evil",
        ),
        (
            vec![("a/ok", file), ("C:\\evil", file)],
            "Unsafe archive member path: C:\\\\evil",
        ),
        (
            vec![("a/ok", file), ("a/device", EntryType::Block)],
            "Unsupported archive member type: a/device (device)",
        ),
        (
            vec![("a/ok", file), ("b/ok", file)],
            "the archive must contain exactly one top-level directory, found a and b",
        ),
    ] {
        let path = archive(&home, &members);
        is_refused(&home, &path, message);
    }
    assert!(!home.outside("x").exists());
}

// check 8
#[test]
fn junk_is_no_archive() {
    let home = with_coder();
    let junk = home.put_outside("junk.tar.gz", "this is no archive", 0o644);
    let outcome = home.hermes(["profile", "import"]).arg(&junk).run();
    outcome
        .exits(1)
        .prints("")
        .says_part("Error: not a valid profile archive: ");
    let listed: Vec<_> = std::fs::read_dir(home.path("profiles"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(listed, ["coder"]);
}

#[test]
fn importing_as_the_default_profile_is_refused() {
    let home = fresh();
    let path = archive(&home, &[("default/config.yaml", EntryType::Regular)]);
    home.hermes(["profile", "import"])
        .arg(&path)
        .run()
        .refuses(
            1,
            "'default' is reserved and cannot be the name of a new profile",
        )
        .says_part("--name");
    assert!(!home.has("profiles/default"));
}
