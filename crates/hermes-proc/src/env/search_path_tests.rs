#![allow(clippy::disallowed_methods, reason = "tests access files directly")]

use super::*;
use crate::env::own_install::OwnInstall;
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const SYSTEM: &str = "/opt/homebrew/bin:/opt/homebrew/sbin:/usr/local/sbin:/usr/local/bin:\
                      /usr/sbin:/usr/bin:/sbin:/bin";

const NOTHING: PathSources<'static> = PathSources {
    caller: None,
    login: None,
    session: None,
    deactivated: &[],
};

fn policy(dir: &Path) -> EnvPolicy {
    let mut policy = EnvPolicy {
        hermes_home: dir.join("hh"),
        hermes_program: dir.join("apps/hermes"),
        ..EnvPolicy::default()
    };
    policy.own_install = OwnInstall::of_roots([dir.join("own")]);
    policy
}

fn program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn shown(dir: &Path, value: Option<&str>) -> String {
    let value = value.map(|text| text.replace('@', dir.to_str().unwrap()));
    let sources = PathSources {
        caller: value.as_deref().map(OsStr::new),
        ..NOTHING
    };
    let path = SearchPath::build(&sources, &policy(dir)).value();
    path.to_str().unwrap().replace(dir.to_str().unwrap(), "@")
}

#[test]
fn empty_double_and_own_entries_go_and_the_link_leads() {
    let dir = tempfile::tempdir().unwrap();
    program(&dir.path().join("apps/hermes"));
    assert_eq!(
        shown(dir.path(), Some(":/a::/b:/a:@/own/bin:/usr/bin:rel:")),
        "@/hh/cache/bin:/a:/b:/usr/bin:rel:/opt/homebrew/bin:/opt/homebrew/sbin:\
         /usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin"
    );
    assert_eq!(shown(dir.path(), None), format!("@/hh/cache/bin:{SYSTEM}"));
    assert_eq!(
        shown(dir.path(), Some("/a:@/hh/cache/bin")),
        format!("@/hh/cache/bin:/a:{SYSTEM}"),
        "moved to the front, not added twice"
    );
}

#[test]
fn a_path_that_finds_the_running_program_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    program(&dir.path().join("apps/hermes"));
    assert_eq!(
        shown(dir.path(), Some("/a:@/apps")),
        format!("/a:@/apps:{SYSTEM}")
    );
    fs::create_dir_all(dir.path().join("links")).unwrap();
    std::os::unix::fs::symlink(
        dir.path().join("apps/hermes"),
        dir.path().join("links/hermes"),
    )
    .unwrap();
    assert_eq!(
        shown(dir.path(), Some("@/links")),
        format!("@/links:{SYSTEM}")
    );
    program(&dir.path().join("other/hermes"));
    assert_eq!(
        shown(dir.path(), Some("@/other:@/apps")),
        format!("@/hh/cache/bin:@/other:@/apps:{SYSTEM}"),
        "another hermes comes first"
    );
}

/// Entries and their origins, the system's directories left out.
fn origins(sources: &PathSources<'_>, dir: &Path) -> Vec<(String, &'static str)> {
    let path = SearchPath::build(sources, &policy(dir));
    let shown = path
        .entries
        .iter()
        .filter(|(_, from)| *from != PathOrigin::System);
    shown
        .map(|(entry, from)| (entry.to_str().unwrap().to_owned(), from.id()))
        .collect()
}

#[test]
fn callers_entries_that_the_login_shell_dropped_come_after_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let apps = dir.path().join("apps");
    program(&apps.join("hermes"));
    let apps = apps.to_str().unwrap();
    let caller = format!("/cargo/bin:/venv/bin:/usr/bin:{apps}");
    let deactivated = [PathBuf::from("/venv/bin")];
    let sources = PathSources {
        caller: Some(caller.as_ref()),
        login: Some("/login/bin:/usr/bin".as_ref()),
        session: None,
        deactivated: &deactivated,
    };
    let of = |entry: &str, from| (entry.to_owned(), from);
    let expected = [
        of("/login/bin", "login-shell"),
        of("/usr/bin", "login-shell"),
        of("/cargo/bin", "caller"),
        of(apps, "caller"),
    ];
    assert_eq!(origins(&sources, dir.path()), expected);
    let dropped = SearchPath::build(&sources, &policy(dir.path())).dropped;
    assert_eq!(dropped, [("/venv/bin".into(), Rule::ActivationMarker)]);

    // What the login shell itself activates stays, and so does what a session takes out or adds.
    let sources = PathSources {
        login: Some("/venv/bin".as_ref()),
        ..sources
    };
    assert_eq!(
        origins(&sources, dir.path())[0],
        of("/venv/bin", "login-shell")
    );
    let session = format!("/mine:/login/bin:{apps}");
    let sources = PathSources {
        login: Some("/login/bin".as_ref()),
        session: Some(session.as_ref()),
        ..sources
    };
    let expected = [
        of("/mine", "session-state"),
        of("/login/bin", "login-shell"),
        of(apps, "caller"),
    ];
    assert_eq!(origins(&sources, dir.path()), expected);
}
