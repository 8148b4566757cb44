//! Every entry of the list is refused by everybody who consults it.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_secret::Redactor;

use super::*;
use crate::{
    ApprovalSettings, CheckRequest, CommandPolicy, Interaction, KnownHomes, KnownPaths,
    PrivateHomes, ReadGuard, SessionApprovals, WriteContext, check_write_by_text,
};

const HOME: &str = "/home/u";
const HERMES: &str = "/home/u/.hermes";

/// Every path of the list as an absolute one, with paths that it covers.
fn listed() -> Vec<(PathBuf, PrivatePlace)> {
    let bases = [
        (IN_HOME, HOME),
        (IN_HERMES_HOME, HERMES),
        (IN_HERMES_HOME, "/home/u/.hermes/profiles/other"),
        (ON_MACHINE, ""),
    ];
    let mut all = Vec::new();
    for (entries, base) in bases {
        for (entry, extent, place) in single_entries(entries) {
            let path = if base.is_empty() {
                entry.to_owned()
            } else {
                format!("{base}/{entry}")
            };
            let covered = match extent {
                Tree => [format!("{path}/x"), format!("{path}/x/y")],
                Copies => [format!("{path}.bak"), format!("{path}~")],
            };
            all.push((PathBuf::from(path), place));
            all.extend(covered.map(|path| (PathBuf::from(path), place)));
        }
    }
    all.extend([
        ("/run/docker.sock".into(), PrivatePlace::EngineSocket),
        ("/dev/sda".into(), PrivatePlace::Device),
        ("/proc/1/environ".into(), PrivatePlace::ProcessInternals),
    ]);
    all
}

/// The paths that `refused` does not treat as the list says.
fn wrongly_treated(access: Access, refused: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let wrong = |(path, place): &(PathBuf, PrivatePlace)| refused(path) != place.refuses(access);
    let listed = listed().into_iter();
    listed.filter(wrong).map(|(path, _)| path).collect()
}

fn homes() -> PrivateHomes {
    PrivateHomes {
        accounts: vec![HOME.into()],
        hermes: vec![HERMES.into()],
    }
}

#[test]
fn write_guard_refuses_every_entry() {
    let context = WriteContext {
        real_home: HOME.into(),
        child_home: HOME.into(),
        hermes_home: HERMES.into(),
        hermes_root: HERMES.into(),
        cwd: "/srv/work".into(),
        safe_roots: Vec::new(),
        cross_profile: true,
    };
    let refused = |path: &Path| check_write_by_text(&context, path, path).is_err();
    assert_eq!(wrongly_treated(Access::Write, refused), [] as [PathBuf; 0]);
}

#[test]
fn read_guard_refuses_every_entry() {
    let guard = ReadGuard::by_text(homes());
    let refused = |path: &Path| guard.refusal(path).is_some();
    assert_eq!(wrongly_treated(Access::Read, refused), [] as [PathBuf; 0]);
}

#[test]
fn references_refuse_every_entry() {
    let guard = ReadGuard::by_text(homes());
    let refused = |path: &Path| guard.refuses_attaching(path);
    assert_eq!(wrongly_treated(Access::Attach, refused), [] as [PathBuf; 0]);
    for name in [
        "/work/.npmrc",
        "/work/.config/gh/hosts.yml",
        "/data/.ssh/id",
    ] {
        assert!(guard.refuses_attaching(Path::new(name)), "{name}");
        assert_eq!(guard.refusal(Path::new(name)), None, "{name}");
    }
    for name in [
        "/w/ssh/config",
        "/w/.config/nvim/init.lua",
        "/w/gh",
        "/w/.github/x",
    ] {
        assert!(!guard.refuses_attaching(Path::new(name)), "{name}");
    }
}

#[test]
fn carried_files_exclude_every_entry_of_a_hermes_home() {
    let in_hermes = |(path, place): (PathBuf, PrivatePlace)| {
        let relative = path.strip_prefix(HERMES).ok()?.to_owned();
        Some((relative, place))
    };
    for (relative, place) in listed().into_iter().filter_map(in_hermes) {
        assert_eq!(
            refuses_carrying(&relative),
            place.refuses(Access::Carry),
            "{relative:?}"
        );
    }
    for relative in [
        "home/.ssh/id_rsa",
        "profiles/p/home/.netrc",
        ".ENV",
        ".env~",
        "auth.json.20260101",
        "cache/bws_cache.enc.json",
        "mcp-tokens/github.json",
        "profiles/coder/.env",
        "profiles/coder/mcp-tokens/x",
    ] {
        assert!(refuses_carrying(Path::new(relative)), "{relative}");
    }
    for relative in [
        "google_token.json",
        "credentials/x.json",
        ".environment",
        "skills/mail/.env",
        "mcp-tokens-of-mine.json",
        "cache/documents/auth.json",
        "x/config.yaml",
    ] {
        assert!(!refuses_carrying(Path::new(relative)), "{relative}");
    }
}

#[test]
fn commands_that_overwrite_an_entry_need_approval() {
    let paths = KnownPaths {
        homes: KnownHomes::new([HOME], [HERMES]),
        temp_dirs: Vec::new(),
    };
    let policy = CommandPolicy::new(
        ApprovalSettings::default(),
        paths,
        Arc::new(Redactor::default()),
    );
    let session = SessionApprovals::default();
    let refused = |path: &Path| {
        let text = format!("echo x > {}", path.display());
        let verdict = policy.check(&CheckRequest {
            shell: &hermes_shell::UnknownShell,
            text: &text,
            isolated: false,
            sandboxed: false,
            yolo: false,
            sudo_password_set: false,
            interaction: Interaction::NonInteractive,
            session: &session,
        });
        // Overwriting a disk never runs, which is another rule.
        !verdict.is_approved() && !verdict.hardline
    };
    assert_eq!(
        wrongly_treated(Access::WriteByCommand, refused),
        [] as [PathBuf; 0]
    );
}

#[test]
fn links_to_private_places_are_followed_for_reading() {
    let dir = tempfile::tempdir().unwrap();
    let base = hermes_fs::canonicalize(dir.path()).unwrap();
    for name in ["home", "keys"] {
        hermes_fs::create_dir_all(&base.join(name), 0o700).unwrap();
    }
    hermes_fs::symlink(&base.join("keys"), &base.join("home/.ssh")).unwrap();
    let guard = ReadGuard::here(&PrivateHomes {
        accounts: vec![base.join("home")],
        hermes: Vec::new(),
    });
    assert!(guard.refusal(&base.join("keys/id_rsa")).is_some());
    assert_eq!(guard.refusal(&base.join("home/notes")), None);
}
